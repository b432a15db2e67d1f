"""One clip: a person, an expression (or none), its course over time and its nuisances.

A clip is planned first, then drawn. Its expression is absent at the onset, full at the apex and absent at the offset.

[Y] Yan et al. 2013, How fast are the leaked facial expressions: the onset phase is quicker than the rest
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from epir.core.errors import ConfigError
from epir.core.seeds import generator
from epir.synthetic.drawing.canvas import Canvas
from epir.synthetic.expressions import Expression, draw_expression
from epir.synthetic.identity import Geometry
from epir.synthetic.movement import SkinMovement, draw_movement
from epir.synthetic.moving import MovingFace, State
from epir.synthetic.nuisance import Disturbances, Kind, Nuisances, draw_disturbances

SHORTEST, LONGEST = 1 / 25, 1 / 2  # seconds from onset to offset
LEAST_FRAMES = 4  # from onset to offset, so that a frame lies between onset and apex and between apex and offset
FASTEST = 10_000  # frames a second
NO_EXPRESSION = "none"  # the emotion word of clips without an expression
FIRST = 1  # the number of a clip's first frame
STEEPEST = 0.6  # maximum slope of a displacement field, so that the skin never folds
IDLE_SECONDS = (0.5, 0.9)  # length of a clip without an expression
INTENSITY = (0.30, 0.85)  # largest displacement of an expression at its apex, face units


@dataclass(frozen=True)
class Course:
    """The key frames of a clip, and the shape of rise and fall between them."""

    onset: int
    apex: int
    offset: int
    rise: float = 1.0  # below 1 it starts suddenly, above 1 slowly
    fall: float = 1.0

    def intensity(self, frame: float) -> float:
        """The share of the expression visible at a frame: 0 at the onset, 1 at the apex, 0 at the offset."""
        if not self.onset < frame < self.offset:
            return 0.0
        if frame <= self.apex:
            done = (frame - self.onset) / (self.apex - self.onset)
            return math.sin(math.pi / 2 * done**self.rise) ** 2
        left = (self.offset - frame) / (self.offset - self.apex)
        return math.sin(math.pi / 2 * left**self.fall) ** 2


def check_frame_rate(fps: float) -> None:
    """Raise an error if this rate leaves no frame between onset, apex and offset of a micro-expression."""
    if fps > FASTEST:
        raise ConfigError(f"{fps:g} frames a second are too many", fix=f"give --fps {FASTEST} or less; 200 is usual")
    if not fps > 0 or fps * LONGEST < LEAST_FRAMES:
        raise ConfigError(
            f"at {fps:g} frames a second a micro-expression has no frame between onset, apex and offset",
            fix=f"give --fps {math.ceil(LEAST_FRAMES / LONGEST)} or more; cameras for micro-expressions take 30 to 200",
        )


def draw_course(fps: float, start: int, random: np.random.Generator) -> Course:
    """A course that begins at frame `start`; usually it rises faster than it falls."""
    check_frame_rate(fps)
    seconds = SHORTEST + (LONGEST - SHORTEST) * float(random.beta(2.2, 1.6))
    frames = max(LEAST_FRAMES, round(seconds * fps))
    apex = round(frames * float(random.uniform(0.25, 0.55)))
    apex = min(max(apex, 2), frames - 2)
    rise, fall = (float(v) for v in np.exp(random.normal(0, 0.15, 2)))
    return Course(start, start + apex, start + frames, rise, fall)


def expose(
    picture: np.ndarray, light: np.ndarray, noise: float, canvas: Canvas, random: np.random.Generator
) -> np.ndarray:
    """The picture (H, W, 3), 0..1, as a camera records it: uint8 RGB. `light` is a relative gain and two slopes."""
    gain, right, down = (np.float32(v) for v in light)
    x = canvas.x / np.float32(30)
    y = (canvas.y - np.float32(8)) / np.float32(30)
    exposed = picture * ((1 + gain + right * x + down * y) * np.float32(255))[..., None]
    exposed += np.float32(0.5)
    if noise:
        grain = random.standard_normal((picture.shape[0], picture.shape[1] + 2), dtype=np.float32)
        grain *= np.float32(0.8 * noise)
        for channel in range(3):  # grey noise with a little colour, from one draw
            exposed[..., channel] += grain[:, : picture.shape[1]]
            exposed[..., channel] += np.float32(0.75) * grain[::-1, channel : channel + picture.shape[1]]
    return np.clip(exposed, 0, 255, out=exposed).astype(np.uint8)


@dataclass(frozen=True)
class ClipPlan:
    """Everything needed to draw a clip, at any frame size."""

    name: str
    subject: str
    kind: Kind
    fps: float
    frames: int
    expression: Expression | None
    movement: SkinMovement | None
    course: Course | None
    intensity: float  # at the apex
    disturbances: Disturbances
    noise: float
    seed: int

    @property
    def emotion(self) -> str:
        """The emotion word, or `none`."""
        return self.expression.emotion if self.expression else NO_EXPRESSION

    @property
    def numbers(self) -> range:
        """The numbers of the frames."""
        return range(FIRST, FIRST + self.frames)

    def state(self, number: int) -> State:
        """The state of the face at the frame with this number."""
        shown = self.course.intensity(number) * self.intensity if self.course else 0.0
        return replace(self.disturbances.states[number - FIRST], intensity=shown)


def plan_clip(
    seed: int,
    subject: str,
    name: str,
    *,
    geometry: Geometry,
    kind: Kind,
    classes: int,
    emotion: str,
    fps: float,
    rest: float = 0.07,
    nuisances: Nuisances | None = None,
) -> ClipPlan:
    """Plan the clip `name` of a person; it depends only on the seed and the names."""
    nuisances = nuisances or Nuisances()
    random = generator(seed, "clip", subject, name)
    lead, tail = (max(1, round(fps * rest * float(random.uniform(0.6, 1.4)))) for _ in range(2))
    course = draw_course(fps, FIRST + lead, random)
    frames = course.offset + tail - FIRST + 1
    if kind != "expression":
        frames = max(frames, round(fps * float(random.uniform(*IDLE_SECONDS))))
    expression, movement, intensity = None, None, 0.0
    if kind == "expression":
        expression = draw_expression(classes, emotion, random)
        movement = draw_movement(expression.active_units, geometry, random)
        intensity = min(float(np.exp(random.uniform(*np.log(INTENSITY)))), STEEPEST / movement.steepness())
    return ClipPlan(
        name=name,
        subject=subject,
        kind=kind,
        fps=fps,
        frames=frames,
        expression=expression,
        movement=movement,
        course=course if kind == "expression" else None,
        intensity=intensity,
        disturbances=draw_disturbances(frames, fps, kind, nuisances, random),
        noise=nuisances.noise,
        seed=seed,
    )


def draw_frame(plan: ClipPlan, face: MovingFace, number: int) -> np.ndarray:
    """Draw one frame of a clip, independent of the frames before it."""
    random = generator(plan.seed, "camera", plan.subject, plan.name, number)
    light = plan.disturbances.light[number - FIRST]
    return expose(face.render(plan.state(number)), light, plan.noise, face.canvas, random)
