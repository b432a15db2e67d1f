"""Measures of the synthetic corpus, as the documentation quotes them.

python -m epir.bench.synthetic detection --people 500
python -m epir.bench.synthetic flow --people 12
python -m epir.bench.synthetic speed --maps 512 --recipe epir:flow.size=112
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence

import numpy as np

from epir.faces.mtcnn import find_faces
from epir.flow.optical import flow_between
from epir.flow.recipe import Recipe, get_recipe
from epir.maps.workers import one_thread
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


def flow_error(plan: ClipPlan, seed: int, size: int, recipe: Recipe) -> tuple[float, float, float]:
    """Mean endpoint error of a recipe on the skin of the face crop, mean true motion (face units), and correlation."""
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


def measure_detection(people: int, size: int, seed: int) -> dict[str, object]:
    """The share of people whose face the detector finds, and the landmarks' errors."""
    errors = [landmark_errors(seed, f"{number:03d}", size) for number in range(1, people + 1)]
    found = np.array([error for error in errors if error is not None])
    places = zip(("left eye", "right eye", "nose", "left corner", "right corner"), found.mean(axis=0), strict=True)
    return {
        "people": people,
        "found": len(found) / people,
        "mean_error": {name: round(float(value), 2) for name, value in places},
        "largest_error": round(float(found.max()), 2),
        "missed": [f"{n:03d}" for n, error in enumerate(errors, start=1) if error is None],
    }


def measure_flow(people: int, size: int, seed: int, recipe: str) -> dict[str, object]:
    """The endpoint error of a recipe over two clips of each person."""
    plans = plan_corpus(CorpusSettings(people=people, clips=2, idle=0, size=size, seed=seed))
    rows = np.array([flow_error(plan, seed, size, get_recipe(recipe)) for plan in plans])
    error, length, agreement = (float(value) for value in rows.mean(axis=0))
    return {"clips": len(rows), "endpoint_error": error, "true_motion": length, "correlation": agreement}


def measure_speed(maps: int, recipe: str, seed: int) -> dict[str, object]:
    """Maps per second of processor time: what one core makes that does nothing else."""
    synthetic_maps(8, recipe, seed=seed + 1)
    began = time.process_time()
    synthetic_maps(maps, recipe, seed=seed)
    return {"recipe": recipe, "maps": maps, "maps_per_core_second": maps / (time.process_time() - began)}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and write one JSON object."""
    parser = argparse.ArgumentParser(prog="python -m epir.bench.synthetic")
    parser.add_argument("what", choices=("detection", "flow", "speed"))
    parser.add_argument("--people", type=int, default=24)
    parser.add_argument("--size", type=int, default=480)
    parser.add_argument("--maps", type=int, default=256)
    parser.add_argument("--recipe", default="epir")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    with one_thread():
        if given.what == "detection":
            result = measure_detection(given.people, given.size, given.seed)
        elif given.what == "flow":
            result = measure_flow(given.people, given.size, given.seed, given.recipe)
        else:
            result = measure_speed(given.maps, given.recipe, given.seed)
    sys.stdout.write(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
