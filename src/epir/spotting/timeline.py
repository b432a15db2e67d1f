"""The result of spotting: the motion of every frame, the micro-expressions, and rejected movements with the reason.

Axes: n frames that show the face, G groups of regions, R regions
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from epir.faces.align import Crop
from epir.spotting.regions import EYES, GROUPS

MICRO_EXPRESSION = "micro-expression"
MACRO = "macro"  # a longer expression from which the face returns to rest
BLINK = "blink"
INSIDE_MACRO = "inside a macro-expression"  # its rise, return or tremor
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
GAP = 0.15  # seconds without a face that end a run
OVERLAP = 0.5  # intersection over union at which two intervals are the same movement


def overlap(one: tuple[int, int], other: tuple[int, int]) -> float:
    """Intersection over union of two intervals of frames, both ends included.

    >>> overlap((1, 10), (6, 15))
    0.3333333333333333
    """
    shared = min(one[1], other[1]) - max(one[0], other[0]) + 1
    union = max(one[1], other[1]) - min(one[0], other[0]) + 1
    return max(shared, 0) / union


def longest_gap(fps: float) -> float:
    """The longest step in seconds between two frames of a run, at `fps` frames a second."""
    return max(GAP, 2.5 / fps)


@dataclass(frozen=True, slots=True)
class FaceMovement:
    """One movement of the face; key frames are frame numbers."""

    onset: int
    apex: int
    offset: int
    strength: float  # mean displacement of the region at the apex, as a share of the face's width
    region: str  # where it stands out most
    kind: str = MICRO_EXPRESSION  # or MACRO, or one of `REASONS`
    head: float = 0.0  # head motion during it, as a share of the face's width
    crop: Crop | None = None
    side: str = "middle"  # left or right of the picture, both, or middle
    probability: float = 1.0  # from the false-alarm classifier, also if a rule rejects the movement
    seconds: tuple[float, float, float] = (0.0, 0.0, 0.0)  # of onset, apex and offset
    track: int = 0
    segment: int = 0
    measures: Mapping[str, float] = field(default_factory=dict, repr=False, compare=False)  # of the classifier

    @property
    def reason(self) -> str:
        """Why it is not a micro-expression; empty if it is."""
        return {MICRO_EXPRESSION: "", MACRO: "too long"}.get(self.kind, self.kind)


def rank_candidates(candidates: Iterable[FaceMovement]) -> list[FaceMovement]:
    """Candidates by probability, reported movements first."""
    return sorted(candidates, key=lambda each: (each.reason != "", -each.probability, each.onset))


def most_probable(candidates: Iterable[FaceMovement], per_minute: float, seconds: float) -> list[FaceMovement]:
    """The first `per_minute` candidates per minute of the ranking, and at least one."""
    return rank_candidates(candidates)[: max(1, round(per_minute * seconds / 60))]


@dataclass(frozen=True)
class Timeline:
    """The motion of one face in a video and its movements, in order of time."""

    fps: float
    numbers: np.ndarray  # (n,) int
    stamps: np.ndarray  # (n,) seconds
    motion: np.ndarray  # (n, G) float32: distance of each group from its resting position, share of the face's width
    skin: np.ndarray  # (n, R) float32: the same for every region, left and right separate
    head: np.ndarray  # (n,) float32: distance of the head from its resting position
    squares: tuple[Crop, ...]  # (n,): the face in every frame
    movements: tuple[FaceMovement, ...] = ()  # the micro-expressions
    others: tuple[FaceMovement, ...] = ()  # rejected movements and macro-expressions; see `kind`
    candidates: tuple[FaceMovement, ...] = ()  # micro-expressions and rejected movements except blinks
    level: float = 0.0  # minimum amplitude of a movement
    quantiser: float | None = None  # of H.264, mean over the frames; None if unknown

    @property
    def seconds(self) -> float:
        """How long the face was visible, without gaps."""
        return float(self.durations.sum())

    @property
    def durations(self) -> np.ndarray:
        """How long each frame is shown, (n,) seconds, from the time stamps: the rate of a camera may change.

        A frame before a gap counts as one frame of `fps`, a frame before a pause of the camera as the longest gap, and
        the last frame as the one before it.
        """
        steps, longest = np.diff(self.stamps), longest_gap(self.fps)
        is_gap = (np.diff(self.numbers) > 1) & (steps > longest)
        shown = np.where(is_gap, 1 / self.fps, np.minimum(steps, longest))
        return np.append(shown, shown[-1] if len(shown) else 1 / self.fps)[: len(self.numbers)]

    @property
    def face(self) -> np.ndarray:
        """The motion of the group that moves most, other than the eyes, (n,) float32."""
        return np.asarray(self.motion[:, WITHOUT_EYES].max(axis=1, initial=0.0))

    @property
    def macros(self) -> tuple[FaceMovement, ...]:
        """The expressions of half a second to four seconds."""
        return tuple(each for each in self.others if each.kind == MACRO)
