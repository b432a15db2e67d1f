"""Ears."""

import numpy as np

from epir.synthetic.drawing.canvas import Canvas, bump, ramp, ridge
from epir.synthetic.drawing.relief import half_width
from epir.synthetic.drawing.shading import Light, linear
from epir.synthetic.drawing.skin import skin_colour
from epir.synthetic.identity import Geometry, Looks

HEIGHT = 9.0  # of their centres, face units
REDDER = np.array([1.0, 0.80, 0.76], dtype=np.float32)  # than the face: light shines through


def draw_ears(canvas: Canvas, g: Geometry, looks: Looks, light: Light) -> tuple[np.ndarray, np.ndarray]:
    """Linear colour and cover of both ears."""
    dy = canvas.y - np.float32(HEIGHT)
    dx = np.abs(canvas.x) - np.float32(half_width(g, HEIGHT) + 0.55) + 0.16 * dy  # they lean out at the top
    narrow = np.clip(np.float32(1.75) - 0.11 * dy, 0.9, None)
    shape = np.sqrt((dx / narrow) ** 2 + (dy / np.float32(3.9)) ** 2)  # 1 at the edge
    helix, groove, hollow = (
        ridge(shape - 0.84, 0.11),
        ridge(shape - 0.64, 0.10),
        bump(dx, dy, (-0.35, 0.5), (0.65, 1.3)),
    )
    lit = 0.60 + 0.16 * np.sign(light.key[0]) * np.sign(canvas.x) + 0.22 * helix - 0.24 * groove - 0.38 * hollow
    lit = np.clip(lit - 0.25 * ramp(dx, 0.2, -1.5), 0.08, None) * np.float32(1.15)
    return linear(skin_colour(looks)) * REDDER * lit[..., None] * light.colour, canvas.cover((shape - 1) * 1.7, 0.06)
