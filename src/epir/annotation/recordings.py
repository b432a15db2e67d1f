"""The videos of a study: they stay where they are and are identified by their digest.

A changed video raises an error, because its frames may no longer be those that were coded.
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
    """The videos among files and in folders, at any depth, sorted by name.

    An unreadable video in a folder is left out with a warning; one given by name raises an error.
    """
    videos: dict[Path, bool] = {}  # whether it was given by name
    for place in map(Path, places):
        if place.is_dir():
            inside = sorted(resolved(path) for path in _files(place) if path.suffix.lower() in VIDEO_ENDINGS)
            videos |= {path: videos.get(path, False) for path in inside}
        else:
            videos[resolved(place)] = True
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
    """Raise if a file cannot be opened as a video."""
    try:
        check_regular(path, error=FrameError, fix="give videos, or folders of videos")
    except FileNotFoundError:
        raise FrameError(f"there is no folder or video {path}", fix="check the path") from None
    with VideoFrames(path):
        pass


def add_recordings(study: Study, videos: Iterable[Path], *, progress: Progress | None = None) -> list[Recording]:
    """Add videos to a study; a known video keeps its decisions, even if it was moved, and its copies are left out.

    Raises if study.toml then names people in something that is not a recording of the study.
    """
    progress, videos = progress or Silent(), list(videos)
    known = {study.path(recording): recording for recording in study.recordings()}
    progress.start("reading recordings", len(videos))
    added = []
    for path in videos:
        if path in known:
            check_recording(study, known[path])
            added.append(study.recording(known[path].id))
        else:
            with VideoFrames(path) as frames:
                announced, rate = frames.announced or len(frames.numbers), frames.fps or ASSUMED_RATE
            digest = file_digest(path)
            if (original := _original(study, digest)) is not None:
                warnings.warn(f"left out: {path} is a copy of {original.path}", EpirWarning, stacklevel=2)
            added.append(original or _place(study, digest, path, announced, rate))
        progress.advance(note=path.name)
    progress.finish()
    study.check_people()
    return added


def _original(study: Study, digest: str) -> Recording | None:
    """The recording of the study with this content, if its file is still in place."""
    for recording in study.recordings():
        path = study.path(recording)
        if recording.digest == digest and path.is_file() and file_digest(path) == digest:
            return recording
    return None


def check_recording(study: Study, recording: Recording) -> Path:
    """The path of a video; raises if it was moved or changed."""
    path = study.path(recording)
    if not path.is_file():
        raise StudyError(
            f"{recording.path} was moved or removed", fix="put it back, or run: epir annotate NEW_FOLDER --out STUDY"
        )
    if _stamp(path) != (recording.bytes, recording.modified):
        if file_digest(path) != recording.digest:
            raise StudyError(
                f"{recording.path} has changed since it was added to the study: its frames may differ",
                fix="put the old file back, or give the new one another name; the decisions are kept",
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
    """The files below a folder, without hidden files and studies."""
    for place, folders, names in os.walk(folder):
        here = Path(place)
        folders[:] = sorted(name for name in folders if not name.startswith(".") and kind_of(here / name) != STUDY)
        yield from (here / name for name in sorted(names) if not name.startswith(".") and (here / name).is_file())
