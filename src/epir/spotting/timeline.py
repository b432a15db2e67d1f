"""What spotting found in a video: the motion of every frame, the micro-expressions, and what was rejected and why.

Axes: n frames that show the face, G groups of regions
"""

from dataclasses import dataclass

import numpy as np

from epir.faces.align import Crop
from epir.spotting.regions import GROUPS

MICRO_EXPRESSION = "micro-expression"
MACRO = "macro"  # an expression that lasts longer, and comes back
REASONS = (
    "blink",
    "head",
    "occlusion",
    "too large",
    "too long",
    "too short",
    "speech",
    "gaze",
    "return of an expression",
    "unclear",
)


@dataclass(frozen=True, slots=True)
class Movement:
    """One movement of the face; key frames are frame numbers."""

    onset: int
    apex: int
    offset: int
    strength: float  # displacement at the apex, mean over the region, as a share of the face's width
    region: str  # where it stands out most
    kind: str = MICRO_EXPRESSION  # or MACRO, or one of `REASONS`
    head: float = 0.0  # how far the head comes and goes with it, as a share of the face's width
    crop: Crop | None = None
    side: str = "middle"  # left or right of the picture, both, or middle
    probability: float = 1.0  # of being a micro-expression at all
    seconds: tuple[float, float, float] = (0.0, 0.0, 0.0)  # of onset, apex and offset
    track: int = 0
    segment: int = 0

    @property
    def reason(self) -> str:
        """Why it is no micro-expression; empty for one."""
        return {MICRO_EXPRESSION: "", MACRO: "too long"}.get(self.kind, self.kind)


@dataclass(frozen=True)
class Timeline:
    """The motion of a video and its movements, in the order of time."""

    fps: float
    numbers: np.ndarray  # (n,) int
    motion: np.ndarray  # (n, G) float32: how far each group is from its rest, as a share of the face's width
    face: np.ndarray  # (n,) float32: the same for the group that moves most, without the eyes
    lids: np.ndarray  # (n,) float32: motion of the upper lids downwards
    head: np.ndarray  # (n,) float32: how far the head is from its rest
    movements: tuple[Movement, ...]  # the micro-expressions
    others: tuple[Movement, ...] = ()  # what was rejected, and macro-expressions; `kind` says which
    crops: tuple[Crop, ...] = ()
    faces: int = 1  # the most that were seen at once
    frames: int = 0  # of the video, also those without a face
    level: float = 0.0  # the motion that a movement must reach
    regions: tuple[str, ...] = GROUPS  # of the columns of `motion`
    stamps: np.ndarray | None = None  # (n,) seconds of the frames

    @property
    def seconds(self) -> float:
        """The length of the video."""
        return self.frames / self.fps

    @property
    def macros(self) -> tuple[Movement, ...]:
        """The expressions of half a second to four seconds."""
        return tuple(each for each in self.others if each.kind == MACRO)
