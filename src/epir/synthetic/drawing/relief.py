"""The relief of a head, one height per pixel, and its illumination.

Heights are in face units towards the viewer. The outline is a smooth closed curve in polar coordinates around the
middle of the face; inside it, the head is a flattened ball with hills and hollows for brow, eyes, nose, lips and chin.
Skin is lit softly, with warm shadows and a little gloss. Colours are linear light until `to_display`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from epir.synthetic.drawing.canvas import Canvas, Spline, gaussian, ramp, ridge, twin
from epir.synthetic.identity import Colour, Geometry, Looks

MIDDLE_Y = 7.0
SCATTER = np.array([0.46, 0.28, 0.22], dtype=np.float32)  # how far red, green and blue light reach around a curve


@dataclass(frozen=True)
class Relief:
    """The head on a canvas."""

    inside: np.ndarray  # (H, W) coverage of each pixel by the head
    edge: np.ndarray  # (H, W) distance to the outline in face units, negative inside
    height: np.ndarray  # (H, W)
    normal: np.ndarray  # (H, W, 3) unit vectors: right, down, towards the viewer
    cavity: np.ndarray  # (H, W) 0 open .. 1 deep in a fold


def outline(geometry: Geometry) -> Spline:
    """The distance of the outline from the middle of the face, by angle (0 up, pi down)."""
    w, j = geometry.width, geometry.jaw * geometry.width
    top, chin = geometry.top, geometry.chin
    points = [
        (0.0, top),
        (7.9 * w, top + 2.0),
        (13.0 * w, top + 8.2),
        (14.7 * w, 0.5),
        (14.6 * w, 8.5),
        (13.6 * j, 15.5),
        (11.9 * j, 21.0),
        (8.1 * j, chin - 3.2),
        (4.0 * j, chin - 0.55),
        (0.0, chin),
    ]
    return around(points)


def around(points: Sequence[tuple[float, float]], *, level: bool = True) -> Spline:
    """A curve around the middle of the face through points of its right half: distance by angle."""
    angles = [float(np.arctan2(x, MIDDLE_Y - y)) for x, y in points]
    return Spline(angles, [float(np.hypot(x, y - MIDDLE_Y)) for x, y in points], level=level)


def model_head(canvas: Canvas, geometry: Geometry, age: float) -> Relief:
    """The head with this geometry on this canvas."""
    x, y = canvas.x, canvas.y
    radius, bound = distance_and_bound(canvas, geometry)
    relative = radius / bound
    edge = radius - bound
    ball = np.clip(1 - (0.965 * relative) ** 2.7, 0, 1) ** 0.56  # ends beyond the outline, to avoid a dark rim
    height = 11.5 * ball + _features(np.abs(x), y, geometry, age) * ramp(relative, 1.0, 0.8)
    height = canvas.blur(height.astype(np.float32), 0.16)
    return Relief(canvas.cover(edge), edge, height, normals(height, canvas.scale), _cavity(canvas, height))


def distance_and_bound(canvas: Canvas, geometry: Geometry) -> tuple[np.ndarray, np.ndarray]:
    """The distances from the middle of the face to every pixel, and to the outline in its direction."""
    dy = canvas.y - np.float32(MIDDLE_Y)
    radius = np.hypot(canvas.x, dy)
    bound = np.interp(np.abs(angles(canvas)), *outline(geometry).table()).astype(np.float32)
    return radius, bound


def angles(canvas: Canvas) -> np.ndarray:
    """The direction (H, W) of every pixel from the middle of the face: 0 up, positive to the right."""
    return np.arctan2(canvas.x, np.float32(MIDDLE_Y) - canvas.y)


def half_width(geometry: Geometry, y: float) -> float:
    """Half the width of the head at height `y`."""
    x = np.linspace(2, 18, 400)
    inside = np.hypot(x, y - MIDDLE_Y) <= outline(geometry)(np.arctan2(x, MIDDLE_Y - y))
    return float(x[inside][-1])


def normals(height: np.ndarray, scale: float) -> np.ndarray:
    """The unit normals of a height field with `scale` pixels per unit of height."""
    down, right = np.gradient(height)
    normal = np.stack([-right * scale, -down * scale, np.ones_like(height)], axis=-1)
    return normal / np.linalg.norm(normal, axis=-1, keepdims=True)


def carve(canvas: Canvas, relief: Relief, height: np.ndarray) -> Relief:
    """Add fine details of this height to a relief."""
    total = canvas.blur((relief.height + height).astype(np.float32), 0.07)
    hollow = np.clip(canvas.blur(height.astype(np.float32), 0.5) - height, 0, None)
    cavity = 1 - (1 - relief.cavity) * np.exp(-1.2 * hollow)
    return Relief(relief.inside, relief.edge, total, normals(total, canvas.scale), cavity)


def _cavity(canvas: Canvas, height: np.ndarray) -> np.ndarray:
    hollow = np.clip(canvas.blur(height, 1.3) - height, 0, None) * 0.75
    hollow += np.clip(canvas.blur(height, 0.45) - height, 0, None) * 2.2
    return 1 - np.exp(-hollow)


def _features(x: np.ndarray, y: np.ndarray, g: Geometry, age: float) -> np.ndarray:
    """Hills and hollows on the ball; `x` is the distance from the midline."""
    eye = (g.eye_x, g.eye_y)
    out = 0.35 * twin(x, y, (4.0, -4.0), (4.5, 4.0))
    out = out + 0.75 * twin(x, y, (g.eye_x - 0.6, g.brow_y + 0.5), (3.6, 1.1))  # brow ridge
    out -= 1.25 * twin(x, y, (eye[0] - 0.2, eye[1] - 0.9), (3.3, 1.9))  # socket
    out -= 1.1 * twin(x, y, (3.1, eye[1] - 0.8), (1.2, 1.6))  # inner corner, beside the bridge
    out += 1.0 * gaussian(x, y, eye, (2.5, 1.55))  # the ball of the eye
    out -= (0.10 + 0.30 * age) * gaussian(x, y, (eye[0] - 0.6, eye[1] + 2.3), (2.3, 0.5), 0.12)  # below the eye
    out += 0.75 * g.cheek * twin(x, y, (9.0, 11.0), (3.4, 2.6))
    out -= 0.55 * g.cheek * gaussian(x, y, (10.3, 18.0), (2.4, 3.4))
    out -= 0.5 * gaussian(x, y, (12.8, 0.5), (2.0, 4.5))  # temple
    out += _nose(x, y, g)
    mouth = g.mouth_y
    out += 1.0 * gaussian(x, y, (0, mouth - 0.6), (5.0, 3.4))
    out -= 0.30 * gaussian(x, y, (0, mouth - 2.6), (0.5, 1.1)) - 0.16 * gaussian(x, y, (0.95, mouth - 2.5), (0.4, 1.1))
    out -= (0.16 + 0.40 * age) * _fold(x, y, g)
    out -= 0.6 * gaussian(x, y, (0, mouth + g.lip_lower + 1.7), (2.9, 0.75))
    out += 1.05 * g.chin_boss * gaussian(x, y, (0, mouth + g.lip_lower + 4.5), (3.1, 2.1))
    out -= 0.35 * gaussian(x, y, (g.mouth_half + 0.25, mouth), (0.7, 0.8))
    return out


def _nose(x: np.ndarray, y: np.ndarray, g: Geometry) -> np.ndarray:
    """Bridge, tip and wings."""
    base = g.nose_y
    root = g.eye_y - 1.2
    along = np.clip((y - root) / (base - 1.6 - root), 0, 1)
    rise = np.float32(0.75 + 2.15 * g.nose_height) * along ** np.float32(1.25) + np.float32(0.6)
    low = y + np.float32(0.30) * np.clip(x, 0, 2.2) ** 2  # the tip hangs lower than the sides
    rise = rise * ramp(y, root - 2.6, root + 0.8) * ramp(low, base + 0.9, base - 1.5)
    breadth = np.float32(1.0) + np.float32(0.30 * g.nose_half - 0.65) * along
    bridge = rise * ridge(x, breadth)
    tip = 1.0 * gaussian(x, y, (0, base - 1.45), (1.25, 1.05))
    wing = 1.05 * gaussian(x, y, (g.nose_half - 0.80, base - 0.95), (0.85, 0.80))
    crease = 0.40 * gaussian(x, y, (g.nose_half + 0.15, base - 1.1), (0.34, 0.9))
    return bridge + tip + wing - crease


def _fold(x: np.ndarray, y: np.ndarray, g: Geometry) -> np.ndarray:
    """The nasolabial fold, from the wing of the nose to beside the mouth corner."""
    start, end = g.nose_y - 0.9, g.mouth_y + 1.2
    t = np.clip((y - start) / (end - start), 0, 1)
    line = g.nose_half + 0.5 + (g.mouth_half + 1.35 - g.nose_half) * t ** np.float32(0.75)
    return ridge(x - line, 0.42) * ramp(y, start - 0.8, start + 1.2) * ramp(y, end + 1.5, end - 1.5)


@dataclass(frozen=True)
class Light:
    """A soft key light, a weaker fill light from the other side, and ambient light."""

    key: np.ndarray  # unit vector towards the light
    fill: np.ndarray
    colour: np.ndarray

    @classmethod
    def of(cls, looks: Looks) -> "Light":
        """The light of this person's portrait."""
        key = np.array([looks.light_x, -looks.light_y, 1.0], dtype=np.float32)
        fill = np.array([-1.2 * np.sign(looks.light_x), -0.1, 0.8], dtype=np.float32)
        warmth = np.float32(0.06 * looks.light_warmth)
        colour = np.array([1 + warmth, 1.0, 1 - 1.3 * warmth], dtype=np.float32)
        return cls(key / np.linalg.norm(key), fill / np.linalg.norm(fill), colour)


def linear(colour: Colour | np.ndarray) -> np.ndarray:
    """Convert a displayed colour to linear light."""
    return np.asarray(colour, dtype=np.float32) ** np.float32(2.2)


def to_display(light: np.ndarray) -> np.ndarray:
    """Convert linear light to displayed values 0..1; highlights roll off softly."""
    light = np.clip(light, 0, None)
    rolled = np.where(light > 0.7, 0.7 + 0.3 * np.tanh((light - 0.7) / 0.3), light)
    return rolled ** np.float32(1 / 2.2)


def illuminate(relief: Relief, albedo: np.ndarray, light: Light, gloss: np.ndarray) -> np.ndarray:
    """The light (H, W, 3) that skin of this colour reflects to the viewer; `gloss` is (H, W)."""
    normal = relief.normal + np.array([0, 0, 0.15], dtype=np.float32)  # translucency of skin
    normal /= np.linalg.norm(normal, axis=-1, keepdims=True)
    facing = (normal @ light.key)[..., None]  # (H, W, 1)
    direct = np.clip((facing + SCATTER) / (1 + SCATTER), 0, None) ** np.float32(1.25)  # (H, W, 3)
    fill = np.clip((normal @ light.fill)[..., None] * 0.7 + 0.3, 0, None)
    around = 0.5 - 0.35 * normal[..., 1:2] + 0.15 * normal[..., 2:3]
    shade = (1 - 0.75 * relief.cavity)[..., None] ** (1 + np.array([0.0, 0.25, 0.35], dtype=np.float32))
    half = light.key + np.array([0, 0, 1], dtype=np.float32)
    half /= np.linalg.norm(half)
    shine = np.clip(normal @ half, 0, 1)
    sheen = gloss * (0.55 * shine**34 + 0.25 * shine**9)
    total = (0.92 * direct + 0.13 * fill + 0.24 * around) * light.colour
    return albedo * total * shade + (sheen * (1 - relief.cavity))[..., None] * light.colour
