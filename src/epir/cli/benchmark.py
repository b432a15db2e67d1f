"""The verb `benchmark`."""

from typing import Annotated

import typer

from epir.cli import completion
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
    Out,
    Protocol,
    Seeds,
    Training,
    Workers,
)


def benchmark(
    maps: Maps,
    protocol: Protocol,
    model: Annotated[
        str | None,
        typer.Option(
            help="Methods separated by commas: names, FILE.py:Name or package.module:Name.",
            show_default="every built-in one that is quick and needs maps only",
            autocompletion=completion.models,
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="The heavy methods too.")] = False,
    out: Out = None,
    folds: Folds = "loso",
    seeds: Seeds = 1,
    training: Training = None,
    changes: Changes = None,
    allow_seen: AllowSeen = False,
    engine: EngineName = "local",
    workers: Workers = None,
    address: Address = "",
    gpus: Gpus = 0.0,
    force: Force = False,
    json: Json = False,
) -> None:
    """Evaluate all methods under one protocol into one page and one CSV; the same command resumes.

    Example: epir benchmark maps --protocol cde --model epir,ststnet,my_net.py:MyNet --folds 10
    """
    from dataclasses import fields

    from epir.cli.console import emit_json, showing_progress, stdout
    from epir.core.engines import Engine
    from epir.core.errors import ConfigError
    from epir.evaluation.series import parse_models
    from epir.reports.benchmark import benchmark as run_benchmark

    if model is not None and everything:
        raise ConfigError("--all and --model contradict each other", fix="leave out --all, or --model")
    with showing_progress(quiet=json) as progress:
        done = run_benchmark(
            maps,
            protocol=protocol,
            models=parse_models(model) if model is not None else (),
            heavy=everything,
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
        names = [field.name for field in fields(done.standings[0]) if field.name != "run"]
        rows = [{name: getattr(row, name) for name in names} for row in done.standings]
        emit_json({"page": str(done.page), "csv": str(done.csv), "rows": rows})
        return
    stdout.print(done.table.text(), markup=False)
    stdout.print(f"page: {done.page}\ntable: {done.csv}", markup=False)
