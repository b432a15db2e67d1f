"""Magnify the motion of the skin, so that untrained eyes see it.

A face is aligned with a reference (the onset) by the head's shift, rotation and scale. The remaining flow between them
is the motion of the skin; warping the face makes it several times as large. Unlike Eulerian magnification, which
amplifies brightness, this moves the picture by the measured displacement: 1 px becomes 5 px.

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
SIZE = 244  # px: width of the picture while its flow is computed; the crop of the face then has the usual 168 px
SMOOTH = 0.012  # of the picture's width: averages the noise of the flow, so that it is not magnified
STEEPEST = 0.8  # change of the magnified motion per pixel: beyond it, the skin would fold over itself
ROUNDS = 12  # to invert a warp
RECIPE = FlowRecipe()


@dataclass(frozen=True)
class SkinMotion:
    """A face aligned with its reference, and the motion of the skin since; both in the size of the reference."""

    face: np.ndarray  # (h, h, 3) uint8
    flow: np.ndarray  # (h, h, 2) float32: from the reference, without head motion, in px

    def magnified(self, times: float) -> tuple[np.ndarray, float]:
        """The face with its skin moved `times` as far, and the factor used, which is smaller if the skin would fold."""
        times = min(times, max(1.0, STEEPEST / max(_steepness(self.flow), 1e-9)))
        rows, columns = np.mgrid[0 : self.flow.shape[0], 0 : self.flow.shape[1]].astype(np.float32)
        shown = np.stack([columns, rows], axis=-1)
        at = shown.copy()  # the point of the reference shown at each pixel
        for _ in range(ROUNDS):
            at = shown - times * _sampled(self.flow, at)
        source = at + _sampled(self.flow, at)  # where that point is in the face
        return _sampled(self.face, source), times


def skin_motion(reference: np.ndarray, face: np.ndarray) -> SkinMotion:
    """The skin's motion from a reference to a face, both (h, h, 3) uint8, cut out `AROUND` times as wide as the crop.

    Head motion is removed twice: once to align the face with the reference, then the remainder.
    """
    side = reference.shape[0]
    before, after = (_small(to_grey(picture)) for picture in (reference, face))
    head = _head(flow_between(before, after, RECIPE))
    aligned = _sampled(face, _grid(side) + _enlarged(head, side))
    flow = flow_between(before, _small(to_grey(aligned)), RECIPE)
    skin = cv2.GaussianBlur(flow - _head(flow), (0, 0), SMOOTH * SIZE) * _oval(SIZE)[..., None]
    return SkinMotion(aligned, _enlarged(skin, side))


def _head(flow: np.ndarray) -> np.ndarray:
    """The head motion in a flow (SIZE, SIZE, 2), fitted in the crop of the face and extrapolated around it."""
    inner = round(SIZE / AROUND)
    first = (SIZE - inner) // 2
    part = similarity_motion(flow[first : first + inner, first : first + inner])
    across, down = part[0, 1] - part[0, 0], part[1, 0] - part[0, 0]  # constant for a similarity
    rows, columns = (np.mgrid[0:SIZE, 0:SIZE] - first).astype(np.float32)
    return (part[0, 0] + columns[..., None] * across + rows[..., None] * down).astype(np.float32)


def _oval(size: int) -> np.ndarray:
    """1 on the face, falling to 0 towards the edges, so that the background is not magnified."""
    y, x = ((np.mgrid[0:size, 0:size] + 0.5) / size - 0.5) * AROUND
    return np.clip(3 * (1.15 - (x / 0.56) ** 2 - (y / 0.66) ** 2), 0, 1).astype(np.float32)


def _steepness(flow: np.ndarray) -> float:
    """The largest change of a flow from one pixel to the next (its 99.9 % quantile)."""
    return max(float(np.quantile(np.abs(np.diff(flow, axis=axis)), 0.999)) for axis in (0, 1))


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
