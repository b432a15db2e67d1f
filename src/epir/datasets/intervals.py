"""Long videos, the movements annotated in them, and the CSV that lists both: the ground truth of spotting.

Frame numbers are those of the corpus, and both ends belong to the interval: the onset is its first frame, the offset
its last. The number of a frame is the last integer of its file name; most corpora of long videos start at 1, and
`LongVideo.first` holds the first number. Frame n of a sheet is index n - first in a video file.

`intervals.csv` has one row per movement. A video without movements has one row with an empty `kind`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NoReturn, get_args

from epir.core.errors import DatasetError, is_machine_fault
from epir.core.files import csv_text, joined, write_text
from epir.datasets.folders import check_unpacked
from epir.datasets.sheet import SheetRow, read_sheet
from epir.datasets.spelling import frame_number, frame_of_file, frame_rate, plain

Kind = Literal["micro", "macro"]
KINDS: tuple[Kind, ...] = get_args(Kind)
COLUMNS = (
    "corpus", "subject", "video", "path", "fps", "kind", "onset", "apex", "offset", "emotion", "first", "frames"
)  # fmt: skip
OPTIONAL = ("corpus", "apex", "emotion", "first", "frames")
NAME = "intervals.csv"


@dataclass(frozen=True, slots=True)
class Interval:
    """One annotated movement; `apex` is `None` if the corpus gives none."""

    video: str
    subject: str
    kind: Kind
    onset: int
    apex: int | None
    offset: int
    emotion: str = ""

    def __post_init__(self) -> None:
        if self.offset < self.onset:
            raise DatasetError(
                f"a movement in the video {self.video} of {self.subject} ends at {self.offset}, "
                f"before its onset {self.onset}",
                fix="correct its onset or offset",
            )

    def __len__(self) -> int:
        return self.offset - self.onset + 1


@dataclass(frozen=True, slots=True)
class LongVideo:
    """One recording and its annotated movements; `intervals` are sorted by onset."""

    corpus: str
    subject: str
    name: str
    path: Path  # a folder of pictures or a video file; if this copy lacks it, the expected path
    fps: float
    frames: int | None  # from the first frame to the last, gaps included; `None` if the video must be decoded to know
    intervals: tuple[Interval, ...] = ()
    first: int = 1  # the number of the first frame

    @property
    def person(self) -> str:
        """Corpus and subject, as in `Clip.person`."""
        return f"{self.corpus}/{self.subject}"

    @property
    def key(self) -> str:
        """The video's name among all corpora."""
        return f"{self.corpus}/{self.subject}/{self.name}"

    def of_kind(self, kind: Kind) -> tuple[Interval, ...]:
        """The micro- or the macro-movements."""
        return tuple(interval for interval in self.intervals if interval.kind == kind)


def in_order(intervals: Iterable[Interval]) -> tuple[Interval, ...]:
    """The intervals sorted by onset, then offset, then kind."""
    return tuple(sorted(intervals, key=lambda one: (one.onset, one.offset, one.kind)))


def find_intervals(root: Path) -> Path:
    """The CSV of intervals: `root` itself if it is a file, else `root/intervals.csv`."""
    check_unpacked(root)
    path = root if root.is_file() else root / NAME
    if not path.is_file():
        raise DatasetError(
            f"there is no {NAME} in {root}",
            fix=f"write one row per movement with the columns {','.join(COLUMNS[:10])}, or: epir synth {root} --long",
        )
    return path


def read_intervals(path: Path, *, corpus: str = "manifest") -> list[LongVideo]:
    """The videos of one CSV, in its order; paths are relative to it."""
    try:
        return _read(path, corpus)
    except (OSError, ValueError) as error:  # a path that no disk takes: too long, a loop of links
        if is_machine_fault(error):
            raise
        raise DatasetError(f"{path} holds an impossible path: {error}", fix="correct its column path") from None


def _read(path: Path, corpus: str) -> list[LongVideo]:
    fields = {name: (name,) for name in COLUMNS}
    sheet = read_sheet(path, {**fields, "clip": ("video",)}, optional=(*OPTIONAL, "video"))
    videos: dict[tuple[str, str, str], LongVideo] = {}
    movements: dict[tuple[str, str, str], list[Interval]] = {}
    for row in sheet.rows:
        video = _video(path, row, corpus)
        key = (video.corpus, video.subject, video.name)
        known = videos.setdefault(key, video)
        if (known.path, known.fps) != (video.path, video.fps):
            _fail(path, row, f"{video.key} has another path or fps than in an earlier row", "use one path and fps")
        movements.setdefault(key, [])
        if row.cells["kind"]:
            movements[key].append(_interval(path, row, video))
    if not videos:
        raise DatasetError(f"{path} lists no videos", fix="write one row per movement below the header")
    return [replace(one, intervals=in_order(movements[key])) for key, one in videos.items()]


def write_intervals(path: Path, videos: Iterable[LongVideo]) -> None:
    """Write the videos to a CSV; paths below its folder are written relative to it."""
    rows: list[tuple[object, ...]] = []
    for video in videos:
        place = video.path.relative_to(path.parent) if path.parent in video.path.parents else video.path
        start = (video.corpus, video.subject, video.name, place.as_posix(), f"{video.fps:.10g}")
        end = (video.first, "" if video.frames is None else video.frames)
        for one in video.intervals:
            apex = "" if one.apex is None else one.apex
            rows.append((*start, one.kind, one.onset, apex, one.offset, one.emotion, *end))
        if not video.intervals:
            rows.append((*start, "", "", "", "", "", *end))
    write_text(path, csv_text(COLUMNS, rows))


def first_and_length(numbers: Iterable[int]) -> tuple[int, int] | None:
    """The first frame number, and the number of frames from there to the last, gaps included; `None` for no frames."""
    present = list(numbers)
    return (min(present), max(present) - min(present) + 1) if present else None


def _video(path: Path, row: SheetRow, corpus: str) -> LongVideo:
    cells = row.cells
    for name in ("subject", "clip", "path"):
        if not cells[name]:
            _fail(path, row, f"the {'video' if name == 'clip' else name} is empty", "fill in that cell")
    try:
        fps = frame_rate(cells["fps"])
    except ValueError:
        fps = None
    if fps is None:
        _fail(path, row, f"the fps is {cells['fps']!r}, which is not a frame rate", "for example 30")
    place = joined(path.parent, cells["path"])
    there = first_and_length(_numbers(place)) or (1, None)
    first, frames = _number(path, row, "first"), _number(path, row, "frames")
    return LongVideo(
        corpus=cells.get("corpus") or corpus,
        subject=cells["subject"],
        name=cells["clip"],
        path=place,
        fps=fps,
        frames=there[1] if frames is None else frames,
        first=there[0] if first is None else first,
    )


def _numbers(place: Path) -> Iterator[int]:
    """The frame numbers in a folder of pictures; nothing for a video."""
    if place.is_dir():
        yield from (number for one in place.iterdir() if (number := frame_of_file(one.name)) is not None)


def _interval(path: Path, row: SheetRow, video: LongVideo) -> Interval:
    kind = row.cells["kind"].casefold()
    if kind not in KINDS:
        _fail(path, row, f"the kind is {row.cells['kind']!r}", f"use one of: {', '.join(KINDS)}")
    onset, offset = _number(path, row, "onset"), _number(path, row, "offset")
    if onset is None or offset is None:
        _fail(path, row, f"the {'onset' if onset is None else 'offset'} is empty", "give both ends of a movement")
    if offset < onset:
        _fail(path, row, f"the offset {offset} is before the onset {onset}", "correct one of the two")
    apex = _number(path, row, "apex")
    return Interval(video.name, video.subject, kind, onset, apex, offset, plain(row.cells.get("emotion")).casefold())


def _number(path: Path, row: SheetRow, name: str) -> int | None:
    try:
        return frame_number(row.cells.get(name), zero=True)
    except ValueError:
        _fail(path, row, f"the {name} is {row.cells[name]!r}, which is not a frame number", "correct that cell")


def _fail(path: Path, row: SheetRow, problem: str, fix: str) -> NoReturn:
    raise DatasetError(f"{path}, row {row.number}: {problem}", fix=fix)
