"""One run scored by every convention of the field: the same predictions, as other authors would print them.

Folds keep the prediction of every epoch, so nothing is trained again. Only the first row is a result, and only if it
is strict. A row that leaks chooses epochs by the held-out labels. Scores of one person or fold are means over the
classes of their clips; most people have clips of one or two classes.

Axes: E epochs, n clips, P people (or folds), C classes (rows of a confusion matrix are the truth)
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from epir.core.table import Column, Row, Table, numbers
from epir.core.words import counted, people
from epir.evaluation.fold import ClipRecord
from epir.evaluation.scores import accuracy, uar, uf1
from epir.evaluation.store import NOT_CHECKED, Run

LAST, PERSON_POOLED, PERSON_MEAN = "last epoch", "best epoch of each person", "mean of each person's best"
ONE_EPOCH, FOLD_MEAN = "one best epoch for all", "last epoch, mean over folds"
ONCE, IMPORTED, IMPORTED_MEAN = "predicted once, no training", "as imported", "as imported, mean over folds"
WHO = {
    LAST: "Pooled over all folds, nothing chosen: the column strict. STSTNet's public code prints this.",
    PERSON_POOLED: "Each person's best epoch, pooled: the column best epoch. The public code of HTNet, CausalNet, "
    "SLSTT and EMR does this.",
    PERSON_MEAN: "Each person's highest UF1, UAR and accuracy, each of its own epoch, averaged over people: so the "
    "authors of CapsuleNet describe their numbers.",
    ONE_EPOCH: "The epoch with the highest pooled UF1 on the held-out clips. Off-TANet's public code prints its best "
    "epoch.",
    FOLD_MEAN: "Nothing chosen, but averaged over folds of few clips and often one class, so not comparable with "
    "pooled scores. Off-TANet and SRMCL average in this way.",
}
WHO_ELSE = {  # of runs that epir did not train
    ONCE: "Pooled over all clips. The weights were not trained here, so no epoch is chosen.",
    IMPORTED: "Pooled over all folds. How other software chose its epochs is not checked.",
    IMPORTED_MEAN: "Averaged over folds of few clips and often one class, so not comparable with pooled scores. How "
    "other software chose its epochs is not checked.",
}
EVALUATIONS = {True: "leaks", False: "strict", None: NOT_CHECKED}  # by `leaks` of a row


@dataclass(frozen=True)
class ConventionRow:
    """The scores of a run by one convention, averaged over seeds."""

    name: str
    uf1: float
    uar: float
    accuracy: float
    leaks: bool | None  # None: trained elsewhere, not checked
    who: str  # how it is computed, and who does it


@dataclass(frozen=True)
class EpochRow:
    """The pooled UF1 after an epoch, and of each person's best epoch so far (leaks), averaged over seeds."""

    epoch: int
    strict: float
    best_so_far: float


@dataclass(frozen=True, eq=False)
class EpochCounts:
    """The confusion counts of one seed."""

    by_epoch: np.ndarray  # (E, P, C, C) per person after each epoch; E is 0 for a model without epochs
    last: np.ndarray  # (P, C, C) per fold after the last epoch


def convention_rows(run: Run) -> list[ConventionRow]:
    """Score a run by every convention; those that choose epochs need a run with epochs."""
    seeds, experiment = _counts(run), run.experiment
    pooled = IMPORTED if experiment.is_imported else ONCE if experiment.is_zero_shot else LAST
    rules: dict[str, Callable[[EpochCounts], np.ndarray]] = {pooled: lambda counts: _scores(counts.last.sum(0))}
    if all(len(counts.by_epoch) for counts in seeds):
        rules[PERSON_POOLED] = _person_pooled
        rules[PERSON_MEAN] = lambda counts: _scores_of_few(counts.by_epoch).max(1).mean(1)
        rules[ONE_EPOCH] = _one_epoch
    if not experiment.is_zero_shot and len(seeds[0].last) > 1:
        rules[IMPORTED_MEAN if experiment.is_imported else FOLD_MEAN] = lambda counts: _scores_of_few(counts.last).mean(
            1
        )
    rows = []
    for name, rule in rules.items():
        first, second, third = (round(float(x), 6) for x in np.mean([rule(counts) for counts in seeds], axis=0))
        leaks = experiment.columns[0] != "strict" or name in (PERSON_POOLED, PERSON_MEAN, ONE_EPOCH)
        who = WHO[name] if name in WHO else WHO_ELSE[name]
        rows.append(ConventionRow(name, first, second, third, None if experiment.is_imported else leaks, who))
    return rows


def epoch_rows(run: Run) -> list[EpochRow]:
    """Return UF1 by epoch, pooled, and of each person's best epoch so far; empty for a run without epochs."""
    curves = [(uf1(counts.by_epoch.sum(1)), _best_so_far(counts.by_epoch)) for counts in _counts(run)]
    if not all(len(strict) for strict, _ in curves):
        return []
    strict, best = np.mean(curves, axis=0)  # (E,) each
    return [
        EpochRow(epoch, round(float(now), 6), round(float(so_far), 6))
        for epoch, (now, so_far) in enumerate(zip(strict, best, strict=True), start=1)
    ]


def convention_table(run: Run) -> Table:
    """Tabulate the scores of a run by every convention."""
    columns = (
        Column("as others would print it"),
        Column("evaluation", tag=True),
        *numbers("UF1", "UAR", "accuracy"),
    )
    rows = convention_rows(run)
    cells = tuple(
        Row(
            (row.name, EVALUATIONS[row.leaks], f"{row.uf1:.4f}", f"{row.uar:.4f}", f"{row.accuracy:.4f}"),
            kind="strict" if row.leaks is False else "best_epoch",
            strong=row is rows[0],
        )
        for row in rows
    )
    count = f"{counted(run.scores['clips'], 'clip')} of {people(run.scores['people'])}"
    caption = f"One run, every convention: {run.name}, {count}"
    return Table("conventions", caption, columns, cells, tuple(f"{row.name}: {row.who}" for row in rows))


def best_epochs(counts: np.ndarray) -> np.ndarray:
    """Return the epoch (from 0, the latest of equals) with the most hits per person, (P,), for counts (E, P, C, C)."""
    hits = np.trace(counts, axis1=-2, axis2=-1)  # (E, P)
    return np.asarray(len(hits) - 1 - hits[::-1].argmax(0))  # (P,)


def _person_pooled(counts: EpochCounts) -> np.ndarray:
    best = best_epochs(counts.by_epoch)
    return _scores(counts.by_epoch[best, np.arange(len(best))].sum(0))


def _one_epoch(counts: EpochCounts) -> np.ndarray:
    pooled = counts.by_epoch.sum(1)  # (E, C, C)
    by_epoch = uf1(pooled)
    return _scores(pooled[len(by_epoch) - 1 - int(by_epoch[::-1].argmax())])


def _best_so_far(by_epoch: np.ndarray) -> np.ndarray:
    """Return UF1 (E,) of each person's best epoch up to each epoch, for counts (E, P, C, C)."""
    people = np.arange(by_epoch.shape[1])
    so_far = [by_epoch[best_epochs(by_epoch[: last + 1]), people].sum(0) for last in range(len(by_epoch))]
    return np.array([float(uf1(counts)) for counts in so_far])


def _scores(confusion: np.ndarray) -> np.ndarray:
    """Return UF1, UAR and accuracy (3, ...) of confusion matrices (..., C, C)."""
    return np.stack([uf1(confusion), uar(confusion), accuracy(confusion)])


def _scores_of_few(confusion: np.ndarray) -> np.ndarray:
    """Return UF1, UAR and accuracy (3, ...) of few clips (..., C, C), averaged over the classes that they have."""
    share = (confusion.sum(-1) > 0).mean(-1)  # of the classes; F1 and recall of a class without clips are 0
    return _scores(confusion) / np.stack([share, share, np.ones_like(share)])


def _counts(run: Run) -> list[EpochCounts]:
    """Return the counts of every seed, in order."""
    classes = {name: number for number, name in enumerate(run.experiment.classes)}
    counts = []
    for seed in range(run.experiment.seeds):
        folds = [fold for fold in run.folds if fold.seed == seed]
        clips = [(number, clip) for number, fold in enumerate(folds) for clip in fold.clips]
        truth = np.array([classes[clip.truth] for _, clip in clips])
        strict = np.array([[classes[clip.strict] for _, clip in clips]])  # (1, n)
        last = _grouped([number for number, _ in clips], truth, strict, len(classes))[0]
        names = {name: number for number, name in enumerate(sorted({clip.person for _, clip in clips}))}
        people = [names[clip.person] for _, clip in clips]
        by_epoch = _epochs([clip for _, clip in clips])  # (E, n)
        counts.append(EpochCounts(_grouped(people, truth, by_epoch, len(classes)), last))
    return counts


def _epochs(clips: Sequence[ClipRecord]) -> np.ndarray:
    """Return the class after each epoch (E, n); a fold with fewer epochs (a nested choice) keeps its last answer."""
    most = max(len(clip.by_epoch) for clip in clips)
    if not all(clip.by_epoch for clip in clips):
        return np.zeros((0, len(clips)), dtype=np.int64)
    return np.array([[*clip.by_epoch, *clip.by_epoch[-1:] * (most - len(clip.by_epoch))] for clip in clips]).T


def _grouped(groups: Sequence[int], truth: np.ndarray, answers: np.ndarray, classes: int) -> np.ndarray:
    """Return confusion counts (E, P, C, C) of answers (E, n) for every group of clips."""
    counts = np.zeros((len(answers), max(groups) + 1, classes, classes), dtype=np.int64)
    np.add.at(counts, (np.arange(len(answers))[:, None], np.array(groups), truth, answers), 1)
    return counts
