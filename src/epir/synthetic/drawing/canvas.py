"""The pixel grid on which a face is drawn, and its building blocks: soft shapes, noise and curves.

Face units: the side of a face crop is 28 units. x runs from the midline to the right of the picture, y down from the
top row of the crop; the eyes lie near y = 6.5, the mouth near y = 20. Every length of the drawing is in these units,
so that a face can be drawn at any size.

Axes: H rows, W columns
"""

from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np
from scipy.interpolate import CubicSpline

CROP_SIDE = 28.0  # face units across a face crop
CROP_TOP = -0.5  # its upper edge: y = 0 is the centre of the first of 28 rows
FRAME_SIDE = 66.0  # face units across a whole frame
FRAME_TOP = -25.5


@dataclass(frozen=True)
class Canvas:
    """A grid of `width` x `height` pixels with its upper left corner at (`left`, `top`) face units."""

    width: int
    height: int
    scale: float  # pixels per face unit
    left: float
    top: float

    @classmethod
    def frame(cls, size: int) -> "Canvas":
        """The canvas of a whole square frame: head, neck and shoulders."""
        return cls(size, size, size / FRAME_SIDE, -FRAME_SIDE / 2, FRAME_TOP)

    @classmethod
    def crop(
        cls, size: int, margin: int = 0, *, zoom: float = 1.0, shift: tuple[float, float] = (0.0, 0.0)
    ) -> "Canvas":
        """The canvas of a face crop of `size` pixels, plus `margin` pixels on every side.

        The face is enlarged by `zoom` about the crop's centre and moved by `shift` face units.
        """
        scale = size * zoom / CROP_SIDE
        side = size + 2 * margin
        left, top = -CROP_SIDE / 2 / zoom - shift[0], CROP_TOP + CROP_SIDE / 2 * (1 - 1 / zoom) - shift[1]
        return cls(side, side, scale, left - margin / scale, top - margin / scale)

    @cached_property
    def x(self) -> np.ndarray:
        """The x of each column, in face units."""
        return (self.left + (np.arange(self.width, dtype=np.float32) + 0.5) / self.scale)[None, :]  # (1, W)

    @cached_property
    def y(self) -> np.ndarray:
        """The y of each row, in face units."""
        return (self.top + (np.arange(self.height, dtype=np.float32) + 0.5) / self.scale)[:, None]  # (H, 1)

    def column(self, x: float) -> float:
        """The column at `x` face units; pixel centres are integers."""
        return (x - self.left) * self.scale - 0.5

    def row(self, y: float) -> float:
        """The row at `y` face units."""
        return (y - self.top) * self.scale - 0.5

    def cover(self, distance: np.ndarray, softness: float = 0.0) -> np.ndarray:
        """The coverage 0..1 of each pixel by a shape, from the signed distance in face units (negative inside)."""
        half = np.float32(max(softness, 0.6 / self.scale))
        inside = np.clip(0.5 - distance / (2 * half), 0, 1)
        return inside * inside * (3 - 2 * inside)

    def blur(self, picture: np.ndarray, sigma: float) -> np.ndarray:
        """Blur a picture by `sigma` face units."""
        pixels = sigma * self.scale
        return picture if pixels < 0.25 else cv2.GaussianBlur(picture, (0, 0), pixels)

    def noise(self, random: np.random.Generator, grain: float) -> np.ndarray:
        """Smooth noise of mean 0 and standard deviation about 1, with grains of `grain` face units.

        Grains smaller than a pixel average out, as in a camera.
        """
        step = max(grain * self.scale, 1.0)
        rows, columns = int(self.height / step) + 4, int(self.width / step) + 4
        grid = random.standard_normal((rows, columns), dtype=np.float32)
        if step == 1.0:
            return grid[: self.height, : self.width] * np.float32(grain * self.scale)
        place = np.array([[step, 0, -step], [0, step, -step]], dtype=np.float32)
        return 1.3 * cv2.warpAffine(grid, place, (self.width, self.height), flags=cv2.INTER_CUBIC)


def gaussian(
    x: np.ndarray, y: np.ndarray, at: tuple[float, float], radii: tuple[float, float], turn: float = 0.0
) -> np.ndarray:
    """A Gaussian of height 1 around `at`, rotated by `turn` radians."""
    dx, dy = x - np.float32(at[0]), y - np.float32(at[1])
    if turn:
        c, s = np.float32(np.cos(turn)), np.float32(np.sin(turn))
        dx, dy = c * dx + s * dy, c * dy - s * dx
    return np.exp(-0.5 * ((dx / np.float32(radii[0])) ** 2 + (dy / np.float32(radii[1])) ** 2))


def twin(x: np.ndarray, y: np.ndarray, at: tuple[float, float], radii: tuple[float, float]) -> np.ndarray:
    """Two Gaussians that mirror each other, smooth at the midline."""
    return gaussian(x, y, at, radii) + gaussian(x, y, (-at[0], at[1]), radii)


def ridge(distance: np.ndarray, width: float | np.ndarray) -> np.ndarray:
    """A Gaussian ridge of height 1 along the line where `distance` is 0."""
    return np.exp(-0.5 * (distance / np.asarray(width, np.float32)) ** 2)


def ramp(value: np.ndarray, start: float, end: float) -> np.ndarray:
    """A smooth step from 0 at `start` to 1 at `end`; `start` may be larger."""
    t = np.clip((value - np.float32(start)) / np.float32(end - start), 0, 1)
    return t * t * (3 - 2 * t)


def grain_along(
    texture: np.ndarray, across: np.ndarray, along: np.ndarray, fineness: float, length: float
) -> np.ndarray:
    """Streaks like hair: noise that changes fast `across` and slowly `along`, both in face units."""
    u = (across * np.float32(fineness)).astype(np.float32)
    v = (along * np.float32(1.0 / length)).astype(np.float32)
    u, v = np.broadcast_arrays(u, v)
    side = np.float32(texture.shape[0])
    return cv2.remap(texture, np.mod(u, side), np.mod(v, side), cv2.INTER_LINEAR, borderMode=cv2.BORDER_WRAP)


class Spline:
    """A cubic spline through (`x`, `y`), level at both ends (like symmetric outlines at the midline) or natural."""

    def __init__(self, x: list[float], y: list[float], *, level: bool = True) -> None:
        assert (np.diff(x) > 0).all(), "the points of a curve go from left to right"
        self._spline = CubicSpline(x, y, bc_type="clamped" if level else "natural")

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """The value at `x`; constant beyond both ends."""
        ends = self._spline.x
        return self._spline(np.clip(x, ends[0], ends[-1])).astype(np.float32)

    def table(self) -> tuple[np.ndarray, np.ndarray]:
        """The curve as a table for `numpy.interp`, which is faster on whole pictures."""
        x = np.linspace(self._spline.x[0], self._spline.x[-1], 512)
        return x, self(x)
