"""Shoulders and what covers them."""

import numpy as np

from epir.synthetic.drawing.canvas import Canvas, ramp, ridge
from epir.synthetic.drawing.curve import Curve
from epir.synthetic.drawing.shading import Light, linear
from epir.synthetic.identity import Geometry, Looks

SHOULDERS = Curve([0, 8, 14, 22, 27, 31, 36], [32.6, 33.2, 34.8, 36.8, 39.0, 43.5, 56.0], level=False)


def neck_half(canvas: Canvas, g: Geometry) -> np.ndarray:
    """Half the width of the neck at each row."""  # (H, 1)
    curve = Curve([15, 27, 33, 36.5, 40, 46], [10.2 * g.jaw, 9.2 * g.jaw, 9.2 * g.jaw, 10.4, 14.5, 23], level=False)
    return curve(canvas.y.ravel())[:, None]


def draw_clothes(
    canvas: Canvas, g: Geometry, looks: Looks, light: Light, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Linear colour and cover of the clothes."""
    x, y = np.abs(canvas.x), canvas.y
    inside, seam = _cut(canvas, g, looks)
    lit = 0.55 + 0.40 * canvas.x / 30 * np.sign(light.key[0]) - 0.25 * ramp(x, 20, 32)
    folds = 0.05 * np.sin(0.45 * canvas.x + 0.3 * y + 1.2 * canvas.noise(random, 9.0))
    weave = 0.02 * canvas.noise(random, 2.5) + 0.025 * canvas.noise(random, 0.15)
    under = 1 - 0.45 * ramp(y - 33.5 - 0.05 * x**2, 3.5, 0.0) * ramp(x, 11, 6)  # in the shadow of the chin
    tone = np.clip(lit + folds + weave - 0.14 * seam, 0.08, None) * under * (1 - 0.25 * ramp(inside, 0.5, 0.0))
    colour = linear(looks.clothes_colour) * tone[..., None] * 1.25 * light.colour
    return colour.astype(np.float32), canvas.cover(-inside, 0.06) * (y > 30)


def _cut(canvas: Canvas, g: Geometry, looks: Looks) -> tuple[np.ndarray, np.ndarray]:
    """How far inside the cloth a pixel lies, and the seam along its neckline."""
    x, y = np.abs(canvas.x), canvas.y
    cloth = y - SHOULDERS(x.ravel())[None, :]
    if looks.clothes == "turtleneck":
        around_neck = np.minimum(neck_half(canvas, g) + 0.7 - x, y - (31.8 - 0.018 * x**2))
        return np.maximum(cloth, around_neck), ridge(y - 32.4 + 0.018 * x**2, 0.5)
    if looks.clothes == "vneck":
        beside = x - np.clip(8.8 - (y - 32.5) * 0.80, 0, None)
        return np.minimum(cloth, beside), ridge(beside - 0.5, 0.35)
    if looks.clothes == "collar":
        beside = x - np.clip(7.6 - (y - 31.5) * 0.85, 0, None)
        return np.minimum(cloth + 0.8, beside), ridge(x - 12.2 + (y - 33) * 0.5, 0.3) * ramp(y, 32, 34)
    below = y - (35.0 - 0.030 * x**2)
    return np.minimum(cloth, below), ridge(below - 0.85, 0.22) * ramp(x, 10, 8)
