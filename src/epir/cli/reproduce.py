"""The verb `reproduce`."""

from pathlib import Path
from typing import Annotated

import typer

from epir.cli.evaluate import Address, Changes, EngineName, Folds, Gpus, Json, Maps, Seeds, Workers


def reproduce(
    maps: Maps,
    out: Annotated[Path, typer.Option(help="The folder of the runs and of the report.")] = Path("runs/paper"),
    folds: Folds = "loso",
    seeds: Seeds = 1,
    quick: Annotated[
        bool, typer.Option("--quick", help="A quick look: 3 folds, 10 epochs, few points of the figures. Not a result.")
    ] = False,
    literal: Annotated[
        bool, typer.Option("--literal", help="Use the literal reading of the paper in every rung (the preset paper).")
    ] = False,
    sweeps: Annotated[bool, typer.Option(help="Also the runs of the two figures, which cost twelve more.")] = True,
    faces: Annotated[bool, typer.Option(help="Show faces in the report where frames are available.")] = True,
    changes: Changes = None,
    engine: EngineName = "local",
    workers: Workers = None,
    address: Address = "",
    gpus: Gpus = 0.0,
    json: Json = False,
) -> None:
    """Make every table and figure of the paper that the maps allow, trained as the paper trains.

    The same command resumes.

    Adam, 5e-5, 300 epochs, batch 256, cross-entropy and contrastive loss; the report has the printed numbers too.

    Example: epir reproduce maps/casme2 maps/samm maps/smic --out runs/paper
    """
    from epir.cli.console import emit_json, showing_progress, stdout
    from epir.core.engines import Engine
    from epir.core.output import MARK, REPRODUCTION, claimed, mark
    from epir.evaluation.reproduce import reproduce as run_all
    from epir.reports.reproduction import numbers, paper_tables, write_reproduction

    with claimed(out, REPRODUCTION, force=True, inputs=maps), showing_progress(quiet=json) as progress:
        out.mkdir(parents=True, exist_ok=True)
        mark(out, REPRODUCTION)
        try:
            found = run_all(
                maps,
                out=out,
                folds=folds,
                seeds=seeds,
                sweeps=sweeps,
                quick=quick,
                literal=literal,
                changes=changes or (),
                engine=Engine(engine, workers, address, gpus),
                progress=progress,
            )
        finally:
            if [path.name for path in out.iterdir()] == [MARK]:  # refused before anything was run
                (out / MARK).unlink()
                out.rmdir()
        page = write_reproduction(found, out, faces=faces)
    if json:
        emit_json({"report": str(page), **numbers(found)})
        return
    for table in paper_tables(found):
        stdout.print(table.text(), markup=False)
    stdout.print(f"report: {page}", markup=False)
