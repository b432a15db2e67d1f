"""The verb `import-predictions`."""

from pathlib import Path
from typing import Annotated

import typer

from epir.cli.evaluate import Protocol


def import_predictions(
    table: Annotated[
        Path,
        typer.Argument(
            help="A CSV: corpus, subject, clip, truth, then prediction or a score per class; fold if known."
        ),
    ],
    protocol: Protocol,
    name: Annotated[str, typer.Option(help="The method, as tables shall name it.", show_default=False)],
    out: Annotated[Path, typer.Option(help="The run folder to write.", show_default=False)],
    maps: Annotated[
        list[Path] | None,
        typer.Option(help="Map sets whose clips the table must have; repeat for several.", show_default="no check"),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the run.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the scores as one JSON object.")] = False,
) -> None:
    """Make predictions of other software a run for epir compare and epir report, marked as not checked.

    Example: epir import-predictions htnet.csv --protocol cde --name HTNet --out runs/htnet
    """
    from epir.cli.console import emit_json, stdout
    from epir.evaluation import imported
    from epir.evaluation.published import comparisons
    from epir.evaluation.table import score_table

    run = imported.import_predictions(table, protocol=protocol, name=name, out=out, maps=maps or (), force=force)
    if json:
        emit_json({"run": str(run.folder), **run.scores})
        return
    stdout.print(score_table([run], comparisons(run.experiment.protocol)).text(), markup=False)
    stdout.print(f"run: {run.folder}", markup=False)
