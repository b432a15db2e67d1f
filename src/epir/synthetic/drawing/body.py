"""What stays still behind the head: background, hair at the back, neck, shoulders and clothes."""

import numpy as np

from epir.synthetic.drawing.canvas import Canvas, Curve, bump, ramp, ridge
from epir.synthetic.drawing.hair import Coiffure, hangs_behind
from epir.synthetic.drawing.relief import SCATTER, Light, distance_and_bound, linear, to_display
from epir.synthetic.drawing.skin import skin_colour
from epir.synthetic.identity import Geometry, Looks

SHOULDERS = Curve([0, 8, 14, 22, 27, 31, 36], [32.6, 33.2, 34.8, 36.8, 39.0, 43.5, 56.0], level=False)


def draw_body(
    canvas: Canvas, g: Geometry, looks: Looks, light: Light, hair: Coiffure, random: np.random.Generator
) -> np.ndarray:
    """Everything behind the head, as displayed."""  # (H, W, 3)
    picture = _background(canvas, looks, light, random)
    if looks.hair == "scarf":
        picture = lay(picture, hair.colour, hair.back)
    else:
        shaded = 0.45 + 0.4 * ramp(np.abs(canvas.x), 9, 13)[..., None]  # darkest behind the neck
        picture = lay(picture, hair.colour * shaded, hair.back)
        picture = lay(picture, *_neck(canvas, g, looks, light, random))
    picture = lay(picture, *draw_clothes(canvas, g, looks, light, random))
    if looks.hair == "long" and not hangs_behind(looks):
        picture = lay(picture, hair.colour, hair.front * ramp(canvas.y, 18, 24))
    return to_display(picture).astype(np.float32)


def lay(below: np.ndarray, colour: np.ndarray, cover: np.ndarray) -> np.ndarray:
    """The colour on top of what is below, where it covers it."""
    return below * (1 - cover[..., None]) + colour * cover[..., None]


def _background(canvas: Canvas, looks: Looks, light: Light, random: np.random.Generator) -> np.ndarray:
    x, y = canvas.x, canvas.y
    glow = looks.background_glow * (2.2 * bump(x, y, (12 * np.sign(light.key[0]), -6), (26, 24)) - 0.6)
    falloff = 1 - 0.00022 * (x**2 + (y - 6) ** 2)
    cloudy = 0.035 * canvas.noise(random, 14.0) + 0.02 * canvas.noise(random, 5.0)
    return linear(looks.background) * np.clip((1 + glow + cloudy) * falloff, 0.1, None)[..., None] * light.colour


def _neck(
    canvas: Canvas, g: Geometry, looks: Looks, light: Light, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Linear colour and cover of the neck."""
    x, y, half = canvas.x, canvas.y, neck_half(canvas, g)
    across = np.clip(x / half, -1, 1)
    facing = across * light.key[0] + np.sqrt(1 - 0.9 * across**2) * light.key[2] * 0.95  # a column
    direct = np.clip((facing[..., None] + SCATTER) / (1 + SCATTER), 0, None)
    radius, bound = distance_and_bound(canvas, g)
    shade = 1 - 0.62 * ramp(radius - bound - 0.25 * x * np.sign(light.key[0]), 6.0, 0.5)  # of the chin
    muscle = 0.08 * bump(np.abs(x), y, (5.2, 33), (1.0, 4.5)) - 0.10 * bump(np.abs(x), y, (2.6, 36), (1.5, 3.0))
    mottle = np.exp(0.03 * canvas.noise(random, 0.6) + 0.03 * canvas.noise(random, 2.0) + muscle)
    warm = np.array([1.0, 0.93, 0.90], dtype=np.float32)
    colour = linear(skin_colour(looks)) * warm * (0.16 + 0.80 * direct) * (shade * mottle)[..., None] * light.colour
    return colour.astype(np.float32), canvas.cover(np.abs(x) - half) * (y > 12)


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
