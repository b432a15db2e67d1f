"""Does an explanation find what moved? Occlusion, rollout, the flow itself and chance, where the truth is known.

epir bench --only explanation
epir bench --only explanation --set maps=60 --set seed=5

A synthetic face shows an expression; a patch of the map moves if its true displacement is at least half of that of
the patch that moves most. Patches are removed in the order of each explanation, and two areas are taken: that under
the curve of true against false finds (more is better, chance 0.5), and that under the probability of the class as
more and more patches are replaced by what most of the face does (the deletion test, less is better).

Axes: n maps, S map size, g patches per side, P patches
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from epir.bench.ratio import Ratio
from epir.core.config import override
from epir.core.errors import ConfigError
from epir.core.seeds import generator
from epir.flow.map import face_map
from epir.flow.recipe import flow_recipe
from epir.frames.threads import one_thread
from epir.recognition.explain import PATCHES, Predict, attribute, occluded, patch_masks
from epir.recognition.recognizer import Recognizer
from epir.synthetic.clip import STEEPEST, expose
from epir.synthetic.drawing.canvas import CROP_SIDE, CROP_TOP
from epir.synthetic.expressions import draw_expression, emotions
from epir.synthetic.identity import draw_identity
from epir.synthetic.maps import ROOM, draw_crop
from epir.synthetic.movement import draw_movement
from epir.synthetic.moving import MovingFace, State

MOVING = 0.5  # of the displacement of the patch that moves most
INTENSITY = 0.5  # face units: 1.8 % of the face's width
BLINK = 0.3  # chance of lids that close a little: motion that is no part of the expression


@dataclass(frozen=True)
class ExplanationSettings:
    """How many maps, and of which people."""

    maps: int = 45
    seed: int = 977
    model: str = ""  # a model folder; the shipped weights where none is given


def measure(*, quick: bool = False, inputs: Sequence[str] = (), changes: Sequence[str] = ()) -> list[Ratio]:
    """Areas under the curves of each explanation, mean over the maps, with a 95 % interval."""
    if inputs:
        raise ConfigError("explanations are measured on faces that epir draws itself", fix="leave out the inputs")
    settings = override(ExplanationSettings(maps=9 if quick else 45), changes)
    recognizer = Recognizer.from_pretrained(settings.model or None)

    rows: dict[str, list[tuple[float, float]]] = {}
    for number in range(settings.maps):
        made, field = known_map(settings.seed, number, recognizer.backend.map_size)
        for name, worth in explanations(recognizer, made, settings.seed + number).items():
            grid = round(worth.size**0.5)
            found = area_of_finds(worth, moving_patches(field, grid))
            rows.setdefault(name, []).append((found, area_of_deletion(recognizer.classifier.plain_scores, made, worth)))
    ratios = []
    for place, what in enumerate(("moving patches found, area", "deletion, area (less is better)")):
        for name, values in rows.items():
            measured = np.array(values)[:, place]
            half = 1.96 * float(measured.std(ddof=1)) / len(measured) ** 0.5 if len(measured) > 1 else 0.0
            detail = f"mean of {len(measured)} maps, +- {half:.2f}"
            ratios.append(Ratio(f"{name}: {what}", float(measured.mean()), None, detail))
    return ratios


def explanations(recognizer: Recognizer, made: np.ndarray, seed: int) -> dict[str, np.ndarray]:
    """What each explanation says about the patches of a map (3, S, S), (P,) each.

    Chance is a random order. The length of the flow knows nothing of the model: it finds what moved, whether or not
    the answer rests on it.
    """
    tokens, random = recognizer.backend.tokens(made[None])[0], generator(seed, "chance")
    grids = [PATCHES] if tokens is None else [PATCHES, tokens.grid]
    rest = made[:2] - np.median(made[:2], axis=(1, 2), keepdims=True)
    length = np.hypot(rest[0], rest[1])  # (S, S)
    found: dict[str, np.ndarray] = {}
    for grid in grids:
        shape = f"{grid} x {grid}"
        occluded = attribute(recognizer.classifier.plain_scores, made[None], recognizer.labels, grid)[0]
        found[f"occlusion, {shape}"] = occluded.patches.ravel()
        if tokens is not None and grid == tokens.grid:
            found[f"rollout, {shape}"] = np.array(tokens.attention)
        found[f"length of the flow, {shape}"] = patch_means(length, grid)
        found[f"chance, {shape}"] = random.random(grid**2)
    return found


def known_map(seed: int, number: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """The map (3, S, S) of a drawn face that shows an expression, and the length of the true displacement (S, S)."""
    recipe = flow_recipe("epir")
    random = generator(seed, "explanation", number)
    identity = draw_identity(seed, f"explained-{number}")
    portrait = draw_crop(identity, recipe)
    words = emotions(3)
    expression = draw_expression(3, words[number % len(words)], random)
    movement = draw_movement(expression.actions, identity.geometry, random)
    face = MovingFace(portrait, identity.geometry, movement)
    right, down = random.normal(0, 0.1, 2).tolist()
    closure = 0.3 if random.random() < BLINK else 0.0
    intensity = min(INTENSITY, STEEPEST / movement.steepness())
    after = State(intensity=intensity, shift_x=right, shift_y=down, closure=closure)
    room = round(ROOM * recipe.flow.size)
    with one_thread():
        faces = [
            expose(face.render(state), np.zeros(3, np.float32), 1.0, portrait.canvas, random)[room:-room, room:-room]
            for state in (State(), after)
        ]
        made = face_map(np.ascontiguousarray(faces[0]), np.ascontiguousarray(faces[1]), recipe, size)
    step = CROP_SIDE / size
    across = (-CROP_SIDE / 2 + (np.arange(size) + 0.5) * step).astype(np.float32)[None]
    along = (CROP_TOP + (np.arange(size) + 0.5) * step).astype(np.float32)[:, None]
    field = movement.displacement(across, along)  # (S, S, 2)
    return made, np.hypot(field[..., 0], field[..., 1])


def moving_patches(field: np.ndarray, grid: int) -> np.ndarray:
    """Which patches move, (P,) bool, in lengths of a true displacement (S, S)."""
    means = patch_means(field, grid)
    return means >= MOVING * means.max()


def patch_means(values: np.ndarray, grid: int) -> np.ndarray:
    """The mean of values (S, S) over each patch, (P,)."""
    masks = patch_masks(values.shape[0], grid)
    return (masks * values).sum(axis=(1, 2)) / masks.sum(axis=(1, 2))


def area_of_finds(worth: np.ndarray, moving: np.ndarray) -> float:
    """The area under the ROC curve: how often a moving patch ranks above one at rest; ties count half."""
    above = worth[moving][:, None] - worth[~moving][None]
    return float((above > 0).mean() + 0.5 * (above == 0).mean())


def area_of_deletion(predict: Predict, made: np.ndarray, worth: np.ndarray) -> float:
    """The mean probability of the class while the patches of a map (3, S, S) are removed, the worthiest first."""
    masks = patch_masks(made.shape[-1], round(worth.size**0.5))[np.argsort(-worth, kind="stable")]
    removed = np.logical_or.accumulate(masks, axis=0)  # (P, S, S)
    scores = predict(np.concatenate([made[None], occluded(made, removed)]))
    course = scores[:, int(scores[0].argmax())]
    return float((course[:-1] + course[1:]).mean() / 2)
