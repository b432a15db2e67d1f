"""How true the flow is: endpoint error against known motion, by method and size.

python -m epir.bench.flow              the tables of docs/recipes.md
python -m epir.bench.flow --markdown   the same, to paste
python -m epir.bench.flow --quick      one face, one amplitude, two sizes
python -m epir.bench.flow --corpus DIR the first table for a corpus written by `epir synth DIR --truth`
"""

import argparse
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from epir.bench.drawn_pairs import drawn_pairs
from epir.bench.warps import AMPLITUDES, MOTIONS, Pair, astronaut_pairs
from epir.flow.map import cut_face, flow_to_map, without_border
from epir.flow.optical import flow_between
from epir.flow.recipe import METHODS, Recipe, get_recipe
from epir.maps.workers import one_thread

SIZES = (56, 84, 112, 140, 168, 224)
TRUE_SIZE = 224  # px at which the true flow is drawn before it becomes a map


@dataclass(frozen=True)
class Accuracy:
    """How well one recipe saw the motion of one pair."""

    recipe: Recipe
    kind: str
    amplitude: float
    endpoint: float  # mean length of the error, px of the frame
    share: float  # error of the 28 px map by its true motion, both root mean square
    strain: float  # correlation of the map's strain with the true one; NaN where that is even
    milliseconds: float  # of one core, for the flow alone


def measure(pairs: Iterable[Pair], recipes: Sequence[Recipe], *, size: int = 28) -> list[Accuracy]:
    """The accuracy of each recipe on each pair."""
    return [_measured(pair, recipe, size) for pair in pairs for recipe in recipes]


def _measured(pair: Pair, recipe: Recipe, size: int) -> Accuracy:
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


def by_size(results: Sequence[Accuracy]) -> list[list[str]]:
    """Error of the map as a share of the motion, one row per method and size."""
    kinds = list(dict.fromkeys(result.kind for result in results))
    rows = [["method", "flow.size", *kinds, *(["mean"] if len(kinds) > 1 else []), "strain r", "ms"]]
    for recipe in dict.fromkeys(result.recipe for result in results):
        own = [result for result in results if result.recipe == recipe]
        shares = [float(np.mean([result.share for result in own if result.kind == kind])) for kind in kinds]
        strain = float(np.nanmean([result.strain for result in own]))
        spent = float(np.median([result.milliseconds for result in own]))
        cells = [f"{value:.3f}" for value in (*shares, *([float(np.mean(shares))] if len(kinds) > 1 else []))]
        rows.append([recipe.flow.method, str(recipe.flow.size), *cells, f"{strain:.2f}", f"{spent:.1f}"])
    return rows


def by_amplitude(results: Sequence[Accuracy], size: int) -> list[list[str]]:
    """Endpoint error in pixels of the frame at one size, one row per method and amplitude."""
    rows = [["method", "motion, px", *MOTIONS]]
    own = [result for result in results if result.recipe.flow.size == size]
    for method in METHODS:
        for amplitude in sorted({result.amplitude for result in own}):
            some = [result for result in own if (result.recipe.flow.method, result.amplitude) == (method, amplitude)]
            errors = [np.mean([result.endpoint for result in some if result.kind == kind]) for kind in MOTIONS]
            rows.append([method, f"{amplitude:g}", *(f"{value:.3f}" for value in errors)])
    return rows


def layout(rows: Sequence[Sequence[str]], *, markdown: bool) -> str:
    """The rows as a text table, the first as its head."""
    if markdown:
        lines = [f"| {' | '.join(row)} |" for row in rows]
        return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]]) + "\n"
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return (
        "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows) + "\n"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the tables to stdout."""
    parser = argparse.ArgumentParser(prog="python -m epir.bench.flow", description="Endpoint error of the flow.")
    parser.add_argument("--markdown", action="store_true", help="tables in Markdown")
    parser.add_argument("--quick", action="store_true", help="one face, one amplitude, two sizes")
    parser.add_argument("--corpus", help="a synthetic corpus with its true flow, in place of the astronaut")
    parser.add_argument("--set", action="append", default=[], help="change the recipe: flow.context=0")
    given = parser.parse_args(arguments)
    usual = get_recipe().flow.size
    sizes = (SIZES[1], usual) if given.quick else SIZES
    base = get_recipe("epir", given.set)
    recipes = [get_recipe(base, [f"flow.method={method}", f"flow.size={size}"]) for method in METHODS for size in sizes]
    pairs = astronaut_pairs((1.0,), (1,)) if given.quick else astronaut_pairs(AMPLITUDES)
    results = measure(drawn_pairs(given.corpus) if given.corpus else pairs, recipes)
    sys.stdout.write("Error of the 28 px map, as a share of the true motion (root mean square)\n\n")
    sys.stdout.write(layout(by_size(results), markdown=given.markdown))
    if not given.corpus:
        sys.stdout.write(f"\nEndpoint error in pixels of the frame at flow.size = {usual}\n\n")
        sys.stdout.write(layout(by_amplitude(results, usual), markdown=given.markdown))


if __name__ == "__main__":
    main()
