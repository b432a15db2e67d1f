"""The verbs `report`, `compare` and `bench`: a page of results, runs side by side, and benchmarks."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from epir.cli.options import AsJson, Force


def report(
    runs: Annotated[list[Path], Argument(help="Runs under one protocol, or a folder of runs.", show_default=False)],
    out: Annotated[Path | None, Option(help="The page.", show_default="RUN/report.html")] = None,
    maps: Annotated[
        list[Path] | None,
        Option(help="Map sets for the pictures. May be repeated.", show_default="those recorded in the run"),
    ] = None,
    faces: Annotated[
        bool, Option(help="Show faces if frames are available. The licence may forbid sharing them.")
    ] = True,
    latex: Annotated[bool, Option("--latex", help="Also write the tables as LaTeX, beside the page.")] = False,
    markdown: Annotated[bool, Option("--markdown", help="Also write the tables as Markdown, beside the page.")] = False,
    figures: Annotated[
        Path | None, Option(help="Also write the figures as PNG and SVG into this folder.", show_default=False)
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write a self-contained HTML page with tables, confusion matrices, curves and token pictures.

    Example: epir report runs/first --latex --figures runs/first/figures
    """
    from epir.cli.console import show, showing_progress
    from epir.reports.page import report as write_report

    choices: dict[str, Any] = {"faces": faces, "latex": latex, "markdown": markdown, "figures": figures, "force": force}
    with showing_progress(quiet=as_json) as progress:
        page = write_report(runs, out, maps=maps or (), **choices, progress=progress)
    written = {"report": str(page)}
    written |= {"latex": str(page.with_suffix(".tex"))} if latex else {}
    written |= {"markdown": str(page.with_suffix(".md"))} if markdown else {}
    written |= {"figures": str(figures)} if figures else {}
    show(written, [f"{name}: {path}" for name, path in written.items()], as_json=as_json)


def compare(
    runs: Annotated[list[Path], Argument(help="Two or more run folders of the same clips.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Compare runs: scores with intervals, a paired test over people, and the settings that differ.

    Example: epir compare runs/cde-epir runs/cde-ststnet
    """
    from dataclasses import asdict

    from epir.cli.console import show
    from epir.core.errors import RunError
    from epir.evaluation.comparison import compare_all, scores_with_training
    from epir.evaluation.store import open_run
    from epir.evaluation.table import comparison_table, score_table

    if len(runs) < 2:
        raise RunError("epir compare needs at least two runs", fix="name two run folders or more")
    opened, names = [open_run(folder) for folder in runs], [str(folder) for folder in runs]
    comparisons = compare_all(opened)
    scores = {name: scores_with_training(run) for name, run in zip(names, opened, strict=True)}
    lines = [score_table(opened, names=names).text(), comparison_table(comparisons).text()]
    for pair in comparisons:
        lines += [f"{pair.second}: {line}" for line in pair.settings if pair.column != "best_epoch"]
    show({"runs": scores, "comparisons": [asdict(pair) for pair in comparisons]}, lines, as_json=as_json)


def bench(
    context: typer.Context,
    inputs: Annotated[
        list[str] | None,
        Argument(help="Data to measure on: map sets for robustness, a corpus for flow, videos for spotting."),
    ] = None,
    only: Annotated[
        list[str] | None,
        Option(
            help="An area: model, onnx, preparation, folds, video, flow, spotting, robustness. May be repeated.",
            show_default="model, onnx, preparation and folds",
        ),
    ] = None,
    changes: Annotated[
        list[str] | None, Option("--set", help="Change a setting of the area, such as flow.context=0.")
    ] = None,
    quick: Annotated[bool, Option("--quick", help="Fewer rounds, less precise.")] = False,
    record: Annotated[
        Path | None, Option(help="Also write the results as JSON: results/bench-flow.json.", show_default=False)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure the speed of epir on this machine, as ratios within one run, or the accuracy of one part.

    The areas video, flow, spotting and robustness run only when named.

    Example: epir bench --only model

    Example: epir bench --only spotting interview.mp4

    Example: epir bench --only robustness maps/casme2 maps/samm maps/smic --set protocol=cde
    """
    from epir.bench import suite
    from epir.cli.console import command_line, show, showing_progress
    from epir.core.table import Column, Row, Table, numbers

    if record is not None:
        from epir.reports.record import check_bench_file

        check_bench_file(record)
    with showing_progress() as progress:
        results = suite.measure(only or (), quick=quick, inputs=inputs or (), changes=changes or (), progress=progress)
    measured = suite.summary(results)
    if record is not None:
        from epir.reports.record import record_bench

        record_bench(measured, record, command_line(context))
    words = {True: "reached", False: "below", None: ""}
    rows = []
    for ratio in measured["ratios"]:
        aim = "" if ratio["target"] is None else f">= {ratio['target']:g}"
        rows.append(Row((ratio["name"], f"{ratio['value']:.2f}", aim, words[ratio["reached"]], ratio["detail"])))
    columns = (Column("measured"), *numbers("ratio", "aim"), Column(""), Column("what"))
    table = Table("bench", "Ratios within one run", columns, tuple(rows))
    show(measured, [table.text()], as_json=as_json)
