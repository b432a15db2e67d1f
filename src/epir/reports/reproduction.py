"""The paper's tables and figures next to ours on one page, written by `epir reproduce`."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from epir.core.files import write_text
from epir.core.table import MISSING, Column, Row, Table, markdown_tables
from epir.core.words import counted, people
from epir.evaluation.comparison import Comparison, scores_with_training, training_of
from epir.evaluation.published import RUNGS, PublishedScores, comparisons, ladder
from epir.evaluation.series import Reproduced, Reproduction
from epir.evaluation.store import Run
from epir.evaluation.table import (
    COLUMN_NAMES,
    EVALUATION,
    INTERVAL_NOTE,
    LEVEL,
    OWN_METHOD,
    column_kind,
    corpus_title,
    interval_text,
    score_text,
)
from epir.reports import sections
from epir.reports.markup import element, html_table, join, section, whole_page
from epir.reports.pictures import find_sources
from epir.reports.provenance import glossary_part, provenance_part
from epir.reports.results import sweep_charts
from epir.reports.tables import run_cost, size_cells

PAGE, NUMBERS, TABLES = "report.html", "numbers.json", "tables.md"
TABLE_OF = {"cde": (1, 4), "sde-casme3": (2, 5), "sde-casme2": (3,), "sde-samm": (3,), "sde-smic": (3,)}
FIGURE_OF = {"blocks": "score against the number of blocks", "integration": "token integration at several rates"}
QUICK_NOTE = "A quick look: few folds and few epochs. These are not the paper's training, and not a result."
LITERAL_NOTE = "The literal reading: settings of the preset paper in every rung (docs/paper_map.md)."
PRINTED_NOTE = (
    "Printed: as in the paper, for all people of the protocol; the paper does not say how it chose the epoch, so "
    "compare it with best epoch (leaks). Only strict is a result."
)
STEP_NOTE = "Difference and p: UF1 against the rung above it in this table, paired permutation test over people."


def write_reproduction(results: Reproduction, out: str | Path, *, faces: bool = True) -> Path:
    """Write the page, its numbers as JSON and its tables as Markdown into the folder, and return the page's path."""
    out = Path(out)
    write_text(out / NUMBERS, json.dumps(reproduction_numbers(results), indent=1) + "\n")
    write_text(out / TABLES, markdown_tables(paper_tables(results)))
    write_text(out / PAGE, reproduction_page(results, faces=faces))
    return out / PAGE


def paper_tables(results: Reproduction) -> list[Table]:
    """Return every table of the paper that could be reproduced, in its order."""
    tables = [(TABLE_OF[part.protocol][0], methods_table(part)) for part in results.parts]
    tables += [(TABLE_OF[part.protocol][1], ladder_table(part)) for part in results.parts if len(part.ladder) > 1]
    return [table for _, table in sorted(tables, key=lambda pair: pair[0])]


def methods_table(part: Reproduced) -> Table:
    """Return Table 1, 2 or 3: ours in every column, then the printed scores, the paper's own method first."""
    run, number = part.epir, TABLE_OF[part.protocol][0]
    parts = _parts(run)
    rows = _run_rows("epir", run, parts)
    methods: dict[str, list[PublishedScores]] = {}
    for each in comparisons(part.protocol):
        methods.setdefault(each.method, []).append(each)
    for method in sorted(methods, key=lambda name: name != OWN_METHOD):
        rows.append(_printed_row(method, methods[method], parts))
    return Table(
        f"table-{number}-{part.protocol}",
        f"Table {number} ({part.protocol}): {counted(run.scores['clips'], 'clip')} of {people(run.scores['people'])}, "
        f"recipe {training_of(run.experiment).recipe}",
        _columns(parts),
        tuple(rows),
        (PRINTED_NOTE, INTERVAL_NOTE),
    )


def ladder_table(part: Reproduced) -> Table:
    """Return Table 4 or 5: every rung, its printed scores, and the paired test against the rung above."""
    number, parts = TABLE_OF[part.protocol][1], _parts(part.epir)
    printed: dict[str, list[PublishedScores]] = {}
    for each in ladder(part.protocol):
        printed.setdefault(each.method, []).append(each)
    steps: dict[str, Comparison] = {each.second: each for each in part.steps}
    rows: list[Row] = []
    for run in part.ladder:
        name = run.experiment.model.name
        of_rung = _run_rows(name, run, parts)
        of_rung += [_printed_row(RUNGS[name], printed[RUNGS[name]], parts)] if RUNGS[name] in printed else []
        rows += [_with_test(row, steps.get(str(run.folder))) for row in of_rung]
    columns = (*_columns(parts), Column("difference", numeric=True), Column("p", numeric=True))
    recipe = training_of(part.epir.experiment).recipe
    return Table(
        f"table-{number}-{part.protocol}",
        f"Table {number} ({part.protocol}): the ladder, recipe {recipe}",
        columns,
        tuple(rows),
        (STEP_NOTE, PRINTED_NOTE, INTERVAL_NOTE),
    )


def reproduction_numbers(results: Reproduction) -> dict[str, Any]:
    """Return all scores and tests as plain values."""
    return {
        "quick": results.quick,
        "literal": results.literal,
        "missing": results.missing,
        "protocols": {
            part.protocol: {
                "ladder": {run.experiment.model.name: _numbers(run) for run in part.ladder},
                "sweeps": {
                    sweep: {str(getattr(run.experiment.model, sweep)): _numbers(run) for run in runs}
                    for sweep, runs in part.sweeps.items()
                },
                "steps": [
                    {
                        "from": Path(step.first).name,
                        "to": Path(step.second).name,
                        "evaluation": COLUMN_NAMES[step.column],
                        "difference": step.difference,
                        "interval": list(step.interval),
                        "p": step.p,
                    }
                    for step in part.steps
                ],
            }
            for part in results.parts
        },
    }


def reproduction_page(results: Reproduction, *, faces: bool) -> str:
    """Return the whole page as HTML."""
    lead = (
        "Every table and figure of the paper that these maps allow: ours, strict and best epoch (leaks), and printed."
    )
    notes = [QUICK_NOTE] if results.quick else []
    notes += [LITERAL_NOTE] if results.literal else []
    notes += [
        f"Not reproduced: {protocol} (Table {TABLE_OF[protocol][0]}): {why}."
        for protocol, why in results.missing.items()
    ]
    warnings = dict.fromkeys(text for part in results.parts for text in sections.warnings([part.epir]))
    header = element(
        "header",
        element("p", "EPIR report", class_="eyebrow"),
        element("h1", "The paper's tables and figures"),
        element("p", lead, class_="lead"),
        *warnings,
        *(element("p", note, class_="warning") for note in notes),
    )
    body: list[str] = [section("tables", "Tables", join(*map(html_table, paper_tables(results))))]
    for part in results.parts:
        parts = [element("h3", "Confusion matrices"), sections.confusion_part(part.epir)]
        for sweep, runs in part.sweeps.items():
            parts.append(element("h3", FIGURE_OF[sweep].capitalize()))
            parts.append(sections.chart_figures(sweep_charts(runs)))
            if sweep == "integration":
                parts.append(sections.integration_part(runs, find_sources(runs[0]), faces=faces))
        body.append(section(f"figures-{part.protocol}", f"Figures, {part.protocol}", join(*parts)))
    body.append(section("provenance", "Provenance", provenance_part(results.parts[0].epir)))
    body.append(section("glossary", "Glossary", glossary_part()))
    return whole_page("The paper's tables and figures", join(header, *body))


def _columns(parts: Sequence[str]) -> tuple[Column, ...]:
    whole = [Column(title, "all clips", numeric=True) for title in ("UF1", f"{LEVEL} interval", "UAR")]
    whole += [Column(title, corpus_title(part), numeric=True) for part in parts for title in ("UF1", "UAR")]
    size = (Column("parameters (M)", numeric=True), Column("multiply-accumulates (M)", numeric=True))
    return (Column("method"), EVALUATION, *whole, *size)


def _run_rows(name: str, run: Run, parts: Sequence[str]) -> list[Row]:
    """Return one row per score column of a run."""
    rows = []
    for column in run.experiment.columns:
        values: Mapping[str, Any] = run.scores[column]
        cells = [score_text(values["uf1"]), interval_text(values["uf1_interval"]), score_text(values["uar"])]
        for part in parts:
            cells += [score_text(values["parts"][part]["uf1"]), score_text(values["parts"][part]["uar"])]
        is_main = column == run.experiment.columns[0]
        rows.append(
            Row((name, COLUMN_NAMES[column], *cells, *size_cells(run)), kind=column_kind(column), strong=is_main)
        )
    return rows


def _printed_row(method: str, pairs: Sequence[PublishedScores], parts: Sequence[str]) -> Row:
    by_part = {each.part: each for each in pairs}
    whole = by_part.get("full") or pairs[0]
    cells = [whole.uf1_text, "", whole.uar_text or MISSING]
    for part in parts:
        cells += [by_part[part].uf1_text, by_part[part].uar_text] if part in by_part else [MISSING, MISSING]
    size = [MISSING if value is None else f"{value:.2f}" for value in (whole.params, whole.flops)]
    return Row(
        (method, f"{'printed' if whole.table else 'published since'}: {whole.selection}", *cells, *size),
        kind="published",
    )


def _with_test(row: Row, step: Comparison | None) -> Row:
    """Add the difference to the rung above; only the main column is tested."""
    cells = ("", "")
    if step is not None and row.strong:
        cells = (f"{step.difference:+.4f}", "< 0.001" if step.p < 0.001 else f"{step.p:.3f}")
    return replace(row, cells=(*row.cells, *cells))


def _parts(run: Run) -> list[str]:
    corpora = sorted(run.main["parts"])
    return corpora if len(corpora) > 1 else []


def _numbers(run: Run) -> dict[str, Any]:
    cost = run_cost(run)
    size = {"parameters": cost.parameters, "multiply_accumulates": cost.multiply_accumulates} if cost else {}
    return {**scores_with_training(run), **size}
