"""`epir bench`: speed of this machine, as ratios within one run."""

from dataclasses import asdict
from typing import Annotated

import typer

from epir.cli.console import emit_json, showing_progress, stdout


def bench(
    only: Annotated[
        list[str] | None,
        typer.Option(help="model, peers, onnx, preparation, folds or web. May be repeated.", show_default="all"),
    ] = None,
    quick: Annotated[bool, typer.Option(help="Fewer rounds, less precise.")] = False,
    json: Annotated[bool, typer.Option(help="Print one JSON object.")] = False,
) -> None:
    """Measure the speed of this machine as ratios within one run.

    Example: epir bench --only model
    """
    from epir.bench import suite

    with showing_progress() as progress:
        results = suite.measure(only or (), quick=quick, progress=progress)
    if json:
        ratios = [
            {"area": area, **asdict(ratio), "reached": ratio.reached}
            for area, found in results.items()
            for ratio in found
        ]
        emit_json({"machine": suite.machine(), "ratios": ratios})
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for column in ("measured", "ratio", "target", "", "what"):
        table.add_column(column, justify="right" if column in ("ratio", "target") else "left")
    words = {True: "reached", False: "below", None: ""}
    for found in results.values():
        for ratio in found:
            target = "" if ratio.target is None else f">= {ratio.target:g}"
            table.add_row(ratio.name, f"{ratio.value:.2f}", target, words[ratio.reached], ratio.detail)
    stdout.print(table)
