"""Probabilities of action units that mean what they say, and the thresholds from which on units count as found.

Both are fitted on people that training has not seen, never on those that are scored.

Axes: n clips, U action units
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit

from epir.core.facs import UNITS
from epir.evaluation.record import FoldRecord
from epir.evaluation.scores import uf1
from epir.final.calibration import binned_error
from epir.models.units import LEFT, PRESENT, RIGHT, UnitCalibration
from epir.training.action_units import read_units

FEWEST = 10  # clips with and without a unit that a threshold is fitted on
SMALLEST = 1e-4  # records of folds have four decimals
MARGINS = np.linspace(0.3, 0.99, 70)  # quantiles of the differences that are tried
STEPS = np.linspace(0.05, 0.95, 91)  # thresholds that are tried


@dataclass(frozen=True)
class CalibratedUnits:
    """The calibration of a head, and the error of its probabilities without and with it."""

    calibration: UnitCalibration
    clips: int
    error_before: float  # expected calibration error of `present`, over all units
    error_after: float  # each half of the people under the calibration of the other half

    def to_notes(self) -> dict[str, Any]:
        """For the notes of a model folder, from which `UnitCalibration.of_notes` reads it again."""
        return {
            **self.calibration.to_dict(),
            "clips": self.clips,
            "error_before": round(self.error_before, 4),
            "error_after": round(self.error_after, 4),
        }


def calibrate_units(logits: np.ndarray, annotations: Sequence[str], people: Sequence[str]) -> CalibratedUnits | None:
    """The calibration for logits (n, 3, U) of clips of these people; None where no clip is annotated."""
    truth = read_units(annotations).numpy()  # (n, U, 3)
    known = ~np.isnan(truth[:, 0, PRESENT])
    if not known.any():
        return None
    logits, truth = logits[known].astype(float), truth[known]
    names = np.array(people)[known]
    half = np.isin(names, sorted(set(names))[::2])
    after = np.empty_like(logits)
    for own in (half, ~half):
        fitted = _fit(logits[~own], truth[~own]) if (~own).any() else UnitCalibration()
        after[own] = fitted.probabilities(logits[own])
    there = truth[..., PRESENT] == 1
    return CalibratedUnits(
        calibration=_fit(logits, truth),
        clips=len(logits),
        error_before=binned_error(expit(logits[:, PRESENT]), there),
        error_after=binned_error(after[:, PRESENT], there),
    )


def calibrate_units_by_folds(records: Sequence[FoldRecord], before: UnitCalibration) -> CalibratedUnits | None:
    """The calibration that fits the held-out clips of folds, whose records hold probabilities under that of `before`.

    Sides are too few in a corpus to fit anew: they keep the pair that they have.
    """
    clips = [clip for record in records for clip in record.clips if clip.units is not None]
    if not clips:
        return None
    own = np.array([[clip.units["present"][str(unit)] for unit in UNITS] for clip in clips if clip.units])  # (n, U)
    factor, addend = before.present
    present = (logit(np.clip(own, SMALLEST, 1 - SMALLEST)) - addend) / factor
    nothing = np.zeros_like(present)
    annotations = [str(clip.units["annotation"]) for clip in clips if clip.units]
    found = calibrate_units(np.stack([present, nothing, nothing], axis=1), annotations, [clip.person for clip in clips])
    if found is None:
        return None
    merged = replace(found.calibration, side=before.side, side_margin=before.side_margin)
    return replace(found, calibration=merged)


def _fit(logits: np.ndarray, truth: np.ndarray) -> UnitCalibration:
    present = fit_platt(logits[:, PRESENT].ravel(), truth[..., PRESENT].ravel())
    sides = fit_platt(logits[:, [LEFT, RIGHT]].ravel(), np.moveaxis(truth[..., [LEFT, RIGHT]], 2, 1).ravel())
    probabilities = UnitCalibration(present, sides).probabilities(logits)[:, PRESENT]
    found = {
        unit: best_threshold(probabilities[:, column], there)
        for column, unit in enumerate(UNITS)
        if FEWEST <= (there := truth[:, column, PRESENT] == 1).sum() <= len(there) - FEWEST
    }
    return UnitCalibration(present, sides, found or None, best_margin(logits[:, LEFT] - logits[:, RIGHT], truth))


def best_margin(difference: np.ndarray, truth: np.ndarray) -> float:
    """The margin under which left, right and both are told best (mean F1 of the three), by differences (n, U).

    The usual margin where the truth (n, U, 3) names no side.
    """
    side = truth[..., LEFT] - truth[..., RIGHT]  # 1 left, -1 right, 0 both, NaN not known
    known = ~np.isnan(side)
    if len(np.unique(side[known])) < 3:
        return UnitCalibration.side_margin
    difference, side = difference[known], side[known]
    tried = np.unique(np.quantile(np.abs(difference), MARGINS).round(3))
    scores = [uf1(_confusion(side, np.sign(difference) * (np.abs(difference) > margin))) for margin in tried]
    return float(tried[int(np.argmax(scores))])


def _confusion(truth: np.ndarray, guess: np.ndarray) -> np.ndarray:
    """Counts (3, 3) of right, both and left (-1, 0, 1)."""
    counts = np.zeros((3, 3), dtype=np.int64)
    np.add.at(counts, (truth.astype(int) + 1, guess.astype(int) + 1), 1)
    return counts


def fit_platt(logits: np.ndarray, truth: np.ndarray) -> tuple[float, float]:
    """Factor and addend under which the truth (n,) of 0, 1 and NaN (unknown) is most likely for logits (n,).

    Where the truth is all the same nothing can be fitted, and the logits stay as they are.
    """
    known = ~np.isnan(truth)
    given, there = logits[known], truth[known]
    if not 0 < there.sum() < len(there):
        return 1.0, 0.0

    def loss(pair: np.ndarray) -> tuple[float, np.ndarray]:
        value = pair[0] * given + pair[1]
        off = expit(value) - there
        return float((np.logaddexp(0, value) - there * value).mean()), np.array([(off * given).mean(), off.mean()])

    factor, addend = minimize(loss, np.array([1.0, 0.0]), jac=True, method="BFGS").x
    return round(float(factor), 4), round(float(addend), 4)


def best_threshold(probabilities: np.ndarray, there: np.ndarray) -> float:
    """The threshold (in hundredths) with the best F1 of probabilities (n,), the mean one of equals."""
    scores = []
    for step in STEPS:
        found = probabilities >= step
        scores.append(2 * (found & there).sum() / max(1, found.sum() + there.sum()))
    best = np.flatnonzero(np.array(scores) >= max(scores) - 1e-12)
    return round(float(STEPS[best[len(best) // 2]]), 2)
