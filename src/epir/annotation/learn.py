"""Learn to rank candidates from a study's decisions, so that likely movements come first.

A logistic regression on the stored measures of the candidates, and on whether a rule of the spotter rejected them. It
is tested on held-out people and kept only if it ranks their candidates better than the spotter does. The weights are
the setting `ranking` of the study, as JSON; the spotter's probabilities do not change.

Axes: n candidates
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from epir.annotation.records import StudyMovement
from epir.annotation.schema import StudyError
from epir.annotation.study import Study
from epir.annotation.vocabulary import AGREED
from epir.core.words import counted, people
from epir.spotting.false_alarm_training import fit_weights, probabilities

LEAST = 200  # decided candidates
MOST_FOLDS = 10
RECALLS = (0.5, 0.8, 0.9, 1.0)
SETTING = "ranking"
RULE = "rejected by a rule"  # an additional measure


@dataclass(frozen=True)
class Saving:
    """How many candidates a coder must review, from the top of the list, to see this share of the accepted ones."""

    recall: float
    before: int  # as the spotter ranks them
    after: int


@dataclass(frozen=True)
class Learnt:
    """The result of learning, and whether the ranking was kept."""

    candidates: int  # accepted or rejected ones
    accepted: int
    people: int
    precision_before: float  # average precision of the spotter's ranking
    precision_after: float  # of the learnt ranking, on held-out people
    savings: tuple[Saving, ...]
    kept: bool

    @property
    def text(self) -> str:
        """The lines for a terminal."""
        lines = [
            f"{counted(self.candidates, 'candidate')} of {people(self.people)} decided, {self.accepted} accepted",
            f"average precision on held-out people: {self.precision_after:.3f}; "
            f"ranking of the spotter: {self.precision_before:.3f}",
        ]
        if not self.kept:
            return "\n".join([*lines, "the new ranking is not better: the list keeps the ranking of the spotter"])
        for saving in self.savings:
            fewer = saving.before - saving.after
            words = f"{fewer} fewer" if fewer > 0 else f"{-fewer} more" if fewer else "no difference"
            lines.append(
                f"to see {100 * saving.recall:.0f} % of the accepted: {saving.after} candidates instead of "
                f"{saving.before} ({words})"
            )
        return "\n".join([*lines, "the list is now ranked by this study's decisions"])


def ranking(study: Study) -> dict[int, float]:
    """The probability of each candidate by id: from the learnt ranking, or else from the spotter."""
    candidates = [movement for movement in study.movements() if movement.source == "spotter"]
    ranked = {candidate.id: candidate.probability for candidate in candidates}
    learnt = study.setting(SETTING)
    weights: Mapping[str, float] = learnt["weights"] if learnt else {}
    names = [name for name in weights if name != "constant"]
    measured = [candidate for candidate in candidates if set(names) <= {RULE, *candidate.measures}]
    if learnt and measured:
        values = probabilities(
            _table(measured, names), np.array([*(weights[name] for name in names), weights["constant"]])
        )
        ranked |= {candidate.id: round(float(value), 4) for candidate, value in zip(measured, values, strict=True)}
    return ranked


def learn_ranking(study: Study, least: int = LEAST) -> Learnt:
    """Learn a ranking from all decisions, test it on held-out people, and keep it if it beats the spotter's."""
    candidates, truth = decided_candidates(study)
    recordings = {recording.id: recording for recording in study.recordings()}
    persons = [study.person(recordings[candidate.recording], candidate.face) for candidate in candidates]
    _check_enough(study, truth, persons, least)
    names = sorted(set.intersection(*(set(candidate.measures) for candidate in candidates)))
    if not names:
        raise StudyError(
            "the candidates of this study have no measures in common", fix="spot all recordings with the same epir"
        )
    names.append(RULE)
    measures = _table(candidates, names)  # (n, measures)
    before = np.array([candidate.probability for candidate in candidates])
    after = held_out(measures, truth, persons)
    precision = average_precision(truth, before), average_precision(truth, after)
    kept = precision[1] > precision[0]
    value = None
    if kept:
        weights = fit_weights(measures, truth)
        value = {
            "weights": {name: round(float(one), 6) for name, one in zip([*names, "constant"], weights, strict=True)},
            "candidates": len(truth),
            "people": len(set(persons)),
            "average_precision": precision[1],
        }
    study.set_setting(SETTING, value)
    savings = tuple(
        Saving(recall, *(candidates_to_review(truth, each, recall) for each in (before, after))) for recall in RECALLS
    )
    return Learnt(len(truth), int(truth.sum()), len(set(persons)), *precision, savings, kept)


def _check_enough(study: Study, truth: np.ndarray, persons: Sequence[str], least: int) -> None:
    more = f"continue with epir annotate {study.folder}"
    if len(truth) < least:
        raise StudyError(f"{counted(len(truth), 'candidate')} decided; learning needs {least}", fix=more)
    if len(set(persons)) < 2:
        raise StudyError(
            "all decisions are about one person, so the ranking cannot be tested on others",
            fix="code recordings of a second person, or name the people under [people] in study.toml",
        )
    if len(set(truth.tolist())) < 2:
        raise StudyError("all candidates have the same decision, so there is nothing to learn", fix=more)


def decided_candidates(study: Study) -> tuple[list[StudyMovement], np.ndarray]:
    """The candidates accepted (1) or rejected (0) by adjudication, or else by all coders unanimously."""
    by_movement: dict[int, dict[str, str]] = {}
    for decision in study.decisions():
        by_movement.setdefault(decision.movement, {})[decision.coder] = decision.state
    chosen, truth = [], []
    for movement in study.movements():
        by_coder = by_movement.get(movement.id, {})
        states = {by_coder[AGREED]} if AGREED in by_coder else set(by_coder.values())
        if movement.source == "spotter" and states in ({"accept"}, {"reject"}):
            chosen.append(movement)
            truth.append(int(states == {"accept"}))
    return chosen, np.array(truth, int)


def held_out(measures: np.ndarray, truth: np.ndarray, persons: Sequence[str]) -> np.ndarray:
    """Probabilities (n,) of candidates, each from weights learnt on other people."""
    order = sorted(set(persons))
    folds = np.array([order.index(person) % min(len(order), MOST_FOLDS) for person in persons])
    answers = np.zeros(len(truth))
    for fold in range(folds.max() + 1):
        apart = folds == fold
        rest = truth[~apart]
        if rest.min() == rest.max():  # a single class: nothing to learn
            answers[apart] = float(rest.mean())
        else:
            answers[apart] = probabilities(measures[apart], fit_weights(measures[~apart], rest))
    return answers


def average_precision(truth: np.ndarray, scores: np.ndarray) -> float:
    """The mean of the precision at the rank of each true item; items with equal scores share a rank.

    >>> round(average_precision(np.array([1, 0, 1]), np.array([0.9, 0.8, 0.7])), 3)
    0.833
    """
    order = np.argsort(-scores, kind="stable")
    hits = np.cumsum(truth[order])
    last = np.append(np.diff(scores[order]) != 0, True)  # of each run of equal scores
    precision = hits[last] / (np.flatnonzero(last) + 1)
    return float((np.diff(hits[last], prepend=0) * precision).sum() / truth.sum())


def candidates_to_review(truth: np.ndarray, scores: np.ndarray, recall: float) -> int:
    """How many candidates from the top of the list contain this share of the true ones.

    >>> candidates_to_review(np.array([1, 0, 1]), np.array([0.9, 0.8, 0.7]), 0.5)
    1
    """
    hits = np.cumsum(truth[np.argsort(-scores, kind="stable")])
    return int(np.searchsorted(hits, np.ceil(recall * truth.sum() - 1e-9))) + 1


def _table(candidates: Sequence[StudyMovement], names: Sequence[str]) -> np.ndarray:
    rows = [{**candidate.measures, RULE: float(bool(candidate.rule))} for candidate in candidates]
    return np.array([[row[name] for name in names] for row in rows], float)
