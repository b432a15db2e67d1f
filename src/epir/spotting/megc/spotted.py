"""A folder of spotted videos that records which videos are done; an interruption costs only the running ones.

    SPOTTED/config.toml      the settings of spotting
    SPOTTED/annotation.csv   every video, with the annotated intervals of its corpus if it has any
    SPOTTED/videos/*.json    one entry of `epir.core.store` per finished video
    SPOTTED/intervals.csv    all spotted intervals, in the format of annotation.csv with more columns
    SPOTTED/failed.csv       videos that could not be read, and why; the same command retries them

Frames are counted as in `epir.datasets.intervals`; intervals include both ends.
"""

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from epir.core.config import differences, digest, read_toml, write_toml
from epir.core.errors import ConfigError, EpirError, RunError
from epir.core.files import csv_text, read_rows, remove_partial_files, write_text
from epir.core.output import SPOTTED, check_folder, check_place, locked, mark, resolved
from epir.core.store import Store, file_identity
from epir.core.words import counted
from epir.datasets.intervals import COLUMNS, Interval, Kind, LongVideo, in_order, read_intervals, write_intervals
from epir.spotting.decision import Sensitivity
from epir.spotting.megc.scores import SpottedVideo
from epir.spotting.megc.submission import SubmittedInterval, name_video

CONFIG, ANNOTATION, VIDEOS, INTERVALS, FAILED = "config.toml", "annotation.csv", "videos", "intervals.csv", "failed.csv"
MORE_COLUMNS = (
    "onset_s",
    "apex_s",
    "offset_s",
    "probability",
    "strength",
    "region",
    "score",
)  # columns of intervals.csv
FAILED_COLUMNS = ("corpus", "subject", "video", "problem", "fix")
PLAIN = "videos"  # the corpus name of videos given by path
RESUME = "run the same command to resume"
VERSION = 2  # of the entries in videos/


@dataclass(frozen=True)
class SpotSettings:
    """The settings that must be equal to resume a folder."""

    weights: str  # digest of the weights of the model that classifies
    sensitivity: Sensitivity = "normal"
    detector: str = ""  # empty for that of the model
    fps: float = 0.0  # frames a second; 0 for that of the corpus or the file


@dataclass(frozen=True)
class Spotted:
    """One spotted interval; only micro-expressions have `emotion`, `score` and `probability`."""

    kind: Kind
    onset: int
    apex: int
    offset: int
    onset_s: float
    apex_s: float
    offset_s: float
    strength: float  # displacement at the apex, in % of the face's width
    region: str
    emotion: str = ""  # the class with the highest score
    score: float | None = None
    probability: float | None = None  # that it is a micro-expression


@dataclass(frozen=True)
class VideoRecord:
    """The names of a video."""

    corpus: str
    subject: str
    video: str

    @property
    def key(self) -> str:
        """The video's unique name across corpora."""
        return f"{self.corpus}/{self.subject}/{self.video}"


@dataclass(frozen=True)
class SpottedRecord(VideoRecord):
    """What was spotted in one video."""

    path: str
    intervals: tuple[Spotted, ...]
    warnings: tuple[str, ...] = ()

    def as_intervals(self) -> tuple[Interval, ...]:
        """The intervals as annotations."""
        return in_order(
            Interval(self.video, self.subject, each.kind, each.onset, each.apex, each.offset, each.emotion)
            for each in self.intervals
        )


@dataclass(frozen=True)
class FailedVideo(VideoRecord):
    """A video that could not be spotted, and why."""

    problem: str
    fix: str


@contextmanager
def open_spotted(
    folder: str | Path, settings: SpotSettings, *, force: bool = False, inputs: Iterable[str | Path] = ()
) -> Iterator["SpottedStore"]:
    """Open a folder for writing and lock it; raises an error if its settings differ."""
    folder = Path(folder)
    check_folder(resolved(folder), SPOTTED, force=True, inputs=inputs)
    check_place(resolved(folder) / CONFIG)
    with locked(folder):
        if force:
            _clear(folder)
        elif not (folder / CONFIG).exists() and (done := len(list((folder / VIDEOS).glob("[!.]*.json")))):
            raise RunError(
                f"{folder} has results of {counted(done, 'video')}, but its {CONFIG} is gone",
                fix="put that file back, choose another folder with --out, or start over with --force",
            )
        mark(folder, SPOTTED)
        if not (folder / CONFIG).exists():
            write_toml(settings, folder / CONFIG)
        changed = differences(_read_settings(folder), settings)
        if changed:
            raise RunError(
                f"{folder} was spotted with other settings ({'; '.join(changed)})",
                fix="choose another folder with --out, use the old settings, or start over with --force",
            )
        remove_partial_files(folder / VIDEOS)
        yield SpottedStore(folder)


class SpottedStore:
    """The finished videos of one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._entries = _entries(folder)
        self._identities: dict[str, str] = {}  # of the videos of this call, computed before they are read

    def add_videos(self, videos: Sequence[LongVideo]) -> None:
        """Add videos with their annotation to annotation.csv; those of earlier calls stay.

        Videos given by path are known by the names of their files: another file of a known name is an error.
        """
        for video in videos:
            entry = self._entries.get(video.key, None) if video.corpus == PLAIN else None
            if entry is not None and entry.content["path"] != str(video.path):
                raise RunError(
                    f"{self.folder} holds the result of another video called {video.name}: {entry.content['path']}",
                    fix=f"choose another folder with --out, or rename {video.path}",
                )
        known = {video.key: video for video in self._annotation()}
        known |= {video.key: video for video in videos}
        write_intervals(self.folder / ANNOTATION, known.values())

    def missing(self, videos: Sequence[LongVideo]) -> list[LongVideo]:
        """The videos that are not done, or have changed since; the old entries of the latter are discarded."""
        self._identities |= {video.key: _identity(video) for video in videos}
        stale = self._entries.stale
        missing = [video for video in videos if self._entries.get(video.key, self._identities[video.key]) is None]
        self._entries.warn_if_stale("spotted again")
        for key in tuple(stale):
            self._entries.discard(key)
        stale.clear()
        return missing

    def add(self, record: SpottedRecord) -> None:
        """Write the entry of one video atomically."""
        self._entries.put(record.key, self._identities[record.key], asdict(record))

    def finish(self, failed: Sequence[FailedVideo]) -> None:
        """Write intervals.csv and failed.csv."""
        videos = self._annotation()
        records = {video.key: entry for video in videos if (entry := self._entries.get(video.key, None)) is not None}
        self._entries.warn_if_stale("left out; spot these videos again")
        for key in self._entries.stale:  # of videos that are not inputs of this call
            self._entries.discard(key)
        failures = {each.key: each for each in read_failed(self.folder)}
        failures |= {each.key: each for each in failed}
        rows = [asdict(each) for each in failures.values() if each.key not in records]
        write_text(self.folder / FAILED, _csv(FAILED_COLUMNS, rows))
        intervals = {key: _record(entry.content).intervals for key, entry in records.items()}
        write_text(self.folder / INTERVALS, _csv((*COLUMNS, *MORE_COLUMNS), _interval_rows(videos, intervals)))

    def _annotation(self) -> list[LongVideo]:
        path = self.folder / ANNOTATION
        return read_intervals(path, corpus=PLAIN) if path.exists() else []


def record_path(folder: Path, key: str) -> Path:
    """The file of a video."""
    return _entries(folder).path(key)


def read_record(folder: Path, key: str) -> SpottedRecord:
    """Read the entry of one video; raises an error if it was edited or belongs to other settings."""
    entries = _entries(folder)
    entry = entries.get(key, None)
    if entry is None:
        reason = entries.stale.get(key, "it is missing")
        raise RunError(f"{entries.path(key)} cannot be used: {reason}", fix=RESUME)
    return _record(entry.content)


def _entries(folder: Path) -> Store:
    return Store(folder / VIDEOS, settings=digest(_read_settings(folder)), version=VERSION)


def _identity(video: LongVideo) -> str:
    """A digest that changes with the video file and with the corpus's frame rate and numbering."""
    return digest([str(video.path), file_identity(video.path), video.fps, video.first])


def _record(values: Mapping[str, Any]) -> SpottedRecord:
    intervals = tuple(Spotted(**each) for each in values["intervals"])
    return SpottedRecord(**{**values, "warnings": tuple(values["warnings"]), "intervals": intervals})


def read_failed(folder: Path) -> tuple[FailedVideo, ...]:
    """The videos that could not be spotted."""
    path = folder / FAILED
    if not path.exists():
        return ()
    rows = read_rows(path, FAILED_COLUMNS, error=RunError, fix=f"delete that file, then {RESUME}")
    return tuple(FailedVideo(**{name: row[name] for name in FAILED_COLUMNS}) for row in rows)


def failure(video: LongVideo, error: EpirError) -> FailedVideo:
    """The record of a video that failed with `error`."""
    problem, fix = (" ".join(text.split()) for text in (error.problem, error.fix))
    return FailedVideo(video.corpus, video.subject, video.name, problem, fix)


def read_spotted(folder: str | Path, annotation: str | Path | None = None) -> tuple[list[SpottedVideo], list[str]]:
    """Every video of a finished folder with its labels, and notes; a failed video has no predictions.

    `annotation` is another list of intervals to compare with, in the format of `annotation.csv`.
    """
    folder, notes = Path(folder), []
    videos, failed = _finished(folder)
    labelled = {} if annotation is None else _labelled(videos, Path(annotation))
    pairs = [(video, labelled.get(video.name, video)) for video in videos]
    if not any(label.intervals for _, label in pairs):
        raise RunError(
            f"the videos of {folder} have no annotation to compare with",
            fix="spot an annotated corpus (epir spot CORPUS ROOT), or give a list of intervals with --annotation",
        )
    scored = []
    for video, label in pairs:
        predictions = () if video.key in failed else read_record(folder, video.key).as_intervals()
        shift = 0 if video.path.is_dir() else label.first - video.first  # lists may count the frames of a file from 0
        predictions = tuple(_shifted(each, shift) for each in predictions)
        scored.append(SpottedVideo(label.corpus, label.subject, label.name, label.intervals, predictions))
    if failed:
        notes.append(
            f"{len(failed)} of {counted(len(videos), 'video')} could not be spotted and count as without predictions."
        )
    return scored, notes


def spotted_weights(folder: str | Path) -> str:
    """The digest of the weights that classified the videos of a folder."""
    return _read_settings(Path(folder)).weights


def check_distinct(folders: Sequence[Path]) -> None:
    """Raise an error if two folders share a video, which would count twice."""
    seen: dict[str, Path] = {}
    for folder in folders:
        for video in _finished(folder)[0]:
            if seen.setdefault(video.key, folder) is not folder:
                raise RunError(
                    f"the video {video.key} is in {seen[video.key]} and in {folder}", fix="give each video once"
                )


def to_submit(folder: str | Path) -> Iterator[SubmittedInterval]:
    """Every spotted interval of a finished folder, with the names and frame numbers of the challenges."""
    folder = Path(folder)
    videos, failed = _finished(folder)
    for video in videos:
        names = name_video(video.name) if video.corpus == PLAIN else name_video(video.name, video.subject, video.corpus)
        if video.key in failed:
            continue
        shift = 1 if video.first == 0 else 0  # some copies of a corpus count frames from 0
        for each in read_record(folder, video.key).intervals:
            yield SubmittedInterval(*names, each.kind, each.onset + shift, each.offset + shift, each.emotion)


def _finished(folder: Path) -> tuple[list[LongVideo], set[str]]:
    """The videos of a folder and the keys of those that failed; raises an error if it is not finished."""
    if not (folder / CONFIG).exists() or not (folder / ANNOTATION).exists():
        raise RunError(f"{folder} holds no spotted videos", fix="check the path, or create it with epir spot")
    videos = read_intervals(folder / ANNOTATION, corpus=PLAIN)
    failed = {each.key for each in read_failed(folder)}
    missing = [video for video in videos if video.key not in failed and not record_path(folder, video.key).exists()]
    if missing:
        raise RunError(
            f"{folder} is not finished: {len(videos) - len(missing)} of {counted(len(videos), 'video')} done",
            fix="run the same epir spot command to resume",
        )
    return videos, failed


def _labelled(videos: Sequence[LongVideo], path: Path) -> dict[str, LongVideo]:
    """The videos of another list by name."""
    labelled = {video.name: video for video in read_intervals(path, corpus=PLAIN)}
    names = {video.name for video in videos}
    if not names & labelled.keys():
        raise ConfigError(
            f"{path} and the spotted videos have no video in common",
            fix=f"use the names of the spotted videos, for example {min(names)}",
        )
    return labelled


def _shifted(interval: Interval, shift: int) -> Interval:
    apex = None if interval.apex is None else interval.apex + shift
    return replace(interval, onset=interval.onset + shift, apex=apex, offset=interval.offset + shift)


def _interval_rows(
    videos: Sequence[LongVideo], spotted: Mapping[str, Sequence[Spotted]]
) -> Iterator[Mapping[str, object]]:
    for video in videos:
        start = {
            "corpus": video.corpus,
            "subject": video.subject,
            "video": video.name,
            "path": str(video.path),
            "fps": f"{video.fps:.10g}",
            "first": video.first,
            "frames": "" if video.frames is None else video.frames,
        }
        intervals = spotted.get(video.key, ())
        yield from ({**start, **asdict(each)} for each in sorted(intervals, key=lambda each: (each.onset, each.offset)))
        if not intervals:
            yield start


def _csv(columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> str:
    return csv_text(columns, ([row.get(name) for name in columns] for row in rows))


def _read_settings(folder: Path) -> SpotSettings:
    try:
        return read_toml(SpotSettings, folder / CONFIG)
    except (ConfigError, TypeError):
        raise RunError(f"{folder} is not a folder of spotted videos", fix="choose another folder with --out") from None


def _clear(folder: Path) -> None:
    """Empty a folder of spotted videos; the settings are removed first."""
    for name in (CONFIG, ANNOTATION, INTERVALS, FAILED):
        (folder / name).unlink(missing_ok=True)
    shutil.rmtree(folder / VIDEOS, ignore_errors=True)
