"""Which videos a study is about, and where they lie now: they are never copied, and known by their digest.

One that was changed is refused, because its frames may no longer be those that were coded.
"""

import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from epir.annotation.records import Recording
from epir.annotation.schema import StudyError
from epir.annotation.study import Study
from epir.core.engines import Progress, Silent
from epir.core.errors import EpirWarning, FrameError
from epir.core.files import VIDEO_ENDINGS, check_regular, file_digest
from epir.core.output import STUDY, kind_of, resolved
from epir.frames.reader import ASSUMED_RATE
from epir.frames.video import VideoFrames


def find_recordings(places: Sequence[str | Path]) -> list[Path]:
    """The videos among files and in folders, however deep, in the order of their names.

    One of a folder that cannot be opened is left out with a warning; one that was named is refused.
    """
    videos: dict[Path, bool] = {}  # whether it was named
    for each in map(Path, places):
        if each.is_dir():
            inside = sorted(resolved(path) for path in _files(each) if path.suffix.lower() in VIDEO_ENDINGS)
            videos |= {path: videos.get(path, False) for path in inside}
        else:
            videos[resolved(each)] = True
    readable, problem = [], None
    for path, is_named in videos.items():
        try:
            check_video(path)
        except FrameError as error:
            if is_named:
                raise
            problem = error
            warnings.warn(f"left out: {error.problem}", EpirWarning, stacklevel=2)
        else:
            readable.append(path)
    if problem is not None and not readable:
        raise problem
    if not readable:
        names = ", ".join(map(str, places))
        raise FrameError(f"there is no video in {names}", fix=f"videos end in {', '.join(VIDEO_ENDINGS)}")
    return readable


def check_video(path: Path) -> None:
    """Refuse what cannot be opened as a video."""
    try:
        check_regular(path, error=FrameError, fix="give videos, or folders of videos")
    except FileNotFoundError:
        raise FrameError(f"there is no folder or video {path}", fix="check the path") from None
    with VideoFrames(path):
        pass


def add_recordings(study: Study, videos: Iterable[Path], *, progress: Progress | None = None) -> list[Recording]:
    """Add videos to a study; a known one, by its bytes, keeps all that was coded, wherever it lies now."""
    progress, videos = progress or Silent(), list(videos)
    known = {study.path(each): each for each in study.recordings()}
    progress.start("reading recordings", len(videos))
    added = []
    for path in videos:
        if path in known:
            check_recording(study, known[path])
            added.append(study.recording(known[path].id))
        else:
            with VideoFrames(path) as frames:
                announced, rate = frames.announced or len(frames.numbers), frames.fps or ASSUMED_RATE
            added.append(_place(study, file_digest(path), path, announced, rate))
        progress.advance(note=path.name)
    progress.finish()
    return added


def check_recording(study: Study, recording: Recording) -> Path:
    """Where a video lies; one that was moved or changed is refused."""
    path = study.path(recording)
    if not path.is_file():
        raise StudyError(
            f"{recording.path} is not where it was", fix="put it back, or run: epir annotate NEW_FOLDER --out STUDY"
        )
    if _stamp(path) != (recording.bytes, recording.modified):
        if file_digest(path) != recording.digest:
            raise StudyError(
                f"{recording.path} has changed since it was added to the study: its frames may be others",
                fix="put the old file back, or give the new one another name; what was coded is kept",
            )
        _place(study, recording.digest, path, recording.frames, recording.fps)
    return path


def _place(study: Study, digest: str, path: Path, frames: int, fps: float) -> Recording:
    size, modified = _stamp(path)
    relative = Path(os.path.relpath(path, study.folder)).as_posix()
    return study.add_recording(relative, digest, frames=frames, fps=fps, size=size, modified=modified)


def _stamp(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns


def _files(folder: Path) -> Iterator[Path]:
    """The files below a folder, without hidden ones and without studies."""
    for place, folders, names in os.walk(folder):
        here = Path(place)
        folders[:] = sorted(each for each in folders if not each.startswith(".") and kind_of(here / each) != STUDY)
        yield from (here / name for name in sorted(names) if not name.startswith(".") and (here / name).is_file())
