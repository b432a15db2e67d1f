"""Measure how far each region of the skin has moved from frame to frame, without the motion of the head.

Each face is aligned with a reference, a face at most two seconds old, by the shift, rotation and scale of the previous
frame. The remaining flow is small. The head motion is fitted to it at points that stay still in an expression: shift,
rotation, scale, and the yaw and pitch of a round head. The residual is the motion of the skin. When the reference or
the tracker's crop changes, the displacement continues from its last value.

Axes: h pixels of the small face, G cells per side, R regions, M head motions; u to the right, v downwards
"""

from dataclasses import dataclass
from typing import NamedTuple

import cv2
import numpy as np

from epir.faces.align import Crop
from epir.flow.optical import flow_between
from epir.flow.recipe import FlowRecipe, FlowSettings
from epir.spotting.regions import GRID, REGIONS, centres, region_cells

FLOW = FlowRecipe(flow=FlowSettings(window=11, levels=3, iterations=2))
HEAD = ("right", "down", "nearer", "roll", "yaw", "pitch")  # lengths as shares of the face's width
RENEW = 2.0  # seconds after which the reference is replaced
TURNED = 0.02  # share of the face's width, by yaw or pitch: the reference is replaced at once
ROUNDS = 4  # of reweighting
TEXTURE = 16.0  # squared grey levels per pixel above which a cell's flow is reliable


@dataclass(frozen=True, slots=True)
class MotionSample:
    """Displacement of skin and head since the first frame, as shares of the face's width."""

    number: int
    seconds: float
    skin: np.ndarray  # (R, 2) float32
    head: np.ndarray  # (M,) float32
    mismatch: float  # of the face and its reference after the flow, in grey levels; high if a hand covers the face
    light: float = 0.0  # median log brightness of the face relative to the first frame


class Motion(NamedTuple):
    """Samples at evenly spaced instants."""

    skin: np.ndarray  # (n, R, 2)
    head: np.ndarray  # (n, M)
    mismatch: np.ndarray  # (n,)
    light: np.ndarray  # (n,)


NOTHING = (np.zeros((len(REGIONS), 2)), np.zeros(len(HEAD)))


class FaceMeasure:
    """Measures one face; create a new instance when the person or the scene changes."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._crop: Crop | None = None
        self._place = np.eye(3)  # pixels of the reference -> pixels of the small face
        self._skin, self._head = NOTHING  # at the reference
        self._light = 0.0
        rows, columns = np.mgrid[0:size, 0:size].astype(np.float32)
        self._grid = columns, rows

    def push(self, number: int, seconds: float, face: np.ndarray, crop: Crop) -> MotionSample:
        """Measure the next face, (h, h) uint8."""
        if self._crop is None:
            self._renew(face, seconds, *NOTHING)
            self._crop = crop
            return MotionSample(number, seconds, NOTHING[0].astype(np.float32), NOTHING[1].astype(np.float32), 0.0)
        moved, recrop = crop != self._crop, between_crops(self._crop, crop, self._size)
        self._place, self._crop = recrop @ self._place, crop
        aligned = self._aligned(face)
        flow = flow_between(self._reference, aligned, FLOW)  # (h, h, 2)
        cells = cv2.resize(flow, (GRID, GRID), interpolation=cv2.INTER_AREA).reshape(-1, 2) / self._size
        motion = fit_head(cells, self._stable)
        skin = self._skin + self._weights @ (cells - head_flow(motion))
        self._place = self._place @ similarity_matrix(motion, self._size)
        pose = _pose(np.linalg.inv(recrop) @ self._place, self._size)
        head = self._head + np.array([*pose, *motion[4:]])
        mismatch = self._mismatch(aligned, flow)
        light = self._light + float(np.median(_brightness(aligned) - self._bright))
        if moved:
            self._place = np.eye(3)
            self._renew(face, seconds, skin, head, light)
        elif seconds - self._since >= RENEW or np.abs(motion[4:]).max() > TURNED:
            self._renew(self._aligned(face), seconds, skin, head - [*pose, 0.0, 0.0], light)
        return MotionSample(number, seconds, skin.astype(np.float32), head.astype(np.float32), mismatch, light)

    def _aligned(self, face: np.ndarray) -> np.ndarray:
        """The face aligned with the reference."""
        flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
        size = (self._size, self._size)
        return cv2.warpAffine(face, self._place[:2], size, flags=flags, borderMode=cv2.BORDER_REPLICATE)

    def _renew(
        self, reference: np.ndarray, seconds: float, skin: np.ndarray, head: np.ndarray, light: float = 0.0
    ) -> None:
        self._reference, self._since, self._skin, self._head = reference, seconds, skin, head
        self._light, self._bright = light, _brightness(reference)
        grey = reference.astype(np.float32)
        right, down = (cv2.Sobel(grey, cv2.CV_32F, *axes, scale=1 / 8) for axes in ((1, 0), (0, 1)))
        energy = cv2.resize(right**2 + down**2, (GRID, GRID), interpolation=cv2.INTER_AREA).ravel()
        trust = energy / (energy + TEXTURE) + 0.02
        weights = region_cells() * trust
        self._weights = weights / weights.sum(axis=1, keepdims=True)  # (R, G * G)
        self._stable = STABLE * trust

    def _mismatch(self, aligned: np.ndarray, flow: np.ndarray) -> float:
        columns, rows = self._grid
        back = cv2.remap(aligned, columns + flow[..., 0], rows + flow[..., 1], cv2.INTER_LINEAR)
        difference = cv2.blur(back, (3, 3)).astype(np.float32) - cv2.blur(self._reference, (3, 3))
        cells = cv2.resize(np.abs(difference), (GRID, GRID), interpolation=cv2.INTER_AREA).ravel()
        return float(cells @ OVAL / OVAL.sum())


def _brightness(face: np.ndarray) -> np.ndarray:
    """Log brightness of the cells that show the face."""
    cells = cv2.resize(face, (GRID, GRID), interpolation=cv2.INTER_AREA).ravel().astype(np.float64)
    return np.log(cells[OVAL > 0.5] + 4.0)


def between_crops(old: Crop, new: Crop, size: int) -> np.ndarray:
    """The (3, 3) matrix from pixels of the old crop to pixels of the new one."""
    one, other = (np.vstack([crop.matrix(size), [0.0, 0.0, 1.0]]) for crop in (old, new))
    return np.linalg.inv(other) @ one


def fit_head(cells: np.ndarray, stable: np.ndarray) -> np.ndarray:
    """The head motion (M,) of the stable cells of a flow (G * G, 2), by iteratively reweighted least squares."""
    weights, flow = stable, cells.astype(np.float64)
    for _ in range(ROUNDS):
        weighted = BASIS * np.repeat(weights, 2)  # (M, 2 G * G)
        motion = np.linalg.solve(weighted @ BASIS.T + 1e-9 * np.eye(len(BASIS)), weighted @ flow.ravel())
        residual = flow - head_flow(motion)
        error = np.hypot(residual[:, 0], residual[:, 1])
        spread = 1.4826 * float(np.median(error[FIRM])) + 1e-5
        weights = stable / (1.0 + (error / (2.0 * spread)) ** 2) ** 2  # Geman and McClure
    return motion


def head_flow(motion: np.ndarray) -> np.ndarray:
    """The flow (G * G, 2) of a head motion (M,)."""
    return (motion @ BASIS).reshape(-1, 2)


def similarity_matrix(motion: np.ndarray, size: int) -> np.ndarray:
    """Shift, rotation and scale of a head motion as a (3, 3) matrix in pixels."""
    right, down, nearer, roll = motion[:4]
    middle = (size - 1) / 2
    turned = np.array([[1 + nearer, -roll], [roll, 1 + nearer]])
    shift = np.array([right, down]) * size + middle - turned @ (middle, middle)
    return np.array([[*turned[0], shift[0]], [*turned[1], shift[1]], [0.0, 0.0, 1.0]])


def _pose(place: np.ndarray, size: int) -> tuple[float, float, float, float]:
    """Shift, scale and roll of a matrix from `similarity_matrix`."""
    middle = (size - 1) / 2
    right, down = (place[:2] @ (middle, middle, 1.0) - middle) / size
    return right, down, (place[0, 0] + place[1, 1]) / 2 - 1, (place[1, 0] - place[0, 1]) / 2


def _basis() -> np.ndarray:
    """The flow of each head motion at every cell, (M, 2 G * G)."""
    x, y = centres()
    x, y = x - 0.5, y - 0.5
    one, none = np.ones_like(x), np.zeros_like(x)
    ball = np.clip(1 - (x / 0.6) ** 2 - ((y + 0.28) / 0.93) ** 2, 0, None)
    nose = 0.3 * np.exp(-0.5 * ((x / 0.08) ** 2 + ((y + 0.04) / 0.125) ** 2))
    depth = ball + nose - (ball + nose).mean()
    flows = [(one, none), (none, one), (x, y), (-y, x), (depth, none), (none, depth)]
    return np.array([np.stack(flow, axis=-1).ravel() for flow in flows])


def _oval() -> np.ndarray:
    """How much of each cell shows the face and not the background, (G * G,), 0..1."""
    x, y = centres()
    return np.clip(1.3 - ((x - 0.5) / 0.46) ** 2 - ((y - 0.5) / 0.62) ** 2, 0, 1).ravel()


def _stable() -> np.ndarray:
    """How still a cell stays in an expression, (G * G,), 0..1; the bridge of the nose and the temples stay still."""
    x, y = centres()
    moving = np.zeros_like(x)
    brows, lids = (0.25, 0.10, 0.17, 0.09), (0.25, 0.22, 0.14, 0.07)
    mouth, chin = (0, 0.74, 0.26, 0.14), (0, 0.93, 0.3, 0.12)
    for right, down, radius_x, radius_y in (brows, lids, mouth, chin):
        for side in (-1, 1):
            away = ((x - 0.5 - side * right) / radius_x) ** 2 + ((y - down) / radius_y) ** 2
            moving = np.maximum(moving, np.exp(-away / 2))
    return _oval() * (1 - 0.93 * moving.ravel())


BASIS, OVAL, STABLE = _basis(), _oval(), _stable()
FIRM = STABLE > 0.15
