"""The colour of skin: tone, blood, freckles, fine lines and pores."""

import numpy as np

from epir.synthetic.drawing.canvas import Canvas, gaussian, ramp, ridge
from epir.synthetic.drawing.relief import linear
from epir.synthetic.identity import Geometry, Looks

RED, GREEN, BLUE = (  # of evenly lit skin, 0..255 as displayed, from very light to very dark
    (247, 238, 224, 203, 172, 131, 100, 80),
    (217, 199, 178, 151, 121, 87, 65, 54),
    (199, 174, 147, 117, 88, 62, 48, 42),
)


def skin_colour(looks: Looks) -> np.ndarray:
    """The displayed colour (3,) of evenly lit skin."""
    place = looks.tone * (len(RED) - 1)
    levels = [np.interp(place, np.arange(len(RED)), channel) for channel in (RED, GREEN, BLUE)]
    colour = np.array(levels, dtype=np.float32) / 255
    warm = np.array([0.006, 0.004, -0.016], dtype=np.float32) * np.float32(looks.undertone)
    return np.clip(colour + warm, 0.02, 1)


def skin_albedo(canvas: Canvas, geometry: Geometry, looks: Looks, random: np.random.Generator) -> np.ndarray:
    """The linear skin colour of every pixel, (H, W, 3)."""
    x, y = np.abs(canvas.x), canvas.y
    blood = _blood(x, y, geometry) * np.float32(looks.flush * (1 - 0.45 * looks.tone))
    redder = np.exp(-blood[..., None] * np.array([0.05, 0.36, 0.30], dtype=np.float32))
    dark = _shadows(x, y, geometry, looks.age)
    darker = np.exp(-dark[..., None] * np.array([0.30, 0.38, 0.34], dtype=np.float32))
    grains = ((4.0, 0.012), (1.6, 0.020), (0.65, 0.021), (0.33, 0.025), (0.18, 0.028))  # size and strength
    mottle = np.sum([strength * canvas.noise(random, grain) for grain, strength in grains], axis=0)
    albedo = linear(skin_colour(looks)) * redder * darker * np.exp(mottle * (0.8 + 0.7 * looks.age))[..., None]
    if looks.freckles:
        albedo *= _freckles(canvas, geometry, looks, random)
    return albedo.astype(np.float32)


def gloss(canvas: Canvas, geometry: Geometry, looks: Looks, random: np.random.Generator) -> np.ndarray:
    """The gloss (H, W) of forehead, nose, cheekbones and chin."""
    x, y = np.abs(canvas.x), canvas.y
    g = geometry
    zone = 0.5 + 0.5 * gaussian(x, y, (0, -2.5), (6, 4.0)) + 0.9 * gaussian(x, y, (0, g.nose_y - 3), (1.0, 3.6))
    zone = zone + 0.35 * gaussian(x, y, (8.5, 10.0), (2.5, 1.8)) + 0.3 * gaussian(x, y, (0, g.mouth_y + 6.0), (2, 1.4))
    grainy = 1 + 0.10 * canvas.noise(random, 0.3) + 0.08 * canvas.noise(random, 0.9)
    return (0.060 + 0.035 * looks.tone) * zone * np.clip(grainy, 0, None)


def fine_lines(canvas: Canvas, geometry: Geometry, looks: Looks, random: np.random.Generator) -> np.ndarray:
    """Wrinkles of forehead and eye corners as a height (H, W) to add to the relief."""
    x, y = canvas.x, canvas.y
    g, depth = geometry, 0.10 * max(looks.age - 0.25, 0.0)
    if depth <= 0.004:
        return np.zeros((canvas.height, canvas.width), np.float32)
    wander = 0.25 * canvas.noise(random, 5.0)
    lines = np.zeros((canvas.height, canvas.width), np.float32)
    for row in (-1.0, -2.9, -4.9):
        level = row + 0.007 * x**2 * np.sign(row + 2.0) + wander
        lines -= ridge(y - level, 0.16) * np.exp(-((x / np.float32(8.5)) ** 4))
    side = np.abs(x)
    for turn in (-0.35, 0.0, 0.35):
        along, across = side - (g.eye_x + g.eye_half + 1.4), y - g.eye_y
        c, s = np.float32(np.cos(turn)), np.float32(np.sin(turn))
        a, b = c * along + s * across, c * across - s * along
        lines -= 0.8 * ridge(b, 0.13) * np.exp(-((a / np.float32(1.1)) ** 4))
    return (depth * 2.2 * lines).astype(np.float32)


def nostrils(canvas: Canvas, g: Geometry) -> np.ndarray:
    """The share of light that remains in and around the nostrils, (H, W)."""
    x, y = np.abs(canvas.x), canvas.y
    hole = gaussian(x, y, (g.nose_half * 0.49, g.nose_y - 0.25), (0.62, 0.27), 0.28)
    wing = gaussian(x, y, (g.nose_half + 0.05, g.nose_y - 0.75), (0.22, 0.75), -0.15)
    base = gaussian(x, y, (0, g.nose_y + 0.35), (g.nose_half * 0.70, 0.30))
    return (1 - 0.78 * np.clip(1.25 * hole, 0, 1)) * (1 - 0.20 * wing) * (1 - 0.15 * base)


def _blood(x: np.ndarray, y: np.ndarray, g: Geometry) -> np.ndarray:
    cheeks = 0.9 * gaussian(x, y, (8.6, 13.0), (3.4, 2.8))
    nose = 0.8 * gaussian(x, y, (0, g.nose_y - 1.6), (2.2, 1.7))
    wings = 0.4 * gaussian(x, y, (g.nose_half - 0.5, g.nose_y - 0.7), (0.9, 0.8))
    lids = 0.35 * gaussian(x, y, (g.eye_x, g.eye_y), (3.6, 2.3))
    chin = 0.25 * gaussian(x, y, (0, g.mouth_y + 5.8), (2.8, 1.8))
    ears = 0.8 * ramp(x, 13.6, 15.2)
    mouth = 0.25 * gaussian(x, y, (0, g.mouth_y), (6.5, 3.0))
    return cheeks + nose + wings + lids + chin + ears + mouth


def _shadows(x: np.ndarray, y: np.ndarray, g: Geometry, age: float) -> np.ndarray:
    below = (0.18 + 0.45 * age) * gaussian(x, y, (g.eye_x - 0.8, g.eye_y + 1.9), (2.4, 0.8), 0.12)
    corner = 0.30 * gaussian(x, y, (g.eye_x - g.eye_half - 0.5, g.eye_y - 0.4), (0.9, 1.3))
    lid = 0.12 * gaussian(x, y, (g.eye_x, g.eye_y - 1.6), (3.0, 0.8))
    nose = 0.35 * gaussian(x, y, (0, g.nose_y + 0.45), (2.2, 0.5))
    lip = 0.25 * gaussian(x, y, (0, g.mouth_y + g.lip_lower + 0.9), (2.6, 0.55))
    return below + corner + lid + nose + lip


def _freckles(canvas: Canvas, g: Geometry, looks: Looks, random: np.random.Generator) -> np.ndarray:
    x, y = np.abs(canvas.x), canvas.y
    where = gaussian(x, y, (6.5, 11.5), (4.0, 2.6)) + 0.8 * gaussian(x, y, (0, 11.0), (2.0, 3.0)) + 0.25
    spots = ramp(canvas.noise(random, 0.42) + 0.5 * canvas.noise(random, 1.2), 1.1, 1.7)
    spots = spots * where * np.float32(0.5 * looks.freckles)
    return np.exp(-spots[..., None] * np.array([0.35, 0.75, 0.95], dtype=np.float32))
