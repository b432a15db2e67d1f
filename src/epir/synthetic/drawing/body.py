"""What stays still behind the head: background, hair at the back, neck, clothes."""

import numpy as np

from epir.synthetic.drawing.canvas import Canvas, bump, ramp
from epir.synthetic.drawing.clothes import draw_clothes, neck_half
from epir.synthetic.drawing.hair import Coiffure, hangs_behind
from epir.synthetic.drawing.relief import distance_and_bound
from epir.synthetic.drawing.shading import SCATTER, Light, linear, to_display
from epir.synthetic.drawing.skin import skin_colour
from epir.synthetic.identity import Geometry, Looks


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
