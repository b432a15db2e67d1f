"""Predictions -> scores, all from one confusion matrix pooled over all folds.

UF1 is the plain mean of the classes' F1, UAR the plain mean of their recall, over the protocol's fixed list of
classes; a class without any clip counts 0. Scores of parts are the same predictions restricted to one corpus.

Axes: P people, C classes (rows of a confusion matrix are the truth), K seeds, R resamplings
"""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from epir.core.records import Prediction
from epir.core.seeds import RESAMPLINGS, interval, resample_people
from epir.evaluation.folds import TEST

Column = Literal["strict", "best_epoch", "seen_in_training", "not_checked"]
COLUMNS: tuple[Column, ...] = ("strict", "best_epoch")


def confusion_matrix(truth: Sequence[str], guess: Sequence[str], classes: Sequence[str]) -> np.ndarray:
    """Counts (C, C) of clips by truth (rows) and prediction (columns)."""
    place = {name: number for number, name in enumerate(classes)}
    counts = np.zeros((len(classes), len(classes)), dtype=np.int64)
    np.add.at(counts, ([place[name] for name in truth], [place[name] for name in guess]), 1)
    return counts


def uf1(confusion: np.ndarray) -> np.ndarray:
    """Mean F1 of the classes, for confusion matrices (..., C, C)."""
    hits = _hits(confusion)
    return _ratio(2 * hits, confusion.sum(-1) + confusion.sum(-2)).mean(-1)


def uar(confusion: np.ndarray) -> np.ndarray:
    """Mean recall of the classes, for confusion matrices (..., C, C)."""
    return _ratio(_hits(confusion), confusion.sum(-1)).mean(-1)


def macro_precision(confusion: np.ndarray) -> np.ndarray:
    """Mean precision of the classes, for confusion matrices (..., C, C): published as UAR in some papers."""
    return _ratio(_hits(confusion), confusion.sum(-2)).mean(-1)


def accuracy(confusion: np.ndarray) -> np.ndarray:
    """Share of correct predictions, for confusion matrices (..., C, C)."""
    return _ratio(_hits(confusion).sum(-1), confusion.sum((-2, -1)))


def counts_by_person(predictions: Sequence[Prediction], classes: Sequence[str], column: Column) -> np.ndarray:
    """Confusion counts (K, P, C, C) for each seed and person, both in sorted order."""
    seeds = {seed: number for number, seed in enumerate(sorted({each.seed for each in predictions}))}
    people = {name: number for number, name in enumerate(sorted({each.person for each in predictions}))}
    place = {name: number for number, name in enumerate(classes)}
    counts = np.zeros((len(seeds), len(people), len(classes), len(classes)), dtype=np.int64)
    for each in predictions:
        guess = each.best_epoch if column == "best_epoch" else each.strict
        counts[seeds[each.seed], people[each.person], place[each.truth], place[guess]] += 1
    return counts


def uf1_interval(counts: np.ndarray, *, resamplings: int = RESAMPLINGS) -> tuple[float, float]:
    """The bootstrap interval of UF1 (mean over seeds) for counts (K, P, C, C), resampling whole people."""
    people = resample_people(counts.shape[1], resamplings)  # (R, P)
    return interval(uf1(np.einsum("rp,kpij->rkij", people, counts)).mean(-1))


def score_predictions(predictions: Sequence[Prediction], classes: Sequence[str], column: Column) -> dict[str, Any]:
    """UF1, UAR, accuracy, interval, confusion and parts of one column; means over seeds.

    >>> right = Prediction("casme2", "01", "a", "positive", "positive", "positive", 0, "01", (0.2, 0.8))
    >>> wrong = Prediction("casme2", "01", "b", "negative", "positive", "negative", 0, "01", (0.4, 0.6))
    >>> score_predictions([right, wrong], ["negative", "positive"], "strict")["accuracy"]
    0.5
    """
    counts = counts_by_person(predictions, classes, column)
    pooled = counts.sum(1)  # (K, C, C)
    low, high = uf1_interval(counts)
    return {
        "uf1": _mean(uf1(pooled)),
        "uar": _mean(uar(pooled)),
        "accuracy": _mean(accuracy(pooled)),
        "uf1_interval": [round(low, 6), round(high, 6)],
        "confusion": _plain(pooled.mean(0)),
        "parts": {name: _part(part, classes, column) for name, part in _parts(predictions).items()},
    }


def all_scores(
    predictions: Sequence[Prediction], classes: Sequence[str], columns: Sequence[Column] = COLUMNS
) -> dict[str, Any]:
    """All columns, over all seeds and for each seed alone."""
    seeds = sorted({each.seed for each in predictions})
    alone = {seed: [each for each in predictions if each.seed == seed] for seed in seeds}
    return {
        **{column: score_predictions(predictions, classes, column) for column in columns},
        "by_seed": {
            str(seed): {column: score_predictions(alone[seed], classes, column) for column in columns} for seed in seeds
        },
    }


def _parts(predictions: Sequence[Prediction]) -> dict[str, list[Prediction]]:
    """The predictions by corpus, or by test part where a corpus has a split of its own."""
    parts: dict[str, list[Prediction]] = {}
    for each in predictions:
        parts.setdefault(each.fold if each.fold.startswith(TEST) else each.corpus, []).append(each)
    return dict(sorted(parts.items()))


def _part(predictions: Sequence[Prediction], classes: Sequence[str], column: Column) -> dict[str, float]:
    pooled = counts_by_person(predictions, classes, column).sum(1)
    return {"uf1": _mean(uf1(pooled)), "uar": _mean(uar(pooled))}


def _hits(confusion: np.ndarray) -> np.ndarray:
    return np.diagonal(confusion, axis1=-2, axis2=-1)


def _ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """The quotient, and 0 where the denominator is 0."""
    return np.divide(above, below, out=np.zeros(np.shape(above)), where=np.asarray(below) > 0)


def _mean(values: np.ndarray) -> float:
    return round(float(np.mean(values)), 6)


def _plain(confusion: np.ndarray) -> list[list[float]]:
    """Counts as whole numbers where they are whole, as they are for one seed."""
    return [[int(value) if value == int(value) else round(float(value), 4) for value in row] for row in confusion]
