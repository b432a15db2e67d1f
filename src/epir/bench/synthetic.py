"""Measures of the synthetic corpus: faces that the detector finds, error of the flow, maps per second.

epir bench --only synthetic
epir bench --only synthetic --set detection=500 --set flow=0 --set maps=0
epir bench --only synthetic --set detection=0 --set flow=0 --set maps=512 --set recipe=epir:flow.size=112
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from epir.bench.ratio import Ratio
from epir.core.config import override
from epir.core.errors import ConfigError
from epir.faces.mtcnn import find_faces
from epir.flow.optical import flow_between
from epir.flow.recipe import FlowRecipe, flow_recipe
from epir.frames.threads import one_thread
from epir.synthetic.clip import ClipPlan, draw_frame
from epir.synthetic.corpus import CorpusSettings, plan_corpus, portrait_of
from epir.synthetic.drawing.canvas import CROP_SIDE, CROP_TOP, Canvas
from epir.synthetic.drawing.portrait import draw_portrait
from epir.synthetic.identity import draw_identity
from epir.synthetic.maps import synthetic_maps
from epir.synthetic.moving import LAYERS, MovingFace


def landmark_errors(seed: int, name: str, size: int) -> np.ndarray | None:
    """How far the detector's landmarks lie from where they were drawn, face units; `None` unless one face is found."""
    identity, canvas = draw_identity(seed, name), Canvas.frame(size)
    g = identity.geometry
    picture = (np.clip(draw_portrait(identity, canvas).flat(), 0, 1) * 255).round().astype(np.uint8)
    faces = find_faces(picture)
    if len(faces) != 1:
        return None
    drawn = [(-g.eye_x, g.eye_y), (g.eye_x, g.eye_y), (0.0, g.nose_y - 2)]
    drawn += [(-g.mouth_half, g.mouth_y), (g.mouth_half, g.mouth_y)]
    there = np.array([(canvas.column(x), canvas.row(y)) for x, y in drawn])
    return np.linalg.norm(np.array(faces[0].landmarks) - there, axis=1) / canvas.scale


def flow_error(plan: ClipPlan, seed: int, size: int, recipe: FlowRecipe) -> tuple[float, float, float]:
    """Mean endpoint error on the skin of the face crop, mean true motion (both in face units), and correlation."""
    assert plan.course is not None
    face = MovingFace(portrait_of(seed, plan.subject, size), draw_identity(seed, plan.subject).geometry, plan.movement)
    canvas = face.canvas
    top, left = round(canvas.row(CROP_TOP)), round(canvas.column(-CROP_SIDE / 2))
    side = round(CROP_SIDE * canvas.scale)
    crop = (slice(top, top + side), slice(left, left + side))
    onset, apex = (np.ascontiguousarray(draw_frame(plan, face, n)[crop]) for n in (plan.course.onset, plan.course.apex))
    before, after = plan.state(plan.course.onset), plan.state(plan.course.apex)
    skin = face.visible(before)[crop] == LAYERS["head"]
    true, found = face.true_flow(before, after)[crop][skin], flow_between(onset, apex, recipe)[skin]
    error = np.linalg.norm(found - true, axis=-1).mean() / canvas.scale
    length = np.linalg.norm(true, axis=-1).mean() / canvas.scale
    return float(error), float(length), float(np.corrcoef(found.ravel(), true.ravel())[0, 1])


@dataclass(frozen=True)
class SyntheticBench:
    """How much is measured; 0 leaves a part out."""

    detection: int = 24  # people whose face is looked for
    flow: int = 12  # people whose flow is compared with the true one, two clips each
    maps: int = 256  # maps that are timed
    size: int = 480  # px of a frame
    recipe: str = "epir"
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("detection", "flow", "maps"):
            if getattr(self, name) < 0:
                raise ConfigError(f"{name} cannot be {getattr(self, name)}", fix="give 0 or a larger number")


def measure(*, quick: bool = False, inputs: Sequence[str] = (), changes: Sequence[str] = ()) -> list[Ratio]:
    """Each part that the settings ask for."""
    if inputs:
        raise ConfigError(f"synthetic takes no input, not {inputs[0]!r}", fix="leave it out; change it with --set")
    usual = SyntheticBench()
    settings = override(replace(usual, detection=4, flow=2, maps=32) if quick else usual, changes)
    with one_thread():
        return [
            *(measure_detection(settings.detection, settings.size, settings.seed) if settings.detection else ()),
            *(measure_flow(settings.flow, settings.size, settings.seed, settings.recipe) if settings.flow else ()),
            *(measure_speed(settings.maps, settings.recipe, settings.seed) if settings.maps else ()),
        ]


def measure_detection(people: int, size: int, seed: int) -> list[Ratio]:
    """The share of people whose face the detector finds, and the landmarks' errors."""
    errors = {number: landmark_errors(seed, f"{number:03d}", size) for number in range(1, people + 1)}
    found = np.array([error for error in errors.values() if error is not None])
    missed = [f"{number:03d}" for number, error in errors.items() if error is None]
    lines = [
        Ratio(
            f"faces found, {size} px",
            len(found) / people,
            None,
            f"{len(found)} of {people}" + (f"; missed: {', '.join(missed)}" if missed else ""),
        )
    ]
    if len(found):
        names = ("left eye", "right eye", "nose", "left corner", "right corner")
        each = ", ".join(f"{name} {value:.2f}" for name, value in zip(names, found.mean(axis=0), strict=True))
        detail = f"in face units: {each}; 99 % below {np.quantile(found, 0.99):.2f}, largest {found.max():.2f}"
        lines.append(Ratio("landmark error / width of the face", float(found.mean()) / CROP_SIDE, None, detail))
    return lines


def measure_flow(people: int, size: int, seed: int, recipe: str) -> list[Ratio]:
    """The endpoint error of a flow recipe over two clips of each person."""
    plans = plan_corpus(CorpusSettings(people=people, clips=2, idle=0, size=size, seed=seed))
    rows = np.array([flow_error(plan, seed, size, flow_recipe(recipe)) for plan in plans])
    error, length, correlation = (float(value) for value in rows.mean(axis=0))
    detail = f"{len(rows)} clips; {error:.3f} of {length:.3f} face units, correlation {correlation:.2f}"
    return [Ratio(f"endpoint error / motion, {recipe}, {size} px", error / length, None, detail)]


def measure_speed(maps: int, recipe: str, seed: int) -> list[Ratio]:
    """Maps per second of processor time: what one core makes that does nothing else."""
    synthetic_maps(8, recipe, seed=seed + 1)
    began = time.process_time()
    synthetic_maps(maps, recipe, seed=seed)
    spent = time.process_time() - began
    return [Ratio(f"maps per second and core, {recipe}", maps / spent, None, f"{maps} maps in {spent:.1f} s")]
