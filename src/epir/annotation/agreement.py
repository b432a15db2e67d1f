"""Agreement between coders: movements matched one to one, then emotions, action units and times of matched movements.

Only accepted movements of the same face are compared, on recordings in which both coders decided something. A candidate
that one coder accepted and the other has not seen counts for neither (`unseen`). A movement that the other coder
rejected, or that was marked by hand, counts as missing from the other coder.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import combinations
from statistics import median
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from epir.annotation.records import STATES, Decision
from epir.annotation.reliability import (
    NAN,
    cohen_kappa,
    confusion_by_person,
    kappa_interval,
    krippendorff_alpha,
    unit_reliability,
)
from epir.annotation.schema import StudyError
from epir.annotation.study import Study
from epir.annotation.vocabulary import AGREED
from epir.spotting.timeline import OVERLAP, overlap

KEYS = ("onset", "apex", "offset")
ACCEPT = "accept"


@dataclass(frozen=True)
class Coding:
    """A decision with its recording, face and person."""

    decision: Decision
    recording: int
    face: int
    person: str
    fps: float
    is_candidate: bool = True  # of the spotter, so every coder can see it

    @property
    def span(self) -> tuple[int, int]:
        """Onset and offset, both included."""
        return self.decision.onset, self.decision.offset

    @property
    def units(self) -> frozenset[int]:
        """The numbers of its action units, without sides."""
        return frozenset(unit.number for unit in self.decision.units)


@dataclass(frozen=True)
class Kappa:
    """Cohen's kappa of one question, and the counts behind it."""

    compared: int
    same: int
    kappa: float
    interval: tuple[float, float] | None  # 95 %, bootstrap over people
    words: tuple[str, ...]
    confusion: tuple[tuple[int, ...], ...]  # the first coder's words in rows


@dataclass(frozen=True)
class UnitAgreement:
    """One action unit in the matched movements of two coders."""

    unit: int
    first: int  # movements in which the first coder saw it
    second: int
    both: int
    reliability: float  # 2 both / (first + second)
    kappa: float  # of seen or not seen
    same_side: int  # of `both`
    graded: int  # of `both`, with an intensity from both coders
    same_intensity: int  # of `graded`
    near_intensity: int  # of `graded`: at most one letter apart


@dataclass(frozen=True)
class PairAgreement:
    """The agreement of two coders, `first` and `second`."""

    first: str
    second: str
    recordings: int  # in which both decided something
    people: int
    accepted: tuple[int, int]  # movements of each coder, without `unseen`
    unseen: tuple[int, int]  # accepted candidates of each coder that the other has not seen
    matched: int
    f1: float  # 2 matched / sum(accepted)
    iou: float  # mean over matched movements
    apart_frames: Mapping[str, float]  # median distance of onset, apex and offset
    apart_ms: Mapping[str, float]
    candidates: Kappa  # accept, reject or unsure, of candidates that both decided on
    emotion: Kappa
    kind: Kappa
    units: tuple[UnitAgreement, ...]
    unit_reliability: float  # of matched movements, as CASME II and SAMM print it
    unit_reliability_of_all: float  # units of movements accepted by one coder count as disagreement


@dataclass(frozen=True)
class Alpha:
    """Krippendorff's alpha of one question over all coders."""

    compared: int  # movements with an answer from at least two coders
    alpha: float


@dataclass(frozen=True)
class Agreement:
    """The agreement of all coders of a study."""

    study: str
    coders: tuple[str, ...]
    least_overlap: float
    decisions: Mapping[str, Mapping[str, int]]  # by coder, the number of each state
    pairs: tuple[PairAgreement, ...]
    alpha: Mapping[str, Alpha]  # candidates, emotion, kind

    def to_dict(self) -> dict[str, Any]:
        """JSON values; undefined coefficients are null."""
        plain: dict[str, Any] = _plain(self)
        return plain


def codings(study: Study, coders: Iterable[str] | None = None) -> list[Coding]:
    """Every decision of these coders (default: all but adjudication), in order of recording and time."""
    recordings = {recording.id: recording for recording in study.recordings()}
    movements = {movement.id: movement for movement in study.movements()}
    chosen = set(study.coders()) - {AGREED} if coders is None else set(coders)
    coded = []
    for decision in study.decisions():
        if decision.coder in chosen:
            movement = movements[decision.movement]
            recording = recordings[movement.recording]
            person = study.person(recording, movement.face)
            is_candidate = movement.source == "spotter"
            coded.append(Coding(decision, recording.id, movement.face, person, recording.fps, is_candidate))
    return sorted(coded, key=lambda coding: (coding.recording, coding.face, coding.span, coding.decision.movement))


def match_movements(ones: Sequence[Coding], others: Sequence[Coding], least: float = OVERLAP) -> list[tuple[int, int]]:
    """Index pairs of movements of one face whose intersection over union is at least `least`, one to one.

    Prefers as many matches as possible, then the largest overlap, then the smallest distance between apexes.
    """
    matches: list[tuple[int, int]] = []
    for face in sorted({_face(coding) for coding in ones}):
        rows, columns = ([n for n, coding in enumerate(side) if _face(coding) == face] for side in (ones, others))
        gains = np.array([[_gain(ones[row], others[column], least) for column in columns] for row in rows])
        if columns:
            for row, column in zip(*linear_sum_assignment(gains, maximize=True), strict=True):
                if gains[row, column] > 0:
                    matches.append((rows[row], columns[column]))
    return sorted(matches)


def _face(coding: Coding) -> tuple[int, int]:
    return coding.recording, coding.face


def _gain(one: Coding, other: Coding, least: float) -> float:
    shared = overlap(one.span, other.span)
    apart = abs(one.decision.apex - other.decision.apex)
    return 1000 + shared - 1e-6 * apart if shared >= least else 0.0


def groups(by_coder: Mapping[str, Sequence[Coding]], least: float = OVERLAP) -> list[dict[str, Coding]]:
    """Group the matching movements of any number of coders: each coder is matched against the groups so far."""
    result: list[dict[str, Coding]] = []
    for coder, coded in by_coder.items():
        places = match_movements([median_coding(list(group.values())) for group in result], coded, least)
        for place, number in places:
            result[place][coder] = coded[number]
        matched = {number for _, number in places}
        result += [{coder: coding} for number, coding in enumerate(coded) if number not in matched]
    return result


def median_coding(coded: Sequence[Coding]) -> Coding:
    """The first coding, with the median key frames of all."""
    frames = {key: round(median(getattr(coding.decision, key) for coding in coded)) for key in KEYS}
    return replace(coded[0], decision=replace(coded[0].decision, **frames))


def agreement(study: Study, coders: Sequence[str] = (), least: float = OVERLAP) -> Agreement:
    """Compare coders (default: all but adjudication), in pairs and all together."""
    if not 0 < least <= 1:
        raise StudyError(f"--overlap cannot be {least:g}", fix="give a number from 0 to 1, such as 0.5")
    study.check_people()
    everyone = study.coders()
    for coder in coders:
        if coder not in everyone:
            known = ", ".join(everyone) or "nobody"
            raise StudyError(
                f"{coder} has decided nothing in {study.folder}", fix=f"name coders of this study: {known}"
            )
    names = tuple(dict.fromkeys(coders)) or tuple(name for name in everyone if name != AGREED)
    if len(names) < 2:
        who = f"only {names[0]} has" if names else "nobody has"
        raise StudyError(
            f"{who} coded {study.folder}, so there is nothing to compare",
            fix=f"let a second coder review it: epir annotate {study.folder} --coder NAME",
        )
    coded = codings(study, names)
    by_coder = {name: [coding for coding in coded if coding.decision.coder == name] for name in names}
    return Agreement(
        study.folder.name,
        names,
        least,
        {name: {state: _count(by_coder[name], state) for state in STATES} for name in names},
        tuple(compare_coders(by_coder, pair, least) for pair in combinations(names, 2)),
        alphas(by_coder, least),
    )


def _count(coded: Iterable[Coding], state: str) -> int:
    return sum(coding.decision.state == state for coding in coded)


def accepted(coded: Iterable[Coding]) -> list[Coding]:
    """The codings whose coder accepted the movement."""
    return [coding for coding in coded if coding.decision.state == ACCEPT]


def alphas(by_coder: Mapping[str, Sequence[Coding]], least: float = OVERLAP) -> dict[str, Alpha]:
    """Krippendorff's alpha of the decisions on candidates, of emotions, and of micro or macro."""
    states: dict[int, list[str]] = {}
    for coded in by_coder.values():
        for coding in coded:
            if coding.is_candidate:
                states.setdefault(coding.decision.movement, []).append(coding.decision.state)
    same = groups({name: accepted(coded) for name, coded in by_coder.items()}, least)
    decisions = [[coding.decision for coding in group.values()] for group in same]
    questions = {
        "candidates": list(states.values()),
        "emotion": [[decision.emotion for decision in group if decision.emotion] for group in decisions],
        "kind": [[decision.kind for decision in group] for group in decisions],
    }
    return {
        name: Alpha(sum(len(values) > 1 for values in ratings), krippendorff_alpha(ratings))
        for name, ratings in questions.items()
    }


def compare_coders(
    by_coder: Mapping[str, Sequence[Coding]], names: tuple[str, str], least: float = OVERLAP
) -> PairAgreement:
    """The agreement of the two coders `names`, from all decisions of each."""
    ones, others = (by_coder[name] for name in names)
    shared = {coding.recording for coding in ones} & {coding.recording for coding in others}
    ones, others = ([coding for coding in side if coding.recording in shared] for side in (ones, others))
    first, second = accepted(ones), accepted(others)
    places = match_movements(first, second, least)
    pairs = [(first[one], second[other]) for one, other in places]
    alone = (
        _alone(first, {one for one, _ in places}, others),
        _alone(second, {other for _, other in places}, ones),
    )
    unseen = (len(first) - len(pairs) - len(alone[0]), len(second) - len(pairs) - len(alone[1]))
    counts = (len(pairs) + len(alone[0]), len(pairs) + len(alone[1]))
    decided = {coding.decision.movement: coding for coding in others if coding.is_candidate}
    both = [(one, decided[one.decision.movement]) for one in ones if one.decision.movement in decided]
    units = [(one.units, other.units) for one, other in pairs] if _coded_units(first) and _coded_units(second) else []
    unmatched = [(coding.units, frozenset[int]()) for coding in (*alone[0], *alone[1])] if units else []
    frames = {key: [abs(getattr(a.decision, key) - getattr(b.decision, key)) for a, b in pairs] for key in KEYS}
    rates = [one.fps for one, _ in pairs]
    return PairAgreement(
        first=names[0],
        second=names[1],
        recordings=len(shared),
        people=len({coding.person for coding in (*ones, *others)}),
        accepted=counts,
        unseen=unseen,
        matched=len(pairs),
        f1=2 * len(pairs) / sum(counts) if sum(counts) else NAN,
        iou=_mean([overlap(one.span, other.span) for one, other in pairs]),
        apart_frames={key: _median(apart) for key, apart in frames.items()},
        apart_ms={
            key: _median([1000 * distance / fps for distance, fps in zip(apart, rates, strict=True)])
            for key, apart in frames.items()
        },
        candidates=_kappa([(one, one.decision.state, other.decision.state) for one, other in both], STATES),
        emotion=_kappa([(one, one.decision.emotion, other.decision.emotion) for one, other in pairs]),
        kind=_kappa([(one, one.decision.kind, other.decision.kind) for one, other in pairs]),
        units=tuple(_unit(number, pairs) for number in sorted({n for one, other in units for n in one | other})),
        unit_reliability=unit_reliability(units),
        unit_reliability_of_all=unit_reliability([*units, *unmatched]),
    )


def _alone(coded: Sequence[Coding], matched: set[int], others: Sequence[Coding]) -> list[Coding]:
    """Unmatched movements, without candidates that the other coder has not seen."""
    seen = {coding.decision.movement for coding in others}
    unmatched = [coding for number, coding in enumerate(coded) if number not in matched]
    return [coding for coding in unmatched if not coding.is_candidate or coding.decision.movement in seen]


def _coded_units(coded: Iterable[Coding]) -> bool:
    """Whether a coder codes units at all: without any, missing units mean nothing."""
    return any(coding.decision.units for coding in coded)


def _kappa(answers: Sequence[tuple[Coding, str, str]], order: Sequence[str] = ()) -> Kappa:
    """Kappa of two coders' answers; leaves out movements that one of them did not answer."""
    pairs = [(coding.person, one, other) for coding, one, other in answers if one and other]
    used = {word for _, *both in pairs for word in both}
    words = tuple(word for word in order if word in used) or tuple(sorted(used))
    counts = confusion_by_person(pairs, words)
    total = counts.sum(axis=0)
    return Kappa(
        compared=len(pairs),
        same=int(np.trace(total)) if words else 0,
        kappa=float(cohen_kappa(total)) if words else NAN,
        interval=kappa_interval(counts),
        words=words,
        confusion=tuple(tuple(int(count) for count in row) for row in total),
    )


def _unit(number: int, pairs: Sequence[tuple[Coding, Coding]]) -> UnitAgreement:
    coded = [[[unit for unit in coding.decision.units if unit.number == number] for coding in pair] for pair in pairs]
    counts = np.zeros((2, 2), int)
    for one, other in coded:
        counts[int(bool(one)), int(bool(other))] += 1
    both = [(one, other) for one, other in coded if one and other]
    letters = [(_letters(one), _letters(other)) for one, other in both]
    graded = [(max(one), max(other)) for one, other in letters if one and other]  # the stronger of two sides
    return UnitAgreement(
        unit=number,
        first=int(counts[1].sum()),
        second=int(counts[:, 1].sum()),
        both=len(both),
        reliability=2 * len(both) / int(counts[1].sum() + counts[:, 1].sum()),
        kappa=float(cohen_kappa(counts)),
        same_side=sum({unit.side for unit in one} == {unit.side for unit in other} for one, other in both),
        graded=len(graded),
        same_intensity=sum(one == other for one, other in graded),
        near_intensity=sum(abs(ord(one) - ord(other)) <= 1 for one, other in graded),
    )


def _letters(units: Iterable[Any]) -> list[str]:
    return [unit.intensity for unit in units if unit.intensity]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else NAN


def _median(values: Sequence[float]) -> float:
    return float(median(values)) if values else NAN


def _plain(value: Any) -> Any:
    """JSON values, with null for NaN."""
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and math.isnan(value) else value
