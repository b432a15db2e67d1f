"""Scores that mean what they say: a score of 0.7 should be right in seven of ten cases.

[G] Guo et al. 2017, On Calibration of Modern Neural Networks, arXiv:1706.04599: one temperature, and the expected
calibration error

Axes: n clips, C classes
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import softmax

from epir.core.errors import ProtocolError
from epir.core.records import Prediction
from epir.evaluation.leaks import find_between, find_seen, refuse
from epir.evaluation.samples import EvaluationSet, read_maps
from epir.evaluation.scores import score
from epir.models.folder import find_folder

BINS = 10
LOWEST, HIGHEST = 0.05, 20.0  # the range of temperatures that is searched
SMALLEST = 1e-7  # a score is never quite 0


@dataclass(frozen=True)
class Calibration:
    """The temperature, and how well the scores of held-out people meant what they said without and with one.

    What is said about scores with a temperature is measured on each fold under the temperature of the others.
    """

    temperature: float = 1.0
    error_before: float | None = None  # expected calibration error
    error_after: float | None = None
    threshold: float = 0.5
    answered: float | None = None  # share of held-out clips whose best score reaches the threshold
    right: float | None = None  # share of these that are right


def calibrate(predictions: Sequence[Prediction], classes: Sequence[str], *, threshold: float = 0.5) -> Calibration:
    """The calibration that fits the predictions of people who were held out."""
    place = {name: number for number, name in enumerate(classes)}
    scores = np.array([each.scores for each in predictions], float)  # (n, C)
    truth = np.array([place[each.truth] for each in predictions])  # (n,)
    fold = np.array([each.fold for each in predictions])  # (n,)
    temperature = fit_temperature(scores, truth)
    after = cross_fitted(scores, truth, fold)
    sure = after.max(axis=1) >= threshold
    hits = after.argmax(axis=1) == truth
    return Calibration(
        temperature=round(temperature, 4),
        error_before=round(calibration_error(scores, truth), 4),
        error_after=round(calibration_error(after, truth), 4),
        threshold=threshold,
        answered=round(float(sure.mean()), 4),
        right=round(float(hits[sure].mean()), 4) if sure.any() else None,
    )


def cross_fitted(scores: np.ndarray, truth: np.ndarray, fold: np.ndarray) -> np.ndarray:
    """Scores (n, C), those of each fold under the temperature that fits the other folds."""
    after = np.array(scores, float)
    for name in np.unique(fold):
        own = fold == name
        after[own] = with_temperature(scores[own], fit_temperature(scores[~own], truth[~own]) if (~own).any() else 1.0)
    return after


def with_temperature(scores: np.ndarray, temperature: float) -> np.ndarray:
    """Scores (n, C) made softer (above 1) or sharper (below 1); each row still sums to 1."""
    return softmax(np.log(np.maximum(scores, SMALLEST)) / temperature, axis=-1)


def fit_temperature(scores: np.ndarray, truth: np.ndarray) -> float:
    """The temperature under which the truth (n,) is most likely.

    The likelihood has one maximum in the inverse temperature, since the logarithm of a softmax is concave.
    """
    found = minimize_scalar(
        lambda logarithm: negative_log_likelihood(scores, truth, float(np.exp(logarithm))),
        bounds=(np.log(LOWEST), np.log(HIGHEST)),
        method="bounded",
        options={"xatol": 1e-6},
    )
    return float(np.exp(found.x))


def negative_log_likelihood(scores: np.ndarray, truth: np.ndarray, temperature: float = 1.0) -> float:
    """The mean negative log-likelihood of the truth (n,) under scores (n, C)."""
    own = with_temperature(scores, temperature)[np.arange(len(truth)), truth]
    return float(-np.log(np.maximum(own, SMALLEST)).mean())


def calibration_error(scores: np.ndarray, truth: np.ndarray, bins: int = BINS) -> float:
    """The expected calibration error: how far best score and share of right answers lie apart."""
    best, hits = scores.max(axis=1), scores.argmax(axis=1) == truth
    place = np.minimum((best * bins).astype(int), bins - 1)
    error = 0.0
    for number in range(bins):
        inside = place == number
        if inside.any():
            error += inside.mean() * abs(float(hits[inside].mean()) - float(best[inside].mean()))
    return float(error)


@dataclass(frozen=True)
class HeldOut:
    """Strict scores of people that training has not seen, and the calibration fitted on them."""

    strict: dict[str, Any]
    calibration: Calibration
    folds: int = 0  # 0: other people
    clips: int = 0  # of the other people
    people: int = 0
    units: dict[str, Any] | None = None  # notes on the calibration of action units, where the model has a head for them

    def to_notes(self) -> dict[str, Any]:
        """Who was held out, for the notes of a model folder."""
        return {"folds": self.folds} if self.folds else {"clips": self.clips, "people": self.people}


def calibrate_by_folds(run: Any, classes: Sequence[str], folds: int, start: str | Path | None = None) -> HeldOut:
    """What a finished run of grouped folds says, whose training started from the model folder `start`."""
    from epir.models.folder import find_folder, read_config
    from epir.models.units import UnitCalibration
    from epir.recognition.unit_calibration import calibrate_units_by_folds

    before = UnitCalibration.of_notes(read_config(find_folder(start)).notes if start is not None else {})
    fitted = calibrate_units_by_folds(run.folds, before)
    return HeldOut(
        run.main,
        calibrate(run.predictions, classes),
        folds=folds,
        units=None if fitted is None else fitted.to_notes(),
    )


def calibrate_on_others(network: Any, others: EvaluationSet, *, mirror: bool, shift: int) -> HeldOut:
    """Scores and calibration on other people; each half of them is scored under the temperature of the other half."""
    from epir.recognition.unit_calibration import calibrate_units
    from epir.training.fit import predict_with_units

    scores, logits = predict_with_units(network, read_maps(others.samples), mirror=mirror, shift=shift)  # (n, C)
    fitted = None
    if logits is not None:
        clips = others.clips
        annotations = [clip.extra.get("action_units", "") for clip in clips]
        fitted = calibrate_units(logits, annotations, [clip.person for clip in clips])
    people = sorted({sample.clip.person for sample in others.samples})
    half = {person: str(number % 2) for number, person in enumerate(people)}
    predictions = []
    for sample, row in zip(others.samples, scores, strict=True):
        guess = others.classes[int(row.argmax())]
        clip = sample.clip
        predictions.append(
            Prediction(
                corpus=clip.corpus,
                subject=clip.subject,
                clip=clip.clip,
                truth=sample.label,
                strict=guess,
                best_epoch=guess,
                seed=0,
                fold=half[clip.person],
                scores=tuple(float(value) for value in row),
            )
        )
    return HeldOut(
        score(predictions, others.classes, "strict"),
        calibrate(predictions, others.classes),
        clips=len(predictions),
        people=len(people),
        units=None if fitted is None else fitted.to_notes(),
    )


def check_disjoint_people(
    training: EvaluationSet, others: EvaluationSet, start: str | Path | None = None, *, allow_seen: bool = False
) -> tuple[str, ...]:
    """People who calibrate must not be among those trained on, also by the first weights, and show the same classes.

    Gives back what was found where `allow_seen` goes on.
    """
    if others.classes != training.classes:
        raise ProtocolError(
            f"--calibrate-on has the classes {', '.join(others.classes)}, training {', '.join(training.classes)}",
            fix="give map sets with the same classes",
        )
    found = {"in the training set and in --calibrate-on": find_between(training, others)}
    if start is not None:
        found["the weights that training starts from have seen, of --calibrate-on"] = find_seen(
            find_folder(start), others
        )
    return refuse(found, allow_seen=allow_seen, fix="calibrate on other people; synthetic ones differ by --seed")
