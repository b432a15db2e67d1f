"""Hair or a headscarf.

Hair is a cap above the hairline, curtains beside the face and a mass behind it, with a texture of strands.
"""

from dataclasses import dataclass

import numpy as np

from epir.synthetic.drawing.canvas import Canvas, Spline, grain_along, ramp, ridge
from epir.synthetic.drawing.relief import Light, angles, around, distance_and_bound, linear, normals
from epir.synthetic.identity import Geometry, Hair, Looks


@dataclass(frozen=True)
class Style:
    """The dimensions of a hair style, in face units."""

    top: float = 1.6  # beyond the skull
    side: float = 0.8
    burns: float = 7.0  # y of the lower end of the sideburns
    fringe: float = 0.0  # length of the fringe on the forehead
    curtain: float = 0.0  # y of the lower end of hair beside the face; 0 = none
    width: float = 0.0  # of that hair, beyond the head
    rough: float = 0.25  # irregularity of every edge
    thin: float = 0.55  # softness of the hairline
    covers_ears: bool = False


STYLES: dict[Hair, Style] = {
    "buzz": Style(top=0.15, side=0.1, burns=6.5, rough=0.1, thin=1.3),
    "short": Style(top=1.8, side=0.7),
    "parted": Style(top=2.6, side=1.0, burns=7.5, fringe=0.8),
    "fringe": Style(top=2.2, side=1.2, burns=8.0, fringe=6.8, rough=0.35),
    "bob": Style(top=2.0, side=2.4, curtain=24.0, width=3.4, fringe=0.6, covers_ears=True),
    "long": Style(top=1.8, side=2.0, curtain=60.0, width=3.2, covers_ears=True),
    "curls": Style(top=4.6, side=3.6, burns=10.0, rough=0.8, fringe=0.8),
    "tied": Style(top=0.9, side=0.45, burns=5.5),
}


@dataclass(frozen=True)
class Coiffure:
    """Hair (or a scarf) on a canvas; covers are (H, W), colour is linear (H, W, 3)."""

    front: np.ndarray  # in front of the face
    back: np.ndarray  # behind head and neck
    colour: np.ndarray
    shadow: np.ndarray  # cast on the skin
    covers_ears: bool


def draw_hair(canvas: Canvas, g: Geometry, looks: Looks, light: Light, random: np.random.Generator) -> Coiffure:
    """The hair of this person."""
    if looks.hair == "bald":
        none = np.zeros((canvas.height, canvas.width), np.float32)
        return Coiffure(none, none, np.zeros((canvas.height, canvas.width, 3), np.float32), none, covers_ears=False)
    style = STYLES[looks.hair]
    radius, bound = distance_and_bound(canvas, g)
    streaks, fine = _texture(canvas, g, looks, style, random)
    ragged = style.rough * (0.35 * streaks + 0.6 * canvas.noise(random, 1.3))
    front = _cap(canvas, g, looks, style, radius, bound, ragged, fine)
    back = _bun(canvas, g, looks)
    if style.curtain:
        hanging, behind = _curtains(canvas, g, looks, style, ragged)
        front, back = np.maximum(front, hanging), np.maximum(back, behind)
    if looks.hair == "curls":
        mass = np.maximum(radius - bound - 3.4 * looks.volume * ramp(canvas.y, 19, 9), canvas.y - 15.5) - ragged
        back = np.maximum(back, canvas.cover(mass, 0.3))
    if looks.hair == "buzz":  # skin shows between the hairs
        front = front * np.clip(0.74 + 0.07 * canvas.noise(random, 0.2) + 0.05 * canvas.noise(random, 1.0), 0, 0.92)
    colour = _lit(canvas, looks, light, style, streaks, radius / (bound + style.top))
    shadow = canvas.blur(front, 1.1) * np.float32(0.2 if looks.hair == "buzz" else 0.55)
    return Coiffure(front, back, colour, shadow, style.covers_ears)


def hangs_behind(looks: Looks) -> bool:
    """Whether long hair falls behind the shoulders."""
    return looks.hair == "long" and looks.volume < 1.0


def _texture(
    canvas: Canvas, g: Geometry, looks: Looks, style: Style, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """The texture of strands or curls, and a finer one for the hairline."""
    across, along = _strands(canvas, g, looks, style)
    texture = random.standard_normal((256, 256)).astype(np.float32)
    wide, narrow = grain_along(texture, across, along, 2.6, 9.0), grain_along(texture, across + 77, along, 6.5, 5.0)
    if looks.hair == "curls":
        curls = 1.1 - 1.5 * np.abs(canvas.noise(random, 0.75)) + 0.35 * canvas.noise(random, 0.3)
        return curls, canvas.noise(random, 0.4)
    streaks = 0.6 * wide + 0.4 * narrow
    if looks.hair in ("fringe", "bob", "long"):  # strands at the crown are finer than a pixel
        streaks = streaks * ramp(canvas.y, g.top - style.top, g.top + 3.0)
    return streaks, grain_along(texture, across + 31, along, 4.2, 7.0)


def _strands(canvas: Canvas, g: Geometry, looks: Looks, style: Style) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates across and along the hair."""
    x, y = canvas.x, canvas.y
    down = np.clip(y - np.float32(g.top - style.top), 0.05, None)
    if looks.hair in ("tied", "buzz", "short"):  # back from the hairline
        swirl = np.float32(0.03 * looks.parting) * down
        return (np.arctan2(x, np.float32(4.0) - y) + swirl) * 16 + 60, np.hypot(x, y - np.float32(4.0))
    if looks.hair == "parted":  # over to one side
        aside, rise = x + np.float32(15 * np.sign(looks.parting)), np.float32(7.0) - y
        return np.hypot(aside, 0.9 * rise) * 1.2 + 20, np.arctan2(aside, rise) * 14 + 60
    lean = np.float32(4.0 * looks.parting) * np.exp(-down / np.float32(14.0))  # from the crown down the outline
    width = np.float32(16.5) * np.clip(1 - np.exp(-down / np.float32(5.0)), 0.06, None)
    return (x - lean) / width * 16 + 60, down + 0.35 * np.abs(x)


def _cap(
    canvas: Canvas,
    g: Geometry,
    looks: Looks,
    style: Style,
    radius: np.ndarray,
    bound: np.ndarray,
    ragged: np.ndarray,
    fine: np.ndarray,
) -> np.ndarray:
    """Coverage by the hair on the skull, from the hairline outwards."""
    angle = angles(canvas)
    side = ramp(np.abs(angle), 0.2, 1.5)
    beyond = (style.top * (1 - side) + style.side * side * ramp(canvas.y, 19, 9)) * looks.volume
    within = bound + beyond - radius + (1.0 if looks.hair == "curls" else 0.25) * ragged
    line = g.hairline + style.fringe
    temple = max(0.3 * line + 0.4, line + 0.3)  # a fringe continues level to the temples
    points = [(0.0, line), (5.2, line + 0.45), (9.4, 0.35 * line + 0.65 * temple), (12.0 * g.width, temple)]
    points += [(13.1 * g.width, max(3.8, temple + 2.5)), (13.7 * g.width, style.burns)]
    points += [(17.0 * g.width, style.burns + 4.5), (0.5, 47.0)]  # below the sideburns no hair
    hairline = np.interp(np.abs(angle), *around(points, level=False).table()).astype(np.float32)
    if looks.hair not in ("fringe", "buzz"):
        hairline += np.float32(0.9 * np.sign(looks.parting)) * np.sin(np.clip(angle, -1.2, 1.2) * 1.3)
    grown = radius - hairline + 0.7 * ragged
    return canvas.cover(-within, 0.2) * ramp(grown + 0.32 * fine * ramp(grown, 1.5, 0.0), -style.thin, style.thin)


def _curtains(
    canvas: Canvas, g: Geometry, looks: Looks, style: Style, ragged: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Coverage by the hair beside the face, and by the hair behind it."""
    x, y, w, spread = np.abs(canvas.x), canvas.y, g.width, style.width * looks.volume
    inner = Spline([-6, 0, 7, 14, 21, 28, 45], [w * v for v in (10.0, 12.2, 13.1, 12.6, 11.6, 10.6, 9.5)], level=False)
    edges = (14 * w + 1.6, 14.2 * w + 2.4, 14.2 * w + spread, 14 * w + spread + 0.4, 13.6 * w + spread, 13 * w + spread)
    outer = Spline([-6, 0, 8, 18, 28, 45], list(edges))
    end = style.curtain + 0.02 * x**2 * (-1 if style.curtain < 40 else 1) - y + ragged
    out = outer(y.ravel())[:, None] - x + 0.3 * ragged
    hang = np.minimum.reduce([x - inner(y.ravel())[:, None] + 0.3 * ragged, out, end, 0.9 * (y + 6) + 0 * x])
    if hangs_behind(looks):
        hang = np.minimum(hang, 27.5 - 0.10 * (x - 9) - y)
    behind = np.minimum.reduce([out, end, 4 * (y + 4) + 0 * x])
    return canvas.cover(-hang, 0.25), canvas.cover(-behind, 0.3)


def _bun(canvas: Canvas, g: Geometry, looks: Looks) -> np.ndarray:
    if looks.hair != "tied" or looks.volume < 0.95:
        return np.zeros((canvas.height, canvas.width), np.float32)
    away = np.hypot(canvas.x - np.float32(0.5 * looks.parting), canvas.y - np.float32(g.top - 2.3))
    return canvas.cover(away - 3.6 * looks.volume, 0.3)


def _lit(
    canvas: Canvas, looks: Looks, light: Light, style: Style, streaks: np.ndarray, relative: np.ndarray
) -> np.ndarray:
    """The colour (H, W, 3) of lit hair; `relative` is 1 at its outline."""
    ball = 11 * np.clip(1 - relative**2.2, 0.02, 1) ** 0.5
    normal = normals(canvas.blur(ball.astype(np.float32), 0.6), canvas.scale)
    facing = np.clip((normal @ light.key) * 0.75 + 0.35, 0.12, None)
    band = ridge(relative - 0.84 - 0.03 * streaks, 0.07) * ramp(np.abs(angles(canvas)), 1.25, 0.35)
    lit_side = np.clip(0.5 + 0.9 * canvas.x / 16 * np.sign(light.key[0]), 0.15, None)
    sheen = (band * np.clip(0.55 + 0.55 * streaks, 0, None) * lit_side)[..., None]
    base = linear(looks.hair_colour)
    hanging = ramp(canvas.y, 4, 16)[..., None] * (0.32 if style.curtain else 0.0)
    strands = base * (0.35 + 1.25 * facing[..., None]) * np.exp(0.34 * streaks - 0.05)[..., None]
    return (strands * (1 - hanging) + (np.float32(0.055) + 0.30 * base) * sheen) * light.colour


def draw_scarf(canvas: Canvas, g: Geometry, looks: Looks, light: Light, random: np.random.Generator) -> Coiffure:
    """A scarf in the colour of the clothes."""
    radius, bound = distance_and_bound(canvas, g)
    x, y, angle = canvas.x, canvas.y, np.abs(angles(canvas))
    points = [(0.0, g.hairline + 3.4), (6.5, g.hairline + 4.2), (11.4, -0.6), (12.9 * g.width, 7.5)]
    points += [(12.2 * g.jaw, 15.5), (10.2 * g.jaw, 21.3), (6.6 * g.jaw, g.chin - 3.1), (0.0, g.chin - 0.35)]
    inner = np.interp(angle, *around(points).table()).astype(np.float32)  # the opening for the face
    outer = bound + 2.3
    falling = np.where(y > 14, 13.0 + 0.20 * (y - 14) - np.abs(x), np.float32(-9))
    front = canvas.cover(-np.minimum(outer - radius, radius - inner), 0.15)
    back = canvas.cover(-np.maximum(np.where(y > -10, outer - radius, np.float32(-9)), falling), 0.2)

    wander = 0.5 * canvas.noise(random, 6.0)
    folds = np.sin(2.2 * (radius - inner) + 1.4 * wander + 2.0 * np.sin(angle * 2.0) + 0.3 * x)
    folds = 0.10 * folds * ramp(radius - inner, 0.4, 2.5) + 0.05 * np.sin(0.9 * (y + 0.6 * np.abs(x)) + wander)
    ball = 11 * np.clip(1 - (radius / (outer + 1.0)) ** 2.4, 0.02, 1) ** 0.5
    height = ball + 2.2 * folds + 0.5 * ridge(radius - inner - 0.5, 0.35)  # with a hem
    normal = normals(canvas.blur(height.astype(np.float32), 0.3), canvas.scale)
    facing = np.clip((normal @ light.key) * 0.8 + 0.35, 0.1, None)
    weave = 1 + 0.03 * canvas.noise(random, 0.15)
    colour = linear(looks.clothes_colour) * (0.30 + 0.85 * facing * weave)[..., None] * light.colour
    return Coiffure(front, back, colour, 0.5 * canvas.blur(front, 0.9), covers_ears=True)
