"""A ranking of candidates that is learnt from a study's decisions: what coders accept comes first.

A logistic regression on the stored measures of the candidates, and on whether a rule of the spotter rejected them. It
is tried on people whose candidates it has not learnt from, and kept only if it ranks them better than the spotter does.
The weights are a setting of the study (`ranking`), as JSON; the spotter's own probabilities stay where they are.

Axes: n candidates
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from epir.annotation.records import Movement
from epir.annotation.schema import StudyError
from epir.annotation.study import Study
from epir.annotation.vocabulary import AGREED
from epir.core.words import counted, people
from epir.spotting.false_alarm_training import fit_weights, probabilities

LEAST = 200  # decided candidates
MOST_FOLDS = 10
RECALLS = (0.5, 0.8, 0.9, 1.0)
SETTING = "ranking"
RULE = "rejected by a rule"  # a measure beside those of the spotter


@dataclass(frozen=True)
class Saving:
    """How many candidates must be looked at, the first of the list first, to see this share of what is accepted."""

    recall: float
    before: int  # as the spotter ranks them
    after: int


@dataclass(frozen=True)
class Learnt:
    """What was learnt, and whether it is used."""

    candidates: int  # that are accepted or rejected
    accepted: int
    people: int
    precision_before: float  # average precision of the spotter's ranking
    precision_after: float  # of the learnt one, on people it has not seen
    savings: tuple[Saving, ...]
    kept: bool

    @property
    def text(self) -> str:
        """For a terminal."""
        lines = [
            f"{counted(self.candidates, 'candidate')} of {people(self.people)} decided, {self.accepted} accepted",
            f"average precision on people not learnt from: {self.precision_after:.3f}; "
            f"as the spotter ranks them: {self.precision_before:.3f}",
        ]
        if not self.kept:
            return "\n".join([*lines, "the new ranking is not better: the list stays as the spotter ranks it"])
        for each in self.savings:
            fewer = each.before - each.after
            words = f"{fewer} fewer" if fewer > 0 else f"{-fewer} more" if fewer else "no difference"
            lines.append(
                f"to see {100 * each.recall:.0f} % of the accepted: {each.after} candidates instead of {each.before} "
                f"({words})"
            )
        return "\n".join([*lines, "the list is now ranked by this study's decisions"])

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def ranking(study: Study) -> dict[int, float]:
    """The probability of each candidate by its id: as learnt from this study, or else as the spotter gives it."""
    candidates = [each for each in study.movements() if each.source == "spotter"]
    ranked = {each.id: each.probability for each in candidates}
    learnt = study.setting(SETTING)
    weights: Mapping[str, float] = learnt["weights"] if learnt else {}
    names = [name for name in weights if name != "constant"]
    measured = [each for each in candidates if set(names) <= {RULE, *each.measures}]
    if learnt and measured:
        values = probabilities(
            _table(measured, names), np.array([*(weights[name] for name in names), weights["constant"]])
        )
        ranked |= {each.id: round(float(value), 4) for each, value in zip(measured, values, strict=True)}
    return ranked


def learn(study: Study, least: int = LEAST) -> Learnt:
    """Learn a ranking from all decisions, try it on people apart, and keep it if it is better than the spotter's."""
    candidates, truth = decided(study)
    persons = [study.person(each) for each in candidates]
    _check_enough(study, truth, persons, least)
    names = sorted(set.intersection(*(set(each.measures) for each in candidates)))
    if not names:
        raise StudyError(
            "the candidates of this study have no measures in common", fix="spot its recordings with one epir"
        )
    names.append(RULE)
    measures = _table(candidates, names)  # (n, measures)
    before = np.array([each.probability for each in candidates])
    after = held_out(measures, truth, persons)
    precision = average_precision(truth, before), average_precision(truth, after)
    kept = precision[1] > precision[0]
    value = None
    if kept:
        weights = fit_weights(measures, truth)
        value = {
            "weights": {name: round(float(each), 6) for name, each in zip([*names, "constant"], weights, strict=True)},
            "candidates": len(truth),
            "people": len(set(persons)),
            "average_precision": precision[1],
        }
    study.set_setting(SETTING, value)
    savings = tuple(Saving(recall, *(seen_for(truth, each, recall) for each in (before, after))) for recall in RECALLS)
    return Learnt(len(truth), int(truth.sum()), len(set(persons)), *precision, savings, kept)


def _check_enough(study: Study, truth: np.ndarray, persons: Sequence[str], least: int) -> None:
    more = f"go on with epir annotate {study.folder}"
    if len(truth) < least:
        raise StudyError(f"{counted(len(truth), 'candidate')} decided; learning needs {least}", fix=more)
    if len(set(persons)) < 2:
        raise StudyError(
            "all decisions are about one person, so nothing can be tried on others",
            fix="code recordings of a second person, or say who is who under [people] in study.toml",
        )
    if len(set(truth.tolist())) < 2:
        raise StudyError("every candidate was decided in the same way: nothing can be learnt from that", fix=more)


def decided(study: Study) -> tuple[list[Movement], np.ndarray]:
    """The candidates that are accepted (1) or rejected (0): by adjudication, or else by all coders alike."""
    states: dict[int, dict[str, str]] = {}
    for each in study.decisions():
        states.setdefault(each.movement, {})[each.coder] = each.state
    chosen, truth = [], []
    for movement in study.movements():
        said = states.get(movement.id, {})
        words = {said[AGREED]} if AGREED in said else set(said.values())
        if movement.source == "spotter" and words in ({"accept"}, {"reject"}):
            chosen.append(movement)
            truth.append(int(words == {"accept"}))
    return chosen, np.array(truth, int)


def held_out(measures: np.ndarray, truth: np.ndarray, persons: Sequence[str]) -> np.ndarray:
    """Probabilities (n,) of candidates, each from weights that were learnt on other people."""
    order = sorted(set(persons))
    folds = np.array([order.index(person) % min(len(order), MOST_FOLDS) for person in persons])
    answers = np.zeros(len(truth))
    for fold in range(folds.max() + 1):
        apart = folds == fold
        rest = truth[~apart]
        if rest.min() == rest.max():  # nothing to tell apart: as probable as the rest
            answers[apart] = float(rest.mean())
        else:
            answers[apart] = probabilities(measures[apart], fit_weights(measures[~apart], rest))
    return answers


def average_precision(truth: np.ndarray, scores: np.ndarray) -> float:
    """The mean over the true ones of the precision down to each in the list; equal scores count together.

    >>> round(average_precision(np.array([1, 0, 1]), np.array([0.9, 0.8, 0.7])), 3)
    0.833
    """
    order = np.argsort(-scores, kind="stable")
    hits = np.cumsum(truth[order])
    last = np.append(np.diff(scores[order]) != 0, True)  # of those with an equal score
    precision = hits[last] / (np.flatnonzero(last) + 1)
    return float((np.diff(hits[last], prepend=0) * precision).sum() / truth.sum())


def seen_for(truth: np.ndarray, scores: np.ndarray, recall: float) -> int:
    """How many candidates from the top of the list hold this share of the true ones.

    >>> seen_for(np.array([1, 0, 1]), np.array([0.9, 0.8, 0.7]), 0.5)
    1
    """
    hits = np.cumsum(truth[np.argsort(-scores, kind="stable")])
    return int(np.searchsorted(hits, np.ceil(recall * truth.sum() - 1e-9))) + 1


def _table(candidates: Sequence[Movement], names: Sequence[str]) -> np.ndarray:
    rows = [{**each.measures, RULE: float(bool(each.rule))} for each in candidates]
    return np.array([[row[name] for name in names] for row in rows], float)
