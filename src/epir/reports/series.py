"""Runs that belong together: the rungs of the ablation ladder, or the points of a sweep.

They are recognised by their settings: rungs by their names, points of a sweep by the one setting that differs.
"""

from collections.abc import Sequence
from typing import Literal

from epir.core.config import to_dict
from epir.evaluation.comparison import score_columns
from epir.evaluation.published import RUNGS
from epir.evaluation.store import Run
from epir.evaluation.table import COLUMN_NAMES, LEVEL, kind_of
from epir.models.tokens import Tokens
from epir.reports.results import Chart, Line, choose_examples, clip_tokens

Sweep = Literal["blocks", "integration"]
SWEEPS: tuple[Sweep, ...] = ("blocks", "integration")
AXES: dict[Sweep, str] = {"blocks": "blocks", "integration": "integration rate (%)"}


def sweep_of(runs: Sequence[Run]) -> Sweep | None:
    """The one setting in which runs of one model differ, if it is the number of blocks or the rate of integration."""
    models = [to_dict(run.experiment.model) for run in runs]
    if len({model["name"] for model in models}) > 1:
        return None
    changed = {name for model in models for name in model if model[name] != models[0].get(name)}
    return next((sweep for sweep in SWEEPS if changed == {sweep}), None)


def place_of(run: Run, sweep: Sweep) -> float:
    """The value of a run on the axis of its sweep: blocks, or integration in per cent."""
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
    """The name of each run in tables: its model, its point of a sweep, or also its folder where models are the same."""
    sweep = sweep_of(runs)
    if sweep:
        unit = " %" if sweep == "integration" else ""
        return [f"{sweep} {place_of(run, sweep):g}{unit}" for run in runs]
    names = [run.name for run in runs]
    return [
        name if names.count(name) == 1 else f"{name} ({run.folder.name})" for name, run in zip(names, runs, strict=True)
    ]


def series_title(runs: Sequence[Run]) -> str:
    """The name of all runs together."""
    sweep = sweep_of(runs)
    if len(runs) == 1:
        return run_titles(runs)[0]
    if sweep:
        return f"{runs[0].name}, sweep over {'the number of blocks' if sweep == 'blocks' else 'the integration rate'},"
    return "Ablation" if is_ladder(runs) else f"{len(runs)} runs"


def sweep_charts(runs: Sequence[Run]) -> list[Chart]:
    """UF1 and UAR against the setting of the sweep, both columns; the band is the interval of the strict UF1."""
    sweep = sweep_of(runs)
    if sweep is None:
        return []
    places = tuple(place_of(run, sweep) for run in runs)
    columns = [column for column in score_columns(runs[0]) if all(column in score_columns(run) for run in runs)]
    charts = []
    for name, title in (("uf1", "UF1"), ("uar", "UAR")):
        lines = []
        for column in columns:
            has_band = name == "uf1" and column != "best_epoch"
            bounds = [run.scores[column]["uf1_interval"] for run in runs] if has_band else []
            lines.append(
                Line(
                    COLUMN_NAMES[column],
                    places,
                    tuple(run.scores[column][name] for run in runs),
                    low=tuple(low for low, _ in bounds),
                    high=tuple(high for _, high in bounds),
                    kind=kind_of(column),
                    marked=True,
                )
            )
        band = f"Band: {LEVEL} interval of {COLUMN_NAMES[columns[0]]}, bootstrap over people." if columns else ""
        note = band if name == "uf1" else ""
        heading = f"{title} against {'blocks' if sweep == 'blocks' else 'the integration rate'}"
        charts.append(Chart(f"sweep-{sweep}-{name}", heading, AXES[sweep], title, tuple(lines), (0.0, 1.0), note))
    return charts


def rate_tokens(runs: Sequence[Run], *, clips: int) -> list[tuple[str, list[Tokens]]]:
    """A few clips, each with its tokens in every run, if all runs recorded them."""
    chosen = [each.prediction.key for each in choose_examples(runs[0], right=clips, wrong=0)]
    seed = min(each.seed for each in runs[0].predictions)
    found = [clip_tokens(run, set(chosen), seed) for run in runs]
    return [(key, [tokens[key] for tokens in found]) for key in chosen if all(key in tokens for tokens in found)]
