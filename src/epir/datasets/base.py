"""A corpus as read from disk: its clips, the corrections applied to them, and the defects of this copy.

`corrections.csv` holds corrected values, `known.csv` the flaws that every copy of a release has.
"""

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from epir.core.errors import DatasetError
from epir.core.files import PICTURE_ENDINGS
from epir.core.records import Clip, conflicting_people, fill_people
from epir.core.words import missing_frames, ranges
from epir.datasets.folders import Tree
from epir.datasets.intervals import LongVideo
from epir.datasets.spelling import frame_number, frame_rate, is_archive, not_a_number, plain, whole

FRAMES = ("onset", "apex", "offset")

# Kinds of defects:
NO_FRAMES = ("no folder", "no frames")  # this copy lacks the clip
REFUSED = ("listed twice", "empty cell", "two people")  # must be corrected before any clip can be prepared
UNUSABLE = ("no number", "order")  # the clip is left out: its key frames are unknown
NOTED = ("units", "emotion", "no onset", "no offset")  # the clip is prepared, with a note


@dataclass(frozen=True, slots=True)
class Correction:
    """One corrected value of an annotation sheet, and why."""

    clip: str  # the clip's key, as the sheet names it
    field: str
    old: str
    new: str
    reason: str


@dataclass(frozen=True, slots=True)
class Defect:
    """One problem of a clip; `known` marks a problem of the release itself, not of this copy."""

    clip: str
    problem: str
    known: bool = False
    kind: str = field(default="", compare=False)  # as known.csv names it


@dataclass(frozen=True, repr=False)
class Corpus:
    """A corpus as found on this disk."""

    name: str
    root: Path
    sheet: str  # the version of the annotations: `2014`, `2019`, `v2`; for SMIC its part
    clips: tuple[Clip, ...]
    corrected: tuple[Correction, ...] = ()
    defects: tuple[Defect, ...] = ()
    tree: str = ""  # the kind of frames: `cropped`, `raw`, ...
    notes: tuple[str, ...] = ()  # choices made while reading, such as which of two sheets was read
    layout: str = ""  # if no clip has frames: the expected layout, and what is there instead
    videos: tuple[LongVideo, ...] = ()  # of a corpus of long videos; `clips` are its micro-expressions
    expected: Mapping[str, Any] | None = None  # counts of a complete copy, if a user's loader gives them
    code: Mapping[str, str] = field(default_factory=dict)  # a user's loader: name, digest, version

    def __len__(self) -> int:
        return len(self.clips)

    def __repr__(self) -> str:
        tree = f", {self.tree} frames" if self.tree else ""
        present, clips = len(self.present), str(len(self.clips))
        clips = clips if present == len(self.clips) else f"{present} of {clips}"
        return (
            f"Corpus({self.name}, sheet {self.sheet}{tree}: clips {clips}, people {len(self.people)}, "
            f"corrected {len(self.corrected)}, defects {len(self.faults)})"
        )

    @property
    def present(self) -> tuple[Clip, ...]:
        """The clips whose frames are in this copy (or missing from every copy of the release)."""
        absent = {defect.clip for defect in self.faults if defect.kind in NO_FRAMES}
        return tuple(clip for clip in self.clips if clip.key not in absent)

    @property
    def unusable(self) -> dict[str, str]:
        """The clips whose onset, apex or offset is impossible, by key, with the problem."""
        problems: dict[str, str] = {}
        for defect in self.faults:
            if defect.kind in UNUSABLE:
                problems[defect.clip] = "; ".join(filter(None, [problems.get(defect.clip), defect.problem]))
        return problems

    @property
    def people(self) -> tuple[str, ...]:
        """Everyone in the corpus, sorted."""
        return tuple(sorted({clip.person for clip in self.clips}))

    @property
    def emotions(self) -> dict[str, int]:
        """The number of clips per emotion word, most frequent first."""
        return dict(Counter(clip.emotion for clip in self.clips).most_common())

    @property
    def faults(self) -> tuple[Defect, ...]:
        """The defects of this copy, without those known from the release."""
        return tuple(defect for defect in self.defects if not defect.known)


def check_corpus(corpus: Corpus) -> None:
    """Raise an error if clips or people cannot be told apart, in the words of `epir check`."""
    wrong = [defect for defect in corpus.faults if defect.kind in REFUSED]
    if wrong:
        more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        raise DatasetError(
            f"{wrong[0].clip}: {wrong[0].problem}{more}",
            fix=f"correct {corpus.root}; epir check {corpus.name} lists everything",
        )


@cache
def all_corrections() -> tuple[Correction, ...]:
    """Every line of corrections.csv."""
    return tuple(Correction(**row) for row in _rows("corrections.csv"))


def correct(
    key: str, cells: Mapping[str, str], rows: Sequence[Mapping[str, str]] = (), row: int | None = None
) -> tuple[dict[str, str], tuple[Correction, ...]]:
    """The corrected cells of the clip `key`, and the corrections applied.

    A correction applies only if the sheet has the old value: another version of the sheet may already be right. Its
    clip may be a pattern, or `corpus/row 33` if only the row is published (counted from 0 in a complete sheet: `rows`
    and `row`); then `*` stands for any old value, and `row 145` for the value in that row.
    """
    corpus = key.partition("/")[0]
    names = [key.casefold()]
    if row is not None:
        names.append(f"{corpus}/row {row}")
    applied = []
    for one in _corrections_of(corpus):
        if not any(fnmatchcase(name, one.clip.casefold()) for name in names):
            continue
        old, new = plain(cells.get(one.field)), one.new
        if new.startswith("row ") and rows:
            new = rows[int(new.removeprefix("row "))].get(one.field, "")
        if one.old in ("*", old) and whole(old) != whole(new):
            applied.append(replace(one, clip=key, old=old, new=new))
    return {**cells, **{one.field: one.new for one in applied}}, tuple(applied)


@cache
def _corrections_of(corpus: str) -> tuple[Correction, ...]:
    return tuple(one for one in all_corrections() if one.clip.partition("/")[0] == corpus)


def known_reason(key: str, problem: str, tree: str) -> str | None:
    """Why every copy of the release has this problem; `None` if only this copy does."""
    for row in _rows("known.csv"):
        fits = fnmatchcase(key.casefold(), row["clip"].casefold()) and row["problem"] == problem
        if fits and row["tree"] in ("", tree):
            return row["reason"]
    return None


@cache
def _rows(name: str) -> tuple[dict[str, str], ...]:
    text = files("epir.datasets").joinpath(name).read_text(encoding="utf-8")
    return tuple(csv.DictReader(text.splitlines()))


LONGEST_CLIP = 100_000  # frames: anything longer is a typing error
Problem = tuple[str, str]  # its kind, as known.csv names it, and a sentence


def defects(clip: Clip, problems: Iterable[Problem], *, tree: str, corpus: str = "") -> Iterator[Defect]:
    """The problems of a clip as defects; one that every copy of the release has carries the reason.

    `corpus` is the name that known.csv uses, if it is not the clip's own.
    """
    name = f"{corpus or clip.corpus}/{clip.subject}/{clip.clip}"
    for kind, sentence in problems:
        reason = known_reason(name, kind, tree)
        yield Defect(clip.key, f"{sentence} ({reason})" if reason else sentence, known=reason is not None, kind=kind)


def with_people(corpus: Corpus) -> Corpus:
    """The corpus with empty cells of the column `person` filled in; two people for one subject are a defect."""
    conflicts = [
        Defect(corpus.clips[place].key, f"{sentence}: correct it, or give them two subjects", kind="two people")
        for places, sentence in conflicting_people(corpus.clips)
        for place in places
    ]
    if conflicts:
        return replace(corpus, defects=corpus.defects + tuple(conflicts))
    clips = fill_people(corpus.clips, error=DatasetError)
    filled = sum(new is not old for new, old in zip(clips, corpus.clips, strict=True))
    note = (f"{filled} empty cells of the column person were filled from the other clips of the subject",)
    return replace(corpus, clips=clips, notes=corpus.notes + (note if filled else ()))


def order_problems(clip: Clip) -> Iterator[Problem]:
    """Key frames in an impossible order, and an apex at the onset, which shows no motion."""
    if clip.onset is not None and clip.offset is not None and clip.offset < clip.onset:
        yield "order", f"the offset {clip.offset} is before the onset {clip.onset}"
    if clip.apex is None:
        return
    if clip.onset is not None and clip.apex < clip.onset:
        yield "order", f"the apex {clip.apex} is before the onset {clip.onset}"
    elif clip.onset is not None and clip.apex == clip.onset:
        yield "apex at onset", "apex and onset are one frame, with no motion between them; the apex policy decides"
    if clip.offset is not None and clip.apex > clip.offset:
        yield "order", f"the apex {clip.apex} is after the offset {clip.offset}"


def place_problems(clip: Clip, disk: Tree, *, written: str = "", absent: str = "it has no frames") -> list[Problem]:
    """Problems with the folder or video of a clip; `written` is its path as the user wrote it."""
    place = clip.frames
    if place is None:
        return [("no folder", absent)]
    written = written or str(place)
    if place.is_dir():
        listing = disk.listing(place)
        copies = [("copied picture", f"{name} is a copy and is not read: remove it") for name in listing.copies[:1]]
        return [*copies, *frame_problems(clip, listing.frames)]
    if not place.exists():
        return [("no folder", f"there is no folder or video {written}")]
    if place.suffix.casefold() in PICTURE_ENDINGS:
        return [("no folder", f"{written} is one picture; give the folder that holds it")]
    if is_archive(place.name):
        return [("no folder", f"{written} is an archive that was not unpacked")]
    return []


def read_numbers(cells: Mapping[str, str], *, zero: bool) -> tuple[dict[str, int | None], list[Problem]]:
    """Onset, apex and offset of a row, `None` if missing; a cell that is not a number is a problem."""
    numbers: dict[str, int | None] = {}
    problems: list[Problem] = []
    for name in FRAMES:
        try:
            numbers[name] = frame_number(cells.get(name), zero=zero)
        except ValueError:
            problems.append(("no number", not_a_number(name, cells[name], "frame number")))
    return numbers, problems


def read_fps(cells: Mapping[str, str], problems: list[Problem]) -> float | None:
    """The frame rate of a row, `None` if missing; a cell that is not a frame rate is added to `problems`."""
    try:
        return frame_rate(cells.get("fps"))
    except ValueError:
        problems.append(("no number", not_a_number("fps", cells["fps"], "frame rate")))
        return None


def frame_problems(clip: Clip, frames: Sequence[int]) -> Iterator[Problem]:
    """Missing and doubled frames of a clip; `frames` are the sorted frame numbers in its folder."""
    if not frames:
        yield "no frames", "its folder holds no pictures"
        return
    present = set(frames)
    if len(present) < len(frames):
        doubled = sorted(number for number, count in Counter(frames).items() if count > 1)
        yield "doubled frames", f"more than one picture for frame {ranges(doubled)}"
    for name, number in (("onset", clip.onset), ("apex", clip.apex)):
        if number is not None and number not in present:
            span = f"{frames[0]}-{frames[-1]}"
            yield "missing key frame", f"the {name} frame {number} is missing (the folder has {span})"
    if clip.onset is None or clip.offset is None or clip.offset < clip.onset:
        return
    if clip.offset - clip.onset > LONGEST_CLIP:
        yield "missing frames", f"most of the frames {clip.onset}-{clip.offset} are missing"
        return
    missing = missing_frames(present | {clip.onset, clip.apex}, clip.onset, clip.offset)
    if missing:
        yield "missing frames", missing
