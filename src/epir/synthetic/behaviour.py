"""Scenes in which people talk, chew, swallow, laugh, blink, look around, nod or scratch themselves.

A scene is planned first: the amounts of a few skin movements over time, and the states of the head. Then its frames can
be drawn. Any scene may contain micro-expressions with known key frames.

Axes: n frames, J movements of the skin, H, W pixels
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from epir.core.seeds import generator
from epir.synthetic.clip import Course, draw_course, expose
from epir.synthetic.drawing.portrait import Portrait
from epir.synthetic.expressions import ActiveUnit, draw_expression, emotions
from epir.synthetic.identity import Geometry
from epir.synthetic.movement import SkinMovement, draw_movement
from epir.synthetic.moving import MovingFace, State
from epir.synthetic.nuisance import wander

STEEPEST = 0.75  # maximum slope of a displacement field, so that the skin never folds
REST = 0.6  # seconds between two micro-expressions
TREMOR = 0.07  # face units (0.25 % of the face's width): mean motion of the skin while speaking
TREMBLING = ({1: 1.0, 2: 0.8}, {4: 1.0}, {6: 1.0}, {9: 0.7, 10: 0.5}, {12: 0.5, 14: 0.5})  # units that tremble together


@dataclass
class Scene:
    """Everything that happens in a video of one face."""

    fps: float
    seconds: np.ndarray  # (n,)
    movements: list[SkinMovement] = field(default_factory=list)
    amounts: list[np.ndarray] = field(default_factory=list)  # (n,) each: largest displacement, face units
    head: dict[str, np.ndarray] = field(default_factory=dict)  # fields of `State`, (n,) each
    hand: np.ndarray | None = None  # (n, 2): centre of the hand, face units
    light: np.ndarray | None = None  # (n, 3)
    shown: list[tuple[str, Course]] = field(default_factory=list)  # micro-expressions: emotion and key frames

    def move(self, name: str, values: np.ndarray) -> None:
        """Add values (n,) to one field of the head's state."""
        self.head[name] = self.head.get(name, np.zeros_like(self.seconds)) + values

    def state(self, place: int) -> State:
        """The state of the head at one frame."""
        values = {name: float(path[place]) for name, path in self.head.items()}
        values["closure"] = min(max(values.get("closure", 0.0), 0.0), 1.0)
        return State(**values, intensity=1.0)


class BehavingFace(MovingFace):
    """One portrait with all movements of a scene."""

    def __init__(self, portrait: Portrait, geometry: Geometry, scene: Scene) -> None:
        super().__init__(portrait, geometry)
        scale = np.float32(self.canvas.scale)
        self._scene = scene
        self._fields = [scale * each.displacement(self.canvas.x, self.canvas.y) for each in scene.movements]

    def frame(self, place: int, noise: float, random: np.random.Generator) -> np.ndarray:
        """One frame of the scene, (H, W, 3) uint8."""
        self._expression = np.zeros((self.canvas.height, self.canvas.width, 2), np.float32)
        for displacement, amounts in zip(self._fields, self._scene.amounts, strict=True):
            if amounts[place]:
                self._expression += np.float32(amounts[place]) * displacement
        picture = self.render(self._scene.state(place))
        if self._scene.hand is not None:
            _cover(picture, self._scene.hand[place], self)
        light = self._scene.light[place] if self._scene.light is not None else np.zeros(3)
        return expose(picture, light, noise, self.canvas, random)


def plan_scene(
    behaviours: Sequence[str], seconds: float, fps: float, geometry: Geometry, seed: int, *, micro: float = 0.0
) -> Scene:
    """A scene with all of these behaviours throughout, and about `micro` micro-expressions per second."""
    random = generator(seed, "scene", *behaviours)
    scene = Scene(fps, np.arange(round(seconds * fps)) / fps)
    for name, size in (("shift_x", 0.1), ("shift_y", 0.1), ("roll", 0.004), ("yaw", 0.01), ("pitch", 0.01)):
        scene.move(name, size * float(random.uniform(0.2, 1.5)) * wander(scene.seconds, random))
    scene.move("size", np.ones_like(scene.seconds))
    scene.light = 0.008 * np.stack([wander(scene.seconds, random) for _ in range(3)], axis=1).astype(np.float32)
    for name in behaviours:
        BEHAVIOURS[name](scene, geometry, random)
    if micro:
        _micro_expressions(scene, geometry, micro, random)
    return scene


def _micro_expressions(scene: Scene, geometry: Geometry, per_second: float, random: np.random.Generator) -> None:
    words, start = emotions(3), REST
    while True:
        start += float(random.exponential(1 / per_second))
        course = draw_course(scene.fps, round(start * scene.fps), random)
        if course.offset >= len(scene.seconds) - REST * scene.fps:
            return
        emotion = words[int(random.integers(len(words)))]
        movement = draw_movement(draw_expression(3, emotion, random).active_units, geometry, random)
        amount = min(float(np.exp(random.uniform(np.log(0.12), np.log(0.7)))), STEEPEST / movement.steepness())
        scene.movements.append(movement)
        scene.amounts.append(amount * np.array([course.intensity(place) for place in range(len(scene.seconds))]))
        scene.shown.append((emotion, course))
        start = course.offset / scene.fps + REST


def _act(
    scene: Scene, units: dict[int, float], amounts: np.ndarray, geometry: Geometry, random: np.random.Generator
) -> None:
    """Move the skin by these action units and their amplitudes, by `amounts` (n,) in face units."""
    if not np.any(amounts):
        return
    movement = draw_movement(tuple(ActiveUnit(unit, size, size) for unit, size in units.items()), geometry, random)
    most = STEEPEST / movement.steepness()
    scene.movements.append(movement)
    scene.amounts.append(np.clip(amounts, -most, most))


def pulse(seconds: np.ndarray, start: float, rise: float, hold: float, fall: float) -> np.ndarray:
    """A rise from 0 to 1 like sin^2 in `rise` seconds, a hold and a fall."""
    up, down = (seconds - start) / rise, 1 - (seconds - start - rise - hold) / fall
    return np.sin(np.pi / 2 * np.clip(np.minimum(up, down), 0, 1)) ** 2


def _phrases(
    seconds: np.ndarray, random: np.random.Generator, speak: tuple[float, float], pause: tuple[float, float]
) -> list[tuple[float, float]]:
    spans, at = [], float(random.uniform(0, pause[1]))
    while at < seconds[-1]:
        length = float(random.uniform(*speak))
        spans.append((at, at + length))
        at += length + float(random.uniform(*pause))
    return spans


def talk(scene: Scene, geometry: Geometry, random: np.random.Generator) -> None:
    """Lips and jaw move in syllables and phrases; brows and head sometimes stress a word; the whole face trembles."""
    seconds, loud = scene.seconds, float(random.uniform(0.4, 1.6))
    jaw, lips, wide, press, brows, nod = (np.zeros_like(seconds) for _ in range(6))
    for first, last in _phrases(seconds, random, (0.4, 3.0), (0.15, 1.6)):
        at = first
        while at < last:
            length = float(random.uniform(0.12, 0.34))
            size = loud * float(random.uniform(0.1, 1.0))
            syllable = pulse(seconds, at, 0.5 * length, 0.0, 0.6 * length)
            jaw += size * float(random.uniform(0.4, 1.6)) * syllable
            for amounts in (lips, wide, press):
                if random.random() < 0.4:
                    amounts += size * float(random.uniform(-0.2, 0.7)) * syllable
            if random.random() < 0.12:
                brows += float(random.uniform(0.1, 0.9)) * pulse(seconds, at, *random.uniform(0.08, 0.4, 3))
            if random.random() < 0.15:
                nod += float(random.uniform(-0.04, 0.04)) * pulse(seconds, at, *random.uniform(0.1, 0.3, 3))
            at += length * float(random.uniform(0.6, 1.1))
    _act(scene, {26: 1.0, 25: 0.8}, jaw, geometry, random)
    _act(scene, {18: 1.0}, lips, geometry, random)
    _act(scene, {20: 0.6, 12: 0.5}, wide, geometry, random)
    _act(scene, {24: 1.0, 17: 0.5}, press, geometry, random)
    _act(scene, {1: 1.0, 2: 0.8}, brows, geometry, random)
    scene.move("pitch", nod)
    scene.move("shift_y", 4 * nod)
    for units in TREMBLING:
        _act(scene, units, TREMOR * float(random.uniform(0.2, 1.6)) * _tremble(seconds, random), geometry, random)
    for name, size in (("yaw", 0.02), ("pitch", 0.02), ("roll", 0.008), ("shift_x", 0.15), ("shift_y", 0.15)):
        scene.move(name, size * float(random.uniform(0.1, 1.0)) * _tremble(seconds, random))


def _tremble(seconds: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """A path with a standard deviation of about 1 and 1 to 4 beats per second, stronger at times."""
    swell = np.clip(1 + 0.8 * wander(seconds, random), 0, None)
    return swell * sum(wander(float(random.uniform(1.0, 3.5)) * seconds, random) for _ in range(3)) / np.sqrt(3)


def chew(scene: Scene, geometry: Geometry, random: np.random.Generator) -> None:
    """The jaw moves in circles, lips closed."""
    rate = float(random.uniform(1.1, 2.2))
    phase = 2 * np.pi * (rate * scene.seconds + 0.15 * wander(scene.seconds, random))
    size = float(random.uniform(0.2, 1.0)) * (1 + 0.3 * wander(scene.seconds, random))
    _act(scene, {26: 1.0}, size * (0.5 - 0.5 * np.cos(phase)), geometry, random)
    _act(scene, {24: 0.6, 14: 0.6}, 0.4 * size * (0.5 + 0.5 * np.cos(phase)), geometry, random)


def swallow(scene: Scene, geometry: Geometry, random: np.random.Generator) -> None:
    """The lips press and the chin rises for most of a second."""
    amounts = np.zeros_like(scene.seconds)
    for at, _ in _phrases(scene.seconds, random, (0.5, 1.0), (1.0, 4.0)):
        amounts += float(random.uniform(0.15, 0.8)) * pulse(scene.seconds, at, *random.uniform(0.15, 0.4, 3))
    _act(scene, {24: 1.0, 17: 0.8, 28: 0.4}, amounts, geometry, random)


def blink(scene: Scene, geometry: Geometry, random: np.random.Generator) -> None:
    """Single, double and partial blinks; brows and cheeks move along a little."""
    shut = np.zeros_like(scene.seconds)
    at = float(random.exponential(1.0))
    while at < scene.seconds[-1]:
        for _ in range(int(random.choice([1, 1, 1, 2, 3]))):
            closing, opening = float(random.uniform(0.05, 0.11)), float(random.uniform(0.09, 0.22))
            depth = 1.0 if random.random() < 0.75 else float(random.uniform(0.2, 0.7))
            shut = np.maximum(shut, depth * pulse(scene.seconds, at, closing, float(random.uniform(0, 0.06)), opening))
            at += closing + opening + float(random.uniform(0.03, 0.2))
        at += 0.2 + float(random.exponential(1.8))
    scene.move("closure", shut)
    _act(scene, {4: 0.6, 6: 0.4}, float(random.uniform(0.0, 0.35)) * shut, geometry, random)


def look(scene: Scene, geometry: Geometry, random: np.random.Generator) -> None:
    """The eyes jump elsewhere and back; the lids follow up and down."""
    x, y = np.zeros_like(scene.seconds), np.zeros_like(scene.seconds)
    at = float(random.exponential(0.7))
    while at < scene.seconds[-1]:
        gone = 1 / (1 + np.exp(-np.clip((scene.seconds - at) / 0.008, -50, 50)))
        jump = random.normal(0, (0.6, 0.3), 2)
        last = int(np.searchsorted(scene.seconds, at)) - 1
        x += (jump[0] - x[max(last, 0)]) * gone
        y += (jump[1] - y[max(last, 0)]) * gone
        at += float(random.choice([0.2, 0.35, 1.2])) * float(random.uniform(0.6, 1.6))
    scene.move("gaze_x", np.clip(x, -1.2, 1.2))
    scene.move("gaze_y", np.clip(y, -0.6, 0.6))
    _act(scene, {5: 1.0}, -0.7 * np.clip(y, -0.6, 0.6), geometry, random)


def nod(scene: Scene, geometry: Geometry, random: np.random.Generator) -> None:
    """The head nods, shakes, turns and moves closer, each for a while."""
    for name, along, size in (("pitch", "shift_y", 0.09), ("yaw", "shift_x", 0.11), ("roll", "shift_x", 0.05)):
        path = np.zeros_like(scene.seconds)
        for first, last in _phrases(scene.seconds, random, (0.3, 2.0), (0.8, 4.0)):
            cycles = np.sin(2 * np.pi * float(random.uniform(0.5, 2.5)) * (scene.seconds - first))
            edge = max(0.1, 0.25 * (last - first))
            inside = pulse(scene.seconds, first, edge, last - first - 2 * edge, edge)
            path += float(random.uniform(0.1, 1.0)) * size * cycles * inside
        scene.move(name, path)
        scene.move(along, float(random.uniform(3, 9)) * path)
    scene.move("size", 0.02 * wander(scene.seconds, random))


def laugh(scene: Scene, geometry: Geometry, random: np.random.Generator) -> None:
    """Mouth corners and cheeks rise for seconds, and the whole face bounces."""
    amounts, bounce = np.zeros_like(scene.seconds), np.zeros_like(scene.seconds)
    for first, last in _phrases(scene.seconds, random, (0.8, 2.5), (1.0, 4.0)):
        inside = pulse(scene.seconds, first, 0.25, last - first, float(random.uniform(0.3, 0.9)))
        beat = np.sin(2 * np.pi * float(random.uniform(3.5, 5.5)) * (scene.seconds - first))
        amounts += inside * float(random.uniform(0.8, 2.0)) * (1 + 0.15 * beat)
        bounce += inside * 0.25 * beat * float(random.uniform(0.3, 1.5))
    _act(scene, {12: 1.0, 6: 0.7, 25: 0.6}, amounts, geometry, random)
    scene.move("shift_y", bounce)


def hold(scene: Scene, geometry: Geometry, random: np.random.Generator) -> None:
    """Macro-expressions: a quick rise, a hold for seconds and a return."""
    for first, last in _phrases(scene.seconds, random, (0.7, 3.0), (0.6, 3.0)):
        emotion = emotions(3)[int(random.integers(3))]
        units = {active.unit: active.amplitude for active in draw_expression(3, emotion, random).active_units}
        rise, fall = random.uniform(0.12, 0.6, 2)
        size = float(np.exp(random.uniform(np.log(0.15), np.log(1.6))))
        _act(scene, units, size * pulse(scene.seconds, first, rise, last - first, fall), geometry, random)


def scratch(scene: Scene, geometry: Geometry, random: np.random.Generator) -> None:
    """A hand moves over the face, rubs it and leaves; the skin moves along."""
    side = float(random.choice([-1, 1]))
    away, rub = np.array([side * 34.0, 30.0]), np.zeros_like(scene.seconds)
    near = np.zeros_like(scene.seconds)
    for first, last in _phrases(scene.seconds, random, (0.4, 2.0), (1.0, 4.0)):
        inside = pulse(scene.seconds, first, 0.3, last - first, 0.3)
        near = np.maximum(near, inside)
        rub += inside * np.sin(2 * np.pi * float(random.uniform(2, 5)) * scene.seconds)
    target = np.array([side * float(random.uniform(2, 10)), float(random.uniform(8, 26))])
    path = away + near[:, None] * (target - away)
    scene.hand = path + np.stack([rub, 0.7 * rub], axis=1)
    _act(scene, {14: 1.0} if target[1] > 16 else {6: 1.0}, 0.4 * rub, geometry, random)


def shake(scene: Scene, geometry: Geometry, random: np.random.Generator) -> None:
    """The camera is held by hand and shakes."""
    for name, size in (("shift_x", 0.25), ("shift_y", 0.25), ("roll", 0.006)):
        for rate in random.uniform(2, 9, 3):
            wave = np.sin(2 * np.pi * (rate * scene.seconds + random.random()))
            scene.move(name, size * float(random.uniform(0.1, 0.6)) * wave)


def flicker(scene: Scene, geometry: Geometry, random: np.random.Generator) -> None:
    """The light changes in strength and direction."""
    assert scene.light is not None, "plan_scene sets the light"
    waves = np.stack([wander(float(random.uniform(1, 4)) * scene.seconds, random) for _ in range(3)], axis=1)
    scene.light = (scene.light + 0.05 * waves).astype(np.float32)


def rest(scene: Scene, geometry: Geometry, random: np.random.Generator) -> None:
    """Only the head drifts slowly."""


BEHAVIOURS: dict[str, Callable[[Scene, Geometry, np.random.Generator], None]] = {
    each.__name__: each for each in (rest, talk, chew, swallow, blink, look, nod, laugh, hold, scratch, shake, flicker)
}


def _cover(picture: np.ndarray, at: np.ndarray, face: BehavingFace) -> None:
    """Draw a hand on the picture (H, W, 3), centred at `at` in face units."""
    x, y = face.canvas.x - np.float32(at[0]), face.canvas.y - np.float32(at[1])
    away = (x / np.float32(7.0)) ** 2 + (y / np.float32(9.0)) ** 2
    inside = np.clip((1 - away) * 6, 0, 1)[..., None]
    if inside.any():
        fingers = np.float32(0.06) * np.sin(x * np.float32(1.8)) + np.float32(0.03) * np.cos(y * np.float32(1.1))
        skin = np.array([0.78, 0.58, 0.48], np.float32) + fingers[..., None]
        picture *= 1 - inside
        picture += inside * skin
