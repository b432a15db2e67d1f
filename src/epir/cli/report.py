"""The verb `report`."""

from pathlib import Path
from typing import Annotated

import typer


def report(
    runs: Annotated[
        list[Path], typer.Argument(help="Runs under one protocol, or a folder of runs.", show_default=False)
    ],
    out: Annotated[Path | None, typer.Option(help="The page.", show_default="RUN/report.html")] = None,
    maps: Annotated[
        list[Path] | None,
        typer.Option(help="Map sets for the pictures; repeat for several.", show_default="where the run recorded them"),
    ] = None,
    faces: Annotated[
        bool, typer.Option(help="Show faces where frames are available. A licence may forbid sharing them.")
    ] = True,
    latex: Annotated[bool, typer.Option("--latex", help="Also write the tables as LaTeX, beside the page.")] = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Also write the tables as Markdown, beside the page.")
    ] = False,
    figures: Annotated[
        Path | None, typer.Option(help="Also write the figures as PNG and SVG into this folder.", show_default=False)
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that exist.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the paths of the written files as JSON.")] = False,
) -> None:
    """Write a self-contained HTML page with tables, confusion matrices, curves and token pictures.

    Example: epir report runs/first --latex --figures runs/first/figures
    """
    from epir.cli.console import emit_json, showing_progress, stdout
    from epir.reports.page import report as write_report

    with showing_progress(quiet=json) as progress:
        page = write_report(
            runs,
            out,
            maps=maps or (),
            faces=faces,
            latex=latex,
            markdown=markdown,
            figures=figures,
            force=force,
            progress=progress,
        )
    written = {"report": page} | ({"latex": page.with_suffix(".tex")} if latex else {})
    written |= {"markdown": page.with_suffix(".md")} if markdown else {}
    written |= {"figures": figures} if figures else {}
    if json:
        emit_json({name: str(path) for name, path in written.items()})
    else:
        for name, path in written.items():
            stdout.print(f"{name}: {path}", markup=False)
