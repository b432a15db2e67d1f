"""Glasses: frames, bridge and temples; they move with the head, never with the skin."""

import numpy as np

from epir.synthetic.drawing.canvas import Canvas, bump, ramp, ridge
from epir.synthetic.drawing.shading import Light, linear, to_display
from epir.synthetic.identity import Geometry, Looks

FORMS = {"round": (2.0, 4.5, 4.1), "square": (5.0, 4.9, 3.3), "oval": (2.6, 4.8, 3.2)}  # power, half width and height
OPAQUE = np.float32(0.97)


def draw_glasses(canvas: Canvas, g: Geometry, looks: Looks, light: Light) -> np.ndarray | None:
    """The glasses of this person as a layer, premultiplied; `None` for those without."""  # (H, W, 4)
    if looks.glasses == "none":
        return None
    x, y = np.abs(canvas.x), canvas.y
    power, width, height = FORMS[looks.glasses]
    centre_x, centre_y = g.eye_x + 0.05, g.eye_y + 0.55
    across, down = np.abs(x - centre_x) / width, np.abs(y - centre_y) / height
    distance = ((across**power + down**power) ** (1 / power) - 1) * height  # to the middle of the rim
    thick = 0.17 if looks.glasses_colour[0] > 0.4 else 0.30  # metal is thin
    rim = canvas.cover(np.abs(distance) - thick, 0.05)
    bow = canvas.cover(np.abs(y - (centre_y - 0.9 + 0.067 * x**2)) - 0.95 * thick, 0.05)
    bridge = bow * ramp(x, centre_x - width + 0.15, centre_x - width - 0.05)
    arm = canvas.cover(np.abs(y - (centre_y - 1.25)) - 1.25 * thick, 0.05)
    arm = arm * ramp(x, centre_x + width - 0.2, centre_x + width) * ramp(x, 15.0 * g.width, 14.6 * g.width)
    frame = np.maximum.reduce([rim, bridge, arm]) * OPAQUE

    slant = canvas.x * np.sign(light.key[0]) + 1.2 * canvas.y
    mirrored = ridge(np.mod(slant + 40, 13.6) - 5.0, 1.3)
    veil = canvas.cover(distance, 0.05) * (1 - frame) * (0.025 + 0.06 * mirrored)  # light on the lenses
    bright = 0.75 + 0.5 * ramp(distance, thick, -thick) + 0.35 * bump(x, y, (centre_x, centre_y - height), (2.5, 0.5))
    colour = to_display(linear(looks.glasses_colour) * bright[..., None] * light.colour)
    layer = np.empty((canvas.height, canvas.width, 4), np.float32)
    layer[..., :3] = colour * frame[..., None] + veil[..., None]
    layer[..., 3] = np.clip(frame + veil, 0, 1)
    return layer
