"""Scores that mean what they say: a score of 0.7 should be right in seven of ten cases.

[G] Guo et al. 2017, On Calibration of Modern Neural Networks, arXiv:1706.04599: one temperature, and the expected
calibration error

Axes: n clips, C classes
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from epir.core.records import Prediction

BINS = 10
LOWEST, HIGHEST = 0.05, 20.0  # temperatures that are looked at
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
    """Scores (n, C), those of each fold under the temperature that fits the other folds: nobody judges himself."""
    after = np.array(scores, float)
    for name in np.unique(fold):
        own = fold == name
        after[own] = with_temperature(scores[own], fit_temperature(scores[~own], truth[~own]) if (~own).any() else 1.0)
    return after


def with_temperature(scores: np.ndarray, temperature: float) -> np.ndarray:
    """Scores (n, C) made softer (above 1) or sharper (below 1); each row still sums to 1."""
    logits = np.log(np.maximum(scores, SMALLEST)) / temperature
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def fit_temperature(scores: np.ndarray, truth: np.ndarray) -> float:
    """The temperature under which the truth (n,) is most likely, by golden section on its logarithm.

    The likelihood has one maximum in the inverse temperature, since the logarithm of a softmax is concave.
    """
    ratio = (np.sqrt(5) - 1) / 2
    low, high = np.log(LOWEST), np.log(HIGHEST)
    while high - low > 1e-5:
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        if surprise(scores, truth, float(np.exp(left))) < surprise(scores, truth, float(np.exp(right))):
            high = right
        else:
            low = left
    return float(np.exp((low + high) / 2))


def surprise(scores: np.ndarray, truth: np.ndarray, temperature: float = 1.0) -> float:
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
