"""`epir bench`: speed of this machine, as ratios within one run."""

from typing import Annotated

import typer

from epir.cli.console import emit_json, showing_progress, stdout


def bench(
    inputs: Annotated[
        list[str] | None,
        typer.Argument(help="What an area measures: map sets for robustness, a corpus for flow, videos for spotting."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            help="One area: model, onnx, preparation, folds; video, flow, spotting, robustness. May be repeated.",
            show_default="all areas of speed",
        ),
    ] = None,
    changes: Annotated[
        list[str] | None, typer.Option("--set", help="Change a setting of the area, such as flow.context=0.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer rounds, less precise.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Measure the speed of this machine as ratios within one run, or the accuracy of a part of epir.

    The areas video, flow, spotting and robustness run only when named.

    Example: epir bench --only model

    Example: epir bench --only spotting interview.mp4

    Example: epir bench --only robustness maps/casme2 maps/samm maps/smic --set protocol=cde
    """
    from epir.bench import suite

    with showing_progress() as progress:
        results = suite.measure(only or (), quick=quick, inputs=inputs or (), changes=changes or (), progress=progress)
    if json:
        emit_json(
            {
                "machine": suite.machine(),
                "ratios": [
                    {
                        "area": area,
                        "name": r.name,
                        "value": r.value,
                        "target": r.target,
                        "reached": r.reached,
                        "detail": r.detail,
                    }
                    for area, ratios in results.items()
                    for r in ratios
                ],
            }
        )
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for column, justify in (("measured", "left"), ("ratio", "right"), ("aim", "right"), ("", "left"), ("what", "left")):
        table.add_column(column, justify=justify)  # type: ignore[arg-type]
    words = {True: "reached", False: "below", None: ""}
    for ratios in results.values():
        for r in ratios:
            aim = "" if r.target is None else f">= {r.target:g}"
            table.add_row(r.name, f"{r.value:.2f}", aim, words[r.reached], r.detail)
    stdout.print(table)
