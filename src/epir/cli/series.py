"""The verbs `benchmark`, `ablate` and `reproduce`: many runs, one page or table."""

from pathlib import Path
from typing import Annotated, Any

from typer import Option

from epir.cli import options
from epir.cli.options import Address, AllowSeen, AsJson, Changes, EngineName, Folds, Gpus, Maps, Seeds, Workers


def benchmark(
    maps: Maps,
    protocol: options.Protocol,
    model: Annotated[
        str | None,
        Option(
            help="Methods separated by commas: names, FILE.py:Name or package.module:Name.",
            show_default="all built-in methods that are quick and need only maps",
            autocompletion=options.complete_models,
        ),
    ] = None,
    everything: Annotated[bool, Option("--all", help="Include the slow methods.")] = False,
    out: Annotated[
        Path | None, Option(help="A folder for the runs and the page.", show_default="runs/PROTOCOL-benchmark")
    ] = None,
    folds: Folds = "loso",
    seeds: Seeds = 1,
    training: options.Training = None,
    changes: Changes = None,
    allow_seen: AllowSeen = False,
    engine: EngineName = "local",
    workers: Workers = None,
    address: Address = "",
    gpus: Gpus = 0.0,
    force: options.StartOver = False,
    as_json: AsJson = False,
) -> None:
    """Evaluate all methods under one protocol and write one page and one CSV. Run the same command to resume.

    Example: epir benchmark maps --protocol cde --model epir,ststnet,my_net.py:MyNet --folds 10
    """
    from dataclasses import fields

    from epir.cli.console import show, showing_progress
    from epir.core.engines import Engine
    from epir.core.errors import ConfigError
    from epir.models.registry import parse_models
    from epir.reports.benchmark import benchmark as run_benchmark

    if model is not None and everything:
        raise ConfigError("--all and --model contradict each other", fix="leave out --all or --model")
    chosen = parse_models(model) if model is not None else ()
    where = Engine(engine, workers, address, gpus)
    how: dict[str, Any] = {"protocol": protocol, "out": out, "folds": folds, "seeds": seeds, "training": training}
    how |= {"changes": changes or (), "allow_seen": allow_seen, "engine": where, "force": force}
    with showing_progress(quiet=as_json) as progress:
        done = run_benchmark(maps, models=chosen, heavy=everything, **how, progress=progress)
    names = [field.name for field in fields(done.standings[0]) if field.name != "run"]
    rows = [{name: getattr(row, name) for name in names} for row in done.standings]
    lines = [done.table.text(), f"page: {done.page}", f"table: {done.csv}"]
    show({"page": str(done.page), "csv": str(done.csv), "rows": rows}, lines, as_json=as_json)


def ablate(
    maps: Maps,
    protocol: options.Protocol,
    sweep: Annotated[
        str | None, Option(help="blocks (7 to 15) or integration (0 to 80 %).", show_default="the ladder")
    ] = None,
    out: Annotated[
        Path | None, Option(help="A folder for the runs.", show_default="runs/PROTOCOL-ablation-ladder, or -SWEEP")
    ] = None,
    folds: Folds = "loso",
    seeds: Seeds = 1,
    training: options.Training = None,
    changes: Changes = None,
    allow_seen: AllowSeen = False,
    engine: EngineName = "local",
    workers: Workers = None,
    address: Address = "",
    gpus: Gpus = 0.0,
    force: options.StartOver = False,
    as_json: AsJson = False,
) -> None:
    """Evaluate each step of the paper's ablation from random weights, as one table. Run the same command to resume.

    Example: epir ablate maps --protocol cde --folds 10 --out runs/ladder
    """
    from epir.cli.console import show, showing_progress
    from epir.core.engines import Engine
    from epir.evaluation import series
    from epir.evaluation.comparison import scores_with_training

    where = Engine(engine, workers, address, gpus)
    how: dict[str, Any] = {"protocol": protocol, "out": out, "folds": folds, "seeds": seeds, "training": training}
    how |= {"changes": changes or (), "allow_seen": allow_seen, "engine": where, "force": force}
    with showing_progress(quiet=as_json) as progress:
        done = series.ablate(maps, sweep=sweep, **how, progress=progress)
    runs = dict(zip(done.names, done.runs, strict=True))
    scores = {name: {"run": str(run.folder), **scores_with_training(run)} for name, run in runs.items()}
    lines = [done.table.text(), f"runs and table.csv: {done.runs[0].folder.parent}"]
    show({"runs": scores}, lines, as_json=as_json)


def reproduce(
    maps: Maps,
    out: Annotated[Path, Option(help="A folder for the runs and the report.")] = Path("runs/paper"),
    folds: Folds = "loso",
    seeds: Seeds = 1,
    quick: Annotated[
        bool, Option("--quick", help="A trial run: 3 folds, 10 epochs, few points per figure. Not a result.")
    ] = False,
    literal: Annotated[
        bool, Option("--literal", help="Use the literal reading of the paper at every step (the preset paper).")
    ] = False,
    sweeps: Annotated[bool, Option(help="Include the two figures, which take twelve more runs.")] = True,
    faces: Annotated[bool, Option(help="Show faces in the report if frames are available.")] = True,
    changes: Changes = None,
    engine: EngineName = "local",
    workers: Workers = None,
    address: Address = "",
    gpus: Gpus = 0.0,
    as_json: AsJson = False,
) -> None:
    """Reproduce every table and figure of the paper that the maps allow. Run the same command to resume.

    Training follows the paper: Adam, 5e-5, 300 epochs, batch 256, cross-entropy and contrastive loss. The report shows
    the printed numbers beside the reproduced ones.

    Example: epir reproduce maps/casme2 maps/samm maps/smic --out runs/paper
    """
    from epir.cli.console import show, showing_progress
    from epir.core.engines import Engine
    from epir.core.output import MARK, REPRODUCTION, claimed, mark
    from epir.evaluation.series import reproduce as run_all
    from epir.reports.reproduction import paper_tables, reproduction_numbers, write_reproduction

    with claimed(out, REPRODUCTION, force=True, inputs=maps), showing_progress(quiet=as_json) as progress:
        out.mkdir(parents=True, exist_ok=True)
        mark(out, REPRODUCTION)
        try:
            done = run_all(
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
            if [path.name for path in out.iterdir()] == [MARK]:  # failed before the first run
                (out / MARK).unlink()
                out.rmdir()
        page = write_reproduction(done, out, faces=faces)
    lines = [*(table.text() for table in paper_tables(done)), f"report: {page}"]
    show({"report": str(page), **reproduction_numbers(done)}, lines, as_json=as_json)
