"""What a face has and wears besides skin, eyes and hair: lips, brows, a beard, ears, glasses."""

from dataclasses import dataclass

import numpy as np

from epir.synthetic.drawing.canvas import Canvas, Curve, bump, grain_along, ramp, ridge
from epir.synthetic.drawing.relief import Light, Relief, half_width, linear, to_display
from epir.synthetic.drawing.skin import skin_colour
from epir.synthetic.identity import Geometry, Looks

UPPER_LIP = Curve(
    [0, 0.22, 0.5, 0.8, 1], [0.86, 1.04, 0.70, 0.27, 0.0], level=False
)  # cupid's bow, from the middle to a corner
LOWER_LIP = Curve([0, 0.3, 0.6, 0.85, 1], [1.0, 0.95, 0.68, 0.28, 0.0], level=False)
BROW_LENGTH = 8.3
EAR_HEIGHT = 9.0  # of their centres, face units
EAR_TINT = np.array([1.0, 0.80, 0.76], dtype=np.float32)  # than the face: light shines through
GLASSES_FORMS = {
    "round": (2.0, 4.5, 4.1),
    "square": (5.0, 4.9, 3.3),
    "oval": (2.6, 4.8, 3.2),
}  # power, half width and height
OPAQUE = np.float32(0.97)


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
    top = between - g.lip_upper * UPPER_LIP(t)
    bottom = between + g.lip_lower * LOWER_LIP(t)
    within = ramp(x, g.mouth_half + 0.35, g.mouth_half - 0.5)
    upper = canvas.cover(np.maximum(top - y, y - between), 0.12) * within
    lower = canvas.cover(np.maximum(between - y, y - bottom), 0.16) * within
    thin = np.float32(0.12) + np.float32(0.04) * (1 - t)
    line = np.exp(-0.5 * ((y - between) / thin) ** 2) * ramp(x, g.mouth_half + 0.25, g.mouth_half - 0.6)
    up = np.clip((y - top) / np.maximum(between - top, 0.05), 0, 1)
    down = np.clip((y - between) / np.maximum(bottom - between, 0.05), 0, 1)
    swell = 0.42 * g.lip_upper * np.sin(np.pi * up**1.25) * UPPER_LIP(t) + 0.50 * g.lip_lower * np.sin(
        np.pi * down**0.8
    ) * LOWER_LIP(t)
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


def draw_brows(canvas: Canvas, g: Geometry, looks: Looks, random: np.random.Generator) -> np.ndarray:
    """How densely brow hair covers each pixel."""  # (H, W)
    a, y = np.abs(canvas.x), canvas.y
    inner = g.eye_x - 4.0
    s = (a - np.float32(inner)) / np.float32(BROW_LENGTH)
    inside = np.clip(s, 0, 1)
    arch = np.float32(g.brow_arch) * np.clip(np.sin(np.pi * inside ** np.float32(1.2)), 0, 1) ** np.float32(1.1)
    centre = (
        g.brow_y
        + 0.35
        - arch
        - np.float32(np.tan(g.brow_tilt) * BROW_LENGTH) * inside
        + 0.75 * ramp(inside, 0.72, 1.0) ** 2
    )
    thick = g.brow_thick * (0.72 + 0.38 * np.sin(np.pi * inside**0.6)) * (1 - 0.74 * ramp(inside, 0.5, 1.0))
    off = (y - centre) / thick
    body = np.exp(-(np.abs(off) ** np.float32(2.4))) * ramp(s, -0.07, 0.10) * ramp(s, 1.04, 0.90)
    lean = np.float32(0.5) + np.float32(1.9) * inside  # inner hairs stand up, outer ones lie along the arch
    texture = random.standard_normal((64, 64)).astype(np.float32)
    hairs = grain_along(texture, np.sign(canvas.x) * (a + (y - centre) * lean) + 40, y - centre + 9, 3.2, 2.0)
    density = np.clip(0.80 + 0.22 * hairs, 0, 1.0) + 0.16 * hairs * np.clip(np.abs(off), 0, 1)
    return np.clip(body * density * np.float32(looks.brow_density), 0, 0.94)


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


def draw_ears(canvas: Canvas, g: Geometry, looks: Looks, light: Light) -> tuple[np.ndarray, np.ndarray]:
    """Linear colour and cover of both ears."""
    dy = canvas.y - np.float32(EAR_HEIGHT)
    dx = np.abs(canvas.x) - np.float32(half_width(g, EAR_HEIGHT) + 0.55) + 0.16 * dy  # they lean out at the top
    narrow = np.clip(np.float32(1.75) - 0.11 * dy, 0.9, None)
    shape = np.sqrt((dx / narrow) ** 2 + (dy / np.float32(3.9)) ** 2)  # 1 at the edge
    helix, groove, hollow = (
        ridge(shape - 0.84, 0.11),
        ridge(shape - 0.64, 0.10),
        bump(dx, dy, (-0.35, 0.5), (0.65, 1.3)),
    )
    lit = 0.60 + 0.16 * np.sign(light.key[0]) * np.sign(canvas.x) + 0.22 * helix - 0.24 * groove - 0.38 * hollow
    lit = np.clip(lit - 0.25 * ramp(dx, 0.2, -1.5), 0.08, None) * np.float32(1.15)
    return linear(skin_colour(looks)) * EAR_TINT * lit[..., None] * light.colour, canvas.cover((shape - 1) * 1.7, 0.06)


def draw_glasses(canvas: Canvas, g: Geometry, looks: Looks, light: Light) -> np.ndarray | None:
    """The glasses of this person as a layer, premultiplied; `None` for those without."""  # (H, W, 4)
    if looks.glasses == "none":
        return None
    x, y = np.abs(canvas.x), canvas.y
    power, width, height = GLASSES_FORMS[looks.glasses]
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
