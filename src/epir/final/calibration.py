"""Calibrated scores: of all answers with a score of 0.7, seven in ten should be right.

[G] Guo et al. 2017, On Calibration of Modern Neural Networks, arXiv:1706.04599: one temperature, and the expected
calibration error

If a few people are all recognised, the likelihood is highest at a temperature of zero, and every answer, wrong ones
too, would become certain. So we depart from [G] in three ways, whose effect vanishes with many people; a person counts
as one observation, however many clips:

- the logarithm of the temperature has a normal prior, with mean 0 and deviation log 2, weighed against the mean
  likelihood of a clip times the number of people;
- the mean of the best scores is at most Laplace's (right + 1) / (people + 2), where `right` is the share of right
  answers times the number of people; the temperature is raised until that holds;
- no single score is above (people + 1) / (people + 2), which that many people, all recognised, would support.

Axes: n clips, C classes
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, logit

from epir.core.errors import EpirWarning, ProtocolError
from epir.core.facs import UNITS
from epir.core.records import Prediction
from epir.evaluation.fold import FoldRecord
from epir.evaluation.leaks import check_leaks, find_between, find_seen
from epir.evaluation.samples import EvaluationSet, annotations, read_maps
from epir.evaluation.scores import score_predictions, uf1
from epir.evaluation.store import Run
from epir.models.folder import find_folder, read_config
from epir.models.predict import SMALLEST, predict_maps, with_temperature
from epir.models.units import LEFT, PRESENT, RIGHT, UnitCalibration
from epir.training.data import read_units

BINS = 10
LOWEST, HIGHEST = 0.05, 20.0  # range of the temperature
PRIOR = float(np.log(2))  # deviation of the logarithm of the temperature
FEW_PEOPLE = 10
FEWEST = 10  # fit a threshold only on at least this many clips with and without the unit
SMALLEST_RECORDED = 1e-4  # fold records have probabilities with four decimals
MARGINS = np.linspace(0.3, 0.99, 70)  # candidates, as quantiles of the differences
STEPS = np.linspace(0.05, 0.95, 91)  # candidate thresholds


@dataclass(frozen=True)
class Calibration:
    """The temperature, and the calibration error on held-out people before and after.

    Values after calibration are measured on each fold with the temperature fitted on the other folds.
    """

    temperature: float = 1.0
    error_before: float | None = None  # expected calibration error
    error_after: float | None = None
    threshold: float = 0.5
    answered: float | None = None  # share of held-out clips whose best score reaches the threshold
    right: float | None = None  # share of these that are right
    highest: float = 1.0  # no score is above it


def calibrate(predictions: Sequence[Prediction], classes: Sequence[str]) -> Calibration:
    """Fit the calibration to the predictions of held-out people."""
    place = {name: number for number, name in enumerate(classes)}
    scores = np.array([prediction.scores for prediction in predictions], float)  # (n, C)
    truth = np.array([place[prediction.truth] for prediction in predictions])  # (n,)
    fold = np.array([prediction.fold for prediction in predictions])  # (n,)
    people = np.array([prediction.person for prediction in predictions])  # (n,)
    temperature, highest = fit_temperature(scores, truth, people), highest_score(people)
    warn_if_few_people(temperature, people)
    after = cross_fitted(scores, truth, fold, people)
    sure = after.max(axis=1) >= Calibration.threshold
    hits = after.argmax(axis=1) == truth
    return Calibration(
        temperature=round(temperature, 4),
        error_before=round(calibration_error(scores, truth), 4),
        error_after=round(calibration_error(after, truth), 4),
        answered=round(float(sure.mean()), 4),
        right=round(float(hits[sure].mean()), 4) if sure.any() else None,
        highest=round(highest, 6),
    )


def cross_fitted(
    scores: np.ndarray, truth: np.ndarray, fold: np.ndarray, people: np.ndarray | None = None
) -> np.ndarray:
    """Calibrate the scores (n, C) of each fold with the temperature fitted on the other folds."""
    after = np.array(scores, float)
    for name in np.unique(fold):
        inside = fold == name
        others = None if people is None else people[~inside]
        temperature = fit_temperature(scores[~inside], truth[~inside], others) if (~inside).any() else 1.0
        highest = 1.0 if others is None or not len(others) else highest_score(others)
        after[inside] = with_temperature(scores[inside], temperature, highest)
    return after


def fit_temperature(scores: np.ndarray, truth: np.ndarray, people: np.ndarray | None = None) -> float:
    """Return the temperature that makes the truth (n,) most likely; with `people` (n,), under the prior.

    The likelihood has a single maximum in the inverse temperature, since the logarithm of a softmax is concave. With
    `people`, the mean of the best scores is at most what Laplace's rule supports.
    """
    count = None if people is None else len(set(people.tolist()))

    def loss(logarithm: float) -> float:
        likelihood = negative_log_likelihood(scores, truth, float(np.exp(logarithm)))
        return likelihood if count is None else count * likelihood + (logarithm / PRIOR) ** 2 / 2

    fit = minimize_scalar(loss, bounds=(np.log(LOWEST), np.log(HIGHEST)), method="bounded", options={"xatol": 1e-6})
    temperature = float(np.exp(fit.x))
    if count is None:
        return temperature
    right = float((scores.argmax(axis=1) == truth).mean())
    return max(temperature, _min_temperature_for(scores, (count * right + 1) / (count + 2)))


def _min_temperature_for(scores: np.ndarray, most: float) -> float:
    """Return the lowest temperature at which the mean of the best scores is at most `most`, by bisection."""

    def is_soft(temperature: float) -> bool:
        return float(with_temperature(scores, temperature).max(axis=1).mean()) <= most

    low, high = LOWEST, HIGHEST
    if is_soft(low) or not is_soft(high):
        return low if is_soft(low) else high
    for _ in range(40):
        middle = float(np.sqrt(low * high))
        low, high = (low, middle) if is_soft(middle) else (middle, high)
    return high


def highest_score(people: np.ndarray) -> float:
    """Return the highest score that answers on this many people support, by Laplace's rule."""
    count = len(set(people.tolist()))
    return (count + 1) / (count + 2)


def warn_if_few_people(temperature: float, people: np.ndarray) -> None:
    """Warn if few people determine the temperature, or if it is at the end of its range."""
    count = len(set(people.tolist()))
    if count < FEW_PEOPLE:
        warnings.warn(
            f"scores are calibrated on {count} {'person' if count == 1 else 'people'} only, so none is above "
            f"{highest_score(people):.2f}; calibrate on more people with --calibrate-on or epir calibrate",
            EpirWarning,
            stacklevel=3,
        )
    if not LOWEST * 1.01 < temperature < HIGHEST / 1.01:
        warnings.warn(
            f"the temperature {temperature:.3g} is at the end of its range, {LOWEST:g} to {HIGHEST:g}: the scores do "
            "not fit the answers",
            EpirWarning,
            stacklevel=3,
        )


def negative_log_likelihood(scores: np.ndarray, truth: np.ndarray, temperature: float = 1.0) -> float:
    """Return the mean negative log-likelihood of the truth (n,) under scores (n, C)."""
    true_scores = with_temperature(scores, temperature)[np.arange(len(truth)), truth]
    return float(-np.log(np.maximum(true_scores, SMALLEST)).mean())


def calibration_error(scores: np.ndarray, truth: np.ndarray) -> float:
    """Return the expected calibration error of scores (n, C): the gap between best score and accuracy."""
    return binned_error(scores.max(axis=1), scores.argmax(axis=1) == truth)


def binned_error(probabilities: np.ndarray, is_true: np.ndarray) -> float:
    """Return the mean gap between probabilities and the share of true cases, over bins of equal width."""
    place = np.minimum((probabilities * BINS).astype(int), BINS - 1)
    error = 0.0
    for number in range(BINS):
        inside = place == number
        if inside.any():
            error += inside.mean() * abs(float(is_true[inside].mean()) - float(probabilities[inside].mean()))
    return float(error)


@dataclass(frozen=True)
class HeldOut:
    """Strict scores of held-out people, and the calibration fitted on them."""

    strict: dict[str, Any]
    calibration: Calibration
    folds: int = 0  # 0: calibrated on other people
    clips: int = 0  # of the other people
    people: int = 0
    units: dict[str, Any] | None = None  # notes on the calibration of action units, with a unit head

    def to_notes(self) -> dict[str, Any]:
        """Return who was held out, for the notes of a model folder."""
        return {"folds": self.folds} if self.folds else {"clips": self.clips, "people": self.people}


def calibrate_by_folds(run: Run, start: str | Path | None = None) -> HeldOut:
    """Return scores and calibration from a finished run of grouped folds that started from the folder `start`."""
    before = UnitCalibration.of_notes(read_config(find_folder(start)).notes if start is not None else {})
    fitted = calibrate_units_by_folds(run.folds, before)
    return HeldOut(
        run.main,
        calibrate(run.predictions, run.experiment.classes),
        folds=int(run.experiment.folds),
        units=None if fitted is None else fitted.to_notes(),
    )


def calibrate_on_others(network: Any, others: EvaluationSet, *, mirror: bool, shift: int) -> HeldOut:
    """Return scores and calibration on other people; each half is scored with the temperature of the other half."""
    predicted = predict_maps(network, read_maps(others.samples), mirror=mirror, shift=shift)
    fitted = None
    by_clip = [clip.person for clip in others.clips]
    if predicted.units is not None:
        fitted = calibrate_units(predicted.units, annotations(others.samples), by_clip)
    people = sorted(set(by_clip))
    half = {person: str(number % 2) for number, person in enumerate(people)}
    predictions = predictions_of(others, predicted.scores, [half[person] for person in by_clip])
    return HeldOut(
        score_predictions(predictions, others.classes, "strict"),
        calibrate(predictions, others.classes),
        clips=len(predictions),
        people=len(people),
        units=None if fitted is None else fitted.to_notes(),
    )


def predictions_of(clips: EvaluationSet, scores: np.ndarray, folds: Sequence[str]) -> list[Prediction]:
    """Return the predictions that scores (n, C) of these clips give, each with the name of its fold."""
    predictions = []
    for sample, row, fold in zip(clips.samples, scores, folds, strict=True):
        guess = clips.classes[int(row.argmax())]
        clip = sample.clip
        predictions.append(
            Prediction(
                *(clip.corpus, clip.subject, clip.clip, sample.label, guess, guess),
                seed=0,
                fold=fold,
                scores=tuple(map(float, row)),
                named=clip.extra.get("person", "").strip(),
            )
        )
    return predictions


def check_disjoint_people(
    training: EvaluationSet, others: EvaluationSet, start: str | Path | None = None, *, allow_seen: bool = False
) -> tuple[str, ...]:
    """Raise an error if training, or the initial weights, saw people to calibrate on, or if the classes differ.

    With `allow_seen`, return the overlap instead.
    """
    if others.classes != training.classes:
        raise ProtocolError(
            f"--calibrate-on has the classes {', '.join(others.classes)}, training {', '.join(training.classes)}",
            fix="give map sets with the same classes",
        )
    leaks = {"in the training set and in --calibrate-on": find_between(training, others)}
    if start is not None:
        leaks["the weights that training starts from have seen, of --calibrate-on"] = find_seen(
            find_folder(start), others
        )
    return check_leaks(leaks, allow_seen=allow_seen, fix="calibrate on other people; synthetic ones differ by --seed")


@dataclass(frozen=True)
class CalibratedUnits:
    """The calibration of a unit head, and the error of its probabilities before and after."""

    calibration: UnitCalibration
    clips: int
    error_before: float  # expected calibration error of `present`, over all units
    error_after: float  # each half of the people with the calibration of the other half

    def to_notes(self) -> dict[str, Any]:
        """Return values for the notes of a model folder, which `UnitCalibration.of_notes` reads."""
        return {
            **self.calibration.to_dict(),
            "clips": self.clips,
            "error_before": round(self.error_before, 4),
            "error_after": round(self.error_after, 4),
        }


def calibrate_units(logits: np.ndarray, annotations: Sequence[str], people: Sequence[str]) -> CalibratedUnits | None:
    """Fit the calibration to logits (n, 3, U) of clips of these people; None if no clip is annotated."""
    truth = read_units(annotations).numpy()  # (n, U, 3)
    known = ~np.isnan(truth[:, 0, PRESENT])
    if not known.any():
        return None
    logits, truth = logits[known].astype(float), truth[known]
    names = np.array(people)[known]
    half = np.isin(names, sorted(set(names))[::2])
    after = np.empty_like(logits)
    for inside in (half, ~half):
        fitted = _fit(logits[~inside], truth[~inside]) if (~inside).any() else UnitCalibration()
        after[inside] = fitted.probabilities(logits[inside])
    present = truth[..., PRESENT] == 1
    return CalibratedUnits(
        calibration=_fit(logits, truth),
        clips=len(logits),
        error_before=binned_error(expit(logits[:, PRESENT]), present),
        error_after=binned_error(after[:, PRESENT], present),
    )


def calibrate_units_by_folds(records: Sequence[FoldRecord], before: UnitCalibration) -> CalibratedUnits | None:
    """Fit the calibration to the held-out clips of folds, whose records hold probabilities calibrated by `before`.

    A corpus has too few one-sided units to refit the sides, so they keep their calibration.
    """
    clips = [(clip.person, clip.units) for record in records for clip in record.clips if clip.units is not None]
    if not clips:
        return None
    recorded = np.array([[units["present"][str(unit)] for unit in UNITS] for _, units in clips])  # (n, U)
    factor, offset = before.present
    present = (logit(np.clip(recorded, SMALLEST_RECORDED, 1 - SMALLEST_RECORDED)) - offset) / factor
    sides = np.zeros_like(present)
    texts, people = [str(units["annotation"]) for _, units in clips], [person for person, _ in clips]
    fitted = calibrate_units(np.stack([present, sides, sides], axis=1), texts, people)
    if fitted is None:
        return None
    merged = replace(fitted.calibration, side=before.side, side_margin=before.side_margin)
    return replace(fitted, calibration=merged)


def _fit(logits: np.ndarray, truth: np.ndarray) -> UnitCalibration:
    present = fit_platt(logits[:, PRESENT].ravel(), truth[..., PRESENT].ravel())
    sides = fit_platt(logits[:, [LEFT, RIGHT]].ravel(), np.moveaxis(truth[..., [LEFT, RIGHT]], 2, 1).ravel())
    probabilities = UnitCalibration(present, sides).probabilities(logits)[:, PRESENT]
    thresholds = {
        unit: best_threshold(probabilities[:, column], is_present)
        for column, unit in enumerate(UNITS)
        if FEWEST <= (is_present := truth[:, column, PRESENT] == 1).sum() <= len(is_present) - FEWEST
    }
    return UnitCalibration(present, sides, thresholds or None, best_margin(logits[:, LEFT] - logits[:, RIGHT], truth))


def best_margin(difference: np.ndarray, truth: np.ndarray) -> float:
    """Return the margin on differences (n, U) that best separates left, right and both, by their mean F1.

    If the truth (n, U, 3) lacks one of the three, return the default margin.
    """
    side = truth[..., LEFT] - truth[..., RIGHT]  # 1 left, -1 right, 0 both, NaN unknown
    known = ~np.isnan(side)
    if len(np.unique(side[known])) < 3:
        return UnitCalibration.side_margin
    difference, side = difference[known], side[known]
    candidates = np.unique(np.quantile(np.abs(difference), MARGINS).round(3))
    scores = [uf1(_confusion(side, np.sign(difference) * (np.abs(difference) > margin))) for margin in candidates]
    return float(candidates[int(np.argmax(scores))])


def _confusion(truth: np.ndarray, guess: np.ndarray) -> np.ndarray:
    """Count right, both and left (-1, 0, 1) by truth and guess, (3, 3)."""
    counts = np.zeros((3, 3), dtype=np.int64)
    np.add.at(counts, (truth.astype(int) + 1, guess.astype(int) + 1), 1)
    return counts


def fit_platt(logits: np.ndarray, truth: np.ndarray) -> tuple[float, float]:
    """Fit factor and offset of Platt scaling for logits (n,) and truth (n,): 0, 1 or NaN (unknown).

    If all known truth is the same, nothing can be fitted, and the logits stay unchanged.
    """
    known = ~np.isnan(truth)
    logits, truth = logits[known], truth[known]
    if not 0 < truth.sum() < len(truth):
        return 1.0, 0.0

    def loss_and_gradient(pair: np.ndarray) -> tuple[float, np.ndarray]:
        value = pair[0] * logits + pair[1]
        off = expit(value) - truth
        loss = float((np.logaddexp(0, value) - truth * value).mean())
        return loss, np.array([(off * logits).mean(), off.mean()])

    factor, offset = minimize(loss_and_gradient, np.array([1.0, 0.0]), jac=True, method="BFGS").x
    return round(float(factor), 4), round(float(offset), 4)


def best_threshold(probabilities: np.ndarray, is_present: np.ndarray) -> float:
    """Return the threshold (in hundredths) with the best F1 for probabilities (n,); the middle one of equals."""
    scores = []
    for step in STEPS:
        detected = probabilities >= step
        scores.append(2 * (detected & is_present).sum() / max(1, detected.sum() + is_present.sum()))
    best = np.flatnonzero(np.array(scores) >= max(scores) - 1e-12)
    return round(float(STEPS[best[len(best) // 2]]), 2)
