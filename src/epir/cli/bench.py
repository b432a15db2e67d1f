"""`epir bench`: speed of this machine, as ratios within one run."""

from typing import Annotated

import typer

from epir.cli.console import emit_json, showing_progress, stdout


def bench(
    only: Annotated[
        list[str] | None, typer.Option(help="One area: model, peers, onnx, preparation, folds or web. May be repeated.")
    ] = None,
    quick: Annotated[bool, typer.Option(help="Fewer rounds: a first impression.")] = False,
    json: Annotated[bool, typer.Option(help="One JSON object on stdout.")] = False,
) -> None:
    """Measure the speed of this machine as ratios within one run.

    Example: epir bench --only model
    """
    from epir.bench import suite

    with showing_progress() as progress:
        results = suite.measure(only or (), quick=quick, progress=progress)
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
