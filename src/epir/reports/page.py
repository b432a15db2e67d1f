"""Runs -> one self-contained HTML page, and optionally its tables and figures as files."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from epir.core.engines import Progress, Silent
from epir.core.errors import OutputError, RunError
from epir.core.files import write_text
from epir.core.output import check_place, claimed_file, resolved
from epir.core.table import latex_tables, markdown_tables
from epir.evaluation.comparison import check_comparable
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
MOST_PICTURED = 3  # runs whose token pictures are shown; each takes a third of a megabyte

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
    """Write the report of one run, or of several under one protocol, and return the path of the page.

    `epir.report("runs/first")` writes `runs/first/report.html`; `epir.report(run)` takes the result of `evaluate`. A
    folder of runs, as written by `epir ablate`, means all runs in it. `faces=False` omits every picture of a face.
    LaTeX and Markdown files are named after the page; figures go into the folder `figures` as PNG and SVG.
    """
    named = [runs] if isinstance(runs, str | Path | Run) else list(runs)
    found = [run for item in named for run in ([item] if isinstance(item, Run) else open_runs(Path(item)))]
    opened = results.sort_runs(list({resolved(run.folder): run for run in found}.values()))
    if not opened:
        raise RunError("there is no run to report", fix="name one or more folders written by epir evaluate")
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
        texts = {path: report_page(opened, maps=maps, faces=faces, progress=progress or Silent())}
        texts |= {file: write(all_tables(opened)) for file, write in extra.items()}
        if figures is not None:
            drawn = all_figures(opened, find_sources(opened[0], maps), faces=faces)
            save_figures(drawn, Path(figures), force=force)
        for file, text in texts.items():
            write_text(file, text)
    return path


def open_runs(folder: Path) -> list[Run]:
    """Open the run in a folder, or all runs in a folder of runs."""
    inside = runs_in(folder) if not (folder / CONFIG).exists() else []
    return [open_run(run) for run in inside] or [open_run(folder)]


def page_path(out: str | Path | None, named: Sequence[str | Path | Run], runs: Sequence[Run]) -> Path:
    """Return the path of the page: `out`, inside the one named folder, or next to the first of several runs."""
    if out is not None:
        path = Path(out) / PAGE if Path(out).is_dir() else Path(out)
        if path.suffix.lower() not in (".html", ".htm"):  # the tables have the same name with other suffixes
            raise OutputError(f"{path} does not end in .html", fix=f"name it {path.with_suffix('.html')}")
        return path
    if len(named) == 1 and not isinstance(named[0], Run):
        return Path(named[0]) / PAGE
    return (runs[0].folder if len(runs) == 1 else runs[0].folder.parent) / PAGE


def all_figures(runs: Sequence[Run], sources: Sources, *, faces: bool = True) -> dict[str, "Figure"]:
    """Draw every figure, by file name: those of the first run, and of the sweep if the runs are a sweep."""
    first = runs[0]
    classes = first.experiment.classes
    main = COLUMN_NAMES[first.experiment.columns[0]]
    drawn: dict[str, Figure] = {
        f"confusion-{FIGURE_NAMES[column]}": draw_confusions(results.confusions(first.predictions, classes, column))
        for column in first.experiment.columns
    }
    drawn["people"] = draw_people(
        results.person_scores(first.predictions, first.experiment.columns), sections.main_name([first])
    )
    drawn["scores"] = draw_strips(sections.score_strips(runs), **sections.scale(runs))
    examples = results.choose_examples(first, right=3, wrong=3)
    shown = [example for example in examples if example.tokens and sources.map_of(example.prediction.key) is not None]
    if shown:
        rows = [example_tiles(example, sources.map_of(example.prediction.key)) for example in shown]
        titles = [f"{example.prediction.truth} → {example.prediction.strict}\n({main})" for example in shown]
        drawn["tokens"] = draw_tiles(rows, titles=titles, side=1.25)
    charts = [results.loss_chart(first.folds), results.epoch_chart(first.folds, classes, first.experiment.columns[0])]
    if len(runs) > 1 and results.sweep_of(runs):
        charts += results.sweep_charts(runs)
        rows = integration_tiles(results.rate_tokens(runs, clips=2), sources, faces=faces)
        drawn |= {"integration": draw_tiles(rows, side=1.25)} if rows else {}
    return drawn | {chart.name: draw_chart(chart) for chart in charts if chart}


def report_page(runs: Sequence[Run], *, maps: Sequence[str | Path], faces: bool, progress: Progress) -> str:
    """Return the whole page as HTML."""
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
        inner += [] if alone else [("provenance" + id_suffix(number), "Provenance", provenance_part(run))]
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
    return whole_page(title, join(sections.page_header(runs), contents, *body))


def sweep_parts(runs: Sequence[Run], sources: Sources, *, faces: bool) -> list[Part]:
    """Return the parts about a sweep as a whole."""
    parts: list[Part] = []
    charts = results.sweep_charts(runs) if len(runs) > 1 else []
    if charts:
        parts.append(("sweep", "Sweep", sections.chart_figures(charts)))
    if charts and results.sweep_of(runs) == "integration":
        pictures = sections.integration_part(runs, sources, faces=faces)
        if pictures:
            lead = "Each token is drawn as the mean of its patches: the detail left at each integration rate."
            parts.append(("rates", "Token integration", join(element("p", lead, class_="lead"), pictures)))
    return parts


def run_parts(run: Run, sources: Sources, *, faces: bool, number: int) -> list[Part]:
    """Return the parts about one run; `number` makes their ids unique on a page of several runs."""
    end = id_suffix(number)
    parts = [
        (f"confusions{end}", "Confusions", sections.confusion_part(run)),
        (f"people{end}", "People", sections.people_part(run)),
        (f"learning{end}", "Learning", sections.learning_part(run)),
        (f"hardest{end}", "Hardest clips", sections.hardest_part(run)),
    ]
    tables = [(ident, title, make(run)) for ident, title, make in TABLE_SECTIONS]
    parts += [(f"{ident}{end}", title, html_table(table)) for ident, title, table in tables if table is not None]
    if sections.is_about_units(run):
        parts.sort(key=lambda part: part[1] != "Action units")  # the target of the evaluation comes first
    if number <= MOST_PICTURED:
        pictures = sections.tokens_part(run, sources, faces=faces)
    else:
        note = f"Pictures of {MOST_PICTURED} runs are shown; epir report {run.folder.name} shows those of this run."
        pictures = element("p", note, class_="note")
    return [*parts, (f"tokens{end}", "What the model looked at", pictures)]


def id_suffix(number: int) -> str:
    """Return the suffix of the ids of a run's parts; the first run has none."""
    return "" if number == 1 else f"-{number}"


def run_block(run: Run, title: str, parts: Sequence[Part], number: int) -> Markup:
    """Return all parts of one of several runs, collapsed except for the first."""
    about = f"UF1 {score_text(run.main['uf1'])}, {COLUMN_NAMES[run.experiment.columns[0]]}"
    summary = element("summary", title, " ", element("span", about, class_="soft"))
    return element(
        "details", summary, *(section(*part) for part in parts), class_="run", id=f"run-{number}", open=number == 1
    )
