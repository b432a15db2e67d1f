"""Compare runs of the same clips: paired test, training, and the ranking of all methods.

The paired permutation test swaps the predictions of the two runs person by person. If the runs do not differ, every
swap is as likely as the observed predictions.

Axes: M methods, K seeds, P people, C classes (rows of a confusion matrix are the truth), R swaps or resamplings
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from epir.core.config import to_dict
from epir.core.errors import RunError
from epir.core.seeds import generator, interval, resample_people
from epir.core.table import MISSING
from epir.evaluation.experiment import Experiment, setting_differences
from epir.evaluation.scores import Column, accuracy, counts_by_person, uar, uf1, uf1_interval
from epir.evaluation.store import NOT_CHECKED, Run, open_run
from epir.models.folder import WEIGHTS, shipped_folder, weights_digest
from epir.models.registry import BASELINES, is_estimator
from epir.models.seen import UNSEEN
from epir.training.recipe import RECIPES, TrainingSettings

MOST_EXACT = 13  # try all swaps for up to this many people
SWAPS = 10_000
HEAVY = ("dual-inception", "capsulenet", "htnet", "resnet18-flow")  # take hours, the others minutes
NEED_FRAMES = ("lbp-top",)
CONSTANT, FREQUENCY = "chance: most frequent class", "chance: by class frequency"


@dataclass(frozen=True)
class Training:
    """How the weights of a run were trained, for tables."""

    recipe: str | None  # `none` for zero-shot; None for a method without a network
    first_weights: str | None  # random, shipped, or the name of a model folder; in zero-shot, the weights that predict

    @property
    def cells(self) -> tuple[str, str]:
        """Both as table cells."""
        return self.recipe or MISSING, self.first_weights or MISSING

    def __str__(self) -> str:
        return "training {}, first weights {}".format(*self.cells)


@dataclass(frozen=True)
class Comparison:
    """The UF1 of the second run minus that of the first, and the probability of such a difference by chance."""

    first: str
    second: str
    column: Column
    difference: float
    interval: tuple[float, float]  # bootstrap over people, at the level `core.seeds.LEVEL`
    p: float
    is_exact: bool
    settings: tuple[str, ...]  # the result of `setting_differences`
    first_training: Training
    second_training: Training


def training_of(experiment: Experiment) -> Training:
    """Return the recipe and the initial weights of an experiment; an estimator has neither."""
    unknown = f" ({UNSEEN})" if experiment.unknown_weights else ""
    if experiment.is_zero_shot:
        return Training("none", weights_name(experiment.weights) + unknown)
    if experiment.is_imported:
        return Training(NOT_CHECKED, None)
    if is_estimator(experiment.model, experiment.source):
        return Training(None, None)
    start = experiment.training.start
    nested = f" (nested, {len(experiment.choices)} choices)" if experiment.choices else ""
    return Training(_recipe(experiment.training) + nested, Path(start).name + unknown if start else "random")


def scores_with_training(run: Run) -> dict[str, Any]:
    """Return the scores of a run for JSON, with its recipe and initial weights."""
    training = training_of(run.experiment)
    return {"training": training.recipe, "first_weights": training.first_weights, **run.scores}


def main_column(runs: Sequence[Run]) -> Column:
    """Return `strict`, unless a run had people or clips on both sides or was trained elsewhere."""
    if any(run.experiment.is_imported for run in runs):
        return "not_checked"
    return "seen_in_training" if any(run.experiment.seen_in_training for run in runs) else "strict"


def compare(first: Run | str | Path, second: Run | str | Path, column: Column | None = None) -> Comparison:
    """Compare two runs of the same clips under the same protocol, paired by person, in their main column.

    `compare("runs/epir", "runs/ststnet").p` is the probability of such a difference by chance.

    >>> from tempfile import TemporaryDirectory
    >>> from epir import Engine, evaluate, synthetic_maps
    >>> maps = synthetic_maps(48, "direct")
    >>> with TemporaryDirectory() as folder:
    ...     runs = [
    ...         evaluate(maps, protocol="sde", model=name, folds=2, out=f"{folder}/{name}", engine=Engine(workers=1))
    ...         for name in ("bi-woof", "mdmo")
    ...     ]
    ...     0 < compare(*runs).p <= 1
    True
    """
    first, second = (run if isinstance(run, Run) else open_run(Path(run)) for run in (first, second))
    check_comparable(first, second)
    column = column or main_column([first, second])
    counts = _paired(first, second, column)  # (2, K, P, C, C)
    p, is_exact = permutation_test(counts)
    return Comparison(
        first=str(first.folder),
        second=str(second.folder),
        column=column,
        difference=float(_difference(counts.sum(2))),
        interval=_interval(counts),
        p=p,
        is_exact=is_exact,
        settings=tuple(setting_differences(first.experiment, second.experiment)),
        first_training=training_of(first.experiment),
        second_training=training_of(second.experiment),
    )


def compare_all(runs: Sequence[Run]) -> tuple[Comparison, ...]:
    """Compare every run with the first, in every column that both have."""
    for run in runs[1:]:
        check_comparable(runs[0], run)
    comparisons = []
    for run in runs[1:]:
        comparisons.append(compare(runs[0], run))
        if all("best_epoch" in one.experiment.columns for one in (runs[0], run)):
            comparisons.append(compare(runs[0], run, "best_epoch"))
    return tuple(comparisons)


def check_comparable(first: Run, second: Run) -> None:
    """Raise an error unless both runs predicted the same clips of the same people with the same classes."""
    names = f"{first.folder} and {second.folder}"
    fix = "compare runs of the same map sets and protocol"
    if (first.experiment.protocol, first.experiment.classes) != (second.experiment.protocol, second.experiment.classes):
        raise RunError(
            f"{names} cannot be compared: their protocols are {_protocol(first)} and {_protocol(second)}", fix=fix
        )
    ours, theirs = ({(prediction.key, prediction.truth) for prediction in run.predictions} for run in (first, second))
    if ours != theirs:
        key = min(ours ^ theirs)[0]
        raise RunError(f"{names} cannot be compared: they differ in their clips, for example {key}", fix=fix)
    people = [{prediction.key: prediction.person for prediction in run.predictions} for run in (first, second)]
    if differing := [key for key in people[0] if people[0][key] != people[1][key]]:
        key = min(differing)
        raise RunError(
            f"{names} cannot be compared: {key} is of {people[0][key]!r} in one and of {people[1][key]!r} in the other",
            fix="run both on map sets with the same column person; epir import-predictions takes it from --maps",
        )


def permutation_test(counts: np.ndarray) -> tuple[float, bool]:
    """Return the p-value of the difference for counts (2, K, P, C, C), and whether it is exact.

    With random swaps, the observed predictions count as one more swap, hence + 1; otherwise p could be 0 [Phipson &
    Smyth 2010, doi:10.2202/1544-6115.1585].
    """
    people = counts.shape[2]
    is_exact = people <= MOST_EXACT
    if is_exact:
        swaps = (np.arange(2**people)[:, None] >> np.arange(people)) & 1  # (R, P)
    else:
        swaps = generator(0, "swaps between runs").integers(0, 2, size=(SWAPS, people))
    change = counts[1] - counts[0]  # (K, P, C, C)
    moved = np.einsum("rp,kpij->rkij", swaps, change)
    total = counts.sum(2)  # (2, K, C, C)
    swapped = np.stack([total[0] + moved, total[1] - moved])  # (2, R, K, C, C)
    observed = abs(_difference(total))
    as_large = int((np.abs(_difference(swapped)) >= observed - 1e-12).sum())
    return (as_large / len(swaps), True) if is_exact else ((as_large + 1) / (len(swaps) + 1), False)


def _protocol(run: Run) -> str:
    return f"{run.experiment.protocol} ({', '.join(run.experiment.classes)})"


def _recipe(training: TrainingSettings) -> str:
    """Return the name of the recipe, with `(changed)` if its settings differ."""
    name = training.name
    if name not in RECIPES:
        return name
    recipe, ignored = to_dict(RECIPES[name]), ("name", "start", "device")
    is_changed = any(recipe.get(key) != value for key, value in to_dict(training).items() if key not in ignored)
    return f"{name} (changed)" if is_changed else name


def weights_name(digest: str) -> str:
    """Return `shipped`, or the beginning of the digest of other weights."""
    folder = shipped_folder()
    is_shipped = (folder / WEIGHTS).exists() and weights_digest(folder) == digest
    return "shipped" if is_shipped else f"sha256 {digest[:8]}"


def _paired(first: Run, second: Run, column: Column) -> np.ndarray:
    """Return counts (2, K, P, C, C); if the numbers of seeds differ, seeds are repeated up to a common multiple."""
    both = [counts_by_person(run.predictions, run.experiment.classes, column) for run in (first, second)]
    common = math.lcm(*(len(counts) for counts in both))
    return np.stack([np.tile(counts, (common // len(counts), 1, 1, 1)) for counts in both])


def _difference(counts: np.ndarray) -> np.ndarray:
    """Return UF1 of the second minus the first, averaged over seeds, for counts (2, ..., K, C, C)."""
    scores = uf1(counts).mean(-1)
    return scores[1] - scores[0]


def _interval(counts: np.ndarray) -> tuple[float, float]:
    return interval(_difference(np.einsum("rp,akpij->arkij", resample_people(counts.shape[2]), counts)))


@dataclass(frozen=True)
class Standing:
    """A row of the ranking: a method (by the main column of its run) or chance. Ranks begin at 1; chance has none."""

    name: str
    uf1: float
    interval: tuple[float, float]
    uar: float
    accuracy: float
    p: float | None  # of the paired permutation test against the best; None for the best
    best_epoch: float | None = None  # UF1, which leaks; None for chance and without epochs
    rank_of_people: float | None = None  # mean rank over people, by accuracy
    rank_of_corpora: float | None = None  # mean rank over corpora, by UF1
    seconds: float | None = None  # of one fold
    run: Run | None = None


def default_models(*, heavy: bool = False) -> tuple[str, ...]:
    """Return `epir` and every baseline that needs maps only; heavy ones on request."""
    left_out = NEED_FRAMES if heavy else (*NEED_FRAMES, *HEAVY)
    return ("epir", *(name for name in BASELINES if name not in left_out))


def standings(names: Sequence[str], runs: Sequence[Run]) -> tuple[Standing, ...]:
    """Rank the runs, best first, and append two rows for chance."""
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
    """Return the expected confusion counts (P, C, C) of guessing from the training labels of each fold, without maps.

    `CONSTANT` always answers the most frequent class; `FREQUENCY` answers each class in proportion. With a predefined
    split, the other test part replaces the training clips, which a run does not record.
    """
    classes = run.experiment.classes
    clips = [prediction for prediction in run.predictions if prediction.seed == run.predictions[0].seed]
    people = {name: number for number, name in enumerate(sorted({prediction.person for prediction in clips}))}
    place = {name: number for number, name in enumerate(classes)}
    counts = np.zeros((len(people), len(classes), len(classes)))
    for fold in {prediction.fold for prediction in clips}:
        training = [place[prediction.truth] for prediction in clips if prediction.fold != fold]
        others = np.bincount(training, minlength=len(classes))
        answers = np.eye(len(classes))[others.argmax()] if kind == CONSTANT else others / max(others.sum(), 1)
        for prediction in clips:
            if prediction.fold == fold:
                counts[people[prediction.person], place[prediction.truth]] += answers
    return counts


def ranks_of_people(runs: Sequence[Run]) -> list[float]:
    """Return the mean rank of each run over people, by accuracy."""
    shares = []
    for run in runs:
        counts = counts_by_person(run.predictions, run.experiment.classes, run.experiment.columns[0])  # (K, P, C, C)
        shares.append(accuracy(counts).mean(0))  # (P,)
    return mean_ranks(np.stack(shares))


def ranks_of_corpora(runs: Sequence[Run]) -> list[float]:
    """Return the mean rank of each run over corpora, by UF1; empty for a single corpus."""
    parts = list(runs[0].main["parts"])
    if len(parts) < 2:
        return []
    return mean_ranks(np.array([[run.main["parts"][part]["uf1"] for part in parts] for run in runs]))


def mean_ranks(scores: np.ndarray) -> list[float]:
    """Return the mean rank of each row of scores (M, n) over the columns, highest first; ties share their mean rank.

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
