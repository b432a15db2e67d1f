"""CD6ME [1], the cross-corpus benchmark of action units: six corpora, twelve units, one corpus held out at a time.

Every clip takes part, also those without any of the units. Predictions of all six folds are pooled; a unit's score is
its binary F1, the headline the mean over units. A second view is the mean over units within each corpus, then over
corpora. `cd6me.csv` has the published counts: 2,031 clips, one of CASME II more than its sheet has (the copy that the
benchmark used is an extended one).

[1] Varanka et al. 2023, Data Leakage and Evaluation Issues in Micro-Expression Analysis, IEEE Transactions on Affective
    Computing
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class UnitCounts:
    """How many clips a corpus has in the benchmark, and in how many of them each unit is annotated."""

    corpus: str
    clips: int
    positives: Mapping[int, int]


@cache
def published_counts() -> tuple[UnitCounts, ...]:
    """The counts of the six corpora."""
    text = files("epir.datasets").joinpath("cd6me.csv").read_text(encoding="utf-8")
    return tuple(
        UnitCounts(row.pop("corpus"), int(row.pop("clips")), {int(unit): int(count) for unit, count in row.items()})
        for row in csv.DictReader(text.splitlines())
    )


def corpora() -> tuple[str, ...]:
    """The six corpora; each is one fold."""
    return tuple(each.corpus for each in published_counts())


def units() -> tuple[int, ...]:
    """The twelve units."""
    return tuple(published_counts()[0].positives)


def always_positive(positives: Mapping[int, int], clips: int) -> dict[int, float]:
    """The F1 of a predictor that finds every unit in every clip: the floor that a model has to leave behind."""
    return {unit: 2 * count / (count + clips) for unit, count in positives.items()}


def pooled_positives() -> dict[int, int]:
    """In how many clips of all six corpora each unit is annotated."""
    return {unit: sum(each.positives[unit] for each in published_counts()) for unit in units()}
