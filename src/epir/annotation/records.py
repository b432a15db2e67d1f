"""The records of a study: recordings, movements, and what coders decided about them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

STATES = ("accept", "reject", "unsure")
DRAFT = "draft"  # something was changed, but nothing decided yet
KINDS = ("micro", "macro")
SIDES = ("", "left", "right")
INTENSITIES = ("", "A", "B", "C", "D", "E")
LONGEST_NOTE = 4000  # letters
CROP = ("x", "y", "side", "angle", "stretch")  # columns of the curve `squares`
Source = Literal["spotter", "hand", "agreed"]


@dataclass(frozen=True)
class UnitCode:
    """One action unit as coded; the side is that of the person."""

    number: int
    side: str = ""  # or left, right
    intensity: str = ""  # or A to E

    def __str__(self) -> str:
        return f"{self.side[:1].upper()}{self.number}{self.intensity}"


@dataclass(frozen=True)
class Decision:
    """What one coder holds of one movement now."""

    movement: int  # a candidate's, or one marked by hand
    coder: str
    state: str  # of STATES, or DRAFT where drafts are asked for
    onset: int
    apex: int
    offset: int
    kind: str = "micro"
    emotion: str = ""  # a word of study.toml
    units: tuple[UnitCode, ...] = ()
    note: str = ""
    action: int = field(default=0, compare=False)  # the row that says so
    blind: bool = field(default=False, compare=False)


@dataclass(frozen=True)
class Recording:
    """One video."""

    id: int
    path: str  # relative to the study, with slashes
    digest: str
    bytes: int
    modified: int  # nanoseconds
    frames: int
    fps: float
    seconds: float
    person: str  # of its first face: `Study.person` for others
    state: str = "waiting"  # of spotting: waiting, spotting, done, failed
    spotted: int = 0  # frames so far
    turns: int = 0
    message: str = ""


@dataclass(frozen=True)
class StudyMovement:
    """One candidate, or one movement marked by hand; `id` 0 before it is stored."""

    id: int
    recording: int
    face: int
    onset: int
    apex: int
    offset: int
    source: Source = "spotter"
    by: str = ""  # the coder who marked it
    probability: float = 0.0
    rule: str = ""  # why the spotter rejected it
    region: str = ""
    side: str = ""
    strength: float = 0.0
    measures: Mapping[str, float] = field(default_factory=dict)
    proposal: Mapping[str, Any] = field(default_factory=dict)  # the model's: class, scores, units, words


@dataclass(frozen=True)
class StudyAction:
    """Something that a coder did."""

    id: int
    at: str  # UTC
    coder: str
    kind: str  # decide, undo or redo
    movement: int
    decision: Decision | None  # what holds since then; None where nothing does
