"""Two runs over the same people: whether one is better, or only looks so.

The test swaps the predictions of the two runs person by person. If the runs were alike, nobody could tell which
prediction came from which, so every way of swapping is as likely as the one that was seen.

Axes: K seeds, P people, C classes, R ways of swapping
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from epir.core.config import differences
from epir.core.errors import RunError
from epir.core.seeds import generator
from epir.evaluation.scores import COLUMNS, LEVEL, RESAMPLINGS, Column, counts_by_person, uf1
from epir.evaluation.store import Run

MOST_EXACT = 13  # people up to which every way of swapping is tried
SWAPS = 10_000


@dataclass(frozen=True)
class Comparison:
    """How much the second run's UF1 is above the first's, and how likely chance alone makes so large a difference."""

    first: str
    second: str
    column: Column
    difference: float
    interval: tuple[float, float]  # bootstrap over people, 95 %
    p: float
    is_exact: bool
    settings: tuple[str, ...]  # what differs, as `name: first -> second`


def compare(first: Run, second: Run, column: Column = "strict") -> Comparison:
    """The paired comparison of two runs of the same clips under the same protocol."""
    refuse_different(first, second)
    counts = _paired(first, second, column)  # (2, K, P, C, C)
    p, is_exact = permutation_test(counts)
    return Comparison(
        first=str(first.folder),
        second=str(second.folder),
        column=column,
        difference=float(_difference(counts.sum(2))),
        interval=_interval(counts),
        p=p,
        is_exact=is_exact,
        settings=tuple(differences(first.experiment, second.experiment)),
    )


def compare_all(runs: Sequence[Run]) -> tuple[Comparison, ...]:
    """Every further run against the first, in both columns."""
    for run in runs[1:]:
        refuse_different(runs[0], run)
    return tuple(compare(runs[0], run, column) for run in runs[1:] for column in COLUMNS)


def refuse_different(first: Run, second: Run) -> None:
    """Runs can only be paired if they predicted the same clips, with the same classes."""
    names = f"{first.folder} and {second.folder}"
    fix = "compare runs of the same map sets and protocol"
    if (first.experiment.protocol, first.experiment.classes) != (second.experiment.protocol, second.experiment.classes):
        raise RunError(
            f"{names} cannot be compared: their protocols are {_named(first)} and {_named(second)}",
            fix=fix,
        )
    ours, theirs = ({(each.key, each.truth) for each in run.predictions} for run in (first, second))
    if ours != theirs:
        key = min(ours ^ theirs)[0]
        raise RunError(f"{names} cannot be compared: they differ in their clips, for example {key}", fix=fix)


def _named(run: Run) -> str:
    return f"{run.experiment.protocol} ({', '.join(run.experiment.classes)})"


def permutation_test(counts: np.ndarray) -> tuple[float, bool]:
    """The chance of a difference at least as large for counts (2, K, P, C, C), and whether every swap was tried."""
    people = counts.shape[2]
    is_exact = people <= MOST_EXACT
    if is_exact:
        swaps = (np.arange(2**people)[:, None] >> np.arange(people)) & 1  # (R, P)
    else:
        swaps = generator(0, "swaps between runs").integers(0, 2, size=(SWAPS, people))
    change = counts[1] - counts[0]  # (K, P, C, C)
    moved = np.einsum("rp,kpij->rkij", swaps, change)
    total = counts.sum(2)  # (2, K, C, C)
    swapped = np.stack([total[0] + moved, total[1] - moved])  # (2, R, K, C, C)
    seen = abs(_difference(total))
    as_large = int((np.abs(_difference(swapped)) >= seen - 1e-12).sum())
    return (as_large / len(swaps), True) if is_exact else ((as_large + 1) / (len(swaps) + 1), False)


def _paired(first: Run, second: Run, column: Column) -> np.ndarray:
    """Counts (2, K, P, C, C); where the numbers of seeds differ, seeds are repeated up to a common number."""
    both = [counts_by_person(run.predictions, run.experiment.classes, column) for run in (first, second)]
    common = math.lcm(*(len(counts) for counts in both))
    return np.stack([np.tile(counts, (common // len(counts), 1, 1, 1)) for counts in both])


def _difference(counts: np.ndarray) -> np.ndarray:
    """UF1 of the second minus the first, mean over seeds, for counts (2, ..., K, C, C)."""
    scores = uf1(counts).mean(-1)
    return scores[1] - scores[0]


def _interval(counts: np.ndarray) -> tuple[float, float]:
    people = counts.shape[2]
    draws = generator(0, "bootstrap over people").multinomial(people, np.full(people, 1 / people), size=RESAMPLINGS)
    low, high = np.quantile(
        _difference(np.einsum("rp,akpij->arkij", draws, counts)), [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
    )
    return float(low), float(high)
