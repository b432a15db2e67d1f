"""The benchmark as one HTML page and one CSV: every method, chance, and the scores by other conventions."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

from epir.core.files import csv_text, write_text
from epir.core.table import MISSING, Column, Row, Table, interval_text, numbers, score_text, words
from epir.core.words import counted, duration, people
from epir.evaluation.comparison import Standing, default_models, main_column, standings, training_of
from epir.evaluation.conventions import WHO, convention_rows
from epir.evaluation.run import Maps, RunOptions, default_out
from epir.evaluation.series import evaluate_models
from epir.evaluation.store import Run
from epir.evaluation.table import COLUMN_NAMES
from epir.models.registry import AnyModel
from epir.reports.markup import element, html_table, join, section, whole_page
from epir.reports.tables import run_cost

PAGE, TABLE = "benchmark.html", "benchmark.csv"


@dataclass(frozen=True)
class Benchmark:
    """A finished benchmark: the rows, best method first, their table, and the paths of page and CSV."""

    standings: tuple[Standing, ...]
    table: Table
    page: Path
    csv: Path


def benchmark(
    maps: Sequence[Maps],
    *,
    protocol: str,
    models: Sequence[AnyModel] = (),
    heavy: bool = False,
    out: str | Path | None = None,
    training: str | None = None,
    changes: Iterable[str] = (),
    **options: Unpack[RunOptions],
) -> Benchmark:
    """Evaluate methods under one protocol, and write OUT/benchmark.html and OUT/benchmark.csv.

    By default `models` are `epir` and every built-in method that needs maps only; `heavy` adds the slow ones. The same
    call resumes an unfinished benchmark; adding a method trains that method only.
    """
    folder = Path(out) if out is not None else default_out(protocol, "benchmark")
    chosen = models or default_models(heavy=heavy)
    series = evaluate_models(
        maps, protocol=protocol, models=chosen, out=folder, training=training, changes=changes, **options
    )
    rows = standings(series.names, series.runs)
    table = standings_table(rows)
    write_text(folder / TABLE, standings_csv(rows))
    write_text(folder / PAGE, _page(rows, series.runs, table))
    return Benchmark(rows, table, folder / PAGE, folder / TABLE)


def standings_table(rows: Sequence[Standing]) -> Table:
    """Tabulate all rows, chance last."""
    runs = [row.run for row in rows if row.run is not None]
    main = COLUMN_NAMES[main_column(runs)]
    columns = (
        *words("method", "training"),
        *numbers("UF1", "95 % interval", "UAR", "accuracy", group=main),
        *numbers("UF1", group=COLUMN_NAMES["best_epoch"]),
        *numbers("p against the best"),
        *numbers("people", "corpora", group="mean rank over"),
        *numbers("parameters", "multiply-accumulates", "a fold takes"),
    )
    notes = (
        "p: paired permutation test of UF1 over people against the best row. It is not corrected for the number of "
        "methods, nor for the choice of the best.",
        "Ranks: 1 is best; over people by accuracy, over corpora by UF1; ties share the mean of their ranks. "
        "Chance is computed from the classes of each fold's training clips, not trained, and has no rank.",
        "best epoch (leaks): the epoch of each person is chosen on the labels that score it.",
    )
    first = runs[0]
    caption = (
        f"{first.experiment.protocol}: {counted(first.scores['clips'], 'clip')} of {people(first.scores['people'])}, "
        f"{counted(first.scores['folds'], 'fold')}, {counted(first.experiment.seeds, 'seed')}"
    )
    return Table("benchmark", caption, columns, tuple(_row(row, strong=row is rows[0]) for row in rows), notes)


def _row(row: Standing, *, strong: bool) -> Row:
    cost = None if row.run is None else run_cost(row.run)
    recipe = MISSING if row.run is None else training_of(row.run.experiment).cells[0]
    cells = (
        *(row.name, recipe, score_text(row.uf1), interval_text(row.interval), score_text(row.uar)),
        *(score_text(row.accuracy), score_text(row.best_epoch)),
        MISSING if row.p is None else f"{row.p:.3f}" if row.p >= 0.001 else "< 0.001",
        *(MISSING if rank is None else f"{rank:.2f}" for rank in (row.rank_of_people, row.rank_of_corpora)),
        f"{cost.parameters:,}" if cost else MISSING,
        f"{cost.multiply_accumulates / 1e6:.2f} M" if cost else MISSING,
        MISSING if row.seconds is None else duration(row.seconds) if row.seconds >= 10 else f"{row.seconds:.1f} s",
    )
    return Row(cells, kind="strict" if row.run is not None else "", strong=strong)


def standings_csv(rows: Sequence[Standing]) -> str:
    """Return the same numbers as CSV, for programs."""
    columns = (
        *("method", "code", "evaluation", "uf1", "uf1_low", "uf1_high", "uar", "accuracy", "best_epoch_uf1", "p"),
        *("rank_people", "rank_corpora", "parameters", "multiply_accumulates", "seconds_per_fold"),
    )
    lines = []
    for row in rows:
        experiment = None if row.run is None else row.run.experiment
        cost = None if row.run is None else run_cost(row.run)
        code = experiment.source.reference if experiment and experiment.source else ""
        kind = experiment.columns[0] if experiment else "chance"
        scores = [row.uf1, *row.interval, row.uar, row.accuracy, row.best_epoch, row.p]
        scores += [row.rank_of_people, row.rank_of_corpora]
        size = [cost.parameters, cost.multiply_accumulates] if cost else ["", ""]
        seconds = "" if row.seconds is None else f"{row.seconds:.3f}"
        lines.append(
            [row.name, code, kind, *("" if each is None else f"{each:.6f}" for each in scores), *size, seconds]
        )
    return csv_text(columns, lines)


def conventions_table(rows: Sequence[Standing]) -> Table:
    """Tabulate the UF1 of every run by every convention."""
    columns = (Column("method"), *numbers(*WHO, group="as others would print it, UF1"))
    cells = []
    for row in rows:
        if row.run is not None:
            scores = {each.name: each.uf1 for each in convention_rows(row.run)}
            cells.append(Row((row.name, *(score_text(scores.get(name)) for name in WHO))))
    notes = tuple(f"{name}: {who}" for name, who in WHO.items())
    return Table("conventions", "The same predictions by every convention", columns, tuple(cells), notes)


def _page(rows: Sequence[Standing], runs: Sequence[Run], table: Table) -> str:
    best, protocol = rows[0], runs[0].experiment.protocol
    alike = [row.name for row in rows[1:] if row.run is not None and row.p is not None and row.p >= 0.05]
    lead = f"{best.name} has the highest UF1, {score_text(best.uf1)} ({interval_text(best.interval)})."
    if alike:
        lead += f" Not significantly lower (p of 0.05 or more): {', '.join(alike)}."
    body = join(
        element("h1", f"{counted(len(runs), 'method')} on {protocol}"),
        element("p", lead, class_="lead"),
        section("scores", "Scores", html_table(table)),
        section("conventions", "Conventions", html_table(conventions_table(rows))),
    )
    return whole_page(f"Benchmark on {protocol}", body)
