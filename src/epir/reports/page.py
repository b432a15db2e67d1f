"""Runs -> one HTML page that needs no other file, and on request its tables and figures as files."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from epir.core.engines import Progress, Silent
from epir.core.errors import OutputError, RunError
from epir.core.files import write_text
from epir.core.output import check_place, claimed_file, resolved
from epir.core.table import latex_tables, markdown_tables
from epir.evaluation.comparison import check_comparable, score_columns
from epir.evaluation.scores import Column
from epir.evaluation.store import CONFIG, Run, open_run, runs_in
from epir.evaluation.table import COLUMN_NAMES, score_text
from epir.reports import results, sections
from epir.reports.figures import (
    draw_chart,
    draw_confusions,
    draw_people,
    draw_strips,
    draw_tiles,
    example_tiles,
    integration_tiles,
    save_figures,
)
from epir.reports.markup import Markup, element, html_table, join, section, whole_page
from epir.reports.pictures import Sources, find_sources
from epir.reports.provenance import glossary_part, provenance_part
from epir.reports.tables import TABLE_SECTIONS, all_tables, cost_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAGE = "report.html"
FIGURE_NAMES: dict[Column, str] = {
    "strict": "strict",
    "best_epoch": "best-epoch-leaks",
    "seen_in_training": "seen-in-training-leaks",
    "not_checked": "not-checked",
}
MOST_PICTURED = 3  # runs whose token pictures are shown: those of one run take a third of a megabyte

Part = tuple[str, str, Markup]  # ident, title, content


def report(
    runs: str | Path | Run | Sequence[str | Path | Run],
    out: str | Path | None = None,
    *,
    maps: Sequence[str | Path] = (),
    faces: bool = True,
    latex: bool = False,
    markdown: bool = False,
    figures: str | Path | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Path:
    """Write the report of one run, or of several under one protocol, and return the page's path.

    `epir.report("runs/first")` writes `runs/first/report.html`; `epir.report(run)` takes what `evaluate` returned.

    A folder of runs, as `epir ablate` writes it, stands for all of them. `faces=False` leaves out every picture of a
    face. LaTeX and Markdown go beside the page under its name, figures as PNG and SVG into `figures`.
    """
    named = [runs] if isinstance(runs, str | Path | Run) else list(runs)
    every = [run for each in named for run in ([each] if isinstance(each, Run) else open_runs(Path(each)))]
    opened = results.in_order(list({resolved(run.folder): run for run in every}.values()))
    if not opened:
        raise RunError("there is no run to report", fix="name one or more folders, as epir evaluate writes them")
    for run in opened[1:]:
        check_comparable(opened[0], run)
    path = page_path(out, named, opened)
    extra = {path.with_suffix(".tex"): latex_tables} if latex else {}
    extra |= {path.with_suffix(".md"): markdown_tables} if markdown else {}
    with ExitStack() as claims:
        inputs = [file for run in opened for file in run.folder.iterdir() if file.is_file() and file.name != PAGE]
        for file in (path, *extra):
            claims.enter_context(claimed_file(file, force=force, inputs=inputs))
        if figures is not None:
            check_place(resolved(Path(figures) / "figure.png"))
        texts = {path: page(opened, maps=maps, faces=faces, progress=progress or Silent())}
        texts |= {file: write(all_tables(opened)) for file, write in extra.items()}
        if figures is not None:
            drawn = all_figures(opened, find_sources(opened[0], maps), faces=faces)
            save_figures(drawn, Path(figures), force=force)
        for file, text in texts.items():
            write_text(file, text)
    return path


def open_runs(folder: Path) -> list[Run]:
    """The run in a folder, or all runs in a folder of runs."""
    inside = runs_in(folder) if not (folder / CONFIG).exists() else []
    return [open_run(each) for each in inside] or [open_run(folder)]


def page_path(out: str | Path | None, named: Sequence[str | Path | Run], runs: Sequence[Run]) -> Path:
    """Where the page goes: `out`, or inside the one folder that was given, or beside the first of several runs."""
    if out is not None:
        path = Path(out) / PAGE if Path(out).is_dir() else Path(out)
        if path.suffix.lower() not in (".html", ".htm"):  # the tables go beside it under other endings
            raise OutputError(f"{path} does not end in .html", fix=f"name it {path.with_suffix('.html')}")
        return path
    if len(named) == 1 and not isinstance(named[0], Run):
        return Path(named[0]) / PAGE
    return (runs[0].folder if len(runs) == 1 else runs[0].folder.parent) / PAGE


def all_figures(runs: Sequence[Run], sources: Sources, *, faces: bool = True) -> dict[str, "Figure"]:
    """Every figure by its file name: those of the first run, and of the sweep if the runs are one."""
    first = runs[0]
    classes = first.experiment.classes
    main = COLUMN_NAMES[first.experiment.columns[0]]
    drawn: dict[str, Figure] = {
        f"confusion-{FIGURE_NAMES[column]}": draw_confusions(results.confusions(first.predictions, classes, column))
        for column in score_columns(first)
    }
    drawn["people"] = draw_people(results.people(first.predictions, score_columns(first)), sections.main_name([first]))
    drawn["scores"] = draw_strips(sections.score_strips(runs), **sections.scale(runs))
    examples = results.choose_examples(first, right=3, wrong=3)
    shown = [each for each in examples if each.tokens and sources.map_of(each.prediction.key) is not None]
    if shown:
        rows = [example_tiles(each, sources.map_of(each.prediction.key)) for each in shown]
        titles = [f"{each.prediction.truth} → {each.prediction.strict}\n({main})" for each in shown]
        drawn["tokens"] = draw_tiles(rows, titles=titles, side=1.25)
    charts = [results.loss_chart(first.folds), results.epoch_chart(first.folds, classes, first.experiment.columns[0])]
    if len(runs) > 1 and results.sweep_of(runs):
        charts += results.sweep_charts(runs)
        rows = integration_tiles(results.rate_tokens(runs, clips=2), sources, faces=faces)
        drawn |= {"integration": draw_tiles(rows, side=1.25)} if rows else {}
    return drawn | {chart.name: draw_chart(chart) for chart in charts if chart}


def page(runs: Sequence[Run], *, maps: Sequence[str | Path], faces: bool, progress: Progress) -> str:
    """The whole page as HTML."""
    progress.start("report", len(runs))
    titles = results.run_titles(runs)
    sources = [find_sources(run, maps) for run in runs]
    parts: list[Part] = [("scores", "Scores", sections.scores_part(runs))]
    parts += sweep_parts(runs, sources[0], faces=faces)
    links = [(ident, title) for ident, title, _ in parts]
    body = [section(*part) for part in parts]
    alone = len(runs) == 1
    for number, (run, title, source) in enumerate(zip(runs, titles, sources, strict=True), start=1):
        inner = run_parts(run, source, faces=faces, number=number)
        inner += [] if alone else [("provenance" + ending(number), "Provenance", provenance_part(run))]
        body += [section(*part) for part in inner] if alone else [run_block(run, title, inner, number)]
        links += [(ident, name) for ident, name, _ in inner] if alone else [(f"run-{number}", title)]
        progress.advance(note=title)
    progress.finish()
    last: list[Part] = [("cost", "Cost", html_table(cost_table(runs)))]
    last += [("provenance", "Provenance", provenance_part(runs[0]))] if alone else []
    last.append(("glossary", "Glossary", glossary_part()))
    body += [section(*part) for part in last]
    links += [(ident, title) for ident, title, _ in last]
    contents = element("nav", *(element("a", title, href=f"#{ident}") for ident, title in links), aria_label="Contents")
    title = f"{results.series_title(runs)} on {runs[0].experiment.protocol}"
    return whole_page(title, join(sections.headline(runs), contents, *body))


def sweep_parts(runs: Sequence[Run], sources: Sources, *, faces: bool) -> list[Part]:
    """The parts about the points of a sweep together."""
    parts: list[Part] = []
    charts = results.sweep_charts(runs) if len(runs) > 1 else []
    if charts:
        parts.append(("sweep", "Sweep", sections.chart_figures(charts)))
    if charts and results.sweep_of(runs) == "integration":
        pictures = sections.integration_part(runs, sources, faces=faces)
        if pictures:
            lead = "Each token is drawn as the mean of its patches: the detail that is left at each integration rate."
            parts.append(("rates", "Token integration", join(element("p", lead, class_="lead"), pictures)))
    return parts


def run_parts(run: Run, sources: Sources, *, faces: bool, number: int) -> list[Part]:
    """The parts about one run alone; `number` makes the names of the parts of several runs unique."""
    end = ending(number)
    parts = [
        (f"confusions{end}", "Confusions", sections.confusion_part(run)),
        (f"people{end}", "People", sections.people_part(run)),
        (f"learning{end}", "Learning", sections.learning_part(run)),
        (f"hardest{end}", "Hardest clips", sections.hardest_part(run)),
    ]
    tables = [(ident, title, make(run)) for ident, title, make in TABLE_SECTIONS]
    parts += [(f"{ident}{end}", title, html_table(table)) for ident, title, table in tables if table is not None]
    if sections.is_about_units(run):
        parts.sort(key=lambda part: part[1] != "Action units")  # what was evaluated comes first
    if number <= MOST_PICTURED:
        pictures = sections.tokens_part(run, sources, faces=faces)
    else:
        note = f"Pictures of {MOST_PICTURED} runs are shown; epir report {run.folder.name} shows those of this one."
        pictures = element("p", note, class_="note")
    return [*parts, (f"tokens{end}", "What the model looked at", pictures)]


def ending(number: int) -> str:
    """The ending of the names of the parts of a further run."""
    return "" if number == 1 else f"-{number}"


def run_block(run: Run, title: str, parts: Sequence[Part], number: int) -> Markup:
    """All parts of one of several runs, folded away except for the first."""
    about = f"UF1 {score_text(run.main['uf1'])}, {COLUMN_NAMES[run.experiment.columns[0]]}"
    summary = element("summary", title, " ", element("span", about, class_="soft"))
    return element(
        "details", summary, *(section(*part) for part in parts), class_="run", id=f"run-{number}", open=number == 1
    )
