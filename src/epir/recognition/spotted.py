"""A folder of spotted videos: it knows which videos are done; an interruption costs the running ones only.

    SPOTTED/config.toml      how it was spotted
    SPOTTED/annotation.csv   every video, with the corpus's own intervals where it is annotated
    SPOTTED/videos/*.json    one file per video, written when it is done
    SPOTTED/intervals.csv    everything that was spotted, in the form of annotation.csv and with further columns
    SPOTTED/failed.csv       videos that could not be read, and why; the same command tries them again

Frames are counted as in `epir.datasets.intervals`; both ends belong to an interval.
"""

import csv
import io
import json
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import quote

from epir.core.config import differences, read_toml, write_toml
from epir.core.errors import ConfigError, EpirError, RunError
from epir.core.files import write_text
from epir.core.output import SPOTTED, check_folder, check_place, mark, real
from epir.core.reading import read_json, read_rows
from epir.datasets.intervals import COLUMNS, Interval, Kind, LongVideo, in_order, read_intervals, write_intervals
from epir.evaluation.spotting import SpottedVideo
from epir.evaluation.spotting_table import SHIPPED
from epir.evaluation.store import locked
from epir.models.folder import WEIGHTS, shipped_folder, weights_digest
from epir.spotting.settings import Sensitivity
from epir.spotting.submission import SubmittedInterval, name_video

CONFIG, ANNOTATION, VIDEOS, INTERVALS, FAILED = "config.toml", "annotation.csv", "videos", "intervals.csv", "failed.csv"
FURTHER = ("onset_s", "apex_s", "offset_s", "probability", "strength", "region", "score")  # columns of intervals.csv
FAILED_COLUMNS = ("corpus", "subject", "video", "problem", "fix")
PLAIN = "videos"  # the corpus of videos that were given one by one
RESUME = "run the same command to resume"


@dataclass(frozen=True)
class SpotSettings:
    """How videos are spotted: what must be equal for a folder to be resumed."""

    weights: str  # digest of the model's weights, which give the classes
    sensitivity: Sensitivity = "normal"
    detector: str = ""  # the model's own
    fps: float = 0.0  # frames a second; 0 takes those of the corpus or of the file


@dataclass(frozen=True)
class Spotted:
    """One interval with what is known of it; `emotion`, `score` and `probability` are of micro-expressions."""

    kind: Kind
    onset: int
    apex: int
    offset: int
    onset_s: float
    apex_s: float
    offset_s: float
    strength: float  # displacement at the apex, as a share of the face's width
    region: str
    emotion: str = ""  # the class with the highest score
    score: float | None = None
    probability: float | None = None  # of being a micro-expression at all


@dataclass(frozen=True)
class SpottedRecord:
    """What was spotted in one video."""

    corpus: str
    subject: str
    video: str
    path: str
    intervals: tuple[Spotted, ...]
    warnings: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """The video's name among all corpora."""
        return f"{self.corpus}/{self.subject}/{self.video}"

    def as_intervals(self) -> tuple[Interval, ...]:
        """The intervals in the form of an annotation."""
        return in_order(
            Interval(self.video, self.subject, each.kind, each.onset, each.apex, each.offset, each.emotion)
            for each in self.intervals
        )


@dataclass(frozen=True)
class FailedVideo:
    """A video that could not be spotted, and why."""

    corpus: str
    subject: str
    video: str
    problem: str
    fix: str

    @property
    def key(self) -> str:
        """The video's name among all corpora."""
        return f"{self.corpus}/{self.subject}/{self.video}"


@contextmanager
def open_spotted(
    folder: str | Path, settings: SpotSettings, *, force: bool = False, inputs: Iterable[str | Path] = ()
) -> Iterator["SpottedStore"]:
    """The folder to write to, locked for this process; one that was spotted in another way is refused."""
    folder = Path(folder)
    check_folder(real(folder), SPOTTED, force=True, inputs=inputs)
    check_place(real(folder) / CONFIG)
    with locked(folder):
        if force or not (folder / CONFIG).exists():  # without settings, it is what a killed --force left
            _clear(folder)
        mark(folder, SPOTTED)
        if not (folder / CONFIG).exists():
            write_toml(settings, folder / CONFIG)
        changed = differences(_read_settings(folder), settings)
        if changed:
            raise RunError(
                f"{folder} was spotted with other settings ({'; '.join(changed)})",
                fix="choose another folder with --out, use the old settings, or start over with --force",
            )
        for left_over in (folder / VIDEOS).glob(".*"):  # of a process that was killed while writing
            left_over.unlink()
        yield SpottedStore(folder)


class SpottedStore:
    """The finished videos of one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add_videos(self, videos: Sequence[LongVideo]) -> None:
        """Note which videos there are, with their annotation; those of earlier calls stay."""
        known = {video.key: video for video in self._annotation()}
        known |= {video.key: video for video in videos}
        write_intervals(self.folder / ANNOTATION, known.values())

    def missing(self, videos: Sequence[LongVideo]) -> list[LongVideo]:
        """Those that are not done yet, or of which another file was spotted."""
        return [video for video in videos if not self._is_done(video)]

    def finish(self, failed: Sequence[FailedVideo]) -> None:
        """Write all intervals into one file, and the list of failures."""
        videos = self._annotation()
        lasting = {each.key: each for each in read_failed(self.folder)}
        lasting |= {each.key: each for each in failed}
        rows = [asdict(each) for each in lasting.values() if not record_path(self.folder, each.key).exists()]
        write_text(self.folder / FAILED, _csv(FAILED_COLUMNS, rows))
        write_text(self.folder / INTERVALS, _csv((*COLUMNS, *FURTHER), list(_interval_rows(self.folder, videos))))

    def _annotation(self) -> list[LongVideo]:
        path = self.folder / ANNOTATION
        return read_intervals(path, corpus=PLAIN) if path.exists() else []

    def _is_done(self, video: LongVideo) -> bool:
        path = record_path(self.folder, video.key)
        return path.exists() and read_record(path).path == str(video.path)


def record_path(folder: Path, key: str) -> Path:
    """The file of a video."""
    return folder / VIDEOS / f"{quote(key, safe=' ()+,=^')}.json"


def write_record(folder: Path, record: SpottedRecord) -> None:
    """Write what was spotted in one video, in one step."""
    write_text(record_path(folder, record.key), json.dumps(asdict(record), indent=1, ensure_ascii=False) + "\n")


def read_record(path: Path) -> SpottedRecord:
    """What was spotted in one video."""
    try:
        values = read_json(path, error=RunError, fix=f"delete that file, then {RESUME}")
        intervals = tuple(Spotted(**each) for each in values.pop("intervals"))
        return SpottedRecord(**{**values, "warnings": tuple(values["warnings"])}, intervals=intervals)
    except (ValueError, KeyError, TypeError, FileNotFoundError) as error:
        raise RunError(f"{path} is damaged: {error}", fix=f"delete that file, then {RESUME}") from None


def read_failed(folder: Path) -> tuple[FailedVideo, ...]:
    """The videos that could not be spotted."""
    path = folder / FAILED
    if not path.exists():
        return ()
    rows = read_rows(path, FAILED_COLUMNS, error=RunError, fix=f"delete that file, then {RESUME}")
    return tuple(FailedVideo(**{name: row[name] for name in FAILED_COLUMNS}) for row in rows)


def failure(video: LongVideo, error: EpirError) -> FailedVideo:
    """The video that `error` stopped."""
    problem, fix = (" ".join(text.split()) for text in (error.problem, error.fix))
    return FailedVideo(video.corpus, video.subject, video.name, problem, fix)


def read_spotted(folder: str | Path, annotation: str | Path | None = None) -> tuple[list[SpottedVideo], list[str]]:
    """Every video of a finished folder with its labels, and words about it; a failed video has no predictions.

    `annotation` is another list of intervals to compare with, in the form of `annotation.csv`.
    """
    folder, words = Path(folder), []
    videos, failed = _finished(folder), {each.key for each in read_failed(folder)}
    if annotation is not None:
        videos = _with_labels(videos, read_intervals(Path(annotation), corpus=PLAIN), Path(annotation))
    if not any(video.intervals for video in videos):
        raise RunError(
            f"the videos of {folder} have no annotation to compare with",
            fix="spot an annotated corpus (epir spot CORPUS ROOT), or give a list of intervals with --annotation",
        )
    found = []
    for video in videos:
        done = () if video.key in failed else read_record(record_path(folder, video.key)).as_intervals()
        found.append(SpottedVideo(video.corpus, video.subject, video.name, video.intervals, done))
    if failed:
        words.append(f"{len(failed)} of {len(videos)} videos could not be spotted and count as without predictions.")
    return found, words


def weights_of(folder: str | Path) -> str:
    """`shipped`, or the beginning of the digest of the weights that gave the classes."""
    used = _read_settings(Path(folder)).weights
    own = shipped_folder()
    is_shipped = (own / WEIGHTS).exists() and weights_digest(own) == used
    return SHIPPED if is_shipped else f"sha256 {used[:8]}"


def refuse_twice(folders: Sequence[Path]) -> None:
    """Refuse folders that share a video: it would count twice."""
    seen: dict[str, Path] = {}
    for folder in folders:
        for video in _finished(folder):
            if seen.setdefault(video.key, folder) is not folder:
                raise RunError(
                    f"the video {video.key} is in {seen[video.key]} and in {folder}", fix="give each video once"
                )


def to_submit(folder: str | Path) -> Iterator[SubmittedInterval]:
    """Every spotted interval of a finished folder, named and counted as the challenges do."""
    folder = Path(folder)
    failed = {each.key for each in read_failed(folder)}
    for video in _finished(folder):
        names = name_video(video.name) if video.corpus == PLAIN else name_video(video.name, video.subject, video.corpus)
        if video.key in failed:
            continue
        shift = 1 if video.first == 0 else 0  # the files of some copies are counted from 0
        for each in read_record(record_path(folder, video.key)).intervals:
            yield SubmittedInterval(*names, each.kind, each.onset + shift, each.offset + shift, each.emotion)


def _finished(folder: Path) -> list[LongVideo]:
    """The videos of a folder; refuses one that is not finished."""
    if not (folder / CONFIG).exists() or not (folder / ANNOTATION).exists():
        raise RunError(f"{folder} holds no spotted videos", fix="check the path, or create it with epir spot")
    videos = read_intervals(folder / ANNOTATION, corpus=PLAIN)
    failed = {each.key for each in read_failed(folder)}
    missing = [video for video in videos if video.key not in failed and not record_path(folder, video.key).exists()]
    if missing:
        raise RunError(
            f"{folder} is not finished: {len(videos) - len(missing)} of {len(videos)} videos are done",
            fix="run the same epir spot command to resume",
        )
    return videos


def _with_labels(videos: Sequence[LongVideo], labelled: Sequence[LongVideo], path: Path) -> list[LongVideo]:
    """The videos with labels of another list, by name; those that it lacks have none."""
    own = {video.name: video for video in labelled}
    names = {video.name for video in videos}
    if not names & own.keys():
        raise ConfigError(
            f"{path} and the spotted videos have no video in common",
            fix=f"name videos as they were spotted, for example {min(names)}",
        )
    return [own.get(video.name, video) for video in videos]


def _interval_rows(folder: Path, videos: Sequence[LongVideo]) -> Iterator[Mapping[str, object]]:
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
        path = record_path(folder, video.key)
        found = read_record(path).intervals if path.exists() else ()
        yield from ({**start, **asdict(each)} for each in sorted(found, key=lambda each: (each.onset, each.offset)))
        if not found:
            yield start


def _csv(columns: Sequence[str], rows: Sequence[Mapping[str, object]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _read_settings(folder: Path) -> SpotSettings:
    try:
        return read_toml(SpotSettings, folder / CONFIG)
    except (ConfigError, TypeError):
        raise RunError(f"{folder} is no folder of spotted videos", fix="choose another folder with --out") from None


def _clear(folder: Path) -> None:
    """Empty a folder of spotted videos, its settings first."""
    for name in (CONFIG, ANNOTATION, INTERVALS, FAILED):
        (folder / name).unlink(missing_ok=True)
    shutil.rmtree(folder / VIDEOS, ignore_errors=True)
