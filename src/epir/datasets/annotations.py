"""Convert a lab's annotations (ELAN, Praat, CSV) to a manifest, which can be loaded as a corpus.

Tiers are read by name. The defaults are the tiers that `epir predict --out` writes: `micro-expression` holds the
emotion from onset to offset, `apex` marks the apex, `action units` the units. The time stamps of the video, or else a
frame rate, convert times to frame numbers.
"""

import os
import sys
import warnings
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from epir.core.errors import DatasetError, MissingExtra
from epir.core.files import VIDEO_ENDINGS, atomic_write, csv_text, joined, read_rows
from epir.core.output import resolved

ENDINGS = (".eaf", ".textgrid")
SHORTEST = 0.001  # seconds: ELAN counts milliseconds
EMOTION, APEX, UNITS = "micro-expression", "apex", "action units"  # tiers
HEADER = ("clip", "subject", "emotion", "frames", "onset", "apex", "offset", "fps", "action_units")
COLUMNS: Mapping[str, tuple[str, ...]] = {  # of a CSV: field -> possible names
    "frames": ("frames", "file", "video"),
    "emotion": ("emotion", "class", "label"),
    "onset": ("onset",),
    "apex": ("apex",),
    "offset": ("offset",),
    "fps": ("fps",),
    "subject": ("subject", "person"),
    "action_units": ("action_units", "units", "aus"),
    "face": ("track",),
}


@dataclass(frozen=True)
class TierInterval:
    """A label from `start` to `end`, in seconds."""

    start: float
    end: float
    label: str


@dataclass(frozen=True)
class Tier:
    """A named row of intervals, sorted by time."""

    name: str
    intervals: tuple[TierInterval, ...]
    points: bool = False  # only the start of each interval counts
    person: str = ""  # ELAN's participant


@dataclass(frozen=True)
class Tiers:
    """The tiers of one recording; ELAN files name their media."""

    tiers: tuple[Tier, ...]
    media: Path | None = None

    def get(self, name: str) -> Tier | None:
        """The tier with this name, ignoring case."""
        return next((tier for tier in self.tiers if tier.name.strip().casefold() == name.strip().casefold()), None)

    @property
    def names(self) -> str:
        """The names of all tiers, for messages."""
        return ", ".join(tier.name for tier in self.tiers)


def without_overlap(name: str, intervals: Iterable[TierInterval], *, points: bool = False) -> list[Tier]:
    """One tier, or several (`name 2`, ...) if intervals overlap: within a tier they must not."""
    rows: list[list[TierInterval]] = []
    for interval in sorted(intervals, key=lambda one: (one.start, one.end)):
        row = next((row for row in rows if row[-1].end <= interval.start), None)
        if row is None:
            rows.append(row := [])
        row.append(interval)
    return [Tier(f"{name} {n}" if n > 1 else name, tuple(row), points) for n, row in enumerate(rows, start=1)]


def write_eaf(path: Path, tiers: Sequence[Tier], media: Path | None = None) -> Path:
    """Write an ELAN file that refers to `media`."""
    eaf = _pympi().Eaf(author="epir")
    if media is not None:
        relative = Path(os.path.relpath(resolved(media), resolved(path).parent)).as_posix()
        eaf.add_linked_file(resolved(media).as_uri(), relpath=relative, mimetype=_mime(media))
    for tier in tiers:
        eaf.add_tier(tier.name, part=tier.person or None)
        for interval in tier.intervals:
            start = round(1000 * interval.start)
            eaf.add_annotation(tier.name, start, max(round(1000 * interval.end), start + 1), interval.label)
    if tiers:
        eaf.remove_tier("default")  # which every new file has
    with atomic_write(path) as temporary:
        temporary.unlink()  # pympi would keep it as a backup
        eaf.to_file(str(temporary))
    return path


def write_textgrid(path: Path, tiers: Sequence[Tier], seconds: float) -> Path:
    """Write a Praat file with interval tiers and point tiers; `seconds` is the length of the recording."""
    textgrid = _praatio()
    end = max([seconds, *(interval.end for tier in tiers for interval in tier.intervals)]) + SHORTEST
    grid = textgrid.Textgrid(0.0, end)
    for tier in tiers:
        if tier.points:
            places = [(point.start, point.label) for point in tier.intervals]
            grid.addTier(textgrid.PointTier(tier.name, places, 0.0, end))
        else:
            parts = [(part.start, max(part.end, part.start + SHORTEST), part.label) for part in tier.intervals]
            grid.addTier(textgrid.IntervalTier(tier.name, parts, 0.0, end))
    with atomic_write(path) as temporary:
        grid.save(str(temporary), format="long_textgrid", includeBlankSpaces=True)
    return path


def read_tiers(path: Path) -> Tiers:
    """The tiers of an ELAN or Praat file."""
    if not path.is_file():
        raise DatasetError(f"there is no file {path}", fix="check the path")
    if path.suffix.casefold() == ".eaf":
        return _read_eaf(path)
    if path.suffix.casefold() == ".textgrid":
        return _read_textgrid(path)
    raise DatasetError(f"{path} is not an annotation file", fix=f"give files that end in {', '.join(ENDINGS)} or .csv")


def _read_eaf(path: Path) -> Tiers:
    pympi = _pympi()
    with _readable(path, "ELAN"):
        eaf = pympi.Eaf(str(path), suppress_version_warning=True)
        tiers = []
        for name in eaf.get_tier_names():
            spans = sorted(annotation[:3] for annotation in eaf.get_annotation_data_for_tier(name))
            intervals = tuple(TierInterval(a / 1000, b / 1000, str(label).strip()) for a, b, label in spans)
            person = str(eaf.get_parameters_for_tier(name).get("PARTICIPANT") or "").strip()
            tiers.append(Tier(name, intervals, person=person))
        linked = [media for link in eaf.get_linked_files() if (media := _linked(path, link)) is not None]
    return Tiers(tuple(tiers), linked[0] if linked else None)


def _linked(path: Path, link: dict[str, Any]) -> Path | None:
    """The media that an ELAN file links to, or the file of that name beside the ELAN file."""
    relative, url = link.get("RELATIVE_MEDIA_URL") or "", link.get("MEDIA_URL") or ""
    places = [joined(path.parent, relative)] if relative else []
    named = Path(unquote(url.removeprefix("file://"))) if url else None
    if named is not None:
        places += [named, path.parent / named.name]
    return next((place for place in places if place.exists()), named)


def _read_textgrid(path: Path) -> Tiers:
    textgrid = _praatio()
    tiers = []
    with _readable(path, "Praat"):
        for tier in textgrid.openTextgrid(str(path), includeEmptyIntervals=False).tiers:
            points = isinstance(tier, textgrid.PointTier)
            entries = [(e.time, e.time, e.label) if points else (e.start, e.end, e.label) for e in tier.entries]
            intervals = tuple(TierInterval(start, end, label.strip()) for start, end, label in entries)
            tiers.append(Tier(tier.name, intervals, points))
    return Tiers(tuple(tiers))


@contextmanager
def _readable(path: Path, program: str) -> Any:
    """Turn any error of a library that reads a file into a `DatasetError`, and send what it prints to stderr."""
    try:
        with redirect_stdout(sys.stderr):
            yield
    except Exception as error:
        raise DatasetError(f"{path} cannot be read: {error}", fix=f"open it in {program} and save it again") from None


def _mime(media: Path) -> str:
    return {".mp4": "video/mp4", ".mov": "video/quicktime", ".mpg": "video/mpeg"}.get(media.suffix.lower(), "video/*")


def _pympi() -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import pympi
    except ImportError:
        raise MissingExtra.named("pympi-ling, which reads and writes ELAN files,", "annotate") from None
    return pympi


def _praatio() -> Any:
    try:
        from praatio import textgrid
    except ImportError:
        raise MissingExtra.named("praatio, which reads and writes Praat files,", "annotate") from None
    return textgrid


@dataclass(frozen=True)
class Clock:
    """Converts seconds to frame numbers: by the time stamps of all frames if it has them, or else by the frame rate."""

    fps: float
    first: int = 0  # the number of the first frame
    last: int | None = None  # the number of the last frame, if known
    stamps: tuple[float, ...] = ()  # seconds, rising

    def frame(self, seconds: float) -> int:
        """The number of the frame nearest to this time; the frame rate counts on past the end of the time stamps."""
        if not self.stamps:
            return self.first + round(seconds * self.fps)
        late = seconds - self.stamps[-1]
        final = max([1 / self.fps, *(b - a for a, b in pairwise(self.stamps[-2:]))])  # how long the last frame is shown
        if late > final + SHORTEST:
            return self.first + len(self.stamps) - 1 + round(late * self.fps)
        after = bisect_left(self.stamps, seconds)
        near = range(max(0, after - 1), min(after + 1, len(self.stamps)))
        return self.first + min(near, key=lambda place: abs(self.stamps[place] - seconds))


@dataclass(frozen=True)
class TierNames:
    """The names of the tiers to read."""

    emotion: str = EMOTION
    apex: str = APEX
    units: str = UNITS


@dataclass(frozen=True)
class Imported:
    """The rows of a manifest, and the files without movements or with some past the end, each with a sentence."""

    rows: tuple[dict[str, str], ...]
    without_movements: Mapping[str, str]
    past_the_end: Mapping[str, str]
    unnamed: int  # videos that count as a person each, since nothing says who it is


def import_rows(
    files: Sequence[Path],
    clock_of: Callable[[Path], Clock],
    *,
    names: TierNames | None = None,
    subject: str | None = None,
    video: Path | None = None,
) -> Imported:
    """The movements of all files; without `subject`, each video counts as a different person."""
    names = names or TierNames()
    rows: list[dict[str, str]] = []
    without: dict[str, str] = {}
    late: dict[str, str] = {}
    for path in files:
        if path.suffix.casefold() == ".csv":
            movements = _csv_rows(path, subject)
        else:
            tiers = read_tiers(path)
            if not any(_is(tier.name, names.emotion) for tier in tiers.tiers):
                without[str(path)] = f"it has no tier {names.emotion!r}; its tiers are: {tiers.names or 'none'}"
                continue
            movements, beyond = _tier_rows(path, tiers, clock_of, names, subject, video)
            if beyond:
                late[str(path)] = beyond[0] + (f" (and {len(beyond) - 1} more)" if len(beyond) > 1 else "")
        if not movements:
            without[str(path)] = "no movement is annotated"
        rows += movements
    if not rows:
        raise DatasetError(
            "; ".join(f"{path}: {words}" for path, words in without.items()),
            fix="annotate a movement, or name its tier: --tier NAME",
        )
    called = video_names(row["frames"] for row in rows)
    unnamed = {os.path.abspath(row["frames"]) for row in rows if not row["subject"]}
    for row in rows:
        row["subject"] = (row["subject"] or called[os.path.abspath(row["frames"])]) + row.pop("face", "")
    return Imported(tuple(name_clips(rows)), without, late, len(unnamed))


def manifest_text(rows: Iterable[Mapping[str, str]], folder: Path, further: Sequence[str] = ()) -> str:
    """The CSV of a manifest in `folder`, with `further` columns; its paths are relative to `folder`."""
    columns = (*HEADER, *further)
    placed = ({**row, "frames": Path(os.path.relpath(row["frames"], folder)).as_posix()} for row in rows)
    return csv_text(columns, ([row.get(name, "") for name in columns] for row in placed))


def _tier_rows(
    path: Path,
    tiers: Tiers,
    clock_of: Callable[[Path], Clock],
    names: TierNames,
    subject: str | None,
    video: Path | None,
) -> tuple[list[dict[str, str]], list[str]]:
    """The rows of a file, and a sentence for each frame past the end of the video."""
    chosen = [tier for tier in tiers.tiers if _is(tier.name, names.emotion) and tier.intervals]
    if not chosen:
        return [], []
    place = video or tiers.media or _beside(path)
    if not place.exists():
        raise DatasetError(f"{path} annotates {place}, which does not exist", fix="give the video: --video FILE")
    clock = clock_of(place)
    rows: list[dict[str, str]] = []
    late: list[str] = []
    for tier in chosen:
        person = tier.name.strip()[len(names.emotion.strip()) :]  # ` of 1` if there are several people
        apexes, units = tiers.get(names.apex + person), tiers.get(names.units + person)
        for movement in tier.intervals:
            apex = _within(movement, apexes.intervals if apexes else ())
            unit = _within(movement, units.intervals if units else ())
            onset = clock.frame(movement.start)
            numbers = {
                "onset": onset,
                **({} if apex is None else {"apex": clock.frame(apex.start)}),
                "offset": max(clock.frame(movement.end), onset + 1),
            }
            late += [
                f"the {name} {number} is past the end of {place}, whose last frame is {clock.last}"
                for name, number in numbers.items()
                if clock.last is not None and number > clock.last
            ]
            rows.append(
                {
                    "subject": subject or tier.person,
                    "face": "" if tier.person and not subject else person.replace(" of ", "-"),
                    "emotion": movement.label,
                    "frames": str(place),
                    "apex": "",
                    **{name: str(number) for name, number in numbers.items()},
                    "fps": f"{clock.fps:g}",
                    "action_units": "" if unit is None else unit.label,
                }
            )
    return rows, late


def _is(name: str, tier: str) -> bool:
    """Whether `name` is the name of this tier, or of this tier for one of several people: `micro-expression of 1`."""
    name, tier = name.strip().casefold(), tier.strip().casefold()
    return name == tier or (name.startswith(f"{tier} of ") and name[len(tier) + 4 :].isdigit())


def _within(movement: TierInterval, others: Iterable[TierInterval]) -> TierInterval | None:
    """The first of the other intervals that begins within this movement."""
    return next((other for other in others if movement.start - 1e-3 <= other.start <= movement.end + 1e-3), None)


def _beside(path: Path) -> Path:
    """The video, or the folder of frames, with the same name beside a file."""
    candidates = [path.with_suffix(ending) for ending in VIDEO_ENDINGS]
    return next((place for place in [*candidates, path.with_suffix("")] if place.exists()), candidates[0])


def _csv_rows(path: Path, subject: str | None) -> list[dict[str, str]]:
    try:
        lines = read_rows(path, (), error=DatasetError, fix="save it as CSV with commas, in UTF-8")
    except FileNotFoundError:
        raise DatasetError(f"there is no file {path}", fix="check the path") from None
    if not lines:
        return []
    known = {name.strip().casefold(): name for name in lines[0] if name}
    columns = {field: next((known[name] for name in spelt if name in known), None) for field, spelt in COLUMNS.items()}
    missing = [field for field in ("frames", "emotion", "onset") if columns[field] is None]
    if missing:
        raise DatasetError(
            f"{path} has no column {missing[0]}", fix="name the columns file, emotion, onset, apex, offset"
        )
    rows = []
    for cells in lines:
        row = {field: (cells.get(name) or "").strip() if name else "" for field, name in columns.items()}
        is_rejected = (cells.get(known.get("status", "")) or "").strip().casefold() == "rejected"
        if not row["onset"] or is_rejected:
            continue
        place = Path(row["frames"])
        place = place if place.is_absolute() or os.path.exists(place) else joined(path.parent, row["frames"])
        if not place.exists():
            raise DatasetError(
                f"{path} annotates {place}, which does not exist",
                fix=f"correct its column {columns['frames']}: paths of videos or folders, from the CSV or from here",
            )
        row |= {key: row[key].removesuffix(".0") for key in ("onset", "apex", "offset", "face")}
        rows.append({**row, "frames": str(place)})
    faces: dict[str, set[str]] = {}
    for row in rows:
        faces.setdefault(row["frames"], set()).add(row["face"])
    for row in rows:
        is_named = bool(row["subject"]) and subject is None
        row["face"] = f"-{row['face'] or 0}" if len(faces[row["frames"]]) > 1 and not is_named else ""
        row["subject"] = subject or row["subject"]
    return rows


def name_clips(rows: Iterable[dict[str, str]]) -> list[dict[str, str]]:
    """The rows with clip names, numbered per video: `a_01`, `a_02`."""
    rows = list(rows)
    names = video_names(row["frames"] for row in rows)
    counts: Counter[str] = Counter()
    named = []
    for row in rows:
        name = names[os.path.abspath(row["frames"])]
        counts[name] += 1
        named.append({"clip": f"{name}_{counts[name]:02d}", **row})
    return named


def video_names(paths: Iterable[str]) -> dict[str, str]:
    """A name for each absolute path: that of the folder, or of the file without its ending.

    If others share it, the folders above come first, as many as are needed: `anna-interview` and `ben-interview`.
    """
    spellings = {path: tuple(_spellings(Path(path))) for path in map(os.path.abspath, paths)}
    counts = Counter(name for names in spellings.values() for name in set(names))
    return {path: next((name for name in names if counts[name] == 1), path) for path, names in spellings.items()}


def _spellings(path: Path) -> Iterator[str]:
    """Possible names of a video or folder of frames, the shortest first."""
    above = path.parts[1:-1]
    for name in [path.name] if os.path.isdir(path) else [path.stem, path.name]:  # a.mp4 and a.mkv in one folder
        for level in range(len(above), -1, -1):
            yield "-".join([*above[level:], name])
