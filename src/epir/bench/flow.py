"""Accuracy of the optical flow against known motion, by method and size.

epir bench --only flow                          a real face, warped by formula: the tables of docs/flow.md
epir bench --only flow CORPUS                   a corpus written by `epir synth CORPUS --truth`
epir bench --only flow --set flow.context=0     another flow recipe
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from epir.bench.pairs import AMPLITUDES, MOTIONS, Pair, astronaut_pairs, drawn_pairs
from epir.bench.ratio import Ratio
from epir.core.errors import ConfigError
from epir.core.processes import one_thread
from epir.flow.map import cut_face, flow_to_map, without_border
from epir.flow.optical import flow_between
from epir.flow.recipe import METHODS, FlowRecipe, flow_recipe

SIZES = (56, 84, 112, 140, 168, 224)
TRUE_SIZE = 224  # px at which the true flow is drawn before it becomes a map


@dataclass(frozen=True)
class Accuracy:
    """How well one flow recipe recovers the motion of one pair."""

    recipe: FlowRecipe
    kind: str
    amplitude: float
    endpoint: float  # mean length of the error, px of the frame
    share: float  # error of the 28 px map divided by its true motion, both root mean square
    strain: float  # correlation of the map's strain with the true one; NaN where that is even
    milliseconds: float  # of one core, for the flow alone


def measure(*, quick: bool = False, inputs: Sequence[str] = (), changes: Sequence[str] = ()) -> list[Ratio]:
    """Error of every method at every size; on warped pairs also the endpoint error by amplitude."""
    if len(inputs) > 1:
        raise ConfigError(f"flow takes one corpus, not {len(inputs)}", fix="give one folder written by epir synth")
    base = flow_recipe("epir", changes)
    sizes = (SIZES[1], base.flow.size) if quick else SIZES
    recipes = [
        flow_recipe(base, [f"flow.method={method}", f"flow.size={size}"]) for method in METHODS for size in sizes
    ]
    if inputs:
        return by_size(accuracies(drawn_pairs(inputs[0]), recipes))
    results = accuracies(astronaut_pairs((1.0,), (1,)) if quick else astronaut_pairs(AMPLITUDES), recipes)
    return [*by_size(results), *by_amplitude(results, base.flow.size)]


def accuracies(pairs: Iterable[Pair], recipes: Sequence[FlowRecipe], *, size: int = 28) -> list[Accuracy]:
    """The accuracy of each flow recipe on each pair."""
    return [_accuracy(pair, recipe, size) for pair in pairs for recipe in recipes]


def _accuracy(pair: Pair, recipe: FlowRecipe, size: int) -> Accuracy:
    faces = [cut_face(frame, pair.crop, recipe) for frame in (pair.onset, pair.apex)]
    with one_thread():
        began = time.process_time()
        flow = without_border(flow_between(faces[0], faces[1], recipe), recipe)
        spent = time.process_time() - began
    error = flow - pair.truth(flow.shape[0])
    seen, true = flow_to_map(flow, recipe, size), flow_to_map(pair.truth(TRUE_SIZE), recipe, size)
    wrong = np.sqrt(((seen - true)[:2] ** 2).sum() / (true[:2] ** 2).sum())
    uneven = true[2].std() > max(0.1 * true[2].mean(), 1e-5)  # a shift has no strain, a turn the same everywhere
    alike = np.corrcoef(seen[2].ravel(), true[2].ravel())[0, 1] if uneven else np.nan
    endpoint = float(np.hypot(error[..., 0], error[..., 1]).mean()) * pair.crop.side / flow.shape[0]
    return Accuracy(recipe, pair.kind, pair.amplitude, endpoint, float(wrong), float(alike), 1e3 * spent)


def by_size(results: Sequence[Accuracy]) -> list[Ratio]:
    """Error of the map divided by its motion, one line per method and size."""
    kinds = list(dict.fromkeys(result.kind for result in results))
    lines = []
    for recipe in dict.fromkeys(result.recipe for result in results):
        own = [result for result in results if result.recipe == recipe]
        shares = {kind: float(np.mean([result.share for result in own if result.kind == kind])) for kind in kinds}
        strain = float(np.nanmean([result.strain for result in own]))
        spent = float(np.median([result.milliseconds for result in own]))
        each = ", ".join(f"{kind} {share:.3f}" for kind, share in shares.items())
        lines.append(
            Ratio(
                f"{recipe.flow.method}, {recipe.flow.size} px: error of the map / motion",
                float(np.mean(list(shares.values()))),
                None,
                f"{each}; strain r {strain:.2f}; {spent:.1f} ms",
            )
        )
    return lines


def by_amplitude(results: Sequence[Accuracy], size: int) -> list[Ratio]:
    """Endpoint error divided by the motion at one size, one line per method and amplitude."""
    lines = []
    own = [result for result in results if result.recipe.flow.size == size]
    for method in METHODS:
        for amplitude in sorted({result.amplitude for result in own}):
            some = [result for result in own if (result.recipe.flow.method, result.amplitude) == (method, amplitude)]
            errors = {
                kind: float(np.mean([result.endpoint for result in some if result.kind == kind])) for kind in MOTIONS
            }
            each = ", ".join(f"{kind} {error:.3f}" for kind, error in errors.items())
            lines.append(
                Ratio(
                    f"{method}, {size} px, motion {amplitude:g} px: endpoint error / motion",
                    float(np.mean(list(errors.values()))) / amplitude,
                    None,
                    f"in px of the frame: {each}",
                )
            )
    return lines
