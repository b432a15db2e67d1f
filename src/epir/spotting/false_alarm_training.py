"""Train the classifier that tells micro-expressions from false alarms, on synthetic people only.

    epir bench --only spotting --set train=work/scenes

Each scene shows a person with one to three behaviours and some micro-expressions, compressed with H.264. The folder
keeps one file per scene with the spotter's measurements; run the same command again to resume. The weights go to
`false_alarm_classifier.json` in that folder; the shipped ones are `epir/spotting/false_alarm_classifier.json`.

Axes: P patterns, R regions
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import cv2
import numpy as np

from epir.core.engines import Progress, Silent
from epir.core.errors import ConfigError
from epir.core.files import atomic_write, write_text
from epir.core.output import check_place, locked, resolved
from epir.core.seeds import generator
from epir.faces.align import Crop
from epir.frames.film import compressed
from epir.spotting import decision
from epir.spotting.candidates import CLASSIFIER, find_candidates
from epir.spotting.decision import SpottingSettings
from epir.spotting.measure import FaceMeasure, Motion
from epir.spotting.regions import REGIONS, centres, region_cells
from epir.spotting.timeline import OVERLAP, overlap
from epir.synthetic.behaviour import BEHAVIOURS, BehavingFace, Scene, plan_scene
from epir.synthetic.drawing.canvas import CROP_SIDE, CROP_TOP, Canvas
from epir.synthetic.drawing.portrait import draw_portrait
from epir.synthetic.expressions import draw_expression, emotions
from epir.synthetic.identity import Geometry, draw_identity
from epir.synthetic.movement import SkinMovement, draw_movement

SCENES = 144
SECONDS = 9.0
RATES = (25.0, 30.0, 30.0, 30.0, 60.0)
MICRO = 0.5  # micro-expressions per second
SIZE, MARGIN = 84, 14  # px
LIVELY = ("talk", "blink", "look", "nod")
STREAM = "rejector"  # name of the random streams that fix the scenes of the shipped weights
TOO_LITTLE = 0.3  # share of the largest displacement: a region that moves less is not part of the expression
PATTERNS = 90  # number of expressions
PENALTY = 3.0  # on the squared weights of standardised measures


def train(folder: Path, scenes: int = SCENES, progress: Progress | None = None) -> dict[str, float]:
    """Train on the scenes in a folder, drawing missing ones; returns recall and precision on held-out scenes."""
    is_new = not folder.exists() or (folder.is_dir() and not any(folder.iterdir()))
    if not is_new and not any(folder.glob("scene*.npz")):
        raise ConfigError(
            f"{folder} holds something other than scenes", fix="name a new folder, or one that this command made"
        )
    check_place(resolved(folder / CLASSIFIER))
    progress, known = progress or Silent(), draw_patterns()
    rows: list[tuple[dict[str, float], int, int]] = []  # measures, truth, scene
    with locked(folder):
        folder.mkdir(parents=True, exist_ok=True)
        progress.start("scenes", scenes)
        for number in range(scenes):
            kept = collect(folder / f"scene{number:04d}.npz", number)
            rows += [(row, truth, number) for row, truth in examples(kept, known)]
            progress.advance()
        progress.finish()
        return _fit_and_write(rows, known, folder / CLASSIFIER, scenes)


def scene_of(
    number: int, fps: float | None = None, *, seconds: float = SECONDS, micro: float = MICRO
) -> tuple[Scene, list[np.ndarray]]:
    """One scene and its small faces, (h, h) uint8; scenes with odd numbers are lively. By default, draws the rate."""
    random = generator(0, STREAM, number)
    names = list(BEHAVIOURS)
    behaviours = list(LIVELY) if number % 2 else [names[number // 2 % len(names)]]
    behaviours += [str(each) for each in random.choice(names, int(random.integers(0, 2)), replace=False)]
    drawn = RATES[int(random.integers(len(RATES)))]
    fps = drawn if fps is None else fps
    person = draw_identity(number, STREAM)
    scene = plan_scene(list(dict.fromkeys(behaviours)), seconds, fps, person.geometry, number, micro=micro)
    face = BehavingFace(draw_portrait(person, Canvas.crop(SIZE, MARGIN)), person.geometry, scene)
    noise = float(random.uniform(0.5, 2.0))
    frames = (face.frame(place, noise, generator(number, "noise", place)) for place in range(len(scene.seconds)))
    kept = compressed(frames, fps, quality=int(random.integers(8, 21)))
    inner = slice(MARGIN, MARGIN + SIZE)
    return scene, [cv2.cvtColor(frame[inner, inner], cv2.COLOR_RGB2GRAY) for frame in kept]


def collect(path: Path, number: int) -> dict[str, np.ndarray]:
    """The spotter's measurements of one scene and its ground truth, read from its file if that exists."""
    if not path.exists():
        scene, faces = scene_of(number)
        measure, crop = FaceMeasure(SIZE), Crop(SIZE / 2, SIZE / 2, float(SIZE))
        samples = [measure.push(place, place / scene.fps, face, crop) for place, face in enumerate(faces)]
        with atomic_write(path) as temporary, temporary.open("wb") as file:
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
    """The displacement of each region in each micro-expression of a scene, (R,), as a share of the face's width."""
    first = len(scene.movements) - len(scene.shown)
    for movement, amounts in zip(scene.movements[first:], scene.amounts[first:], strict=True):
        yield np.hypot(*region_motion(movement).T) * amounts.max() / CROP_SIDE


def region_motion(movement: SkinMovement) -> np.ndarray:
    """The displacement of each region, (R, 2), for a movement with a maximum of 1."""
    x, y = centres()
    places = CROP_SIDE * (x.ravel() - 0.5), CROP_SIDE * y.ravel() + CROP_TOP
    cells = region_cells() / region_cells().sum(axis=1, keepdims=True)
    return np.asarray(cells @ movement.displacement(*(each.astype(np.float32)[None] for each in places))[0])


def draw_patterns(count: int = PATTERNS) -> np.ndarray:
    """Draw patterns (P, R, 2), each of length 1: how regions move in expressions of the three classes in turn."""
    random, words, drawn = generator(0, "templates"), emotions(3), []
    for number in range(count):
        units = draw_expression(3, words[number % len(words)], random).active_units
        drawn.append(region_motion(draw_movement(units, Geometry(), random)))
    patterns = np.array(drawn)
    return patterns / np.sqrt((patterns**2).sum(axis=(1, 2), keepdims=True))


def examples(kept: dict[str, np.ndarray], known: np.ndarray | None = None) -> Iterator[tuple[dict[str, float], int]]:
    """Measures of the candidates that no rule rejects, with 1 for a micro-expression and 0 for a false alarm.

    Candidates that overlap a micro-expression but differ from it in time, region or size are left out.
    """
    rate = float(kept["rate"])
    motion = Motion(kept["skin"], kept["head"], kept["mismatch"], np.zeros(len(kept["skin"])))
    candidates = find_candidates(motion, rate, known=known)
    blinks = [each for each in candidates if decision.is_blink(each)]
    for each in candidates:
        if decision.rule(each, blinks, rate, SpottingSettings()):
            continue
        hits = [overlap((each.onset, each.offset), (int(first), int(last))) for first, last in kept["spans"]]
        best = int(np.argmax(hits)) if hits else 0
        length, moved = each.lengths[each.strongest], kept["moved"][best] if hits else np.zeros(len(REGIONS))
        true = moved[each.strongest]
        if not hits or hits[best] < 0.1:
            yield decision.features(each, rate, known), 0
        elif hits[best] >= OVERLAP and true > TOO_LITTLE * moved.max() and length < 2 * true + 0.001:
            yield decision.features(each, rate, known), 1


def fit_weights(measures: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """The weights of a penalised logistic regression, the constant last."""
    from sklearn.linear_model import LogisticRegression

    mean, deviation = measures.mean(axis=0), measures.std(axis=0) + 1e-6
    model = LogisticRegression(C=1 / PENALTY, solver="newton-cholesky", tol=1e-8, max_iter=200)
    model.fit((measures - mean) / deviation, truth)
    plain = model.coef_[0] / deviation
    return np.append(plain, model.intercept_[0] - plain @ mean)


def _fit_and_write(
    rows: Sequence[tuple[dict[str, float], int, int]], known: np.ndarray, path: Path, scenes: int
) -> dict[str, float]:
    """Write the weights trained on all scenes; returns the scores of weights trained without a fifth, on that fifth."""
    names = list(rows[0][0])
    measures = np.array([[row[name] for name in names] for row, _, _ in rows])
    truth = np.array([each for _, each, _ in rows])
    held_out = np.array([number % 5 == 0 for _, _, number in rows])
    predicted = probabilities(measures[held_out], fit_weights(measures[~held_out], truth[~held_out]))
    weights = fit_weights(measures, truth)
    by_name = {name: round(float(value), 5) for name, value in zip([*names, "constant"], weights, strict=True)}
    drawn = [[round(float(value), 3) for value in each.ravel()] for each in known]
    classifier = {"scenes": scenes, "weights": by_name}
    lines = ",\n".join(f"  {json.dumps(each)}" for each in drawn)  # one pattern per line
    write_text(path, f'{json.dumps(classifier, indent=1)[:-2]},\n "patterns": [\n{lines}\n ]\n}}\n')
    accepted = predicted >= 0.5
    return {
        "candidates": len(truth),
        "micro_expressions": int(truth.sum()),
        "recall": float(accepted[truth[held_out] == 1].mean()),
        "precision": float(truth[held_out][accepted].mean()),
        "mean_probability": float(predicted.mean()),
        "mean_truth": float(truth[held_out].mean()),
    }


def probabilities(measures: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The probabilities (n,) of measures (n, measures) under weights whose last is the constant."""
    return 1 / (1 + np.exp(-(measures @ weights[:-1] + weights[-1])))
