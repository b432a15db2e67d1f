"""Small faces one after the other -> the motion of each of them, in bounded memory.

The motion of a frame is known once the frames that follow it within `reach` have been seen. Kept are the small faces
and displacements of that span, never a frame.

Axes: R regions, G cells per side
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from epir.spotting.motion import Displacement, displacement, lid_motion, region_motion, shared_motion


@dataclass(frozen=True, slots=True)
class Sample:
    """The motion of the face at one frame, as shares of the face's width."""

    regions: np.ndarray  # (R,) float32
    lids: float  # downwards, over the moving part of the eyes
    head: float  # how far the head went within the reach, before or after


class MotionStream:
    """The faces of one stretch of video under one crop."""

    def __init__(self, reach: int) -> None:
        assert reach >= 1, "a frame is compared with others"
        self._reach = reach
        self._faces: deque[np.ndarray] = deque(maxlen=reach + 1)  # the latest
        self._since: deque[Displacement] = deque(maxlen=reach + 1)  # of the same frames, since the earliest kept
        self.seen = 0

    @property
    def head(self) -> float:
        """How far the head went within the reach before the latest face."""
        return self._since[-1].head if self._since else 0.0

    def push(self, face: np.ndarray) -> Iterator[Sample]:
        """Take the next small face (h, h) uint8; gives the motion of the frame `reach` before it, if there is one."""
        self._faces.append(face)
        self._since.append(displacement(self._faces[0], face))
        self.seen += 1
        if self.seen > self._reach:
            yield _sample(self._since[0], self._since[-1])

    def close(self) -> Iterator[Sample]:
        """The motion of the frames whose followers never came: they are compared with the last one."""
        faces, since = list(self._faces), list(self._since)
        first = 1 if self.seen > self._reach else 0
        for face, before in list(zip(faces, since, strict=True))[first:]:
            yield _sample(before, displacement(face, faces[-1]))


def _sample(before: Displacement, after: Displacement) -> Sample:
    shared = shared_motion(before.skin, -after.skin)  # (G, G, 2)
    return Sample(region_motion(shared), lid_motion(shared), max(before.head, after.head))
