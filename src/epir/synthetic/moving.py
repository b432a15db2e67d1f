"""A moving face: every frame is the neutral face warped once, so that the true flow between two frames is known.

In a state of the face, a point X of a layer of the neutral picture appears at the pixel p = F(X):

    lids close         X -> r       closed form, piecewise linear in y
    skin and head turn r -> q       r = q - C(q), where C = intensity * expression + turn * depth
    head moves         q -> p       shift, roll and size about the neck, closed form

Pictures are rendered backwards, p -> q -> r -> X, with one look-up per pixel. The true flow from state a to state b is
F_b(F_a^-1(p)) - p for the layer visible at p in state a; only q is iterated, to a thousandth of a pixel.

Axes: H rows, W columns; fields are (H, W, 2): right, down, in pixels
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import cv2
import numpy as np

from epir.synthetic.drawing.canvas import Canvas
from epir.synthetic.drawing.eyes import Lids
from epir.synthetic.drawing.portrait import Portrait
from epir.synthetic.identity import Geometry
from epir.synthetic.movement import LATTICE, SkinMovement

NECK = (0.0, 27.0)  # the head rolls about this point, face units
EYE_REACH = 4.6  # above and below the centre of an eye, face units
DEPTH, NOSE = 10.0, 3.0  # distance of face and nose from the axis of rotation, face units
LAYERS = {"body": 0, "eyes": 1, "head": 2, "glasses": 3}
REACH_UP, REACH_DOWN = 2.3, 1.3  # skin above and below the opening that a blink stretches
SHUT = 0.95  # share of the opening that a full blink closes
LOWER_SHARE = 0.12  # share of that which the lower lid closes


@dataclass(frozen=True)
class State:
    """The state of the face at one instant; lengths in face units, angles in radians."""

    intensity: float = 0.0  # largest displacement of the expression
    shift_x: float = 0.0
    shift_y: float = 0.0
    roll: float = 0.0
    size: float = 1.0
    yaw: float = 0.0
    pitch: float = 0.0
    closure: float = 0.0  # of the lids: 0 open, 1 shut
    gaze_x: float = 0.0
    gaze_y: float = 0.0


class MovingFace:
    """One portrait with one movement, which can be rendered in any state."""

    def __init__(self, portrait: Portrait, geometry: Geometry, movement: SkinMovement | None = None) -> None:
        self.portrait = portrait
        self.canvas = portrait.canvas
        self.lids = Lids.of(geometry)
        self._expression = _expression_field(self.canvas, movement)  # (H, W, 2) at intensity 1
        self._depth = depth_field(self.canvas)  # (H, W)
        rows = np.arange(self.canvas.height, dtype=np.float32)[:, None]
        columns = np.arange(self.canvas.width, dtype=np.float32)[None, :]
        shape = (self.canvas.height, self.canvas.width)
        self._grid = np.stack([np.broadcast_to(columns, shape), np.broadcast_to(rows, shape)], axis=-1)

    def render(self, state: State) -> np.ndarray:
        """Render this state: (H, W, 3) float32, displayed values of about 0..1."""
        still = self._head_back(state, self._grid)  # q
        turned = self._field(state, expression=False)
        picture, rows = self.portrait.body.copy(), self._eye_rows(state)
        eyes_from = still[rows] - _look_up(turned, still[rows]) - self._gaze(state)
        eyes = _look_up(self.portrait.eyes, eyes_from)
        if state.closure:  # the lids shade the eyes
            eyes[..., :3] *= np.float32(1 - 0.85 * state.closure**2)
        _lay_over(picture[rows], eyes)
        skin_from = still - _look_up(turned + np.float32(state.intensity) * self._expression, still)  # r
        skin_from[rows] = self._lids(open_lids, state, skin_from[rows])  # X
        _lay_over(picture, _look_up(self.portrait.head, skin_from, cv2.INTER_CUBIC))
        if self.portrait.glasses is not None:
            _lay_over(picture, _look_up(self.portrait.glasses, still - _look_up(turned, still)))
        return picture

    def true_flow(self, start: State, end: State) -> np.ndarray:
        """The flow (H, W, 2) from one state to another: the pixel at p moves to p + flow(p)."""
        still = self._head_back(start, self._grid.astype(np.float64))
        flow = np.zeros_like(still)
        skin = self._lids(open_lids, start, still - interpolate(self._field(start), still))
        rigid = still - interpolate(self._field(start, expression=False), still)
        eyes = rigid - self._gaze(start)
        seen = self.visible(start)
        for name, places in (("eyes", eyes), ("head", skin), ("glasses", rigid)):
            here = seen == LAYERS[name]
            flow[here] = self.forward(end, places[here], name) - self._grid[here]
        return flow.astype(np.float32)

    def visible(self, state: State) -> np.ndarray:
        """The layer visible at each pixel (see `LAYERS`), (H, W) uint8."""
        still = self._head_back(state, self._grid)
        turned = _look_up(self._field(state, expression=False), still)
        skin = self._lids(open_lids, state, still - _look_up(self._field(state), still))
        seen = np.zeros(self._grid.shape[:2], np.uint8)
        seen[_look_up(self.portrait.eyes, still - turned - self._gaze(state))[..., 3] > 0.5] = LAYERS["eyes"]
        seen[_look_up(self.portrait.head, skin)[..., 3] > 0.5] = LAYERS["head"]
        if self.portrait.glasses is not None:
            seen[_look_up(self.portrait.glasses, still - turned)[..., 3] > 0.5] = LAYERS["glasses"]
        return seen

    def forward(self, state: State, places: np.ndarray, layer: str = "head") -> np.ndarray:
        """Where points of the neutral picture, (..., 2) in pixels, appear in this state."""
        field = self._field(state, expression=layer == "head")
        if layer == "head":
            places = self._lids(close_lids, state, places)
        elif layer == "eyes":
            places = places + self._gaze(state)
        moved = places
        for _ in range(60):
            nearer = places + interpolate(field, moved)
            step = float(np.abs(nearer - moved).max(initial=0))
            moved = nearer
            if step < 1e-3:
                break
        return self._head_forth(state, moved)

    def _field(self, state: State, *, expression: bool = True) -> np.ndarray:
        turn = np.array([state.yaw, state.pitch], dtype=np.float32) * self._depth[..., None]
        return turn + np.float32(state.intensity) * self._expression if expression else turn

    def _eye_rows(self, state: State) -> slice:
        """The rows of the eyes and of the skin that their lids move."""
        middle = (self.lids.inner + self.lids.outer) / 2
        row = self.canvas.row(self.lids.centre)
        eyes = np.array([(self.canvas.column(side * middle), row) for side in (-1, 1)])
        turn = np.array([state.yaw, state.pitch]) * interpolate(self._depth[..., None], eyes)
        seen = self._head_forth(state, eyes + turn)[:, 1]
        reach = EYE_REACH * self.canvas.scale * state.size
        top, bottom = int(seen.min() - reach), int(seen.max() + reach) + 2
        return slice(max(top, 0), min(max(bottom, 0), self.canvas.height))

    def _gaze(self, state: State) -> np.ndarray:
        return np.array([state.gaze_x, state.gaze_y], dtype=np.float32) * np.float32(self.canvas.scale)

    def _pivot(self) -> np.ndarray:
        return np.array([self.canvas.column(NECK[0]), self.canvas.row(NECK[1])], dtype=np.float32)

    def _head_back(self, state: State, points: np.ndarray) -> np.ndarray:
        shift = np.array([state.shift_x, state.shift_y], dtype=np.float32) * np.float32(self.canvas.scale)
        if not state.roll and state.size == 1.0:
            return points - shift
        c, s = np.float32(np.cos(state.roll) / state.size), np.float32(np.sin(state.roll) / state.size)
        turn = np.array([[c, -s], [s, c]], dtype=np.float32)
        pivot = self._pivot()
        return points @ turn + (pivot - (shift + pivot) @ turn)

    def _head_forth(self, state: State, points: np.ndarray) -> np.ndarray:
        shift = np.array([state.shift_x, state.shift_y]) * self.canvas.scale
        c, s = np.cos(state.roll) * state.size, np.sin(state.roll) * state.size
        pivot = self._pivot()
        return (points - pivot) @ np.array([[c, s], [-s, c]]) + pivot + shift

    def _lids(self, move: Callable[..., np.ndarray], state: State, points: np.ndarray) -> np.ndarray:
        if not state.closure:
            return points
        canvas = self.canvas
        x = canvas.left + (points[..., 0] + 0.5) / canvas.scale
        y = canvas.top + (points[..., 1] + 0.5) / canvas.scale
        moved = move(self.lids, x, y, state.closure)
        return np.stack([points[..., 0], (moved - canvas.top) * canvas.scale - 0.5], axis=-1).astype(points.dtype)


@lru_cache(maxsize=8)
def depth_field(canvas: Canvas) -> np.ndarray:
    """The depth (H, W) of the head in pixels: the displacement by a turn of one radian."""
    x, y = canvas.x, canvas.y
    ball = np.clip(1 - (x / np.float32(17.0)) ** 2 - ((y - 6) / np.float32(26.0)) ** 2, 0, None)
    nose = np.exp(-0.5 * ((x / np.float32(2.2)) ** 2 + ((y - 13) / np.float32(3.5)) ** 2))
    return (DEPTH * ball + NOSE * nose).astype(np.float32) * np.float32(canvas.scale)


def interpolate(field: np.ndarray, points: np.ndarray) -> np.ndarray:
    """The field (H, W, C) at points (..., 2), interpolated bilinearly in float64; constant beyond the border."""
    height, width = field.shape[:2]
    x = np.clip(points[..., 0], 0, width - 1)
    y = np.clip(points[..., 1], 0, height - 1)
    left, top = np.minimum(x.astype(int), width - 2), np.minimum(y.astype(int), height - 2)
    right, down = (x - left)[..., None], (y - top)[..., None]
    upper = field[top, left] * (1 - right) + field[top, left + 1] * right
    lower = field[top + 1, left] * (1 - right) + field[top + 1, left + 1] * right
    return upper * (1 - down) + lower * down


def _look_up(picture: np.ndarray, points: np.ndarray, kind: int = cv2.INTER_LINEAR) -> np.ndarray:
    places = np.ascontiguousarray(points, dtype=np.float32)
    return cv2.remap(picture, places, None, kind, borderMode=cv2.BORDER_REPLICATE)  # type: ignore[call-overload]


def _lay_over(picture: np.ndarray, layer: np.ndarray) -> None:
    picture *= 1 - layer[..., 3:]
    picture += layer[..., :3]


def _expression_field(canvas: Canvas, movement: SkinMovement | None) -> np.ndarray:
    if movement is None:
        return np.zeros((canvas.height, canvas.width, 2), np.float32)
    step = LATTICE * canvas.scale  # pixels between lattice points
    x = canvas.left + LATTICE * (np.arange(int(canvas.width / step) + 4, dtype=np.float32) - 1)
    y = canvas.top + LATTICE * (np.arange(int(canvas.height / step) + 4, dtype=np.float32) - 1)
    coarse = movement.displacement(x[None, :], y[:, None]) * np.float32(canvas.scale)
    to_lattice = np.array([[1 / step, 0, 1 + 0.5 / step], [0, 1 / step, 1 + 0.5 / step]])
    flags = cv2.INTER_CUBIC | cv2.WARP_INVERSE_MAP
    return cv2.warpAffine(coarse, to_lattice, (canvas.width, canvas.height), flags=flags)


def close_lids(lids: Lids, x: np.ndarray, y: np.ndarray, closure: float) -> np.ndarray:
    """The y to which each point of the open eye moves when the lids close by `closure`, 0 open .. 1 shut."""
    before, after = _levels(lids, np.abs(x), closure)
    return _between(y, before, after)


def open_lids(lids: Lids, x: np.ndarray, y: np.ndarray, closure: float) -> np.ndarray:
    """The inverse of `close_lids`: the y from which each point of the closed eye came."""
    before, after = _levels(lids, np.abs(x), closure)
    return _between(y, after, before)


def _levels(lids: Lids, a: np.ndarray, closure: float) -> tuple[list[np.ndarray], list[np.ndarray]]:
    upper, lower = lids.upper(a), lids.lower(a)
    within = (a > lids.inner) & (a < lids.outer)
    gap = np.where(within, lower - upper, 0) * np.float32(SHUT * closure)
    top, bottom = upper - np.float32(REACH_UP), lower + np.float32(REACH_DOWN)
    share = np.float32(LOWER_SHARE)
    return [top, upper, lower, bottom], [top, upper + (1 - share) * gap, lower - share * gap, bottom]


def _between(y: np.ndarray, start: list[np.ndarray], end: list[np.ndarray]) -> np.ndarray:
    """Move `y` along with the levels, piecewise linearly; beyond the outer levels it stays."""
    out = y
    for low, high, new_low, new_high in zip(start, start[1:], end, end[1:], strict=False):
        inside = (y > low) & (y <= high)
        width = np.maximum(high - low, np.float32(1e-6))
        out = np.where(inside, new_low + (y - low) * ((new_high - new_low) / width), out)
    return out
