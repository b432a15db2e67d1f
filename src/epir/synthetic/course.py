"""The course of a micro-expression over time: nothing at the onset, full at the apex, nothing again at the offset.

[Y] Yan et al. 2013, How fast are the leaked facial expressions: the onset phase is quicker than the rest
"""

import math
from dataclasses import dataclass

import numpy as np

from epir.core.errors import ConfigError

SHORTEST, LONGEST = 1 / 25, 1 / 2  # seconds from onset to offset
LEAST_FRAMES = 4  # from onset to offset: at least one frame between any two of onset, apex and offset


@dataclass(frozen=True)
class Course:
    """Key frames of a clip, and how the face goes from one to the next."""

    onset: int
    apex: int
    offset: int
    rise: float = 1.0  # below 1 starts suddenly, above 1 slowly
    fall: float = 1.0

    def intensity(self, frame: float) -> float:
        """The share of the expression that shows at a frame: 0 at the onset, 1 at the apex, 0 at the offset."""
        if not self.onset < frame < self.offset:
            return 0.0
        if frame <= self.apex:
            done = (frame - self.onset) / (self.apex - self.onset)
            return math.sin(math.pi / 2 * done**self.rise) ** 2
        left = (self.offset - frame) / (self.offset - self.apex)
        return math.sin(math.pi / 2 * left**self.fall) ** 2


def refuse_slow(fps: float) -> None:
    """Stop if no micro-expression has a frame between its onset, its apex and its offset at this rate."""
    if not fps > 0 or fps * LONGEST < LEAST_FRAMES:
        raise ConfigError(
            f"at {fps:g} frames a second a micro-expression has no frame between onset, apex and offset",
            fix=f"give --fps {math.ceil(LEAST_FRAMES / LONGEST)} or more; cameras for micro-expressions take 30 to 200",
        )


def draw_course(fps: float, start: int, random: np.random.Generator) -> Course:
    """A course that begins at frame `start`; usually it rises faster than it falls."""
    refuse_slow(fps)
    seconds = SHORTEST + (LONGEST - SHORTEST) * float(random.beta(2.2, 1.6))
    frames = max(LEAST_FRAMES, round(seconds * fps))
    apex = round(frames * float(random.uniform(0.25, 0.55)))
    apex = min(max(apex, 2), frames - 2)
    rise, fall = (float(v) for v in np.exp(random.normal(0, 0.15, 2)))
    return Course(start, start + apex, start + frames, rise, fall)
