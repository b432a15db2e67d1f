"""Candidate -> a micro-expression or not, how probable that is, and if not, what it is.

A few rules throw out what cannot be one: what moves too far or too long, what happens while the eyes blink, the head
goes far or something covers the face. The rest is judged by the false-alarm classifier: a logistic regression on about
twenty measures of the candidate, learnt from synthetic people who talk, chew, nod, blink and so on
(`epir.spotting.false_alarm_training`). Two of them say how well the face moves as in an expression: all regions at once
are compared with patterns of expressions of the three classes, each region counting by how quiet it is otherwise.

Axes: P patterns, R regions
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from epir.spotting.candidates import FLOOR, Candidate
from epir.spotting.evidence import learnt, patterns
from epir.spotting.regions import EYES, GROUPS, MOUTH, REGIONS, members, named
from epir.spotting.settings import LONGEST_MACRO, SpottingSettings

LARGE = 0.006  # of the face's width, as the mean over a region: from here on a movement is less and less probable
LARGEST = 0.018  # of the face's width, as the mean over a region: about 2.5 % at the strongest point
FAR = 0.03  # of the face's width: the head comes and goes by more
RESTLESS = 0.02  # of the face's width: the head wanders by more
COVERED = 4.0  # times the mismatch of the surroundings
BRIGHTER = 0.045  # of `Candidate.light`: 99 of 100 candidates of five real videos vary less; a flash of 6 % gives 0.058
LOOKS_LIKE_LIGHT = ("head", "occlusion", "unclear")
SHUTTING = 0.009  # of the face's width: the lids of a blink go farther
HALF_SHUT = 0.005  # of the face's width: the upper lids of a blink go down by more
DRAGGED = ("brows", EYES, "nose and cheeks")  # go along with a blink
AROUND_BLINK = 0.03  # seconds
STAYS = 0.0  # of `Candidate.step`: above it a lasting change explains the course better than a bump
RHYTHM = 3.0  # of `Candidate.isolated`: a mouth that stands out less goes on moving
MURMUR = 0.0015  # of the face's width: a mouth that moves more besides is speaking
OPENING = 0.004  # of the face's width: lids that go up by less only follow the eyes
CLEAR_MACRO = 4.0  # of `Candidate.stands_out`, for an expression that lasts
LEFT = 0.5  # of `Candidate.left`: what lasts must come back by half at least
LEAST_MACRO = 0.003  # of the face's width: an expression that lasts goes farther
CLEARLY = 0.5  # of how far the clearest region stands out
WITHOUT_EYES = members(*(name for name in GROUPS if name != EYES))
TOGETHER = {  # groups that move as one: none of them may go too far
    "brows": ("brows",),
    EYES: (EYES, "brows"),
    "nose and cheeks": ("brows", "nose and cheeks", *MOUTH),
    "lip corners": ("nose and cheeks", *MOUTH),
    "lips and chin": ("nose and cheeks", *MOUTH),
}


@dataclass(frozen=True)
class Verdict:
    """How probable a micro-expression is, and why it is none; no reason means that it is one."""

    probability: float  # that the classifier gives, whatever the rules say
    reason: str = ""
    by_rule: bool = False  # or else the reason is what an improbable candidate looks like
    measures: Mapping[str, float] = field(default_factory=dict)


def features(candidate: Candidate, rate: float, known: np.ndarray | None = None) -> dict[str, float]:
    """The measures by which a candidate is judged; `known` are other patterns (P, R, 2) than those that ship."""
    lengths, rest = candidate.lengths, candidate.rest
    length = float(lengths[candidate.strongest])
    duration = (candidate.offset - candidate.onset) / rate
    lids = float(candidate.amplitudes[named("upper lid"), 1].mean())
    measures = {
        "stands out": math.log(candidate.stands_out + 0.3),
        "isolated": math.log(candidate.isolated + 0.1),
        "large": max(_log(length) - _log(LARGE), 0.0),
        "elsewhere": _log(float(lengths.max())) - _log(length),
        "explained": math.log(float((lengths**2).sum()) / float((rest**2).sum() + 1e-7) + 1e-3),
        "head": _log(float(np.abs(candidate.head).max())),
        "head rest": _log(float(np.abs(candidate.head_rest).max())),
        "lids down": 100 * max(lids, 0.0),
        "lids up": 100 * max(-lids, 0.0),
        "step": min(max(candidate.step, -4.0), 4.0),
        "left": min(candidate.left, 2.0),
        "long": max(candidate.foot - 0.4, 0.0),
        "very long": max(candidate.foot - 0.7, 0.0),
        "short": max(0.15 - duration, 0.0),
        "mismatch": math.log(candidate.mismatch),
        "evidence": math.log(max(candidate.evidence, 0.3)),
        "share": candidate.share,
        "unusual": math.log(max(candidate.unusual, 0.1)),
    }
    measures["pattern"], measures["fits"] = match(candidate, patterns() if known is None else known)
    for group in GROUPS:
        measures[f"in {group}"] = float(candidate.group == group)
    return measures


def _log(length: float) -> float:
    return math.log(length + FLOOR)


def match(candidate: Candidate, known: np.ndarray) -> tuple[float, float]:
    """How far the pattern (P, R, 2) that fits best stands out, as a logarithm, and what share of all motion it is."""
    quiet = (1 / (candidate.rest + FLOOR))[:, None]  # (R, 1)
    moved, weighted = candidate.amplitudes * quiet, known * quiet
    along = (weighted * moved).sum(axis=(1, 2)) / np.sqrt((weighted**2).sum(axis=(1, 2)))  # (P,)
    best = max(float(along.max()), 0.1)
    return math.log(best), best / (float(np.sqrt((moved**2).sum())) + 0.1)


@cache
def weights() -> dict[str, float]:
    """The weights of the measures, with their constant."""
    return dict(learnt()["weights"])


def probability(measures: Mapping[str, float]) -> float:
    """How probable it is that a candidate with these measures is a micro-expression."""
    known = weights()
    total = known["constant"] + sum(known.get(name, 0) * value for name, value in measures.items())
    return 1 / (1 + math.exp(-min(max(total, -30.0), 30.0)))


def is_blink(candidate: Candidate) -> bool:
    """Whether the lids shut: they go down, far, and farther than the brows."""
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
    """Whether a blink takes the skin along: one of the two is at its apex while the other goes on."""
    if candidate.group not in DRAGGED and REGIONS[where(candidate)].group not in DRAGGED[:1]:
        return False
    around = AROUND_BLINK * rate
    return any(
        one.onset - around <= two.apex <= one.offset + around
        for each in blinks
        for one, two in ((each, candidate), (candidate, each))
    )


def judge(candidate: Candidate, blinks: Sequence[Candidate], rate: float, settings: SpottingSettings) -> Verdict:
    """The verdict on a candidate, among the blinks of its surroundings."""
    reason = rule(candidate, blinks, rate, settings)
    measures = features(candidate, rate)
    chance = probability(measures)
    by_rule = bool(reason)
    if not reason and chance < settings.threshold:
        reason = _likeness(candidate, rate, settings)
    if reason == "speech" and REGIONS[where(candidate)].group not in MOUTH:
        reason = "unclear"  # the mouth stands out, but brows or cheeks go farther
    if reason in LOOKS_LIKE_LIGHT and candidate.light > BRIGHTER:
        reason = "light"
    return Verdict(chance, reason, by_rule, measures)


def where(candidate: Candidate) -> int:
    """The region that moves farthest among those that stand out clearly; lids that brows drag along do not count."""
    clear = candidate.lengths / (candidate.rest + FLOOR)
    places = members(EYES, "brows") if candidate.group == EYES else WITHOUT_EYES
    places = places[clear[places] >= CLEARLY * clear[places].max()]
    return int(places[candidate.lengths[places].argmax()])


def rule(candidate: Candidate, blinks: Sequence[Candidate], rate: float, settings: SpottingSettings) -> str:
    """What a candidate certainly is, or nothing."""
    if is_blink(candidate):
        return "blink"
    if is_dragged(candidate, blinks, rate):
        return "blink"
    if float(np.abs(candidate.head).max()) > FAR or float(np.abs(candidate.head_rest).max()) > RESTLESS:
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
    """Whether the skin of one place clearly rises and comes back, and takes too long for a micro-expression."""
    duration = (candidate.offset - candidate.onset) / rate
    return (
        settings.longest < duration <= LONGEST_MACRO
        and candidate.stands_out >= CLEAR_MACRO
        and float(candidate.lengths[candidate.strongest]) >= LEAST_MACRO
        and candidate.group != EYES
        and candidate.left <= LEFT
        and float(np.abs(candidate.head).max()) <= FAR
        and candidate.mismatch <= COVERED
    )


def _likeness(candidate: Candidate, rate: float, settings: SpottingSettings) -> str:
    """What an improbable candidate looks like most."""
    if candidate.group in MOUTH and float(candidate.rest[members(*MOUTH)].mean()) > MURMUR:
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
