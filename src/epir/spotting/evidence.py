"""How far the face as a whole moves as in an expression, against what this face does anyway.

Every instant has an amplitude in each region: that of the bump that fits best there (`epir.spotting.candidates`). What
the face does within the seconds around gives their covariance: somebody who speaks moves mouth and chin a lot and
together, and perhaps lifts the brows along. Against this covariance the amplitudes are compared with patterns of
expressions, as a matched filter does in coloured noise, so that a mouth that talks counts for little and brows that
are quiet for much.

[R] Robey et al. 1992, A CFAR adaptive matched filter detector, IEEE Trans. AES 28(1): the statistic

Axes: n instants, C channels (two for each region), P patterns
"""

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from epir.spotting.regions import REGIONS

SHRINK = 0.4  # of the covariance towards its diagonal: seconds of motion do not determine all of it
NOISE = 0.0003  # of the face's width: what noise of the camera leaves
QUIET = 0.0006  # of the face's width: what a quiet face does besides
ENOUGH = 4.0  # seconds that tell what a face does anyway; a shorter clip may show little but the expression itself
ROUNDS = 3  # of reweighting
CLASSIFIER = "false_alarm_classifier.json"


@cache
def learnt() -> dict[str, Any]:
    """The weights and patterns of the false-alarm classifier (`epir.spotting.false_alarm_training`)."""
    return dict(json.loads(files("epir.spotting").joinpath(CLASSIFIER).read_text(encoding="utf-8")))


@cache
def patterns() -> np.ndarray:
    """How the regions move in expressions of the three classes, (P, R, 2), each of length 1."""
    return np.array(learnt()["patterns"]).reshape(-1, len(REGIONS), 2)


def robust_covariance(values: np.ndarray, trust: float = 1.0) -> np.ndarray:
    """The covariance (C, C) of values (n, C) about zero; instants that are far out, as blinks are, count less.

    Values that are trusted by less than 1 are mixed with those of a quiet face.
    """
    weights, channels = np.ones(len(values)), values.shape[1]
    for _ in range(ROUNDS):
        covariance = (values * weights[:, None]).T @ values / weights.sum()
        covariance = trust * ((1 - SHRINK) * covariance + np.diag(SHRINK * np.diag(covariance)))
        covariance = covariance + (NOISE**2 + (1 - trust) * QUIET**2) * np.eye(channels)
        distance = np.einsum("nc,cn->n", values, np.linalg.solve(covariance, values.T)) / channels
        weights = 1 / (1 + distance)
    return np.asarray(covariance)


@dataclass(frozen=True)
class PatternEvidence:
    """What speaks for an expression at every instant, for bumps of one duration."""

    score: np.ndarray  # (n,) of the pattern that fits best, in deviations of what this face does
    pattern: np.ndarray  # (n,) which
    share: np.ndarray  # (n,) of all unusual motion that follows the pattern, 0..1
    filters: np.ndarray  # (P, C): the weighted sum of the channels that gives the score of each pattern


def weigh(amplitudes: np.ndarray, known: np.ndarray, rate: float) -> PatternEvidence:
    """The evidence in amplitudes (n, C), `rate` of them a second, for patterns (P, R, 2)."""
    trust = min(len(amplitudes) / rate / ENOUGH, 1.0) ** 2
    flat = known.reshape(len(known), -1)  # (P, C)
    whitened = np.linalg.solve(robust_covariance(amplitudes, trust), np.concatenate([flat, amplitudes]).T).T
    filters = whitened[: len(flat)]
    filters = filters / np.sqrt((filters * flat).sum(axis=1, keepdims=True))
    scores = amplitudes @ filters.T  # (n, P)
    best = scores.argmax(axis=1)
    score = scores[np.arange(len(scores)), best]
    energy = (amplitudes * whitened[len(flat) :]).sum(axis=1)
    return PatternEvidence(score, best, np.maximum(score, 0.0) ** 2 / (energy + 0.1), filters)
