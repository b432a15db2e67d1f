"""The records of a study: recordings, movements, and the decisions of coders."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

STATES = ("accept", "reject", "unsure")
DRAFT = "draft"  # edited, but not decided yet
KINDS = ("micro", "macro")
SIDES = ("", "left", "right")
INTENSITIES = ("", "A", "B", "C", "D", "E")
LONGEST_NOTE = 4000  # characters
CROP = ("x", "y", "side", "angle", "stretch")  # columns of the curve `squares`
Source = Literal["spotter", "hand", "agreed"]


@dataclass(frozen=True)
class UnitCode:
    """A coded action unit; the side is the person's."""

    number: int
    side: str = ""  # or left, right
    intensity: str = ""  # or A to E

    def __str__(self) -> str:
        return f"{self.side[:1].upper()}{self.number}{self.intensity}"


@dataclass(frozen=True)
class Decision:
    """A coder's current decision on a movement."""

    movement: int  # id
    coder: str
    state: str  # one of STATES, or DRAFT
    onset: int
    apex: int
    offset: int
    kind: str = "micro"
    emotion: str = ""  # one of those in study.toml
    units: tuple[UnitCode, ...] = ()
    note: str = ""
    action: int = field(default=0, compare=False)  # id of its row in the table `action`
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
    name: str  # its file's, distinct within the study
    person: str  # of its first face; see `Study.person` for other faces
    state: str = "waiting"  # of spotting: waiting, spotting, done, failed
    spotted: int = 0  # frames so far
    turns: int = 0  # quarter turns of its pictures
    message: str = ""


@dataclass(frozen=True)
class StudyMovement:
    """A candidate of the spotter, or a movement marked by hand; `id` is 0 until it is stored."""

    id: int
    recording: int
    face: int
    onset: int
    apex: int
    offset: int
    source: Source = "spotter"
    by: str = ""  # the coder who marked it by hand
    probability: float = 0.0
    rule: str = ""  # why the spotter rejected it
    region: str = ""
    side: str = ""
    strength: float = 0.0
    measures: Mapping[str, float] = field(default_factory=dict)
    proposal: Mapping[str, Any] = field(default_factory=dict)  # of the model: class, scores, units, words


@dataclass(frozen=True)
class StudyAction:
    """One step of a coder: decide, undo or redo."""

    id: int
    at: str  # UTC
    coder: str
    kind: str  # decide, undo or redo
    movement: int
    decision: Decision | None  # the decision in force after it, if any
