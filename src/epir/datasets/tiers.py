"""Annotation tiers as ELAN (.eaf) and Praat (.TextGrid) files, which annotators open and correct.

A tier is a row of intervals that do not overlap; a tier of points has intervals of no length. Both libraries are an
extra: pip install -c constraints.txt ".[annotate]".
"""

import os
import sys
import warnings
from collections.abc import Iterable, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from epir.core.errors import DatasetError, MissingExtra
from epir.core.files import atomic_write
from epir.core.output import resolved

ENDINGS = (".eaf", ".textgrid")
SHORTEST = 0.001  # seconds: ELAN counts milliseconds


@dataclass(frozen=True)
class TierInterval:
    """A label from `start` to `end`, in seconds."""

    start: float
    end: float
    label: str


@dataclass(frozen=True)
class Tier:
    """A named row of intervals, in the order of time."""

    name: str
    intervals: tuple[TierInterval, ...]
    points: bool = False  # the start of each interval is meant


@dataclass(frozen=True)
class Tiers:
    """The tiers of one recording; ELAN files name their media."""

    tiers: tuple[Tier, ...]
    media: Path | None = None

    def get(self, name: str) -> Tier | None:
        """The tier of this name, whatever its case."""
        return next((tier for tier in self.tiers if tier.name.strip().casefold() == name.strip().casefold()), None)

    @property
    def names(self) -> str:
        """The names of all tiers, for messages."""
        return ", ".join(tier.name for tier in self.tiers)


def without_overlap(name: str, intervals: Iterable[TierInterval], *, points: bool = False) -> list[Tier]:
    """One tier, or several (`name 2`, ...) where intervals overlap: a tier can hold one at a time."""
    rows: list[list[TierInterval]] = []
    for each in sorted(intervals, key=lambda one: (one.start, one.end)):
        row = next((row for row in rows if row[-1].end <= each.start), None)
        if row is None:
            rows.append([each])
        else:
            row.append(each)
    names = [name if number == 1 else f"{name} {number}" for number in range(1, len(rows) + 1)]
    return [Tier(own, tuple(row), points) for own, row in zip(names, rows, strict=True)]


def write_eaf(path: Path, tiers: Sequence[Tier], media: Path | None = None) -> Path:
    """Write an ELAN file that refers to `media`."""
    made = _pympi().Eaf(author="epir")
    if media is not None:
        relative = Path(os.path.relpath(resolved(media), resolved(path).parent)).as_posix()
        made.add_linked_file(resolved(media).as_uri(), relpath=relative, mimetype=_mime(media))
    for tier in tiers:
        made.add_tier(tier.name)
        for each in tier.intervals:
            start = round(1000 * each.start)
            made.add_annotation(tier.name, start, max(round(1000 * each.end), start + 1), each.label)
    if tiers:
        made.remove_tier("default")  # which every new file has
    with atomic_write(path) as temporary:
        temporary.unlink()  # pympi would keep it as a backup
        made.to_file(str(temporary))
    return path


def write_textgrid(path: Path, tiers: Sequence[Tier], seconds: float) -> Path:
    """Write a Praat file of a recording of so many seconds, with interval tiers and point tiers."""
    textgrid = _praatio()
    end = max([seconds, *(each.end for tier in tiers for each in tier.intervals)]) + SHORTEST
    made = textgrid.Textgrid(0.0, end)
    for tier in tiers:
        if tier.points:
            places = [(each.start, each.label) for each in tier.intervals]
            made.addTier(textgrid.PointTier(tier.name, places, 0.0, end))
        else:
            parts = [(each.start, max(each.end, each.start + SHORTEST), each.label) for each in tier.intervals]
            made.addTier(textgrid.IntervalTier(tier.name, parts, 0.0, end))
    with atomic_write(path) as temporary:
        made.save(str(temporary), format="long_textgrid", includeBlankSpaces=True)
    return path


def read_tiers(path: Path) -> Tiers:
    """The tiers of an ELAN or Praat file."""
    if not path.is_file():
        raise DatasetError(f"there is no file {path}", fix="check the path")
    if path.suffix.casefold() == ".eaf":
        return _read_eaf(path)
    if path.suffix.casefold() == ".textgrid":
        return _read_textgrid(path)
    raise DatasetError(f"{path} is no annotation file", fix=f"give files that end in {', '.join(ENDINGS)} or .csv")


def _read_eaf(path: Path) -> Tiers:
    pympi = _pympi()
    with _readable(path, "ELAN"):
        made = pympi.Eaf(str(path), suppress_version_warning=True)
        tiers = []
        for name in made.get_tier_names():
            found = sorted(each[:3] for each in made.get_annotation_data_for_tier(name))
            tiers.append(
                Tier(name, tuple(TierInterval(a / 1000, b / 1000, str(label).strip()) for a, b, label in found))
            )
        linked = [media for each in made.get_linked_files() if (media := _linked(path, each)) is not None]
    return Tiers(tuple(tiers), linked[0] if linked else None)


def _linked(path: Path, link: dict[str, Any]) -> Path | None:
    """The media that an ELAN file names, where it still is, or beside the file."""
    relative, url = link.get("RELATIVE_MEDIA_URL") or "", link.get("MEDIA_URL") or ""
    places = [path.parent / relative] if relative else []
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
            found = tuple(TierInterval(start, end, label.strip()) for start, end, label in entries)
            tiers.append(Tier(tier.name, found, points))
    return Tiers(tuple(tiers))


@contextmanager
def _readable(path: Path, program: str) -> Any:
    """Any failure of a library to read a file, as one error; what it prints goes to stderr, beside the answer."""
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
