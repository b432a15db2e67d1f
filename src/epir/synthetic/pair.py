"""Onset and apex of one face, as a camera would take them and a flow recipe would cut them out."""

from dataclasses import replace

import numpy as np

from epir.flow.recipe import Recipe
from epir.synthetic.camera import expose
from epir.synthetic.drawing.canvas import Canvas
from epir.synthetic.drawing.portrait import Portrait, draw_portrait
from epir.synthetic.identity import Geometry, Identity
from epir.synthetic.movement import Movement
from epir.synthetic.moving import MovingFace, State

ROOM = 0.14  # drawn beyond the crop on each side, as a share of it: the head moves
LID_GAP = 2.1  # face units between the lids of an open eye


def draw_crop(identity: Identity, recipe: Recipe) -> Portrait:
    """The person as a recipe cuts the face out, with room to move."""
    border = recipe.flow.border + round(ROOM * recipe.flow.size)
    return draw_portrait(identity, Canvas.crop(recipe.flow.size, border))


def photograph_pair(
    portrait: Portrait,
    geometry: Geometry,
    movement: Movement,
    intensity: float,
    blink: float,
    recipe: Recipe,
    random: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """The crops of onset and apex as `face_map` takes them, (h, h, 3) uint8."""
    face = MovingFace(portrait, geometry, movement)
    before, after = draw_states(intensity, blink, random)
    noise = float(random.uniform(0.3, 2.0))
    dark, slope = random.normal(0, 0.004), random.uniform(0, 0.03)
    lights = np.array([[0, 0, 0], [dark, *(slope * random.uniform(-1, 1, 2))]], dtype=np.float32)
    room = round(ROOM * recipe.flow.size)
    pair = [
        expose(face.render(state), light, noise, portrait.canvas, random)[room:-room, room:-room]
        for state, light in zip((before, after), lights, strict=True)
    ]
    return np.ascontiguousarray(pair[0]), np.ascontiguousarray(pair[1])


def draw_states(intensity: float, blink: float, random: np.random.Generator) -> tuple[State, State]:
    """The face at onset and apex: a pose of its own, then a little motion of the head besides the expression."""
    before = State(
        shift_x=float(np.clip(random.normal(0, 0.5), -1.5, 1.5)),
        shift_y=float(np.clip(random.normal(-0.2, 0.9), -1.8, 1.6)),
        roll=float(np.clip(random.normal(0, 0.03), -0.08, 0.08)),
        size=float(np.clip(random.normal(1, 0.045), 0.92, 1.1)),
        yaw=float(random.normal(0, 0.03)),
        pitch=float(random.normal(0, 0.03)),
        gaze_x=float(random.normal(0, 0.2)),
        gaze_y=float(random.normal(0, 0.1)),
    )
    head = float(np.exp(random.uniform(np.log(0.02), np.log(0.35)))) * intensity
    shift_x, shift_y = random.normal(0, 0.125, 2) + random.normal(0, 0.3, 2) * head
    looks = random.normal(0, (0.5, 0.3), 2) * intensity * (random.random() < 0.15)
    after = replace(
        before,
        intensity=intensity,
        shift_x=before.shift_x + float(shift_x),
        shift_y=before.shift_y + float(shift_y),
        roll=before.roll + float(random.normal(0, 0.05) * head),
        size=before.size + float(random.normal(0, 0.036) * head),
        yaw=before.yaw + float(random.normal(0, 0.05) * head),
        pitch=before.pitch + float(random.normal(0, 0.05) * head),
        gaze_x=before.gaze_x + float(looks[0]),
        gaze_y=before.gaze_y + float(looks[1]),
    )
    if random.random() < blink:
        closure = float(np.clip(random.uniform(0.3, 1.6) * intensity / LID_GAP, 0, 0.95))
        if random.random() < 0.75:
            return before, replace(after, closure=closure)
        return replace(before, closure=closure), after
    return before, after
