"""One person drawn in layers, from back to front: body, eyes, head (with a hole at each eye), glasses.

The layers move differently: the body is still, the head turns, the skin of the head also follows the expression, the
eyes look around behind the lids, and the glasses sit on the head. `moving.py` warps each layer once per frame.
"""

from dataclasses import dataclass

import numpy as np

from epir.core.seeds import generator
from epir.synthetic.drawing.canvas import Canvas, Spline, gaussian, grain_along, ramp, ridge
from epir.synthetic.drawing.eyes import Lids, draw_balls, draw_lashes, eye_opening, lid_height
from epir.synthetic.drawing.hair import Coiffure, draw_hair, draw_scarf, hangs_behind
from epir.synthetic.drawing.relief import (
    SCATTER,
    Light,
    Relief,
    carve,
    distance_and_bound,
    half_width,
    illuminate,
    linear,
    model_head,
    to_display,
)
from epir.synthetic.drawing.skin import fine_lines, gloss, nostrils, skin_albedo, skin_colour
from epir.synthetic.identity import Geometry, Identity, Looks

INK = np.array([0.07, 0.05, 0.045], dtype=np.float32)  # of lashes, as displayed
SHOULDERS = Spline([0, 8, 14, 22, 27, 31, 36], [32.6, 33.2, 34.8, 36.8, 39.0, 43.5, 56.0], level=False)
# Cupid's bow, from the middle to a corner.
UPPER_LIP = Spline([0, 0.22, 0.5, 0.8, 1], [0.86, 1.04, 0.70, 0.27, 0.0], level=False)
LOWER_LIP = Spline([0, 0.3, 0.6, 0.85, 1], [1.0, 0.95, 0.68, 0.28, 0.0], level=False)
BROW_LENGTH = 8.3
EAR_HEIGHT = 9.0  # y of their centres
EAR_TINT = np.array([1.0, 0.80, 0.76], dtype=np.float32)  # relative to the face: light shines through
# Power, half width and half height.
GLASSES_FORMS = {"round": (2.0, 4.5, 4.1), "square": (5.0, 4.9, 3.3), "oval": (2.6, 4.8, 3.2)}
OPAQUE = np.float32(0.97)


@dataclass(frozen=True)
class Portrait:
    """The layers of one neutral face, displayed values 0..1, premultiplied where they have an alpha channel."""

    canvas: Canvas
    body: np.ndarray  # (H, W, 3)
    eyes: np.ndarray  # (H, W, 4)
    head: np.ndarray  # (H, W, 4) with a hole at each eye
    glasses: np.ndarray | None  # (H, W, 4)

    def flat(self) -> np.ndarray:
        """The neutral face (H, W, 3): all layers composed."""
        picture = self.body
        for layer in (self.eyes, self.head, self.glasses):
            if layer is not None:
                picture = picture * (1 - layer[..., 3:]) + layer[..., :3]
        return picture


def draw_portrait(identity: Identity, canvas: Canvas) -> Portrait:
    """Draw a person on a canvas; the same person and canvas give the same picture."""
    g, looks, seed = identity.geometry, identity.looks, identity.seed
    light = Light.of(looks)
    dress = draw_scarf if looks.hair == "scarf" else draw_hair
    hair = dress(canvas, g, looks, light, generator(seed, "hair"))
    return Portrait(
        canvas=canvas,
        body=draw_body(canvas, g, looks, light, hair, generator(seed, "body")),
        eyes=draw_balls(canvas, g, looks, light, generator(seed, "eyes")),
        head=draw_head(canvas, identity, light, hair),
        glasses=draw_glasses(canvas, g, looks, light),
    )


def draw_head(canvas: Canvas, identity: Identity, light: Light, hair: Coiffure) -> np.ndarray:
    """The head as a premultiplied layer (H, W, 4) of displayed values."""
    g, looks = identity.geometry, identity.looks
    skin, relief = _draw_skin(canvas, g, looks, light, identity.seed)
    shadow = (1 - 0.75 * hair.shadow)[..., None] ** np.array([0.85, 1.0, 1.05], np.float32)  # warm
    return _cut_eyes(canvas, g, looks, *_add_hair(canvas, g, looks, light, skin * shadow, relief.inside, hair))


def _draw_skin(canvas: Canvas, g: Geometry, looks: Looks, light: Light, seed: int) -> tuple[np.ndarray, Relief]:
    """Linear light from the skin with brows and beard."""
    lips = model_lips(canvas, g)
    small = (
        lips.height + lid_height(canvas, g, Lids.of(g), looks) + fine_lines(canvas, g, looks, generator(seed, "lines"))
    )
    relief = carve(canvas, model_head(canvas, g, looks.age), small)
    albedo = skin_albedo(canvas, g, looks, generator(seed, "skin"))
    albedo *= tint_lips(canvas, lips, looks, generator(seed, "lips"))
    shine = gloss(canvas, g, looks, generator(seed, "gloss")) + 0.075 * lips.lower + 0.02 * lips.upper
    skin = illuminate(relief, albedo, light, shine) * nostrils(canvas, g)[..., None]
    hairs = linear(looks.hair_colour)
    lit = (0.32 + 0.60 * np.clip(relief.normal @ light.key, 0, 1))[..., None]
    skin = lay(skin, hairs * lit, draw_beard(canvas, g, looks, relief, lips, generator(seed, "beard")))
    dark = 0.75 * hairs + 0.03 * linear(skin_colour(looks))
    return lay(skin, dark, draw_brows(canvas, g, looks, generator(seed, "brows"))), relief


def _add_hair(
    canvas: Canvas, g: Geometry, looks: Looks, light: Light, skin: np.ndarray, cover: np.ndarray, hair: Coiffure
) -> tuple[np.ndarray, np.ndarray]:
    """Linear light from skin, ears and hair, and their coverage."""
    light_out = skin * cover[..., None]  # premultiplied, so that no skin shows at the edge of the hair
    if not hair.covers_ears:
        ears, ear_cover = draw_ears(canvas, g, looks, light)
        light_out += ears * (ear_cover * (1 - cover))[..., None]
        cover = cover + ear_cover * (1 - cover)
    light_out = lay(light_out, hair.colour, hair.front)
    cover = cover * (1 - hair.front) + hair.front
    return light_out / np.maximum(cover, 1e-3)[..., None], cover


def _cut_eyes(canvas: Canvas, g: Geometry, looks: Looks, light_out: np.ndarray, cover: np.ndarray) -> np.ndarray:
    """The displayed layer with holes for the eyes, the shadow of the lids in them, and lashes at their edges."""
    lids = Lids.of(g)
    opening = eye_opening(canvas, lids)
    lashes, shadow = draw_lashes(canvas, lids, looks)
    head = np.empty((canvas.height, canvas.width, 4), np.float32)
    alpha = cover * (1 - opening)
    head[..., :3] = to_display(light_out) * alpha[..., None]
    head[..., 3] = alpha + shadow * opening * (1 - alpha)  # the shadow is black, so only alpha changes
    head[..., :3] = lay(head[..., :3], INK, lashes)
    head[..., 3] = head[..., 3] * (1 - lashes) + lashes
    return head


def draw_body(
    canvas: Canvas, g: Geometry, looks: Looks, light: Light, hair: Coiffure, random: np.random.Generator
) -> np.ndarray:
    """Everything behind the head, as displayed, (H, W, 3)."""
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
    """Alpha-blend a colour over the picture below."""
    return below * (1 - cover[..., None]) + colour * cover[..., None]


def _background(canvas: Canvas, looks: Looks, light: Light, random: np.random.Generator) -> np.ndarray:
    x, y = canvas.x, canvas.y
    glow = looks.background_glow * (2.2 * gaussian(x, y, (12 * np.sign(light.key[0]), -6), (26, 24)) - 0.6)
    falloff = 1 - 0.00022 * (x**2 + (y - 6) ** 2)
    cloudy = 0.035 * canvas.noise(random, 14.0) + 0.02 * canvas.noise(random, 5.0)
    return linear(looks.background) * np.clip((1 + glow + cloudy) * falloff, 0.1, None)[..., None] * light.colour


def _neck(
    canvas: Canvas, g: Geometry, looks: Looks, light: Light, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Linear colour and coverage of the neck."""
    x, y, half = canvas.x, canvas.y, neck_half(canvas, g)
    across = np.clip(x / half, -1, 1)
    facing = across * light.key[0] + np.sqrt(1 - 0.9 * across**2) * light.key[2] * 0.95  # a column
    direct = np.clip((facing[..., None] + SCATTER) / (1 + SCATTER), 0, None)
    radius, bound = distance_and_bound(canvas, g)
    shade = 1 - 0.62 * ramp(radius - bound - 0.25 * x * np.sign(light.key[0]), 6.0, 0.5)  # of the chin
    muscle = 0.08 * gaussian(np.abs(x), y, (5.2, 33), (1.0, 4.5)) - 0.10 * gaussian(np.abs(x), y, (2.6, 36), (1.5, 3.0))
    mottle = np.exp(0.03 * canvas.noise(random, 0.6) + 0.03 * canvas.noise(random, 2.0) + muscle)
    warm = np.array([1.0, 0.93, 0.90], dtype=np.float32)
    colour = linear(skin_colour(looks)) * warm * (0.16 + 0.80 * direct) * (shade * mottle)[..., None] * light.colour
    return colour.astype(np.float32), canvas.cover(np.abs(x) - half) * (y > 12)


def neck_half(canvas: Canvas, g: Geometry) -> np.ndarray:
    """Half the width of the neck at each row, (H, 1)."""
    curve = Spline([15, 27, 33, 36.5, 40, 46], [10.2 * g.jaw, 9.2 * g.jaw, 9.2 * g.jaw, 10.4, 14.5, 23], level=False)
    return curve(canvas.y.ravel())[:, None]


def draw_clothes(
    canvas: Canvas, g: Geometry, looks: Looks, light: Light, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Linear colour and coverage of the clothes."""
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
    """The distance of each pixel inside the cloth, and the seam along the neckline."""
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


@dataclass(frozen=True)
class Lips:
    """The lips on a canvas, each (H, W)."""

    upper: np.ndarray  # coverage
    lower: np.ndarray
    line: np.ndarray  # the dark line between them
    height: np.ndarray  # face units


def model_lips(canvas: Canvas, g: Geometry) -> Lips:
    """Model the closed lips of a face with this geometry."""
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
    corner = gaussian(x, y, (g.mouth_half + 0.05, g.mouth_y - g.mouth_curve), (0.45, 0.32))
    return Lips(upper, lower, np.clip(line + 0.55 * corner, 0, 1), swell + rim - 0.32 * line)


def tint_lips(canvas: Canvas, lips: Lips, looks: Looks, random: np.random.Generator) -> np.ndarray:
    """The factor (H, W, 3) by which lips tint the albedo of skin."""
    x, y = canvas.x, canvas.y
    red = np.array([0.12, 0.72, 0.60], dtype=np.float32) * np.float32(0.80 - 0.30 * looks.tone + 0.75 * looks.lips)
    red = red + np.array([0.16, 0.10, 0.10], dtype=np.float32)
    cover = (1.05 * lips.upper + 0.85 * lips.lower)[..., None]
    streaks = 1 + 0.05 * np.sin(x * 9 + 0.8 * canvas.noise(random, 0.6)) * np.ones_like(y)
    tint = np.exp(-red * cover * streaks[..., None])
    return tint * (1 - lips.line * 0.62)[..., None] ** np.array([0.85, 1.0, 1.0], dtype=np.float32)


def draw_brows(canvas: Canvas, g: Geometry, looks: Looks, random: np.random.Generator) -> np.ndarray:
    """The density (H, W) of brow hair."""
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
    """The density (H, W) of beard hair."""
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
    edge = np.clip(4 * soft * (1 - soft), 0, 1)  # single hairs are visible at the edge only
    return np.clip(soft * (0.78 + 0.10 * looks.beard_density + (0.09 + 0.18 * edge) * hairs), 0, 0.93)


def _region(canvas: Canvas, g: Geometry, looks: Looks, relief: Relief) -> np.ndarray:
    """The coverage by this kind of beard."""
    x, y = np.abs(canvas.x), canvas.y
    below = g.mouth_y + g.lip_lower
    over = np.float32(g.mouth_y - g.lip_upper) - y - 0.25 * ramp(x, 0.0, 1.2)  # above the upper lip
    moustache = ramp(over, -0.5, 0.25) * ramp(over, 2.2, 1.0) * ramp(x, g.mouth_half + 1.0, g.mouth_half - 0.6)
    if looks.beard == "moustache":
        return moustache
    chin = ramp(y, below + 0.9, below + 2.6) * ramp(x, 7.2, 4.6)
    strip = gaussian(x, y, (0, below + 0.9), (0.7, 0.7))
    beside = ramp(np.abs(x - g.mouth_half - 0.35), 1.3, 0.5) * ramp(y, g.mouth_y - 1.6, g.mouth_y - 0.4)
    if looks.beard == "goatee":
        return np.maximum.reduce([moustache, chin, 0.7 * strip, beside * ramp(y, g.mouth_y + 8, g.mouth_y + 4)])
    cheek = 17.0 + 0.06 * (12.5 - np.clip(x, 0, 12.5)) ** 2 - 8.5 * ramp(x, 10.8, 13.2)  # its upper edge
    jaw = ramp(y - cheek, -0.8, 1.4) * ramp(-relief.edge, 7.5, 4.2) * ramp(y, 5.5, 9.5)
    return np.maximum.reduce([moustache, jaw, chin, 0.8 * strip, 0.9 * beside])


def draw_ears(canvas: Canvas, g: Geometry, looks: Looks, light: Light) -> tuple[np.ndarray, np.ndarray]:
    """Linear colour and coverage of both ears."""
    dy = canvas.y - np.float32(EAR_HEIGHT)
    dx = np.abs(canvas.x) - np.float32(half_width(g, EAR_HEIGHT) + 0.55) + 0.16 * dy  # they lean out at the top
    narrow = np.clip(np.float32(1.75) - 0.11 * dy, 0.9, None)
    shape = np.sqrt((dx / narrow) ** 2 + (dy / np.float32(3.9)) ** 2)  # 1 at the edge
    helix, groove, hollow = (
        ridge(shape - 0.84, 0.11),
        ridge(shape - 0.64, 0.10),
        gaussian(dx, dy, (-0.35, 0.5), (0.65, 1.3)),
    )
    lit = 0.60 + 0.16 * np.sign(light.key[0]) * np.sign(canvas.x) + 0.22 * helix - 0.24 * groove - 0.38 * hollow
    lit = np.clip(lit - 0.25 * ramp(dx, 0.2, -1.5), 0.08, None) * np.float32(1.15)
    return linear(skin_colour(looks)) * EAR_TINT * lit[..., None] * light.colour, canvas.cover((shape - 1) * 1.7, 0.06)


def draw_glasses(canvas: Canvas, g: Geometry, looks: Looks, light: Light) -> np.ndarray | None:
    """The glasses as a premultiplied layer (H, W, 4); None if the person wears none."""
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
    bright = (
        0.75 + 0.5 * ramp(distance, thick, -thick) + 0.35 * gaussian(x, y, (centre_x, centre_y - height), (2.5, 0.5))
    )
    colour = to_display(linear(looks.glasses_colour) * bright[..., None] * light.colour)
    layer = np.empty((canvas.height, canvas.width, 4), np.float32)
    layer[..., :3] = colour * frame[..., None] + veil[..., None]
    layer[..., 3] = np.clip(frame + veil, 0, 1)
    return layer
