"""Runs -> one page of HTML that needs no other file, and on request its tables and figures beside it."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from epir.core.errors import RunError
from epir.core.files import refuse_overwrite, write_text
from epir.core.progress import Progress, Silent
from epir.evaluation.comparison import refuse_different
from epir.evaluation.scores import Column
from epir.evaluation.store import CONFIG, Run, open_run
from epir.reports.contents import page
from epir.reports.cost import cost_table
from epir.reports.evidence import hardest_table
from epir.reports.examples import choose_examples
from epir.reports.figures import draw_chart, draw_confusions, draw_people, save_figures
from epir.reports.latex import latex_tables
from epir.reports.markdown import markdown_tables
from epir.reports.results import confusions, epoch_chart, hardest, loss_chart, people
from epir.reports.scoretables import class_table, comparison_table, data_table, score_table, seed_table
from epir.reports.series import in_order, sweep_of
from epir.reports.sources import Sources, find_sources
from epir.reports.sweeps import sweep_charts
from epir.reports.tables import Table
from epir.reports.tokenfigures import draw_integration, draw_tokens

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAGE = "report.html"
FIGURE_NAMES: dict[Column, str] = {"strict": "strict", "best_epoch": "best-epoch-leaks"}


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
    """Write the report of one run, or of several under one protocol, and give the page's path.

    A folder that holds runs, as `epir ablate` writes it, stands for all of them. `faces=False` leaves out every
    picture of a face. LaTeX and Markdown go beside the page under its name, figures as PNG and SVG into `figures`.
    """
    given = [runs] if isinstance(runs, str | Path | Run) else list(runs)
    found = [run for each in given for run in ([each] if isinstance(each, Run) else open_runs(Path(each)))]
    opened = in_order(list({run.folder.resolve(): run for run in found}.values()))
    if not opened:
        raise RunError("there is no run to report", fix="name one or more folders, as epir evaluate writes them")
    for run in opened[1:]:
        refuse_different(opened[0], run)
    path = page_path(out, given, opened)
    for file in (
        path,
        *([path.with_suffix(".tex")] if latex else ()),
        *([path.with_suffix(".md")] if markdown else ()),
    ):
        refuse_overwrite(file, force=force)
    texts = {path: page(opened, maps=maps, faces=faces, progress=progress or Silent())}
    if latex:
        texts[path.with_suffix(".tex")] = latex_tables(all_tables(opened))
    if markdown:
        texts[path.with_suffix(".md")] = markdown_tables(all_tables(opened))
    drawn = all_figures(opened, find_sources(opened[0], maps), faces=faces) if figures is not None else {}
    try:
        save_figures(drawn, Path(figures or ""), force=force)
        for file, text in texts.items():
            write_text(file, text)
    except OSError as error:
        problem = f"cannot write {error.filename or path}: {error.strerror or error}"
        raise RunError(problem, fix="give a place that can be written to with --out and --figures") from None
    return path


def open_runs(folder: Path) -> list[Run]:
    """The run in a folder, or all runs in a folder of runs."""
    inside = sorted(path.parent for path in folder.glob(f"*/{CONFIG}")) if not (folder / CONFIG).exists() else []
    return [open_run(each) for each in inside] or [open_run(folder)]


def page_path(out: str | Path | None, given: Sequence[str | Path | Run], runs: Sequence[Run]) -> Path:
    """Where the page goes: as told, or inside the one folder that was given, or beside the first of several runs."""
    if out is not None:
        return Path(out) / PAGE if Path(out).is_dir() else Path(out)
    if len(given) == 1 and not isinstance(given[0], Run):
        return Path(given[0]) / PAGE
    return (runs[0].folder if len(runs) == 1 else runs[0].folder.parent) / PAGE


def all_tables(runs: Sequence[Run]) -> list[Table]:
    """Every table of the page, those of single runs only if there is one."""
    tables: list[Table | None] = [score_table(runs)]
    tables += [comparison_table(runs)] if len(runs) > 1 else []
    tables.append(data_table(runs[0]))
    if len(runs) == 1:
        run = runs[0]
        tables += [class_table(run), seed_table(run), hardest_table(hardest(run.predictions, run.experiment.classes))]
    tables.append(cost_table(runs))
    return [table for table in tables if table is not None]


def all_figures(runs: Sequence[Run], sources: Sources, *, faces: bool = True) -> dict[str, "Figure"]:
    """Every figure by its file name: those of the first run, and the sweep's if the runs are one."""
    first = runs[0]
    classes = first.experiment.classes
    drawn: dict[str, Figure | None] = {
        f"confusion-{name}": draw_confusions(confusions(first.predictions, classes, column))
        for column, name in FIGURE_NAMES.items()
    }
    drawn["people"] = draw_people(people(first.predictions))
    drawn["tokens"] = draw_tokens(choose_examples(first, right=3, wrong=3), sources)
    charts = [loss_chart(first.folds), epoch_chart(first.folds, classes)]
    if len(runs) > 1 and sweep_of(runs):
        charts += sweep_charts(runs)
        drawn["integration"] = draw_integration(runs, sources, faces=faces)
    drawn |= {chart.name: draw_chart(chart) for chart in charts if chart}
    return {name: figure for name, figure in drawn.items() if figure is not None}
