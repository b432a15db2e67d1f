"""A headscarf around face and neck."""

import numpy as np

from epir.synthetic.drawing.canvas import Canvas, ramp, ridge
from epir.synthetic.drawing.hair import Coiffure
from epir.synthetic.drawing.relief import angles, around, distance_and_bound, normals
from epir.synthetic.drawing.shading import Light, linear
from epir.synthetic.identity import Geometry, Looks


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
