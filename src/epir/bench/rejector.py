"""Learn to tell micro-expressions from what else a face does, from synthetic people alone.

    python -m epir.bench.rejector work/rejector

Each scene shows a person who behaves in one to three ways, with micro-expressions mixed in, as H.264 keeps it. Its
candidates are kept in one file; run the same command again to resume. The weights go to `src/epir/spotting/rejector.json`.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np

from epir.bench.injection import compressed
from epir.bench.spotting import OVERLAP, overlap
from epir.core.files import whole_file
from epir.core.seeds import generator
from epir.faces.align import Crop
from epir.spotting import decision
from epir.spotting.candidates import find_candidates
from epir.spotting.measure import FaceMeasure
from epir.spotting.regions import REGIONS, centres, region_cells
from epir.spotting.settings import SpottingSettings
from epir.synthetic.behaviour import BEHAVIOURS, BehavingFace, Scene, plan_scene
from epir.synthetic.drawing.canvas import CROP_SIDE, CROP_TOP, Canvas
from epir.synthetic.drawing.portrait import draw_portrait
from epir.synthetic.identity import draw_identity

SCENES = 160
SECONDS = 9.0
RATES = (25.0, 30.0, 30.0, 30.0, 60.0)
MICRO = 0.5  # micro-expressions a second
SIZE, MARGIN = 84, 14  # px
TOO_LITTLE = 0.3  # of the greatest displacement: a region that moves less is not part of the expression
PENALTY = 3.0  # on the squared weights of standardised measures


def scene_of(number: int) -> tuple[Scene, list[np.ndarray]]:
    """One scene and its small faces, (h, h) uint8."""
    random = generator(0, "rejector", number)
    names = list(BEHAVIOURS)
    behaviours = ["talk", "blink", "look", "nod"] if number % 2 else [names[number // 2 % len(names)]]
    behaviours += [str(each) for each in random.choice(names, int(random.integers(0, 2)), replace=False)]
    fps = RATES[int(random.integers(len(RATES)))]
    person = draw_identity(number, "rejector")
    scene = plan_scene(list(dict.fromkeys(behaviours)), SECONDS, fps, person.geometry, number, micro=MICRO)
    face = BehavingFace(draw_portrait(person, Canvas.crop(SIZE, MARGIN)), person.geometry, scene)
    noise = float(random.uniform(0.5, 2.0))
    frames = (face.frame(place, noise, generator(number, "noise", place)) for place in range(len(scene.seconds)))
    kept = compressed(frames, fps, quality=int(random.integers(8, 21)))
    inner = slice(MARGIN, MARGIN + SIZE)
    return scene, [cv2.cvtColor(frame[inner, inner], cv2.COLOR_RGB2GRAY) for frame in kept]


def collect(path: Path, number: int) -> dict[str, np.ndarray]:
    """What the spotter measures of one scene, and its truth, from its file if there is one."""
    if not path.exists():
        scene, faces = scene_of(number)
        measure, crop = FaceMeasure(SIZE), Crop(SIZE / 2, SIZE / 2, float(SIZE))
        samples = [measure.push(place, place / scene.fps, face, crop) for place, face in enumerate(faces)]
        with whole_file(path) as temporary, temporary.open("wb") as file:
            np.savez(
                file,
                rate=scene.fps,
                skin=np.array([each.skin for each in samples]),
                head=np.array([each.head for each in samples]),
                mismatch=np.array([each.mismatch for each in samples], np.float32),
                spans=np.array([(course.onset, course.offset) for _, course in scene.shown]).reshape(-1, 2),
                moved=np.array(list(true_motion(scene))).reshape(-1, len(REGIONS)),
            )
    with np.load(path) as kept:
        return dict(kept)


def true_motion(scene: Scene) -> Iterator[np.ndarray]:
    """How far each region goes in each micro-expression of a scene, (R,), as a share of the face's width."""
    x, y = centres()
    places = CROP_SIDE * (x.ravel() - 0.5), CROP_SIDE * y.ravel() + CROP_TOP
    cells = region_cells() / region_cells().sum(axis=1, keepdims=True)
    first = len(scene.movements) - len(scene.shown)
    for movement, amounts in zip(scene.movements[first:], scene.amounts[first:], strict=True):
        field = movement.displacement(*(each.astype(np.float32)[None] for each in places))[0]
        yield np.hypot(*(cells @ field).T) * amounts.max() / CROP_SIDE


def examples(kept: dict[str, np.ndarray]) -> Iterator[tuple[list[float], int]]:
    """Measures of the candidates that no rule decides, with 1 for a micro-expression and 0 for anything else.

    A candidate that shares only its time with a micro-expression is neither.
    """
    rate = float(kept["rate"])
    found = find_candidates(kept["skin"], kept["head"], kept["mismatch"], rate)
    blinks = [each for each in found if decision.is_blink(each)]
    for each in found:
        if decision.rule(each, blinks, rate, SpottingSettings()):
            continue
        hits = [overlap((each.onset, each.offset), (int(first), int(last))) for first, last in kept["spans"]]
        best = int(np.argmax(hits)) if hits else 0
        own, moved = each.lengths[each.strongest], kept["moved"][best] if hits else np.zeros(len(REGIONS))
        true = moved[each.strongest]
        if not hits or hits[best] < 0.1:
            yield list(decision.features(each, rate).values()), 0
        elif hits[best] >= OVERLAP and true > TOO_LITTLE * moved.max() and own < 2 * true + 0.001:
            yield list(decision.features(each, rate).values()), 1


def learn(measures: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """The weights of a logistic regression with a penalty, the constant last, by Newton's method."""
    mean, deviation = measures.mean(axis=0), measures.std(axis=0) + 1e-6
    inputs = np.concatenate([(measures - mean) / deviation, np.ones((len(measures), 1))], axis=1)
    penalty = np.diag([*np.full(measures.shape[1], PENALTY), 1e-6])
    found = np.zeros(inputs.shape[1])
    for _ in range(50):
        chance = 1 / (1 + np.exp(-inputs @ found))
        slope = inputs.T @ (chance - truth) + penalty @ found
        bend = (inputs * (chance * (1 - chance))[:, None]).T @ inputs + penalty
        found = found - np.linalg.solve(bend, slope)
    plain = found[:-1] / deviation
    return np.append(plain, found[-1] - plain @ mean)
