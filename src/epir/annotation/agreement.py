"""How far coders agree: movements matched one to one, then emotions, action units and times of what is matched.

Accepted movements of one face are compared. Two coders are compared on the recordings in which both decided something.
A candidate of the spotter that one accepted and the other has not looked at counts for neither (`unseen`). A movement
that the other rejected, or that was marked by hand, is one that the other has not.
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
    """A decision and where it belongs."""

    decision: Decision
    recording: int
    face: int
    person: str
    fps: float
    is_candidate: bool = True  # of the spotter: every coder is shown it

    @property
    def span(self) -> tuple[int, int]:
        """Onset and offset, both included."""
        return self.decision.onset, self.decision.offset

    @property
    def units(self) -> frozenset[int]:
        """The numbers of its action units, whatever their sides."""
        return frozenset(unit.number for unit in self.decision.units)


@dataclass(frozen=True)
class Kappa:
    """Cohen's kappa of one question, and the counts that it comes from."""

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
    reliability: float  # twice `both` over `first` and `second` together
    kappa: float  # of seen or not
    same_side: int  # of `both`
    graded: int  # of `both`, where both gave an intensity
    same_intensity: int  # of `graded`
    near_intensity: int  # of `graded`: at most one letter apart


@dataclass(frozen=True)
class PairAgreement:
    """Two coders, `first` and `second`."""

    first: str
    second: str
    recordings: int  # in which both decided something
    people: int
    accepted: tuple[int, int]  # movements of each, without those that the other has not seen
    unseen: tuple[int, int]  # accepted candidates of each that the other has not looked at
    matched: int
    f1: float  # twice `matched` over both `accepted` together
    iou: float  # mean over what is matched
    apart_frames: Mapping[str, float]  # median distance of onset, apex and offset
    apart_ms: Mapping[str, float]
    candidates: Kappa  # accept, reject or unsure, of candidates that both decided on
    emotion: Kappa
    kind: Kappa
    units: tuple[UnitAgreement, ...]
    unit_reliability: float  # of matched movements, as CASME II and SAMM print it
    unit_reliability_of_all: float  # units of movements that only one coder accepted count as differing


@dataclass(frozen=True)
class Alpha:
    """Krippendorff's alpha of one question over all coders."""

    compared: int  # movements of which two coders or more said something
    alpha: float


@dataclass(frozen=True)
class Agreement:
    """All coders of a study."""

    study: str
    coders: tuple[str, ...]
    least_overlap: float
    decisions: Mapping[str, Mapping[str, int]]  # of each coder: how many of each state
    pairs: tuple[PairAgreement, ...]
    alpha: Mapping[str, Alpha]  # candidates, emotion, kind

    def to_dict(self) -> dict[str, Any]:
        """All of it for JSON; what cannot be said is null."""
        plain: dict[str, Any] = _plain(self)
        return plain


def codings(study: Study, coders: Iterable[str] | None = None) -> list[Coding]:
    """Every decision of these coders (by default all but adjudication), in the order of recordings and time."""
    recordings = {each.id: each for each in study.recordings()}
    movements = {each.id: each for each in study.movements()}
    chosen = set(study.coders()) - {AGREED} if coders is None else set(coders)
    gathered = []
    for each in study.decisions():
        if each.coder in chosen:
            movement = movements[each.movement]
            recording = recordings[movement.recording]
            person = study.words.person(recording.path, movement.face)
            is_candidate = movement.source == "spotter"
            gathered.append(Coding(each, recording.id, movement.face, person, recording.fps, is_candidate))
    return sorted(gathered, key=lambda each: (each.recording, each.face, each.span, each.decision.movement))


def match_movements(ones: Sequence[Coding], others: Sequence[Coding], least: float = OVERLAP) -> list[tuple[int, int]]:
    """Places of movements that are the same, one to one: of one face, sharing at least `least` of their union.

    As many as possible are matched, then by the greatest overlap, then by the least distance of the apexes.
    """
    matches: list[tuple[int, int]] = []
    for face in sorted({_face(each) for each in ones}):
        rows, columns = ([n for n, each in enumerate(of) if _face(each) == face] for of in (ones, others))
        worth = np.array([[_worth(ones[row], others[column], least) for column in columns] for row in rows])
        if columns:
            for row, column in zip(*linear_sum_assignment(worth, maximize=True), strict=True):
                if worth[row, column] > 0:
                    matches.append((rows[row], columns[column]))
    return sorted(matches)


def _face(coding: Coding) -> tuple[int, int]:
    return coding.recording, coding.face


def _worth(one: Coding, other: Coding, least: float) -> float:
    shared = overlap(one.span, other.span)
    apart = abs(one.decision.apex - other.decision.apex)
    return 1000 + shared - 1e-6 * apart if shared >= least else 0.0


def groups(by_coder: Mapping[str, Sequence[Coding]], least: float = OVERLAP) -> list[dict[str, Coding]]:
    """Group the matching movements of any number of coders: each coder is matched against the groups so far."""
    gathered: list[dict[str, Coding]] = []
    for coder, coded in by_coder.items():
        places = match_movements([middle(list(group.values())) for group in gathered], coded, least)
        for place, number in places:
            gathered[place][coder] = coded[number]
        known = {number for _, number in places}
        gathered += [{coder: each} for number, each in enumerate(coded) if number not in known]
    return gathered


def middle(coded: Sequence[Coding]) -> Coding:
    """The first coding with the median key frames of all."""
    frames = {key: round(median(getattr(each.decision, key) for each in coded)) for key in KEYS}
    return replace(coded[0], decision=replace(coded[0].decision, **frames))


def agreement(study: Study, coders: Sequence[str] = (), least: float = OVERLAP) -> Agreement:
    """Compare coders, by default all but adjudication; each pair, and all together."""
    if not 0 < least <= 1:
        raise StudyError(
            f"movements cannot share {least:g} of their union", fix="give a number from 0 to 1, such as 0.5"
        )
    everyone = study.coders()
    for coder in coders:
        if coder not in everyone:
            known = ", ".join(everyone) or "nobody"
            raise StudyError(
                f"{coder} has decided nothing in {study.folder}", fix=f"name coders of this study: {known}"
            )
    names = tuple(dict.fromkeys(coders)) or tuple(each for each in everyone if each != AGREED)
    if len(names) < 2:
        who = f"only {names[0]} has" if names else "nobody has"
        raise StudyError(
            f"{who} coded {study.folder}, so there is nothing to compare",
            fix=f"let a second coder review it: epir annotate {study.folder} --coder NAME",
        )
    coded = codings(study, names)
    by_coder = {name: [each for each in coded if each.decision.coder == name] for name in names}
    return Agreement(
        study.folder.name,
        names,
        least,
        {name: {state: _count(by_coder[name], state) for state in STATES} for name in names},
        tuple(compare_coders(by_coder[one], by_coder[other], least) for one, other in combinations(names, 2)),
        alphas(by_coder, least),
    )


def _count(coded: Iterable[Coding], state: str) -> int:
    return sum(each.decision.state == state for each in coded)


def accepted(coded: Iterable[Coding]) -> list[Coding]:
    """Those that are movements for their coder."""
    return [each for each in coded if each.decision.state == ACCEPT]


def alphas(by_coder: Mapping[str, Sequence[Coding]], least: float = OVERLAP) -> dict[str, Alpha]:
    """Krippendorff's alpha of the decisions on candidates, of emotions, and of micro or macro."""
    states: dict[int, list[str]] = {}
    for coded in by_coder.values():
        for each in coded:
            if each.is_candidate:
                states.setdefault(each.decision.movement, []).append(each.decision.state)
    same = [list(group.values()) for group in groups({name: accepted(by_coder[name]) for name in by_coder}, least)]
    questions = {
        "candidates": list(states.values()),
        "emotion": [[each.decision.emotion for each in group if each.decision.emotion] for group in same],
        "kind": [[each.decision.kind for each in group] for group in same],
    }
    return {
        name: Alpha(sum(len(values) > 1 for values in ratings), krippendorff_alpha(ratings))
        for name, ratings in questions.items()
    }


def compare_coders(ones: Sequence[Coding], others: Sequence[Coding], least: float = OVERLAP) -> PairAgreement:
    """Two coders, from everything that each decided."""
    shared = {each.recording for each in ones} & {each.recording for each in others}
    ones, others = ([each for each in of if each.recording in shared] for of in (ones, others))
    first, second = accepted(ones), accepted(others)
    places = match_movements(first, second, least)
    pairs = [(first[one], second[other]) for one, other in places]
    alone = (
        _alone(first, {one for one, _ in places}, others),
        _alone(second, {other for _, other in places}, ones),
    )
    unseen = (len(first) - len(pairs) - len(alone[0]), len(second) - len(pairs) - len(alone[1]))
    counts = (len(pairs) + len(alone[0]), len(pairs) + len(alone[1]))
    decided = {each.decision.movement: each for each in others if each.is_candidate}
    both = [(each, decided[each.decision.movement]) for each in ones if each.decision.movement in decided]
    units = [(one.units, other.units) for one, other in pairs] if _coded_units(first) and _coded_units(second) else []
    lonely = [(each.units, frozenset[int]()) for each in (*alone[0], *alone[1])] if units else []
    frames = {key: [abs(getattr(a.decision, key) - getattr(b.decision, key)) for a, b in pairs] for key in KEYS}
    rates = [one.fps for one, _ in pairs]
    return PairAgreement(
        first=ones[0].decision.coder if ones else "",
        second=others[0].decision.coder if others else "",
        recordings=len(shared),
        people=len({each.person for each in (*ones, *others)}),
        accepted=counts,
        unseen=unseen,
        matched=len(pairs),
        f1=2 * len(pairs) / sum(counts) if sum(counts) else NAN,
        iou=_mean([overlap(one.span, other.span) for one, other in pairs]),
        apart_frames={key: _median(apart) for key, apart in frames.items()},
        apart_ms={
            key: _median([1000 * each / fps for each, fps in zip(apart, rates, strict=True)])
            for key, apart in frames.items()
        },
        candidates=_kappa([(one, one.decision.state, other.decision.state) for one, other in both], STATES),
        emotion=_kappa([(one, one.decision.emotion, other.decision.emotion) for one, other in pairs]),
        kind=_kappa([(one, one.decision.kind, other.decision.kind) for one, other in pairs]),
        units=tuple(_unit(number, pairs) for number in sorted({n for pair in units for each in pair for n in each})),
        unit_reliability=unit_reliability(units),
        unit_reliability_of_all=unit_reliability([*units, *lonely]),
    )


def _alone(coded: Sequence[Coding], matched: set[int], others: Sequence[Coding]) -> list[Coding]:
    """Movements without a partner, but for candidates that the other coder has not looked at."""
    looked_at = {each.decision.movement for each in others}
    left = [each for number, each in enumerate(coded) if number not in matched]
    return [each for each in left if not each.is_candidate or each.decision.movement in looked_at]


def _coded_units(coded: Iterable[Coding]) -> bool:
    """Whether a coder codes units at all: one who never does has not seen that there are none."""
    return any(each.decision.units for each in coded)


def _kappa(answers: Sequence[tuple[Coding, str, str]], order: Sequence[str] = ()) -> Kappa:
    """Kappa of two coders' words; a movement that one of them gave no word is left out."""
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
        confusion=tuple(tuple(int(each) for each in row) for row in total),
    )


def _unit(number: int, pairs: Sequence[tuple[Coding, Coding]]) -> UnitAgreement:
    coded = [[[unit for unit in each.decision.units if unit.number == number] for each in pair] for pair in pairs]
    counts = np.zeros((2, 2), int)
    for one, other in coded:
        counts[int(bool(one)), int(bool(other))] += 1
    both = [(one, other) for one, other in coded if one and other]
    letters = [(_letters(one), _letters(other)) for one, other in both]
    graded = [(max(one), max(other)) for one, other in letters if one and other]  # of two sides the stronger one
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
    """For JSON, which has no NaN."""
    if is_dataclass(value):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and math.isnan(value) else value
