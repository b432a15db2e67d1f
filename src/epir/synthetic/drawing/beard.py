"""Beards: from stubble to full."""

import numpy as np

from epir.synthetic.drawing.canvas import Canvas, bump, grain_along, ramp
from epir.synthetic.drawing.mouth import Lips
from epir.synthetic.drawing.relief import Relief
from epir.synthetic.identity import Geometry, Looks


def draw_beard(
    canvas: Canvas, g: Geometry, looks: Looks, relief: Relief, lips: Lips, random: np.random.Generator
) -> np.ndarray:
    """How densely beard hair covers each pixel."""  # (H, W)
    if looks.beard == "none":
        return np.zeros((canvas.height, canvas.width), np.float32)
    cover = _region(canvas, g, looks, relief) * (1 - np.clip(1.3 * (lips.upper + lips.lower), 0, 1))
    texture = random.standard_normal((256, 256)).astype(np.float32)
    grain = canvas.noise(random, 0.16)
    if looks.beard == "stubble":
        shade = np.clip(0.26 + 0.10 * grain + 0.05 * canvas.noise(random, 0.6), 0, 0.6)
        return cover * shade * np.float32(looks.beard_density)
    spread = canvas.x * (1 + 0.016 * (canvas.y - g.mouth_y)) + 0.35 * canvas.noise(random, 1.2)
    hairs = grain_along(texture, spread + 60, canvas.y + 20, 3.0, 1.1) + 0.6 * grain
    soft = canvas.blur(cover.astype(np.float32), 0.30)
    edge = np.clip(4 * soft * (1 - soft), 0, 1)  # single hairs show at the edge, not in the depth
    return np.clip(soft * (0.78 + 0.10 * looks.beard_density + (0.09 + 0.18 * edge) * hairs), 0, 0.93)


def _region(canvas: Canvas, g: Geometry, looks: Looks, relief: Relief) -> np.ndarray:
    """Where this kind of beard grows."""
    x, y = np.abs(canvas.x), canvas.y
    below = g.mouth_y + g.lip_lower
    over = np.float32(g.mouth_y - g.lip_upper) - y - 0.25 * ramp(x, 0.0, 1.2)  # above the upper lip
    moustache = ramp(over, -0.5, 0.25) * ramp(over, 2.2, 1.0) * ramp(x, g.mouth_half + 1.0, g.mouth_half - 0.6)
    if looks.beard == "moustache":
        return moustache
    chin = ramp(y, below + 0.9, below + 2.6) * ramp(x, 7.2, 4.6)
    strip = bump(x, y, (0, below + 0.9), (0.7, 0.7))
    beside = ramp(np.abs(x - g.mouth_half - 0.35), 1.3, 0.5) * ramp(y, g.mouth_y - 1.6, g.mouth_y - 0.4)
    if looks.beard == "goatee":
        return np.maximum.reduce([moustache, chin, 0.7 * strip, beside * ramp(y, g.mouth_y + 8, g.mouth_y + 4)])
    cheek = 17.0 + 0.06 * (12.5 - np.clip(x, 0, 12.5)) ** 2 - 8.5 * ramp(x, 10.8, 13.2)  # its upper edge
    jaw = ramp(y - cheek, -0.8, 1.4) * ramp(-relief.edge, 7.5, 4.2) * ramp(y, 5.5, 9.5)
    return np.maximum.reduce([moustache, jaw, chin, 0.8 * strip, 0.9 * beside])
