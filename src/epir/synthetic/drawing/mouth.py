"""Lips: where they are, how they swell, how they colour."""

from dataclasses import dataclass

import numpy as np

from epir.synthetic.drawing.canvas import Canvas, bump, ramp
from epir.synthetic.drawing.curve import Curve
from epir.synthetic.identity import Geometry, Looks

UPPER = Curve(
    [0, 0.22, 0.5, 0.8, 1], [0.86, 1.04, 0.70, 0.27, 0.0], level=False
)  # cupid's bow, from the middle to a corner
LOWER = Curve([0, 0.3, 0.6, 0.85, 1], [1.0, 0.95, 0.68, 0.28, 0.0], level=False)


@dataclass(frozen=True)
class Lips:
    """The lips on a canvas, each (H, W)."""

    upper: np.ndarray  # cover
    lower: np.ndarray
    line: np.ndarray  # the dark line between them
    height: np.ndarray  # how far they stand out, face units


def model_lips(canvas: Canvas, g: Geometry) -> Lips:
    """The closed lips of a face with this geometry."""
    x, y = np.abs(canvas.x), canvas.y
    t = np.clip(x / np.float32(g.mouth_half), 0, 1)
    between = g.mouth_y - g.mouth_curve * t**2 + 0.10 * np.cos(np.pi * t * 2.2) * (1 - t)  # (1, W)
    top = between - g.lip_upper * UPPER(t)
    bottom = between + g.lip_lower * LOWER(t)
    within = ramp(x, g.mouth_half + 0.35, g.mouth_half - 0.5)
    upper = canvas.cover(np.maximum(top - y, y - between), 0.12) * within
    lower = canvas.cover(np.maximum(between - y, y - bottom), 0.16) * within
    thin = np.float32(0.12) + np.float32(0.04) * (1 - t)
    line = np.exp(-0.5 * ((y - between) / thin) ** 2) * ramp(x, g.mouth_half + 0.25, g.mouth_half - 0.6)
    up = np.clip((y - top) / np.maximum(between - top, 0.05), 0, 1)
    down = np.clip((y - between) / np.maximum(bottom - between, 0.05), 0, 1)
    swell = 0.42 * g.lip_upper * np.sin(np.pi * up**1.25) * UPPER(t) + 0.50 * g.lip_lower * np.sin(
        np.pi * down**0.8
    ) * LOWER(t)
    rim = 0.10 * np.exp(-0.5 * ((y - top + 0.1) / np.float32(0.18)) ** 2) * within
    corner = bump(x, y, (g.mouth_half + 0.05, g.mouth_y - g.mouth_curve), (0.45, 0.32))
    return Lips(upper, lower, np.clip(line + 0.55 * corner, 0, 1), swell + rim - 0.32 * line)


def tint_lips(canvas: Canvas, lips: Lips, looks: Looks, random: np.random.Generator) -> np.ndarray:
    """What the albedo of skin is multiplied with at the lips."""  # (H, W, 3)
    x, y = canvas.x, canvas.y
    red = np.array([0.12, 0.72, 0.60], dtype=np.float32) * np.float32(0.80 - 0.30 * looks.tone + 0.75 * looks.lips)
    red = red + np.array([0.16, 0.10, 0.10], dtype=np.float32)
    cover = (1.05 * lips.upper + 0.85 * lips.lower)[..., None]
    streaks = 1 + 0.05 * np.sin(x * 9 + 0.8 * canvas.noise(random, 0.6)) * np.ones_like(y)
    tint = np.exp(-red * cover * streaks[..., None])
    return tint * (1 - lips.line * 0.62)[..., None] ** np.array([0.85, 1.0, 1.0], dtype=np.float32)
