"""Predictions -> scores: UF1 and UAR of the classes, and F1 of action units.

Class scores come from one confusion matrix pooled over all folds. UF1 is the mean F1 and UAR the mean recall over the
protocol's fixed list of classes; a class without clips counts 0. Scores of parts are restricted to one corpus.

A unit counts as detected from a probability that was fixed beforehand, with the weights. Units that no annotation names
have no F1, and means leave them out, as well as clips without an annotation. The baseline detects every unit in every
clip.

Axes: P people, C classes (rows of a confusion matrix are the truth), K seeds, R resamplings, U action units; the last
axis of unit counts: present and detected, present, detected
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from epir.core.facs import CD6ME_UNITS, UNITS, is_annotated, parse_units
from epir.core.records import Prediction
from epir.core.seeds import RESAMPLINGS, interval, resample_people
from epir.evaluation.folds import TEST

if TYPE_CHECKING:
    from epir.evaluation.fold import ClipRecord

Column = Literal["strict", "best_epoch", "seen_in_training", "not_checked"]
COLUMNS: tuple[Column, ...] = ("strict", "best_epoch")
UNIT_MEANS = {"all": UNITS, "cd6me": CD6ME_UNITS}  # the units that prediction mean covers


def confusion_matrix(truth: Sequence[str], guess: Sequence[str], classes: Sequence[str]) -> np.ndarray:
    """Count clips by truth (rows) and prediction (columns), (C, C)."""
    place = {name: number for number, name in enumerate(classes)}
    counts = np.zeros((len(classes), len(classes)), dtype=np.int64)
    np.add.at(counts, ([place[name] for name in truth], [place[name] for name in guess]), 1)
    return counts


def uf1(confusion: np.ndarray) -> np.ndarray:
    """Return the mean F1 of the classes for confusion matrices (..., C, C)."""
    hits = _hits(confusion)
    return _ratio(2 * hits, confusion.sum(-1) + confusion.sum(-2)).mean(-1)


def uar(confusion: np.ndarray) -> np.ndarray:
    """Return the mean recall of the classes for confusion matrices (..., C, C)."""
    return _ratio(_hits(confusion), confusion.sum(-1)).mean(-1)


def macro_precision(confusion: np.ndarray) -> np.ndarray:
    """Return the mean precision of the classes for confusion matrices (..., C, C); some papers call it UAR."""
    return _ratio(_hits(confusion), confusion.sum(-2)).mean(-1)


def accuracy(confusion: np.ndarray) -> np.ndarray:
    """Return the share of correct predictions for confusion matrices (..., C, C)."""
    return _ratio(_hits(confusion).sum(-1), confusion.sum((-2, -1)))


def counts_by_person(predictions: Sequence[Prediction], classes: Sequence[str], column: Column) -> np.ndarray:
    """Return confusion counts (K, P, C, C) per seed and person, both sorted."""
    seeds = {seed: number for number, seed in enumerate(sorted({prediction.seed for prediction in predictions}))}
    people = {name: number for number, name in enumerate(sorted({prediction.person for prediction in predictions}))}
    place = {name: number for number, name in enumerate(classes)}
    counts = np.zeros((len(seeds), len(people), len(classes), len(classes)), dtype=np.int64)
    for prediction in predictions:
        guess = prediction.best_epoch if column == "best_epoch" else prediction.strict
        counts[seeds[prediction.seed], people[prediction.person], place[prediction.truth], place[guess]] += 1
    return counts


def uf1_interval(counts: np.ndarray, *, resamplings: int = RESAMPLINGS) -> tuple[float, float]:
    """Return the bootstrap interval of UF1 (mean over seeds) for counts (K, P, C, C), resampling people."""
    people = resample_people(counts.shape[1], resamplings)  # (R, P)
    return interval(uf1(np.einsum("rp,kpij->rkij", people, counts)).mean(-1))


def score_predictions(
    predictions: Sequence[Prediction], classes: Sequence[str], column: Column, *, by_fold: bool = False
) -> dict[str, Any]:
    """Return UF1, UAR, accuracy, interval, confusion and parts of one column, averaged over seeds.

    The parts are the corpora or, with `by_fold`, the test parts of a predefined split.

    >>> right = Prediction("casme2", "01", "a", "positive", "positive", "positive", 0, "01", (0.2, 0.8))
    >>> wrong = Prediction("casme2", "01", "b", "negative", "positive", "negative", 0, "01", (0.4, 0.6))
    >>> score_predictions([right, wrong], ["negative", "positive"], "strict")["accuracy"]
    0.5
    """
    counts = counts_by_person(predictions, classes, column)
    pooled = counts.sum(1)  # (K, C, C)
    parts: dict[str, list[Prediction]] = {}
    for prediction in predictions:
        is_part = by_fold and prediction.fold.startswith(TEST)
        parts.setdefault(prediction.fold if is_part else prediction.corpus, []).append(prediction)
    low, high = uf1_interval(counts)
    return {
        "uf1": _mean(uf1(pooled)),
        "uar": _mean(uar(pooled)),
        "accuracy": _mean(accuracy(pooled)),
        "uf1_interval": [round(low, 6), round(high, 6)],
        "confusion": _plain(pooled.mean(0)),
        "parts": {name: _part(part, classes, column) for name, part in sorted(parts.items())},
    }


def all_scores(
    predictions: Sequence[Prediction], classes: Sequence[str], columns: Sequence[Column] = COLUMNS, **options: bool
) -> dict[str, Any]:
    """Return the scores of all columns, over all seeds and per seed; `options` go to `score_predictions`."""
    seeds = sorted({prediction.seed for prediction in predictions})
    alone = {seed: [prediction for prediction in predictions if prediction.seed == seed] for seed in seeds}
    return {
        **{column: score_predictions(predictions, classes, column, **options) for column in columns},
        "by_seed": {
            str(seed): {column: score_predictions(alone[seed], classes, column, **options) for column in columns}
            for seed in seeds
        },
    }


def _part(predictions: Sequence[Prediction], classes: Sequence[str], column: Column) -> dict[str, float]:
    pooled = counts_by_person(predictions, classes, column).sum(1)
    return {"uf1": _mean(uf1(pooled)), "uar": _mean(uar(pooled))}


def _hits(confusion: np.ndarray) -> np.ndarray:
    return np.diagonal(confusion, axis1=-2, axis2=-1)


def _ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """Divide, with 0 where the denominator is 0."""
    return np.divide(above, below, out=np.zeros(np.shape(above)), where=np.asarray(below) > 0)


def _mean(values: np.ndarray) -> float:
    return round(float(np.mean(values)), 6)


def _plain(confusion: np.ndarray) -> list[list[float]]:
    """Return counts as lists, whole numbers as `int`."""
    return [[int(value) if value == int(value) else round(float(value), 4) for value in row] for row in confusion]


# -------------------------------------------------------------------------------------------------- action units


def unit_scores(clips: Sequence["ClipRecord"]) -> dict[str, Any] | None:
    """Return F1 of every unit and their means, for all clips and by corpus; None without annotations."""
    annotated = [clip for clip in clips if _is_annotated(clip)]
    if not annotated:
        return None
    corpora = sorted({clip.corpus for clip in annotated})
    return {
        **_unit_part(annotated),
        "without_annotation": len({clip.key for clip in clips if not _is_annotated(clip)}),
        "parts": {corpus: _unit_part([clip for clip in annotated if clip.corpus == corpus]) for corpus in corpora},
    }


def _is_annotated(clip: "ClipRecord") -> bool:
    return clip.units is not None and is_annotated(clip.units["annotation"])


def _unit_part(clips: Sequence["ClipRecord"]) -> dict[str, Any]:
    counts = unit_counts(clips)  # (K, P, U, 3)
    resampled = np.einsum("rp,kpui->rkui", resample_people(counts.shape[1]), counts)  # (R, K, U, 3)
    number = len({clip.key for clip in clips})
    present = counts[0].sum(0)[:, 1]  # (U,)
    return {
        "clips": number,
        "people": counts.shape[1],
        "units": {
            str(unit): _unit_score(counts.sum(1)[:, column], resampled[:, :, column], number)
            for column, unit in enumerate(UNITS)
        },
        "mean": {name: _mean_score(counts.sum(1), resampled, _columns(units)) for name, units in UNIT_MEANS.items()},
        "always_positive": {name: _mean_always(present[_columns(units)], number) for name, units in UNIT_MEANS.items()},
    }


def unit_counts(clips: Sequence["ClipRecord"]) -> np.ndarray:
    """Return unit counts (K, P, U, 3) per seed and person."""
    seeds = {seed: number for number, seed in enumerate(sorted({clip.seed for clip in clips}))}
    people = {name: number for number, name in enumerate(sorted({clip.person for clip in clips}))}
    counts = np.zeros((len(seeds), len(people), len(UNITS), 3), dtype=np.int64)
    for clip in clips:
        assert clip.units is not None
        annotated = parse_units(clip.units["annotation"])
        present = np.array([unit in annotated for unit in UNITS])
        detected = np.isin(UNITS, clip.units["found"])
        counts[seeds[clip.seed], people[clip.person]] += np.stack([present & detected, present, detected], axis=1)
    return counts


def unit_f1(counts: np.ndarray) -> np.ndarray:
    """Return the F1 of unit counts (..., 3); NaN if the unit is never present."""
    both, present, detected = np.moveaxis(counts, -1, 0)
    return np.where(present > 0, 2 * both / np.maximum(1, present + detected), np.nan)


def _unit_score(counts: np.ndarray, resampled: np.ndarray, clips: int) -> dict[str, Any]:
    """Return the score of one unit from counts (K, 3) and (R, K, 3)."""
    present, detected = int(counts[0, 1]), _mean(counts[:, 2])
    if not present:
        return {"there": 0, "found": detected, "f1": None, "interval": None, "always": None}
    return {
        "there": present,
        "found": detected,
        "f1": _mean(unit_f1(counts)),
        "interval": _interval(np.nan_to_num(unit_f1(resampled)).mean(-1)),  # 0 if no resampled person has the unit
        "always": round(_always(present, clips), 6),
    }


def _mean_score(counts: np.ndarray, resampled: np.ndarray, columns: Sequence[int]) -> dict[str, Any]:
    """Return the mean F1 over the units that occur, from counts (K, U, 3) and (R, K, U, 3)."""
    occurring = [column for column in columns if counts[0, column, 1]]
    if not occurring:
        return {"units": 0, "f1": None, "interval": None}
    values = np.ma.masked_invalid(unit_f1(resampled)[:, :, occurring])  # no resampled person may have it
    return {
        "units": len(occurring),
        "f1": _mean(unit_f1(counts)[:, occurring]),
        "interval": _interval(values.mean(-1).mean(-1).filled(np.nan)),
    }


def _columns(units: Sequence[int]) -> list[int]:
    return [UNITS.index(unit) for unit in units]


def _always(present: int, clips: int) -> float:
    """Return the F1 of detecting a unit in every clip."""
    return 2 * present / (present + clips)


def _mean_always(present: np.ndarray, clips: int) -> float | None:
    """Return the mean of that F1 over the units that occur."""
    return _mean(np.array([_always(count, clips) for count in present if count])) if present.any() else None


def _interval(values: np.ndarray) -> list[float]:
    return [round(float(bound), 6) for bound in interval(values)]
