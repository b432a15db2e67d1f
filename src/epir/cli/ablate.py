"""The verb `ablate`."""

from pathlib import Path
from typing import Annotated

import typer

from epir.cli.evaluate import (
    Address,
    AllowSeen,
    Changes,
    EngineName,
    Folds,
    Force,
    Gpus,
    Json,
    Maps,
    Protocol,
    Seeds,
    Workers,
)


def ablate(
    maps: Maps,
    protocol: Protocol,
    sweep: Annotated[
        str | None, typer.Option(help="blocks (7 to 15) or integration (0 to 80 %).", show_default="the ladder")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The folder of the runs.", show_default="runs/PROTOCOL-ablation-ladder")
    ] = None,
    folds: Folds = "loso",
    seeds: Seeds = 1,
    training: Annotated[
        str | None, typer.Option(help="Training recipe of every rung.", show_default="from random weights")
    ] = None,
    changes: Changes = None,
    allow_seen: AllowSeen = False,
    engine: EngineName = "local",
    workers: Workers = None,
    address: Address = "",
    gpus: Gpus = 0.0,
    force: Force = False,
    json: Json = False,
) -> None:
    """Evaluate the ladder of the paper's ablation into one table; the same command resumes an unfinished one.

    Example: epir ablate maps --protocol cde --folds 10 --out runs/ladder
    """
    from epir.cli.console import emit_json, showing_progress, stdout
    from epir.core.engines import Engine
    from epir.evaluation import series
    from epir.evaluation.comparison import scores_with_training

    with showing_progress(quiet=json) as progress:
        found = series.ablate(
            maps,
            protocol=protocol,
            sweep=sweep,
            out=out,
            folds=folds,
            seeds=seeds,
            training=training,
            changes=changes or (),
            allow_seen=allow_seen,
            engine=Engine(engine, workers, address, gpus),
            force=force,
            progress=progress,
        )
    if json:
        runs = zip(found.names, found.runs, strict=True)
        emit_json({"runs": {name: {"run": str(run.folder), **scores_with_training(run)} for name, run in runs}})
        return
    stdout.print(found.table.text(), markup=False)
    stdout.print(f"runs and table.csv: {found.runs[0].folder.parent}", markup=False)
