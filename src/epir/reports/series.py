"""Runs that are steps of one experiment: the rungs of the ablation ladder, or the points of a sweep.

They are known by their settings: rungs by their names, the points of a sweep by the one setting in which they differ.
"""

from collections.abc import Sequence
from typing import Literal

from epir.core.config import to_dict
from epir.evaluation.published import RUNGS
from epir.evaluation.store import Run

Sweep = Literal["blocks", "integration"]
SWEEPS: tuple[Sweep, ...] = ("blocks", "integration")


def sweep_of(runs: Sequence[Run]) -> Sweep | None:
    """The one setting in which runs of one model differ, if it is the number of blocks or the rate of integration."""
    models = [to_dict(run.experiment.model) for run in runs]
    if len({model["name"] for model in models}) > 1:
        return None
    changed = {name for model in models for name in model if model[name] != models[0].get(name)}
    return next((sweep for sweep in SWEEPS if changed == {sweep}), None)


def place_of(run: Run, sweep: Sweep) -> float:
    """Where a run stands on the axis of its sweep: blocks, or integration in per cent."""
    value = float(getattr(run.experiment.model, sweep))
    return 100 * value if sweep == "integration" else value


def is_ladder(runs: Sequence[Run]) -> bool:
    """Whether the runs are different rungs of the paper's ablation."""
    names = [run.experiment.model.name for run in runs]
    return len(names) > 1 and len(set(names)) == len(names) and set(names) <= set(RUNGS)


def in_order(runs: Sequence[Run]) -> list[Run]:
    """The points of a sweep by their setting, the rungs of a ladder from the lowest; other runs as they are given."""
    sweep = sweep_of(runs)
    if sweep:
        return sorted(runs, key=lambda run: place_of(run, sweep))
    if is_ladder(runs):
        return sorted(runs, key=lambda run: list(RUNGS).index(run.experiment.model.name))
    return list(runs)


def run_titles(runs: Sequence[Run]) -> list[str]:
    """What tables call each run: its model, its place in a sweep, or its folder where two have the same model."""
    sweep = sweep_of(runs)
    if sweep:
        unit = " %" if sweep == "integration" else ""
        return [f"{sweep} {place_of(run, sweep):g}{unit}" for run in runs]
    names = [run.name for run in runs]
    return [
        name if names.count(name) == 1 else f"{name} ({run.folder.name})" for name, run in zip(names, runs, strict=True)
    ]


def series_title(runs: Sequence[Run]) -> str:
    """What the runs are together."""
    sweep = sweep_of(runs)
    if len(runs) == 1:
        return run_titles(runs)[0]
    if sweep:
        return f"{runs[0].name}, sweep over {'the number of blocks' if sweep == 'blocks' else 'the integration rate'},"
    return "Ablation" if is_ladder(runs) else f"{len(runs)} runs"
