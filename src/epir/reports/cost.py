"""What a model costs: parameters, multiply-accumulates for one map, and the time that a run took."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from epir.evaluation.store import Run
from epir.reports.series import run_titles
from epir.reports.tables import Column, Row, Table
from epir.reports.wording import duration


@dataclass(frozen=True)
class Cost:
    """The size of a network, and its work on one map."""

    parameters: int
    multiply_accumulates: int


@cache
def model_cost(settings: Any) -> Cost | None:
    """The cost of the network with these settings, counted on one map; nothing for a pipeline without weights.

    A multiplication with its addition counts once; norms, softmax and other elementwise work are left out.
    """
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    from epir.models.registry import build, is_pipeline

    if is_pipeline(settings.name):
        return None
    network = build(settings)
    assert isinstance(network, torch.nn.Module)
    network.eval()
    counter = FlopCounterMode(display=False)
    with torch.no_grad(), counter:
        network(torch.zeros(1, 3, settings.map_size, settings.map_size))
    weights = sum(weight.numel() for weight in network.parameters())
    return Cost(weights, counter.get_total_flops() // 2)


def cost_table(runs: Sequence[Run]) -> Table:
    """Size, work and time of each run."""
    columns = (
        Column("method"),
        Column("parameters (M)", numeric=True),
        Column("multiply-accumulates (M)", numeric=True),
        Column("folds × seeds", numeric=True),
        Column("training a fold", numeric=True),
        Column("all folds, one after the other", numeric=True),
    )
    rows = []
    for title, run in zip(run_titles(runs), runs, strict=True):
        cost = model_cost(run.experiment.model)
        size = (f"{cost.parameters / 1e6:.2f}", f"{cost.multiply_accumulates / 1e6:.2f}") if cost else ("–", "–")
        trained = [fold.training_seconds for fold in run.folds]
        mean = duration(sum(trained) / len(trained)) if trained else "–"
        rows.append(Row((title, *size, str(len(run.folds)), mean, duration(float(run.scores["seconds"])))))
    notes = (
        "Multiply-accumulates for one map; a multiplication with its addition counts once. What papers call FLOPs is "
        "often this number.",
        "Times are those of the machine under How it was made, with as many folds at once as it had workers.",
    )
    return Table("cost", "Size, work and time", columns, tuple(rows), notes)
