"""Two runs of the same clips: whether one is better, and whether they were trained alike.

The paired permutation test swaps the predictions of the two runs person by person. If the runs do not differ, every
such swap is as likely as what was observed.

Axes: K seeds, P people, C classes, R swaps or resamplings
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from epir.core.bootstrap import interval, resample_people
from epir.core.config import differences, setting_names, to_dict
from epir.core.errors import RunError
from epir.core.seeds import generator
from epir.core.table import MISSING
from epir.evaluation.experiment import Experiment
from epir.evaluation.scores import Column, counts_by_person, uf1
from epir.evaluation.store import NOT_CHECKED, Run, open_run
from epir.models.seen import UNSEEN
from epir.training.recipe import RECIPES, TrainingSettings

MOST_EXACT = 13  # people up to which all swaps are tried
SWAPS = 10_000


@dataclass(frozen=True)
class Training:
    """How the weights of a run were trained, as tables show it."""

    recipe: str | None  # `none` for zero-shot; a changed recipe says so; nothing for a pipeline without a network
    first_weights: str | None  # random, shipped, or the name of a model folder; of a zero-shot run, those that predict

    @property
    def cells(self) -> tuple[str, str]:
        """Both for a table."""
        return self.recipe or MISSING, self.first_weights or MISSING

    def __str__(self) -> str:
        return "training {}, first weights {}".format(*self.cells)


@dataclass(frozen=True)
class Comparison:
    """The UF1 of the second run minus that of the first, and the probability of so large a difference by chance."""

    first: str
    second: str
    column: Column
    difference: float
    interval: tuple[float, float]  # bootstrap over people, at the level of `bootstrap.LEVEL`
    p: float
    is_exact: bool
    settings: tuple[str, ...]  # what differs, as `setting_differences` says it
    first_training: Training
    second_training: Training


def training_of(experiment: Experiment) -> Training:
    """The recipe and the first weights of an experiment; an estimator has neither."""
    from epir.models.registry import is_estimator

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
    """The scores of a run for JSON, with the recipe and the first weights that they belong to."""
    training = training_of(run.experiment)
    return {"training": training.recipe, "first_weights": training.first_weights, **run.scores}


def score_columns(run: Run) -> tuple[Column, ...]:
    """The kinds of scores of a run, the main one first."""
    return run.experiment.columns


def main_column(runs: Sequence[Run]) -> Column:
    """`strict`, unless one of the runs had people or clips on both sides, or was trained elsewhere."""
    if any(run.experiment.is_imported for run in runs):
        return "not_checked"
    return "seen_in_training" if any(run.experiment.seen_in_training for run in runs) else "strict"


def compare(first: Run | str | Path, second: Run | str | Path, column: Column | None = None) -> Comparison:
    """The paired comparison of two runs of the same clips under the same protocol, of their main column.

    `compare("runs/epir", "runs/ststnet").p` is the probability of so large a difference by chance.

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
    first, second = (each if isinstance(each, Run) else open_run(Path(each)) for each in (first, second))
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
    """Every further run against the first, in every column that both have."""
    for run in runs[1:]:
        check_comparable(runs[0], run)
    return tuple(
        compare(runs[0], run, column)
        for run in runs[1:]
        for column in (main_column([runs[0], run]), *_best_epoch_of(runs[0], run))
    )


def setting_differences(first: Experiment, second: Experiment) -> list[str]:
    """One line per setting that both models have and that differs; one line for those that only one of them has."""
    ours, theirs = (set(setting_names(type(each.model))) for each in (first, second))
    unshared = {f"model.{name}" for name in ours ^ theirs}
    lines = [line for line in differences(first, second) if line.partition(":")[0] not in unshared]
    for experiment, names in ((first, ours - theirs), (second, theirs - ours)):
        if names:
            lines.append(f"settings only {experiment.model.name} has: {', '.join(sorted(names))}")
    return lines


def _best_epoch_of(first: Run, second: Run) -> tuple[Column, ...]:
    return ("best_epoch",) if all("best_epoch" in score_columns(run) for run in (first, second)) else ()


def check_comparable(first: Run, second: Run) -> None:
    """Refuse runs that cannot be paired: they must have predicted the same clips with the same classes."""
    names = f"{first.folder} and {second.folder}"
    fix = "compare runs of the same map sets and protocol"
    if (first.experiment.protocol, first.experiment.classes) != (second.experiment.protocol, second.experiment.classes):
        raise RunError(
            f"{names} cannot be compared: their protocols are {_protocol(first)} and {_protocol(second)}",
            fix=fix,
        )
    ours, theirs = ({(each.key, each.truth) for each in run.predictions} for run in (first, second))
    if ours != theirs:
        key = min(ours ^ theirs)[0]
        raise RunError(f"{names} cannot be compared: they differ in their clips, for example {key}", fix=fix)


def permutation_test(counts: np.ndarray) -> tuple[float, bool]:
    """The p-value of the difference for counts (2, K, P, C, C), and whether it is exact.

    Random swaps count the observed one among them, hence + 1: otherwise p could be 0 [Phipson & Smyth 2010,
    doi:10.2202/1544-6115.1585].
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
    seen = abs(_difference(total))
    as_large = int((np.abs(_difference(swapped)) >= seen - 1e-12).sum())
    return (as_large / len(swaps), True) if is_exact else ((as_large + 1) / (len(swaps) + 1), False)


def _protocol(run: Run) -> str:
    return f"{run.experiment.protocol} ({', '.join(run.experiment.classes)})"


def _recipe(training: TrainingSettings) -> str:
    """The name of the recipe; where settings differ from those of that name, the table says so."""
    name = training.name
    if name not in RECIPES:
        return name
    recipe, elsewhere = to_dict(RECIPES[name]), ("name", "start", "device")
    changed = any(recipe.get(key) != value for key, value in to_dict(training).items() if key not in elsewhere)
    return f"{name} (changed)" if changed else name


def weights_name(digest: str) -> str:
    """`shipped`, or the beginning of the digest of other weights."""
    from epir.models.folder import WEIGHTS, shipped_folder, weights_digest

    folder = shipped_folder()
    is_shipped = (folder / WEIGHTS).exists() and weights_digest(folder) == digest
    return "shipped" if is_shipped else f"sha256 {digest[:8]}"


def _paired(first: Run, second: Run, column: Column) -> np.ndarray:
    """Counts (2, K, P, C, C); where the numbers of seeds differ, seeds are repeated up to a common number."""
    both = [counts_by_person(run.predictions, run.experiment.classes, column) for run in (first, second)]
    common = math.lcm(*(len(counts) for counts in both))
    return np.stack([np.tile(counts, (common // len(counts), 1, 1, 1)) for counts in both])


def _difference(counts: np.ndarray) -> np.ndarray:
    """UF1 of the second minus the first, mean over seeds, for counts (2, ..., K, C, C)."""
    scores = uf1(counts).mean(-1)
    return scores[1] - scores[0]


def _interval(counts: np.ndarray) -> tuple[float, float]:
    return interval(_difference(np.einsum("rp,akpij->arkij", resample_people(counts.shape[2]), counts)))
