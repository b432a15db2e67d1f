"""Annotations of a lab's own (ELAN, Praat, CSV) -> a manifest, so that they become a corpus.

Tiers are read by name, those of `epir predict --out` unless others are given: `micro-expression` holds the emotion from
onset to offset, `apex` marks the apex, `action units` the units. Times become frame numbers by the clock of the video.
"""

import csv
import io
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from epir.core.errors import DatasetError
from epir.core.reading import read_text
from epir.datasets.tiers import TierInterval, Tiers, read_tiers

EMOTION, APEX, UNITS = "micro-expression", "apex", "action units"  # tiers
HEADER = ("clip", "subject", "emotion", "frames", "onset", "apex", "offset", "fps", "action_units")
VIDEOS = (".mp4", ".mov", ".m4v", ".mkv", ".webm", ".avi", ".wmv", ".mpg")
COLUMNS: Mapping[str, tuple[str, ...]] = {  # of a CSV, by what they may be called
    "frames": ("frames", "file", "video"),
    "emotion": ("emotion", "class", "label"),
    "onset": ("onset",),
    "apex": ("apex",),
    "offset": ("offset",),
    "fps": ("fps",),
    "subject": ("subject", "person"),
    "action_units": ("action_units", "units", "aus"),
}


@dataclass(frozen=True)
class Clock:
    """How seconds become frame numbers: frames a second, and the number of the first frame."""

    fps: float
    first: int = 0

    def frame(self, seconds: float) -> int:
        """The number of the frame at this time."""
        return self.first + round(seconds * self.fps)


@dataclass(frozen=True)
class TierNames:
    """Which tiers hold what."""

    emotion: str = EMOTION
    apex: str = APEX
    units: str = UNITS


@dataclass(frozen=True)
class Imported:
    """The rows of a manifest, and the files without any movement, each with a sentence."""

    rows: tuple[dict[str, str], ...]
    without_movements: Mapping[str, str]


def import_rows(
    files: Sequence[Path],
    clock_of: Callable[[Path], Clock],
    *,
    names: TierNames | None = None,
    subject: str | None = None,
    video: Path | None = None,
) -> Imported:
    """The movements of all files; without `subject` each video is taken to show a person of its own."""
    names = names or TierNames()
    rows: list[dict[str, str]] = []
    without: dict[str, str] = {}
    for path in files:
        if path.suffix.casefold() == ".csv":
            movements = _csv_rows(path, subject)
        else:
            tiers = read_tiers(path)
            if not any(_is(tier.name, names.emotion) for tier in tiers.tiers):
                without[str(path)] = f"it has no tier {names.emotion!r} but {tiers.names or 'none at all'}"
                continue
            movements = _tier_rows(path, tiers, clock_of, names, subject, video)
        if not movements:
            without[str(path)] = "no movement is annotated"
        rows += movements
    if not rows:
        raise DatasetError(
            "; ".join(f"{path}: {words}" for path, words in without.items()),
            fix="annotate a movement, or name its tier: --tier NAME",
        )
    return Imported(tuple(_named(rows)), without)


def manifest_text(rows: Iterable[Mapping[str, str]], folder: Path) -> str:
    """The CSV of a manifest in `folder`; paths are relative to it."""
    text = io.StringIO()
    writer = csv.DictWriter(text, HEADER, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({**row, "frames": Path(os.path.relpath(row["frames"], folder)).as_posix()})
    return text.getvalue()


def _tier_rows(
    path: Path,
    tiers: Tiers,
    clock_of: Callable[[Path], Clock],
    names: TierNames,
    subject: str | None,
    video: Path | None,
) -> list[dict[str, str]]:
    chosen = [tier for tier in tiers.tiers if _is(tier.name, names.emotion) and tier.intervals]
    if not chosen:
        return []
    place = video or tiers.media or _beside(path)
    if not place.exists():
        raise DatasetError(f"{path} is about {place}, which is not there", fix="give the video: --video FILE")
    clock = clock_of(place)
    rows = []
    for tier in chosen:
        person = tier.name.strip()[len(names.emotion.strip()) :]  # ` of 1` where there are several people
        apexes, units = tiers.get(names.apex + person), tiers.get(names.units + person)
        for each in tier.intervals:
            apex = _within(each, apexes.intervals if apexes else ())
            unit = _within(each, units.intervals if units else ())
            onset, offset = clock.frame(each.start), clock.frame(each.end)
            rows.append(
                {
                    "subject": (subject or place.stem) + person.replace(" of ", "-"),
                    "emotion": each.label,
                    "frames": str(place),
                    "onset": str(onset),
                    "apex": "" if apex is None else str(clock.frame(apex.start)),
                    "offset": str(max(offset, onset + 1)),
                    "fps": f"{clock.fps:g}",
                    "action_units": "" if unit is None else unit.label,
                }
            )
    return rows


def _is(name: str, wanted: str) -> bool:
    """Whether a tier is the wanted one, or that of one of several people: `micro-expression of 1`."""
    own, known = name.strip().casefold(), wanted.strip().casefold()
    return own == known or (own.startswith(f"{known} of ") and own[len(known) + 4 :].isdigit())


def _within(each: TierInterval, others: Iterable[TierInterval]) -> TierInterval | None:
    """The first of the other intervals that begins within this one."""
    return next((other for other in others if each.start - 1e-3 <= other.start <= each.end + 1e-3), None)


def _beside(path: Path) -> Path:
    """The video of the same name beside a file, or a folder of frames of that name."""
    found = [path.with_suffix(ending) for ending in VIDEOS]
    return next((place for place in [*found, path.with_suffix("")] if place.exists()), found[0])


def _csv_rows(path: Path, subject: str | None) -> list[dict[str, str]]:
    if not path.is_file():
        raise DatasetError(f"there is no file {path}", fix="check the path")
    text = read_text(path, error=DatasetError, fix="save it as CSV with commas, in UTF-8")
    reader = csv.DictReader(io.StringIO(text, newline=""))
    try:
        lines = list(reader)
    except csv.Error as error:
        raise DatasetError(f"{path} is not a table: {error}", fix="save it as CSV with commas, in UTF-8") from None
    known = {name.strip().casefold(): name for name in reader.fieldnames or ()}
    found = {own: next((known[name] for name in spelt if name in known), None) for own, spelt in COLUMNS.items()}
    missing = [own for own in ("frames", "emotion", "onset") if found[own] is None]
    if missing:
        raise DatasetError(
            f"{path} has no column {missing[0]}", fix="name the columns file, emotion, onset, apex, offset"
        )
    rows = []
    for cells in lines:
        row = {own: (cells.get(name) or "").strip() if name else "" for own, name in found.items()}
        is_rejected = (cells.get(known.get("status", "")) or "").strip().casefold() == "rejected"
        if not row["onset"] or is_rejected:
            continue
        place = Path(row["frames"])
        place = place if place.is_absolute() or os.path.exists(place) else path.parent / place
        row["subject"] = subject or row["subject"] or place.stem
        row |= {key: row[key].removesuffix(".0") for key in ("onset", "apex", "offset")}
        rows.append({**row, "frames": str(place)})
    return rows


def _named(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """The rows with a clip name each, counted for each video."""
    counts: dict[str, int] = {}
    named = []
    for row in rows:
        stem = Path(row["frames"]).stem
        counts[stem] = counts.get(stem, 0) + 1
        named.append({"clip": f"{stem}_{counts[stem]:02d}", **row})
    return named
