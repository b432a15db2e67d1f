"""Eyebrows: short hairs along an arch."""

import numpy as np

from epir.synthetic.drawing.canvas import Canvas, grain_along, ramp
from epir.synthetic.identity import Geometry, Looks

LENGTH = 8.3


def draw_brows(canvas: Canvas, g: Geometry, looks: Looks, random: np.random.Generator) -> np.ndarray:
    """How densely brow hair covers each pixel."""  # (H, W)
    a, y = np.abs(canvas.x), canvas.y
    inner = g.eye_x - 4.0
    s = (a - np.float32(inner)) / np.float32(LENGTH)
    inside = np.clip(s, 0, 1)
    arch = np.float32(g.brow_arch) * np.clip(np.sin(np.pi * inside ** np.float32(1.2)), 0, 1) ** np.float32(1.1)
    centre = (
        g.brow_y + 0.35 - arch - np.float32(np.tan(g.brow_tilt) * LENGTH) * inside + 0.75 * ramp(inside, 0.72, 1.0) ** 2
    )
    thick = g.brow_thick * (0.72 + 0.38 * np.sin(np.pi * inside**0.6)) * (1 - 0.74 * ramp(inside, 0.5, 1.0))
    off = (y - centre) / thick
    body = np.exp(-(np.abs(off) ** np.float32(2.4))) * ramp(s, -0.07, 0.10) * ramp(s, 1.04, 0.90)
    lean = np.float32(0.5) + np.float32(1.9) * inside  # inner hairs stand up, outer ones lie along the arch
    texture = random.standard_normal((64, 64)).astype(np.float32)
    hairs = grain_along(texture, np.sign(canvas.x) * (a + (y - centre) * lean) + 40, y - centre + 9, 3.2, 2.0)
    density = np.clip(0.80 + 0.22 * hairs, 0, 1.0) + 0.16 * hairs * np.clip(np.abs(off), 0, 1)
    return np.clip(body * density * np.float32(looks.brow_density), 0, 0.94)
