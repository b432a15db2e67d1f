"""Maps without pictures: the displacement field itself, with the typical errors of flow estimates.

No face is drawn, so only the geometry of the face matters, not its looks. Lengths are those of a 28 px map and scale
with the map; amplitudes are relative to the expression's peak.

Axes: S map size; fields are (S, S, 2): right, down
"""

from dataclasses import dataclass

import cv2
import numpy as np

from epir.synthetic.drawing.canvas import CROP_SIDE, CROP_TOP
from epir.synthetic.expressions import BLINK, ActiveUnit
from epir.synthetic.identity import Geometry
from epir.synthetic.movement import SkinMovement, draw_movement
from epir.synthetic.variation import USUAL, Preprocessing

MIDDLE = (0.0, 14.0)  # centre of the variation of the crop, face units


@dataclass(frozen=True)
class DirectSettings:
    """The strength of each disturbance; pairs are ranges, sampled uniformly on a logarithmic scale."""

    patchy: tuple[float, float] = (0.2, 0.9)  # uneven gain on the expression (sampled uniformly)
    coarse: tuple[float, float] = (0.05, 0.4)
    fine: tuple[float, float] = (0.02, 0.15)
    head: tuple[float, float] = (0.05, 0.5)
    white: tuple[float, float] = (0.003, 0.03)
    mask: float = 0.35  # probability that the background stays still
    gaze: float = 0.15  # probability of an eye movement


def direct_flow(
    size: int,
    geometry: Geometry,
    movement: SkinMovement,
    *,
    blink: float,
    intensity: float,
    random: np.random.Generator,
    settings: DirectSettings | None = None,
    preprocessing: Preprocessing = USUAL,
    share: float = 1.0,
) -> np.ndarray:
    """The flow of one expression in pixels of a map of this size, (S, S, 2).

    With `share` below 1, the map shows only that share of the expression, and disturbances weigh more. The crop is
    that of `preprocessing`.
    """
    settings = settings or DirectSettings()
    x, y, turn = _draw_places(size, random, preprocessing)
    gain = np.exp(random.uniform(*settings.patchy) * _smooth(size, random, 0.8, 1.6))[..., None]
    field = movement.displacement(x, y) * gain
    if random.random() < blink:
        field += _blink(x, y, geometry, random)
    peak = float(np.linalg.norm(field, axis=-1).max())
    field /= max(peak, 1e-6) / share
    if random.random() < settings.gaze:
        field += _gaze(x, y, geometry, random)
    field = _turned(field, turn).astype(np.float32)
    field += _log_uniform(random, settings.coarse) * _smooth_pair(size, random, 2.5, 5.0)
    field += _log_uniform(random, settings.fine) * _smooth_pair(size, random, 0.8, 1.5)
    field += _log_uniform(random, settings.head) * _head(size, random)
    if random.random() < settings.mask:
        field = _masked(field, random)
    blurred = cv2.GaussianBlur(field.astype(np.float32), (0, 0), random.uniform(0.25, 0.5) * size / CROP_SIDE)
    field = np.asarray(blurred, np.float32)
    field += _log_uniform(random, settings.white) * random.standard_normal(field.shape, dtype=np.float32)
    return field * np.float32(intensity * size / CROP_SIDE)


def _draw_places(
    size: int, random: np.random.Generator, preprocessing: Preprocessing
) -> tuple[np.ndarray, np.ndarray, float]:
    """The face coordinates of the pixels of a slightly misaligned crop, and its rotation."""
    step = CROP_SIDE / size
    x = -CROP_SIDE / 2 + (np.arange(size, dtype=np.float32)[None, :] + 0.5) * step
    y = CROP_TOP + (np.arange(size, dtype=np.float32)[:, None] + 0.5) * step
    scale = preprocessing.zoom * random.normal(1, 0.05)
    stretch = scale * random.normal(1, 0.035)
    shift = preprocessing.zoom * np.array(preprocessing.shift) + random.normal((0.0, -0.3), (0.5, 1.1))
    turn = float(random.normal(0, 0.04))
    dx, dy = x - np.float32(MIDDLE[0] + shift[0]), y - np.float32(MIDDLE[1] + shift[1])
    c, s = np.float32(np.cos(turn)), np.float32(np.sin(turn))
    return (c * dx + s * dy) / np.float32(scale) + MIDDLE[0], (c * dy - s * dx) / np.float32(stretch) + MIDDLE[1], turn


def _turned(field: np.ndarray, turn: float) -> np.ndarray:
    c, s = np.float32(np.cos(turn)), np.float32(np.sin(turn))
    return np.stack([c * field[..., 0] - s * field[..., 1], c * field[..., 1] + s * field[..., 0]], axis=-1)


def _blink(x: np.ndarray, y: np.ndarray, geometry: Geometry, random: np.random.Generator) -> np.ndarray:
    amplitude = random.uniform(0.3, 1.6) * (1 if random.random() < 0.75 else -1)  # closing or opening
    return np.float32(amplitude) * draw_movement((ActiveUnit(BLINK, 1.0, 1.0),), geometry, random).displacement(x, y)


def _gaze(x: np.ndarray, y: np.ndarray, g: Geometry, random: np.random.Generator) -> np.ndarray:
    reach = np.exp(-0.5 * (((np.abs(x) - np.float32(g.eye_x)) / 1.4) ** 2 + ((y - np.float32(g.eye_y)) / 0.9) ** 2))
    return reach[..., None] * random.normal(0, (0.5, 0.3)).astype(np.float32)


def _head(size: int, random: np.random.Generator) -> np.ndarray:
    """Motion of the whole head: closer, roll, yaw and nod."""
    even = np.linspace(-1, 1, size, dtype=np.float32)
    x, y = even[None, :], even[:, None]
    nearer, roll, yaw, nod = random.standard_normal(4).astype(np.float32)
    u = 0.5 * nearer * x - 0.7 * roll * y + 0.5 * yaw * (1 - x**2)
    v = 0.5 * nearer * y + 0.7 * roll * x + 0.5 * nod * (1 - y**2)
    return np.stack([u, v], axis=-1)


def _masked(field: np.ndarray, random: np.random.Generator) -> np.ndarray:
    size = field.shape[0]
    pixels = np.arange(size, dtype=np.float32) * np.float32(CROP_SIDE / size)
    x, y = pixels[None, :], pixels[:, None]
    away = np.sqrt(((x - 13.5) / random.uniform(12.5, 16)) ** 2 + ((y - 11) / random.uniform(15.5, 19)) ** 2)
    inside = 1 / (1 + np.exp((away - 1) * random.uniform(3, 10)))
    if random.random() < 0.5:
        field = field + (random.standard_normal(2) * random.uniform(0, 0.6)).astype(np.float32)
    return field * inside[..., None]


def _smooth(size: int, random: np.random.Generator, low: float, high: float) -> np.ndarray:
    """Smooth noise with standard deviation 1, (S, S), blurred by `low` to `high` pixels of a 28 px map."""
    white = random.standard_normal((size, size), dtype=np.float32)
    smooth = np.asarray(cv2.GaussianBlur(white, (0, 0), random.uniform(low, high) * size / CROP_SIDE))
    return smooth / (smooth.std() + 1e-9)


def _smooth_pair(size: int, random: np.random.Generator, low: float, high: float) -> np.ndarray:
    return np.stack([_smooth(size, random, low, high) for _ in range(2)], axis=-1)


def _log_uniform(random: np.random.Generator, bounds: tuple[float, float]) -> np.float32:
    return np.float32(np.exp(random.uniform(np.log(bounds[0]), np.log(bounds[1]))))
