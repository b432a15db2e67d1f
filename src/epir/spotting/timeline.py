"""What spotting found in a video: the motion of every frame, the micro-expressions, and what was rejected and why.

Axes: n frames that show the face, G groups of regions, R regions
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from epir.faces.align import Crop
from epir.spotting.regions import EYES, GROUPS

MICRO_EXPRESSION = "micro-expression"
MACRO = "macro"  # an expression that lasts longer, and comes back
BLINK = "blink"
INSIDE_MACRO = "inside a macro-expression"  # its rise, its return, its tremble
REASONS = (
    BLINK,
    "head",
    "light",
    "occlusion",
    "too large",
    "too long",
    "too short",
    "speech",
    "gaze",
    "return of an expression",
    INSIDE_MACRO,
    "unclear",
)
WITHOUT_EYES = [place for place, name in enumerate(GROUPS) if name != EYES]
OVERLAP = 0.5  # intersection over union from which two intervals are the same movement


def overlap(one: tuple[int, int], other: tuple[int, int]) -> float:
    """Intersection over union of two intervals of frames, both ends included.

    >>> overlap((1, 10), (6, 15))
    0.3333333333333333
    """
    shared = min(one[1], other[1]) - max(one[0], other[0]) + 1
    union = max(one[1], other[1]) - min(one[0], other[0]) + 1
    return max(shared, 0) / union


@dataclass(frozen=True, slots=True)
class FaceMovement:
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
    probability: float = 1.0  # that the false-alarm classifier gives, also where a rule rejects the movement
    seconds: tuple[float, float, float] = (0.0, 0.0, 0.0)  # of onset, apex and offset
    track: int = 0
    segment: int = 0
    measures: Mapping[str, float] = field(default_factory=dict, repr=False, compare=False)  # by which it was judged

    @property
    def reason(self) -> str:
        """Why it is no micro-expression; empty for one."""
        return {MICRO_EXPRESSION: "", MACRO: "too long"}.get(self.kind, self.kind)


def most_probable(candidates: Iterable[FaceMovement], a_minute: float, seconds: float) -> tuple[FaceMovement, ...]:
    """So many candidates a minute, and at least one: what is reported first, then by probability."""
    order = sorted(candidates, key=lambda each: (each.reason != "", -each.probability, each.onset))
    return tuple(order[: max(1, round(a_minute * seconds / 60))])


@dataclass(frozen=True)
class Timeline:
    """The motion of one face in a video and its movements, in the order of time."""

    fps: float
    numbers: np.ndarray  # (n,) int
    stamps: np.ndarray  # (n,) seconds
    motion: np.ndarray  # (n, G) float32: how far each group is from its rest, as a share of the face's width
    skin: np.ndarray  # (n, R) float32: the same for every region, left and right apart
    head: np.ndarray  # (n,) float32: how far the head is from its rest
    squares: tuple[Crop, ...]  # (n,): the face in every frame
    movements: tuple[FaceMovement, ...] = ()  # the micro-expressions
    others: tuple[FaceMovement, ...] = ()  # what was rejected, and macro-expressions; `kind` says which
    candidates: tuple[FaceMovement, ...] = ()  # micro-expressions and everything rejected but blinks
    level: float = 0.0  # the motion that a movement must reach
    quantiser: float | None = None  # of H.264, mean over the frames; None: not known

    @property
    def seconds(self) -> float:
        """How long the face was seen, without the gaps in between."""
        return len(self.numbers) / self.fps

    @property
    def face(self) -> np.ndarray:
        """The motion of the group that moves most, without the eyes, (n,) float32."""
        return np.asarray(self.motion[:, WITHOUT_EYES].max(axis=1, initial=0.0))

    @property
    def macros(self) -> tuple[FaceMovement, ...]:
        """The expressions of half a second to four seconds."""
        return tuple(each for each in self.others if each.kind == MACRO)
