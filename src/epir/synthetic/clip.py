"""One clip: a person, an expression (or none), its course, everything that disturbs it; planned first, then drawn."""

from dataclasses import dataclass, replace

import numpy as np

from epir.core.seeds import generator
from epir.synthetic.camera import expose
from epir.synthetic.course import Course, draw_course
from epir.synthetic.expressions import Expression, draw_expression
from epir.synthetic.identity import Geometry
from epir.synthetic.movement import Movement, draw_movement
from epir.synthetic.moving import MovingFace, State
from epir.synthetic.nuisance import Disturbances, Kind, Nuisances, draw_disturbances

NO_EXPRESSION = "none"  # the emotion word of clips for spotting alone
FIRST = 1  # the number of a clip's first frame
STEEPEST = 0.6  # of a displacement field: the skin never folds
IDLE_SECONDS = (0.5, 0.9)  # length of a clip without an expression
INTENSITY = (0.30, 0.85)  # greatest displacement of an expression at its apex, face units


@dataclass(frozen=True)
class ClipPlan:
    """All that is needed to draw a clip; nothing in it depends on the size of the frames."""

    name: str
    subject: str
    kind: Kind
    fps: float
    frames: int
    expression: Expression | None
    movement: Movement | None
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
        """What the face does at the frame with this number."""
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
    """The clip called `name` of a person; it depends on the seed and the names alone."""
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
        movement = draw_movement(expression.actions, geometry, random)
        wanted = float(np.exp(random.uniform(*np.log(INTENSITY))))
        intensity = min(wanted, STEEPEST / movement.steepness())
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
    """One frame of a clip, whatever was drawn before it."""
    random = generator(plan.seed, "camera", plan.subject, plan.name, number)
    light = plan.disturbances.light[number - FIRST]
    return expose(face.render(plan.state(number)), light, plan.noise, face.canvas, random)
