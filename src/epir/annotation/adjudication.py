"""Where coders differ, and what is settled: the result of adjudication is a coder of its own, "agreed".

    adopt(study)                                          # what all agree on becomes the decision of "agreed"
    for each in disagreements(study):                     # the rest is looked at together
        study.decide(AGREED, each.movement, state="reject")

A movement counts as settled once "agreed" has decided on it, whatever coders decide later.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from epir.annotation.agreement import ACCEPT, KEYS, Coding, accepted, codings, groups, middle
from epir.annotation.records import Decision, UnitCode
from epir.annotation.study import Study
from epir.annotation.vocabulary import AGREED
from epir.spotting.timeline import OVERLAP

APART = 0.1  # seconds between two apexes from which on coders do not mean the same moment


@dataclass(frozen=True)
class Case:
    """One movement, what each coder says of it, and in what they differ."""

    movement: int  # that "agreed" decides on
    movements: tuple[int, ...]  # of all coders: two who marked the same by hand have two
    recording: int
    face: int
    onset: int  # the middle of what the coders say
    apex: int
    offset: int
    decisions: dict[str, Decision | None]  # of who coded this recording; None: has not decided on it
    differs: tuple[str, ...]  # of presence, kind, emotion, units, time
    settled: Decision | None  # what "agreed" says

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def disagreements(study: Study, least: float = OVERLAP) -> list[Case]:
    """The movements in which coders differ, settled ones too, in the order of recordings and time."""
    return [case for case in cases(study, least) if case.differs]


def adopt(study: Study) -> int:
    """Let "agreed" decide as all coders do where two or more of them agree; gives how many decisions are new.

    Key frames are the medians of the coders. A movement that only one coder has looked at stays open.
    """
    new = 0
    for case in cases(study):
        held = [each for each in case.decisions.values() if each is not None]
        if not case.differs and case.settled is None and len(held) > 1:
            study.decide(AGREED, case.movement, state=held[0].state, **common(case))
            new += 1
    return new


def common(case: Case) -> dict[str, Any]:
    """What the coders who accept a movement have in common: median key frames, and kind, emotion and units if alike."""
    held = [each for each in case.decisions.values() if each is not None]
    held = [each for each in held if each.state == ACCEPT] or held
    words = {
        "kind": held[0].kind,
        "emotion": next((each.emotion for each in held if each.emotion), ""),
        "units": _units(held),
    }
    frames = {key: getattr(case, key) for key in KEYS}
    return frames | {name: value for name, value in words.items() if name not in case.differs}


def first_fields(study: Study, movement: int) -> dict[str, Any]:
    """What coders have in common about a movement of a case, where "agreed" has not said anything about it yet."""
    if any(each.movement == movement for each in study.decisions(AGREED, drafts=True)):
        return {}
    case = next((each for each in cases(study) if each.movement == movement), None)
    return {} if case is None else common(case)


def cases(study: Study, least: float = OVERLAP) -> list[Case]:
    """Every movement that a coder decided on, in the order of recordings and time."""
    coded = codings(study)
    names = sorted({each.decision.coder for each in coded})
    active = {
        recording: sorted({each.decision.coder for each in coded if each.recording == recording})
        for recording in {each.recording for each in coded}
    }
    settled = {each.movement: each for each in study.decisions(AGREED)}
    by_coder = {name: accepted(each for each in coded if each.decision.coder == name) for name in names}
    others: dict[int, list[Coding]] = {}
    for each in coded:
        if each.decision.state != ACCEPT:
            others.setdefault(each.decision.movement, []).append(each)
    result = []
    for group in (list(each.values()) for each in groups(by_coder, least)):
        rejecting = [one for each in group for one in others.pop(each.decision.movement, [])]
        result.append(_case(active[group[0].recording], group, rejecting, settled))
    result += [_case(active[group[0].recording], [], group, settled) for group in others.values()]
    return sorted(result, key=lambda case: (case.recording, case.apex, case.movement))


def _case(
    names: Sequence[str], accepting: Sequence[Coding], others: Sequence[Coding], settled: Mapping[int, Decision]
) -> Case:
    decisions: dict[str, Decision | None] = dict.fromkeys(names)
    decisions |= {each.decision.coder: each.decision for each in (*others, *accepting)}
    everyone = (*accepting, *others)
    typical = middle(accepting or others)
    ids = sorted({(not each.is_candidate, each.decision.movement) for each in everyone})  # candidates first
    movements = tuple(movement for _, movement in ids)
    decided = next((each for each in movements if each in settled), movements[0])
    is_alone = sum(each is not None for each in decisions.values()) < 2 and all(each.is_candidate for each in accepting)
    return Case(
        decided,
        movements,
        typical.recording,
        typical.face,
        typical.decision.onset,
        typical.decision.apex,
        typical.decision.offset,
        decisions,
        () if is_alone else differing_fields(accepting, decisions),
        settled.get(decided),
    )


def differing_fields(accepting: Sequence[Coding], decisions: dict[str, Decision | None]) -> tuple[str, ...]:
    """In what coders differ; one who has not decided on a candidate differs in nothing."""
    by_hand = any(not each.is_candidate for each in accepting)
    states = {each.state for each in decisions.values() if each is not None}
    missing = by_hand and None in decisions.values()  # nobody proposed it to those who have not got it
    differs = ["presence"] if len(states) > 1 or missing or "unsure" in states else []
    held = [each.decision for each in accepting]
    if len({each.kind for each in held}) > 1:
        differs.append("kind")
    if len({each.emotion for each in held if each.emotion}) > 1:
        differs.append("emotion")
    if len({frozenset((unit.number, unit.side) for unit in each.units) for each in held if each.units}) > 1:
        differs.append("units")
    if held and max(each.apex for each in held) - min(each.apex for each in held) > APART * accepting[0].fps:
        differs.append("time")
    return tuple(differs)


def _units(held: Sequence[Decision]) -> tuple[UnitCode, ...]:
    """The units, with the letter that most coders give, of two the weaker one."""
    letters: dict[tuple[int, str], list[str]] = {}
    for unit in (unit for each in held for unit in each.units):
        letters.setdefault((unit.number, unit.side), []).append(unit.intensity)
    return tuple(
        UnitCode(number, side, max(sorted(filter(None, each)), key=each.count, default=""))
        for (number, side), each in sorted(letters.items())
    )
