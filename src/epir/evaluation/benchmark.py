"""All methods under one protocol, side by side: scores, chance, ranks and paired tests against the best.

Axes: M methods, K seeds, P people, C classes (rows of a confusion matrix are the truth)
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from epir.core.engines import Engine
from epir.core.progress import Progress
from epir.evaluation.comparison import compare, permutation_test
from epir.evaluation.run import Maps, default_out
from epir.evaluation.scores import accuracy, counts_by_person, uar, uf1, uf1_interval
from epir.evaluation.series import Series, evaluate_models
from epir.evaluation.store import Run
from epir.models.registry import BASELINES, AnyModel

HEAVY = ("dual-inception", "capsulenet", "htnet", "resnet18-flow")  # hours where the others take minutes
NEED_FRAMES = ("lbp-top",)
CONSTANT, FREQUENCY = "chance: most frequent class", "chance: by class frequency"


@dataclass(frozen=True)
class Standing:
    """One row: a method or chance, by the main column of its run; ranks begin at 1, and only methods have them."""

    name: str
    uf1: float
    interval: tuple[float, float]
    uar: float
    accuracy: float
    p: float | None  # of the paired permutation test against the best; None for the best itself
    best_epoch: float | None = None  # UF1, which leaks; None for chance and where there are no epochs
    rank_of_people: float | None = None  # mean rank over people, by accuracy
    rank_of_corpora: float | None = None  # mean rank over corpora, by UF1
    seconds: float | None = None  # of one fold
    run: Run | None = None


def default_models(*, heavy: bool = False) -> tuple[str, ...]:
    """`epir` and every baseline that needs maps only; the heavy ones on request."""
    left_out = NEED_FRAMES if heavy else (*NEED_FRAMES, *HEAVY)
    return ("epir", *(name for name in BASELINES if name not in left_out))


def evaluate_all(
    maps: Sequence[Maps],
    *,
    protocol: str,
    models: Sequence[AnyModel],
    out: str | Path | None = None,
    folds: str = "loso",
    seeds: int = 1,
    training: str | None = None,
    changes: Iterable[str] = (),
    allow_seen: bool = False,
    engine: Engine | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> tuple[Series, tuple[Standing, ...], Path]:
    """Evaluate every method into OUT/<method>, resuming what is there; the runs, their standings, and OUT."""
    folder = Path(out) if out is not None else default_out(protocol, "benchmark")
    series = evaluate_models(
        maps,
        protocol=protocol,
        models=models,
        out=folder,
        folds=folds,
        seeds=seeds,
        training=training,
        changes=changes,
        allow_seen=allow_seen,
        engine=engine,
        force=force,
        progress=progress,
    )
    return series, standings(series.names, series.runs), folder


def standings(names: Sequence[str], runs: Sequence[Run]) -> tuple[Standing, ...]:
    """A row for each run, the best first, then what chance gives."""
    best = max(runs, key=lambda run: run.main["uf1"])
    of_people, of_corpora = ranks_of_people(runs), ranks_of_corpora(runs)
    rows = []
    for number, (name, run) in enumerate(zip(names, runs, strict=True)):
        scores = run.main
        low, high = scores["uf1_interval"]
        has_epochs = any(fold.loss for fold in run.folds) and "best_epoch" in run.scores
        rows.append(
            Standing(
                name=name,
                uf1=scores["uf1"],
                interval=(low, high),
                uar=scores["uar"],
                accuracy=scores["accuracy"],
                p=None if run is best else compare(best, run).p,
                best_epoch=run.scores["best_epoch"]["uf1"] if has_epochs else None,
                rank_of_people=of_people[number],
                rank_of_corpora=of_corpora[number] if of_corpora else None,
                seconds=float(np.mean([fold.seconds for fold in run.folds])),
                run=run,
            )
        )
    rows.sort(key=lambda row: -row.uf1)
    return (*rows, *(_chance(kind, best) for kind in (CONSTANT, FREQUENCY)))


def chance_counts(run: Run, kind: str) -> np.ndarray:
    """Expected confusion counts (P, C, C) of answers that know the training clips of each fold and no map.

    `CONSTANT` always gives their most frequent class; `FREQUENCY` guesses each class as often as they have it. Where a
    corpus has a split of its own, the other test part stands for its training clips, which a run does not keep.
    """
    classes = run.experiment.classes
    clips = [each for each in run.predictions if each.seed == run.predictions[0].seed]
    people = {name: number for number, name in enumerate(sorted({each.person for each in clips}))}
    place = {name: number for number, name in enumerate(classes)}
    counts = np.zeros((len(people), len(classes), len(classes)))
    for fold in {each.fold for each in clips}:
        others = np.bincount([place[each.truth] for each in clips if each.fold != fold], minlength=len(classes))
        answers = np.eye(len(classes))[others.argmax()] if kind == CONSTANT else others / max(others.sum(), 1)
        for each in clips:
            if each.fold == fold:
                counts[people[each.person], place[each.truth]] += answers
    return counts


def ranks_of_people(runs: Sequence[Run]) -> list[float]:
    """The mean rank of each run over people, by the share of their clips that it answers correctly."""
    shares = []
    for run in runs:
        counts = counts_by_person(run.predictions, run.experiment.classes, run.experiment.columns[0])  # (K, P, C, C)
        shares.append(accuracy(counts).mean(0))  # (P,)
    return mean_ranks(np.stack(shares))


def ranks_of_corpora(runs: Sequence[Run]) -> list[float]:
    """The mean rank of each run over corpora, by UF1; nothing where there is one corpus only."""
    parts = list(runs[0].main["parts"])
    if len(parts) < 2:
        return []
    return mean_ranks(np.array([[run.main["parts"][part]["uf1"] for part in parts] for run in runs]))


def mean_ranks(scores: np.ndarray) -> list[float]:
    """The mean over columns of the rank of each row of (M, n), highest first; equal ones share the mean of theirs.

    >>> mean_ranks(np.array([[0.9, 0.5], [0.7, 0.5], [0.1, 0.2]]))
    [1.25, 1.75, 3.0]
    """
    higher = (scores[None] > scores[:, None]).sum(1)  # (M, n)
    equal = (scores[None] == scores[:, None]).sum(1) - 1
    return [float(rank) for rank in (1 + higher + equal / 2).mean(1)]


def _chance(kind: str, best: Run) -> Standing:
    counts = chance_counts(best, kind)
    theirs = counts_by_person(best.predictions, best.experiment.classes, best.experiment.columns[0])  # (K, P, C, C)
    pooled = counts.sum(0)
    p, _ = permutation_test(np.stack([theirs, np.broadcast_to(counts, theirs.shape)]))
    low, high = uf1_interval(counts[None])
    return Standing(
        name=kind,
        uf1=float(uf1(pooled)),
        interval=(low, high),
        uar=float(uar(pooled)),
        accuracy=float(accuracy(pooled)),
        p=p,
    )
