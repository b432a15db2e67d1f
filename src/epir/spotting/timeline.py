"""What spotting found in a video: the motion of every frame, and the movements in it.

Axes: n frames that show the face, R regions
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from epir.faces.align import Crop
from epir.spotting.regions import NAMES

Kind = Literal["micro-expression", "blink", "head", "long", "short"]


@dataclass(frozen=True, slots=True)
class Movement:
    """One movement of the face; key frames are frame numbers."""

    onset: int
    apex: int
    offset: int
    strength: float  # motion at the apex, as a share of the face's width
    region: str  # where it is strongest
    kind: Kind = "micro-expression"
    head: float = 0.0  # how far the head went around it, as a share of the face's width
    crop: Crop | None = None
    seconds: tuple[float, float, float] | None = None  # of onset, apex and offset
    track: int = 0
    segment: int = 0


@dataclass(frozen=True)
class Timeline:
    """The motion of a video and its movements, in the order of time."""

    fps: float
    numbers: np.ndarray  # (n,) int
    motion: np.ndarray  # (n, R) float32, as shares of the face's width
    face: np.ndarray  # (n,) float32: the motion in which movements are looked for
    lids: np.ndarray  # (n,) float32: motion of the eyes downwards
    head: np.ndarray  # (n,) float32
    movements: tuple[Movement, ...]  # the micro-expressions
    others: tuple[Movement, ...] = ()  # blinks, turns of the head, movements too long or too short
    crops: tuple[Crop, ...] = ()
    faces: int = 1  # the most that were seen at once
    frames: int = 0  # of the video, also those without a face
    level: float = 0.0  # the motion that a movement must reach
    regions: tuple[str, ...] = NAMES  # of the columns of `motion`

    @property
    def seconds(self) -> float:
        """The length of the video."""
        return self.frames / self.fps
