"""The motion of the skin made larger: what trained eyes see, everyone sees.

A face is laid on a reference (the onset) by the head's shift, turn and scale. What is left of the flow between the two
is the motion of the skin; the face is warped so that it goes several times as far. Unlike Eulerian magnification, which
amplifies brightness, this moves the picture by what was measured, and a displacement of 1 px becomes one of 5 px.

[L] Liu et al. 2005, Motion Magnification, SIGGRAPH: the displacement is measured, multiplied, and rendered by warping

Axes: h pixels of the square pictures; u to the right, v downwards
"""

from dataclasses import dataclass

import cv2
import numpy as np

from epir.flow.head_motion import similarity_motion
from epir.flow.optical import flow_between, to_grey
from epir.flow.recipe import FlowRecipe

AROUND = 1.45  # width of the pictures, in widths of the face's crop
SIZE = 244  # px: width of the picture while its flow is computed; the face's crop then has that of the usual recipe
SMOOTH = 0.012  # of the picture's width: noise of the flow is averaged, and not magnified
STEEPEST = 0.8  # of the magnified motion from one pixel to the next: beyond, the skin would fold over
ROUNDS = 12  # of the inversion of a warp
RECIPE = FlowRecipe()


@dataclass(frozen=True)
class SkinMotion:
    """A face laid on its reference, and how the skin has moved since; both as large as the reference."""

    face: np.ndarray  # (h, h, 3) uint8
    flow: np.ndarray  # (h, h, 2) float32: from the reference, without the head's motion, in px

    def magnified(self, times: float) -> tuple[np.ndarray, float]:
        """The face with its skin moved `times` as far, and how many times it really is: as far as it does not fold."""
        times = min(times, max(1.0, STEEPEST / max(_steepness(self.flow), 1e-9)))
        rows, columns = np.mgrid[0 : self.flow.shape[0], 0 : self.flow.shape[1]].astype(np.float32)
        shown = np.stack([columns, rows], axis=-1)
        at = shown.copy()  # the point of the reference that is shown at each pixel
        for _ in range(ROUNDS):
            at = shown - times * _sampled(self.flow, at)
        source = at + _sampled(self.flow, at)  # where that point is in the face
        return _sampled(self.face, source), times


def skin_motion(reference: np.ndarray, face: np.ndarray) -> SkinMotion:
    """The skin's motion from a reference to a face, both (h, h, 3) uint8, cut out `AROUND` times as wide as the crop.

    The head's motion is taken off twice: once to lay the face on the reference, and what that leaves.
    """
    side = reference.shape[0]
    small = [_small(to_grey(each)) for each in (reference, face)]
    head = _head(flow_between(small[0], small[1], RECIPE))
    laid = _sampled(face, _grid(side) + _enlarged(head, side))
    flow = flow_between(small[0], _small(to_grey(laid)), RECIPE)
    skin = cv2.GaussianBlur(flow - _head(flow), (0, 0), SMOOTH * SIZE) * _oval(SIZE)[..., None]
    return SkinMotion(laid, _enlarged(skin, side))


def _head(flow: np.ndarray) -> np.ndarray:
    """The head's part of a flow (SIZE, SIZE, 2), fitted in the crop of the face and continued around it."""
    inner = round(SIZE / AROUND)
    first = (SIZE - inner) // 2
    part = similarity_motion(flow[first : first + inner, first : first + inner])
    across, down = part[0, 1] - part[0, 0], part[1, 0] - part[0, 0]  # of a similarity: the same everywhere
    rows, columns = (np.mgrid[0:SIZE, 0:SIZE] - first).astype(np.float32)
    return (part[0, 0] + columns[..., None] * across + rows[..., None] * down).astype(np.float32)


def _oval(size: int) -> np.ndarray:
    """1 on the face, falling to 0 towards the edges: what is behind the head is not magnified."""
    y, x = ((np.mgrid[0:size, 0:size] + 0.5) / size - 0.5) * AROUND
    return np.clip(3 * (1.15 - (x / 0.56) ** 2 - (y / 0.66) ** 2), 0, 1).astype(np.float32)


def _steepness(flow: np.ndarray) -> float:
    """How much a flow changes from one pixel to the next, at most."""
    changes = [np.diff(flow, axis=axis) for axis in (0, 1)]
    return max(float(np.quantile(np.abs(each), 0.999)) for each in changes)


def _small(picture: np.ndarray) -> np.ndarray:
    return cv2.resize(picture, (SIZE, SIZE), interpolation=cv2.INTER_AREA)


def _enlarged(flow: np.ndarray, side: int) -> np.ndarray:
    return cv2.resize(flow, (side, side), interpolation=cv2.INTER_LINEAR) * (side / flow.shape[0])


def _grid(side: int) -> np.ndarray:
    rows, columns = np.mgrid[0:side, 0:side].astype(np.float32)
    return np.stack([columns, rows], axis=-1)


def _sampled(values: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Values (h, h, C) at places (h, h, 2)."""
    kind = cv2.INTER_CUBIC if values.dtype == np.uint8 else cv2.INTER_LINEAR
    at = at.astype(np.float32)
    return cv2.remap(values, at[..., 0], at[..., 1], kind, borderMode=cv2.BORDER_REPLICATE)
