"""Eyes: the opening between the lids, the eyeballs, and the lashes and folds around them.

The eyeballs are a separate layer below the face, which has a hole at each eye, so that the lids can close over them.
"""

from dataclasses import dataclass

import numpy as np

from epir.synthetic.drawing.canvas import Canvas, gaussian, ramp, ridge
from epir.synthetic.drawing.relief import Light, linear, to_display
from epir.synthetic.identity import Geometry, Looks

IRIS_RADIUS = 1.30
UPPER_LID = 1.16  # height of the lids above and below the centre of an eye of average opening
LOWER_LID = 0.98


@dataclass(frozen=True)
class Lids:
    """The edges of the lids; `a` is the distance from the midline."""

    inner: float
    outer: float
    centre: float
    tilt: float
    upper_height: float
    lower_height: float

    @classmethod
    def of(cls, g: Geometry) -> "Lids":
        """The lids of a face with this geometry."""
        return cls(
            inner=g.eye_x - g.eye_half,
            outer=g.eye_x + g.eye_half,
            centre=g.eye_y,
            tilt=g.eye_tilt,
            upper_height=UPPER_LID * g.eye_open,
            lower_height=LOWER_LID * g.eye_open,
        )

    def place(self, a: np.ndarray) -> np.ndarray:
        """0 at the inner corner, 1 at the outer."""
        return np.clip((a - np.float32(self.inner)) / np.float32(self.outer - self.inner), 0, 1)

    def base(self, a: np.ndarray) -> np.ndarray:
        """The line through the corners."""
        return np.float32(self.centre + 0.22) - np.float32(np.tan(self.tilt)) * (
            np.clip(a, self.inner, self.outer) - np.float32((self.inner + self.outer) / 2)
        )

    def upper(self, a: np.ndarray) -> np.ndarray:
        """The lower edge of the upper lid."""
        t = self.place(a)
        return self.base(a) - np.float32(self.upper_height + 0.22) * _arch(t, 0.86, 0.72)

    def lower(self, a: np.ndarray) -> np.ndarray:
        """The upper edge of the lower lid."""
        t = self.place(a)
        return self.base(a) + np.float32(self.lower_height - 0.22) * _arch(t, 1.25, 0.85)


def _arch(t: np.ndarray, skew: float, round_: float) -> np.ndarray:
    return np.clip(np.sin(np.pi * t ** np.float32(skew)), 0, 1) ** np.float32(round_)


def eye_opening(canvas: Canvas, lids: Lids) -> np.ndarray:
    """The coverage (H, W) of each pixel by the opening between the lids."""
    a, y = np.abs(canvas.x), canvas.y
    gap = np.maximum(lids.upper(a) - y, y - lids.lower(a))
    beyond = np.maximum(lids.inner - a, a - lids.outer)
    return canvas.cover(np.maximum(gap, beyond), 0.07)


def draw_balls(canvas: Canvas, g: Geometry, looks: Looks, light: Light, random: np.random.Generator) -> np.ndarray:
    """Both eyeballs, looking straight ahead, as a premultiplied layer (H, W, 4)."""
    layer = np.zeros((canvas.height, canvas.width, 4), np.float32)
    for side in (-1, 1):
        _draw_ball(layer, canvas, side, g, looks, light, random)
    return layer


def _draw_ball(
    layer: np.ndarray, canvas: Canvas, side: int, g: Geometry, looks: Looks, light: Light, random: np.random.Generator
) -> None:
    rows = _window(canvas.row(g.eye_y - 3.0), canvas.row(g.eye_y + 3.0), canvas.height)
    columns = _window(canvas.column(side * g.eye_x - 4.4), canvas.column(side * g.eye_x + 4.4), canvas.width)
    x, y = canvas.x[:, columns] - np.float32(side * g.eye_x), canvas.y[rows] - np.float32(g.eye_y - 0.06)
    if x.size == 0 or y.size == 0:
        return
    toed = x + np.float32(side * 0.12)  # the eyes converge on the camera
    radius = np.hypot(toed, y)
    turn = np.arctan2(y, toed)
    ball = np.clip(1 - (x / np.float32(4.3)) ** 2 - (y / np.float32(3.6)) ** 2, 0, 1) ** np.float32(0.5)
    veins = 1 - 0.10 * ramp(np.abs(x), 1.5, 3.2)
    white = linear((0.90, 0.87, 0.845)) * (0.35 + 0.62 * ball)[..., None]
    white = white * np.stack([np.ones_like(veins), veins, veins], axis=-1)
    pink = gaussian(x, y, (-side * (g.eye_half - 0.15), 0.35), (0.42, 0.36))
    white = white * (1 - pink[..., None] * np.array([0.12, 0.50, 0.45], dtype=np.float32))

    texture = random.standard_normal(64).astype(np.float32)
    spokes = np.interp((turn + np.pi) / (2 * np.pi) * 63, np.arange(64), texture).astype(np.float32)
    depth = np.clip(radius / IRIS_RADIUS, 0, 1)
    tint = 0.75 + 0.28 * spokes * depth * (1 - depth) * 2.2 + 0.75 * np.exp(-(((depth - 0.52) / 0.2) ** 2))
    tint = tint * (1 - 0.72 * ramp(depth, 0.80, 1.0)) * (1 + 0.38 * y / IRIS_RADIUS)
    iris = linear(looks.iris) * np.clip(tint, 0.05, None)[..., None] * 1.35
    inside = canvas.cover(radius - IRIS_RADIUS, 0.12)[..., None]
    colour = white * (1 - inside) + iris * inside
    pupil = canvas.cover(radius - 0.50, 0.08)[..., None]
    colour = colour * (1 - pupil) + 0.004 * pupil

    colour = colour * light.colour * np.float32(0.98 - 0.25 * looks.tone)
    spot = (0.48 * np.sign(light.key[0]), -0.52)
    glint = canvas.cover(np.hypot(x - np.float32(spot[0]), (y - np.float32(spot[1])) * 0.9) - 0.24, 0.10)
    glint = glint + 0.16 * gaussian(x, y, (-spot[0] * 0.9, 0.55), (0.5, 0.3))
    colour = colour + 0.95 * glint[..., None]
    alpha = ramp(np.maximum(np.abs(x) / 4.2, np.abs(y) / 2.9), 1.0, 0.93)[..., None]
    layer[rows, columns, :3] = to_display(colour) * alpha
    layer[rows, columns, 3:] = alpha


def _window(start: float, end: float, size: int) -> slice:
    return slice(int(np.clip(np.floor(start), 0, size)), int(np.clip(np.ceil(end) + 1, 0, size)))


def lid_height(canvas: Canvas, g: Geometry, lids: Lids, looks: Looks) -> np.ndarray:
    """The folds of the lids as a height (H, W) to add to the relief."""
    a, y = np.abs(canvas.x), canvas.y
    t = lids.place(a)
    reach = ramp(a, lids.inner - 0.3, lids.inner + 1.0) * ramp(a, lids.outer + 1.1, lids.outer - 0.6)
    arch = 0.45 + 0.55 * np.sin(np.pi * np.clip(t, 0.08, 0.95)) ** np.float32(0.6)
    above, below = y - lids.upper(a) + np.float32(g.crease) * arch, y - lids.lower(a)
    upper = -0.34 * ridge(above, 0.17) + 0.20 * ridge(above + 0.6, 0.45)  # the crease and what hangs over it
    lower = 0.16 * ridge(below - 0.22, 0.22) - (0.06 + 0.16 * looks.age) * ridge(below - 0.95, 0.26)  # rim and bag
    return (upper + lower) * reach


def draw_lashes(canvas: Canvas, lids: Lids, looks: Looks) -> tuple[np.ndarray, np.ndarray]:
    """Coverage of the lash lines, and of the shadow that the upper lid casts on the eye, (H, W) each."""
    a, y = np.abs(canvas.x), canvas.y
    t = lids.place(a)
    reach = ramp(a, lids.inner - 0.05, lids.inner + 0.8) * ramp(a, lids.outer + 0.55, lids.outer - 0.2)
    above = lids.upper(a) - y
    thick = np.float32(0.11 + 0.13 * looks.lashes) * (0.55 + 0.75 * t)
    fringe = 1 + 0.5 * np.sin(a * np.float32(17) + 2 * t) * ramp(above, 0.0, 0.3) * (canvas.scale > 5)
    upper = ridge(above - 0.04, thick * fringe) * reach
    below = y - lids.lower(a)
    lower = 0.30 * looks.lashes * ridge(below - 0.02, 0.13) * reach * ramp(t, 0.1, 0.6)
    within = ramp(a, lids.inner - 0.1, lids.inner + 0.3) * ramp(a, lids.outer + 0.1, lids.outer - 0.3)
    shadow = 0.52 * ramp(-above, 0.85, 0.0) * within * (above < 0)
    return np.clip(0.93 * upper + lower, 0, 1), shadow
