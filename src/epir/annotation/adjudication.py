"""Disagreements between coders, and their adjudication, which is stored as the coder "agreed".

    adopt(study)                                          # unanimous decisions become those of "agreed"
    for case in disagreements(study):                     # the coders discuss the rest
        study.decide(AGREED, case.movement, state="reject")

A movement is settled once "agreed" has decided on it, whatever coders decide later.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from epir.annotation.agreement import ACCEPT, KEYS, Coding, accepted, codings, groups, median_coding
from epir.annotation.records import Decision, UnitCode
from epir.annotation.study import Study
from epir.annotation.vocabulary import AGREED
from epir.spotting.timeline import OVERLAP, overlap

APART = 0.1  # seconds between two apexes above which coders disagree about the time


@dataclass(frozen=True)
class Case:
    """One movement, the decision of each coder, and the questions on which they differ."""

    movement: int  # the one that "agreed" decides on
    movements: tuple[int, ...]  # of all coders: two coders who marked it by hand have two
    recording: int
    face: int
    onset: int  # median of the coders
    apex: int
    offset: int
    decisions: dict[str, Decision | None]  # by coder of this recording; None: not decided
    differs: tuple[str, ...]  # of presence, kind, emotion, units, time
    settled: Decision | None  # the decision of "agreed"


def disagreements(study: Study, least: float = OVERLAP) -> list[Case]:
    """The movements on which coders differ, settled ones included, in order of recording and time."""
    return [case for case in cases(study, least) if case.differs]


def adopt(study: Study) -> int:
    """Decide as "agreed" where at least two coders decided and all agree; returns the number of new decisions.

    Key frames are the medians of the coders. A movement that only one coder has seen stays open.
    """
    new = 0
    for case in cases(study):
        decisions = [decision for decision in case.decisions.values() if decision is not None]
        if not case.differs and case.settled is None and len(decisions) > 1:
            study.decide(AGREED, case.movement, state=decisions[0].state, **common_fields(case))
            new += 1
    return new


def common_fields(case: Case) -> dict[str, Any]:
    """The fields that the accepting coders share: median key frames, and kind, emotion and units unless they differ."""
    decisions = [decision for decision in case.decisions.values() if decision is not None]
    decisions = [decision for decision in decisions if decision.state == ACCEPT] or decisions
    shared = {
        "kind": decisions[0].kind,
        "emotion": next((decision.emotion for decision in decisions if decision.emotion), ""),
        "units": _units(decisions),
    }
    frames = {key: getattr(case, key) for key in KEYS}
    return frames | {name: value for name, value in shared.items() if name not in case.differs}


def first_fields(study: Study, movement: int) -> dict[str, Any]:
    """The fields that coders share on a movement, as a start for "agreed"; empty if it already has a decision."""
    if any(decision.movement == movement for decision in study.decisions(AGREED, drafts=True)):
        return {}
    case = next((case for case in cases(study) if case.movement == movement), None)
    return {} if case is None else common_fields(case)


def cases(study: Study, least: float = OVERLAP) -> list[Case]:
    """Every movement that a coder decided on, in order of recording and time."""
    coded = codings(study)
    names = sorted({coding.decision.coder for coding in coded})
    active = {
        recording: sorted({coding.decision.coder for coding in coded if coding.recording == recording})
        for recording in {coding.recording for coding in coded}
    }
    settled = {decision.movement: decision for decision in study.decisions(AGREED)}
    by_coder = {name: accepted(coding for coding in coded if coding.decision.coder == name) for name in names}
    others: dict[int, list[Coding]] = {}
    for coding in coded:
        if coding.decision.state != ACCEPT:
            others.setdefault(coding.decision.movement, []).append(coding)
    result = []
    for group in (list(group.values()) for group in _same_movements(groups(by_coder, least))):
        rejecting = [other for coding in group for other in others.pop(coding.decision.movement, [])]
        result.append(_case(active[group[0].recording], group, rejecting, settled, least))
    result += [_case(active[group[0].recording], [], group, settled, least) for group in others.values()]
    return sorted(result, key=lambda case: (case.recording, case.apex, case.movement))


def _same_movements(grouped: Iterable[dict[str, Coding]]) -> list[dict[str, Coding]]:
    """Join the groups of different coders that hold one candidate, however differently they set its key frames."""
    result: list[dict[str, Coding]] = []
    for group in grouped:
        ids = {coding.decision.movement for coding in group.values()}
        for known in result:
            if not known.keys() & group.keys() and ids & {coding.decision.movement for coding in known.values()}:
                known.update(group)
                break
        else:
            result.append(group)
    return result


def _case(
    names: Sequence[str],
    accepting: Sequence[Coding],
    others: Sequence[Coding],
    settled: Mapping[int, Decision],
    least: float,
) -> Case:
    decisions: dict[str, Decision | None] = dict.fromkeys(names)
    decisions |= {coding.decision.coder: coding.decision for coding in (*others, *accepting)}
    typical = median_coding(accepting or others)
    ids = sorted({(not coding.is_candidate, coding.decision.movement) for coding in (*accepting, *others)})
    movements = tuple(movement for _, movement in ids)  # candidates first
    decided = next((movement for movement in movements if movement in settled), movements[0])
    count = sum(decision is not None for decision in decisions.values())
    is_alone = count < 2 and all(coding.is_candidate for coding in accepting)
    return Case(
        decided,
        movements,
        typical.recording,
        typical.face,
        typical.decision.onset,
        typical.decision.apex,
        typical.decision.offset,
        decisions,
        () if is_alone else differing_fields(accepting, decisions, least),
        settled.get(decided),
    )


def differing_fields(
    accepting: Sequence[Coding], decisions: dict[str, Decision | None], least: float
) -> tuple[str, ...]:
    """The questions on which coders differ; a coder who has not decided on a candidate does not differ."""
    by_hand = any(not coding.is_candidate for coding in accepting)
    states = {decision.state for decision in decisions.values() if decision is not None}
    missing = by_hand and None in decisions.values()  # a mark is proposed to nobody: not having it is a difference
    differs = ["presence"] if len(states) > 1 or missing or "unsure" in states else []
    kept = [coding.decision for coding in accepting]
    if len({decision.kind for decision in kept}) > 1:
        differs.append("kind")
    if len({decision.emotion for decision in kept if decision.emotion}) > 1:
        differs.append("emotion")
    units = [frozenset((unit.number, unit.side) for unit in decision.units) for decision in kept if decision.units]
    if len(set(units)) > 1:
        differs.append("units")
    apexes = [decision.apex for decision in kept]
    is_apart = bool(apexes) and max(apexes) - min(apexes) > APART * accepting[0].fps
    if is_apart or any(overlap(one.span, other.span) < least for one, other in combinations(accepting, 2)):
        differs.append("time")
    return tuple(differs)


def _units(decisions: Sequence[Decision]) -> tuple[UnitCode, ...]:
    """The units of these decisions, with the most frequent intensity; in a tie, the weaker one."""
    letters: dict[tuple[int, str], list[str]] = {}
    for unit in (unit for decision in decisions for unit in decision.units):
        letters.setdefault((unit.number, unit.side), []).append(unit.intensity)
    return tuple(
        UnitCode(number, side, max(sorted(filter(None, coded)), key=coded.count, default=""))
        for (number, side), coded in sorted(letters.items())
    )
