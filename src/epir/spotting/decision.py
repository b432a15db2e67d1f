"""Decide whether a candidate is a micro-expression, how probable that is, and if it is none, what it is.

A few rules reject what cannot be a micro-expression: movements that are too large or too long, or that coincide with a
blink, a large head motion or something that covers the face. The false-alarm classifier judges the others: a logistic
regression on about twenty measures of the candidate, trained on synthetic people who talk, chew, nod and blink
(`epir.spotting.false_alarm_training`). Two of the measures say how well the face moves like an expression: the
amplitudes of all regions are compared with patterns of expressions, and a region that is usually quiet counts more.

Lengths are shares of the face's width.

Axes: P patterns, R regions
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

import numpy as np

from epir.core.config import check_known, check_ranges
from epir.core.errors import ConfigError
from epir.faces.face import FaceSettings
from epir.spotting.candidates import NOISE, Candidate, expression_patterns, shipped_classifier
from epir.spotting.regions import EYES, GROUPS, MOUTH, REGIONS, members, named

SHORTEST, LONGEST = 1 / 25, 1 / 2  # seconds from onset to offset of a micro-expression
LONGEST_MACRO = 4.0  # seconds: anything longer is a state of the face, not an expression
Sensitivity = Literal["low", "normal", "high"]
THRESHOLDS: dict[str, float] = {"low": 0.8, "normal": 0.53, "high": 0.4}  # minimum probability that is reported
LARGE = 0.006  # mean over a region: above this, a movement becomes less and less probable
LARGEST = 0.018  # mean over a region, about 0.025 at the strongest point: above this, it is too large
FAR = 0.03  # maximum bump of the head
RESTLESS = 0.02  # maximum residual of the head
COVERED = 4.0  # maximum `Candidate.mismatch`
BRIGHTER = 0.045  # maximum `Candidate.light`: 99 % of the candidates in five real videos vary less, a flash of 6 % more
LOOKS_LIKE_LIGHT = ("head", "occlusion", "unclear")
SHUTTING = 0.009  # the lids of a blink move farther
HALF_SHUT = 0.005  # the upper lids of a blink move down farther
DRAGGED = ("brows", EYES, "nose and cheeks")  # groups that a blink drags along
AROUND_BLINK = 0.03  # seconds
STAYS = 0.0  # `Candidate.step` above which a lasting change explains the course better than a bump
RHYTHM = 3.0  # `Candidate.isolated` below which the mouth keeps moving
MURMUR = 0.0015  # residual of the mouth above which it is speaking
OPENING = 0.004  # lids that rise less only follow the gaze
CLEAR_MACRO = 4.0  # minimum `Candidate.stands_out` of a macro-expression
MOST_UNRETURNED = 0.5  # maximum `Candidate.unreturned` of a macro-expression
LEAST_MACRO = 0.003  # minimum amplitude of a macro-expression
CLEARLY = 0.5  # share of how far the clearest region stands out
WITHOUT_EYES = members(*(name for name in GROUPS if name != EYES))
TOGETHER = {  # groups that move as one: if any of them exceeds LARGEST, the movement is too large
    "brows": ("brows",),
    EYES: (EYES, "brows"),
    "nose and cheeks": ("brows", "nose and cheeks", *MOUTH),
    "lip corners": ("nose and cheeks", *MOUTH),
    "lips and chin": ("nose and cheeks", *MOUTH),
}


@dataclass(frozen=True)
class SpottingSettings:
    """What counts as a micro-expression, and at what size the face is measured."""

    face: FaceSettings = field(default_factory=FaceSettings)
    sensitivity: Sensitivity = "normal"  # high finds more micro-expressions, with more false alarms
    size: int = 84  # px: width of the face in which motion is measured
    shortest: float = SHORTEST  # seconds
    longest: float = LONGEST  # seconds

    def __post_init__(self) -> None:
        check_ranges(self, {"shortest": 3600, "longest": 3600}, section="spotting")
        check_known(self.sensitivity, THRESHOLDS, section="spotting.sensitivity", what="choice")
        if not 24 <= self.size <= 512:
            raise ConfigError(f"spotting.size cannot be {self.size}", fix="give a size in pixels from 24 to 512")
        if not 0 < self.shortest < self.longest:
            raise ConfigError(
                f"a movement cannot last from {self.shortest:g} to {self.longest:g} seconds",
                fix="give shortest below longest, both above 0; the defaults are 0.04 and 0.5",
            )

    @property
    def threshold(self) -> float:
        """The minimum probability of a reported movement."""
        return THRESHOLDS[self.sensitivity]


@dataclass(frozen=True)
class Verdict:
    """How probable a micro-expression is, and why it is rejected; an empty reason accepts it."""

    probability: float  # from the classifier, also where a rule rejects the candidate
    reason: str = ""
    by_rule: bool = False  # otherwise the reason says what an improbable candidate looks like
    measures: Mapping[str, float] = field(default_factory=dict)


def features(candidate: Candidate, rate: float, known: np.ndarray | None = None) -> dict[str, float]:
    """The measures of a candidate that the classifier takes; `known` replaces the shipped patterns (P, R, 2)."""
    lengths, residual = candidate.lengths, candidate.residual
    length = float(lengths[candidate.strongest])
    duration = (candidate.offset - candidate.onset) / rate
    lids = float(candidate.amplitudes[named("upper lid"), 1].mean())
    measures = {
        "stands out": math.log(candidate.stands_out + 0.3),
        "isolated": math.log(candidate.isolated + 0.1),
        "large": max(_log(length) - _log(LARGE), 0.0),
        "elsewhere": _log(float(lengths.max())) - _log(length),
        "explained": math.log(float((lengths**2).sum()) / float((residual**2).sum() + 1e-7) + 1e-3),
        "head": _log(float(np.abs(candidate.head).max())),
        "head rest": _log(float(np.abs(candidate.head_residual).max())),
        "lids down": 100 * max(lids, 0.0),
        "lids up": 100 * max(-lids, 0.0),
        "step": min(max(candidate.step, -4.0), 4.0),
        "left": min(candidate.unreturned, 2.0),
        "long": max(candidate.foot - 0.4, 0.0),
        "very long": max(candidate.foot - 0.7, 0.0),
        "short": max(0.15 - duration, 0.0),
        "mismatch": math.log(candidate.mismatch),
        "evidence": math.log(max(candidate.evidence, 0.3)),
        "share": candidate.share,
        "unusual": math.log(max(candidate.unusual, 0.1)),
    }
    measures["pattern"], measures["fits"] = match_pattern(candidate, expression_patterns() if known is None else known)
    for group in GROUPS:
        measures[f"in {group}"] = float(candidate.group == group)
    return measures


def _log(length: float) -> float:
    return math.log(length + NOISE)


def match_pattern(candidate: Candidate, known: np.ndarray) -> tuple[float, float]:
    """How far the best of the patterns (P, R, 2) stands out, as a logarithm, and its share of all motion."""
    quiet = (1 / (candidate.residual + NOISE))[:, None]  # (R, 1)
    moved, weighted = candidate.amplitudes * quiet, known * quiet
    along = (weighted * moved).sum(axis=(1, 2)) / np.sqrt((weighted**2).sum(axis=(1, 2)))  # (P,)
    best = max(float(along.max()), 0.1)
    return math.log(best), best / (float(np.sqrt((moved**2).sum())) + 0.1)


@cache
def weights() -> dict[str, float]:
    """The classifier's weights by measure, with `constant`."""
    return dict(shipped_classifier()["weights"])


def probability(measures: Mapping[str, float]) -> float:
    """The probability that a candidate with these measures is a micro-expression."""
    known = weights()
    total = known["constant"] + sum(known.get(name, 0) * value for name, value in measures.items())
    return 1 / (1 + math.exp(-min(max(total, -30.0), 30.0)))


def is_blink(candidate: Candidate) -> bool:
    """Whether the lids shut: they move down, far, and farther than the brows."""
    if candidate.group != EYES:
        return False
    upper, brows = candidate.amplitudes[named("upper lid"), 1], candidate.lengths[members("brows")]
    lids = candidate.lengths[members(EYES)]
    return (
        float(lids.max()) > SHUTTING
        and float(upper.mean()) > HALF_SHUT
        and float(lids.mean()) > 1.2 * float(brows.mean())
    )


def is_dragged(candidate: Candidate, blinks: Sequence[Candidate], rate: float) -> bool:
    """Whether a blink drags the skin along: the apex of one lies within the other."""
    if candidate.group not in DRAGGED and REGIONS[where(candidate)].group not in DRAGGED[:1]:
        return False
    around = AROUND_BLINK * rate
    return any(
        one.onset - around <= two.apex <= one.offset + around
        for each in blinks
        for one, two in ((each, candidate), (candidate, each))
    )


def judge(candidate: Candidate, blinks: Sequence[Candidate], rate: float, settings: SpottingSettings) -> Verdict:
    """The verdict on a candidate, given the blinks around it."""
    reason = rule(candidate, blinks, rate, settings)
    measures = features(candidate, rate)
    probable = probability(measures)
    by_rule = bool(reason)
    if not reason and probable < settings.threshold:
        reason = _likeness(candidate, rate, settings)
    if reason == "speech" and REGIONS[where(candidate)].group not in MOUTH:
        reason = "unclear"  # the mouth stands out, but brows or cheeks move farther
    if reason in LOOKS_LIKE_LIGHT and candidate.light > BRIGHTER:
        reason = "light"
    return Verdict(probable, reason, by_rule, measures)


def where(candidate: Candidate) -> int:
    """The index of the region that moves farthest among those that stand out; eyes count only for eye movements."""
    clear = candidate.lengths / (candidate.residual + NOISE)
    places = members(EYES, "brows") if candidate.group == EYES else WITHOUT_EYES
    places = places[clear[places] >= CLEARLY * clear[places].max()]
    return int(places[candidate.lengths[places].argmax()])


def rule(candidate: Candidate, blinks: Sequence[Candidate], rate: float, settings: SpottingSettings) -> str:
    """The reason for which a rule rejects a candidate, or an empty text."""
    if is_blink(candidate) or is_dragged(candidate, blinks, rate):
        return "blink"
    if float(np.abs(candidate.head).max()) > FAR or float(np.abs(candidate.head_residual).max()) > RESTLESS:
        return "head"
    if candidate.mismatch > COVERED:
        return "occlusion"
    if candidate.group in MOUTH and candidate.isolated < RHYTHM:
        return "speech"
    if float(candidate.lengths[members(*TOGETHER[candidate.group])].max()) > LARGEST:
        return "too large"
    if candidate.group == EYES and float(candidate.amplitudes[named("upper lid"), 1].max()) > -OPENING:
        return "gaze"
    if candidate.foot > 1.5 * settings.longest:
        return "too long"
    if (candidate.offset - candidate.onset) / rate < settings.shortest - 1 / rate:
        return "too short"
    return ""


def is_macro(candidate: Candidate, rate: float, settings: SpottingSettings) -> bool:
    """Whether the skin clearly moves and returns, but too slowly for a micro-expression."""
    duration = (candidate.offset - candidate.onset) / rate
    return (
        settings.longest < duration <= LONGEST_MACRO
        and candidate.stands_out >= CLEAR_MACRO
        and float(candidate.lengths[candidate.strongest]) >= LEAST_MACRO
        and candidate.group != EYES
        and candidate.unreturned <= MOST_UNRETURNED
        and float(np.abs(candidate.head).max()) <= FAR
        and candidate.mismatch <= COVERED
    )


def _likeness(candidate: Candidate, rate: float, settings: SpottingSettings) -> str:
    """What an improbable candidate most looks like."""
    if candidate.group in MOUTH and float(candidate.residual[members(*MOUTH)].mean()) > MURMUR:
        return "speech"
    if candidate.foot > settings.longest * 1.15 + 1 / rate:
        return "too long"
    if candidate.step > STAYS:
        return "return of an expression"
    if candidate.group == EYES:
        return "gaze"
    if float(np.abs(candidate.head).max()) > 2 * float(candidate.lengths[candidate.strongest]):
        return "head"
    return "unclear"
