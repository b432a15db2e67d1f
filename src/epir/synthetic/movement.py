"""How far each point of a person's skin moves in one expression.

A movement is a displacement field in face units, defined at every point of the face and independent of resolution.
Its strongest point has length 1; a clip scales it by its intensity over time. The pushes of the action units are
placed on the person's face and vary randomly, as no two smiles are alike.

Axes: H rows, W columns; the last axis of a field is right, down
"""

from dataclasses import dataclass, replace

import numpy as np

from epir.synthetic.expressions import ActiveUnit, Push, Tables, unit_pushes
from epir.synthetic.identity import Geometry

LATTICE = 0.5  # face units between the points at which a movement is sampled for drawing; interpolated in between
SOFT = 0.05  # rounds off the tip of a push, so that the skin does not tear


@dataclass(frozen=True)
class SkinPatch:
    """One push on one side of a face."""

    x: float
    y: float
    radius_x: float
    radius_y: float
    turn: float  # of the ellipse, radians
    right: float  # displacement at the centre
    down: float


@dataclass(frozen=True)
class SkinMovement:
    """The displacement of the skin at full intensity, as a sum of patches."""

    patches: tuple[SkinPatch, ...]
    power: float  # shape of the patches: 2 is a Gaussian; smaller values are more pointed, with longer tails
    scale: float = 1.0

    def displacement(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The displacement at columns `x` (1, W) and rows `y` (H, 1), in face units."""  # (H, W, 2)
        field = np.zeros((*np.broadcast_shapes(x.shape, y.shape), 2), np.float32)
        for patch in self.patches:
            dx, dy = x - np.float32(patch.x), y - np.float32(patch.y)
            c, s = np.float32(np.cos(patch.turn)), np.float32(np.sin(patch.turn))
            along, across = (
                (c * dx + s * dy) / np.float32(patch.radius_x),
                (c * dy - s * dx) / np.float32(patch.radius_y),
            )
            weight = np.exp(-((0.5 * (along**2 + across**2 + np.float32(SOFT))) ** np.float32(self.power / 2)))
            field[..., 0] += np.float32(patch.right * self.scale) * weight
            field[..., 1] += np.float32(patch.down * self.scale) * weight
        return field

    def mirrored(self) -> "SkinMovement":
        """The movement of the mirrored face."""
        patches = (replace(p, x=-p.x, right=-p.right, turn=-p.turn) for p in self.patches)
        return replace(self, patches=tuple(patches))

    def normalised(self) -> "SkinMovement":
        """The movement scaled to length 1 at its strongest lattice point."""
        peak = float(np.sqrt((self.on_lattice() ** 2).sum(axis=-1).max()))
        return replace(self, scale=self.scale / peak) if peak > 1e-6 else self

    def steepness(self) -> float:
        """The largest change of displacement per face unit; below 1 the skin cannot fold."""
        field = self.on_lattice()
        return float(max(np.abs(np.diff(field, axis=axis)).max() for axis in (0, 1))) / LATTICE

    def on_lattice(self) -> np.ndarray:
        """The displacement on a lattice over the whole face."""
        x = np.arange(-16, 16.01, LATTICE, dtype=np.float32)[None, :]
        y = np.arange(-6, 31.01, LATTICE, dtype=np.float32)[:, None]
        return self.displacement(x, y)


def draw_movement(
    units: tuple[ActiveUnit, ...], geometry: Geometry, random: np.random.Generator, tables: Tables = "annotated"
) -> SkinMovement:
    """A normalised movement of these action units on a face with this geometry, varied as on real faces."""
    patches: list[SkinPatch] = []
    for active in units:
        uneven = random.normal(0, 0.18)
        sides = {1: active.right * (1 + uneven), -1: active.left * (1 - uneven)}
        for push in unit_pushes(tables)[active.unit]:
            patches += _patches(push, sides, geometry, random)
    return SkinMovement(tuple(patches), power=float(random.uniform(0.9, 1.7))).normalised()


def _patches(push: Push, sides: dict[int, float], geometry: Geometry, random: np.random.Generator) -> list[SkinPatch]:
    strength = push.weight * np.exp(random.normal(0, 0.25))
    jitter = random.normal(0, 0.7, 2) * (1.0 if push.both else 0.6, 0.8)
    radii = 0.85 * np.array([push.radius_x, push.radius_y]) * random.uniform(0.75, 1.35, 2)
    swing, turn = random.normal(0, 0.25), random.normal(0, 0.2)
    c, s = np.cos(swing), np.sin(swing)
    right, down = c * push.right - s * push.down, s * push.right + c * push.down
    patches = []
    for side in (1, -1) if push.both else (1,):
        amplitude = strength * (sides[side] if push.both else (sides[1] + sides[-1]) / 2)
        if push.both:
            amplitude *= np.exp(random.normal(0, 0.15))
        x, y = place(geometry, push.x, push.y)
        patches.append(
            SkinPatch(
                x=float(side * (x + jitter[0]) + random.normal(0, 0.25)),
                y=float(y + jitter[1] + random.normal(0, 0.2)),
                radius_x=float(radii[0]),
                radius_y=float(radii[1]),
                turn=float(side * turn),
                right=float(side * right * amplitude),
                down=float(down * amplitude),
            )
        )
    return patches


def place(g: Geometry, x: float, y: float) -> tuple[float, float]:
    """Map a point of the average face to a face with this geometry."""
    average = Geometry()
    below = average.mouth_y + 5.2
    knots = [-8.0, average.brow_y + 0.4, average.eye_y, average.nose_y, average.mouth_y, below, average.chin]
    here = [-8.0, g.brow_y + 0.4, g.eye_y, g.nose_y, g.mouth_y, g.mouth_y + 5.2, max(g.chin, g.mouth_y + 6.5)]
    eyes, mouth = g.eye_x / average.eye_x, g.mouth_half / average.mouth_half
    widths = [g.width, eyes, eyes, (eyes + mouth) / 2, mouth, g.jaw, g.jaw]
    return x * float(np.interp(y, knots, widths)), float(np.interp(y, knots, here))
