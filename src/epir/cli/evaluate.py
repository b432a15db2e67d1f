"""The verb `evaluate`."""

from pathlib import Path
from typing import Annotated

import typer

from epir.cli import completion
from epir.training.recipe import RECIPES

Maps = Annotated[list[Path], typer.Argument(help="Map sets of one size, written by epir prepare.", show_default=False)]
Protocol = Annotated[
    str,
    typer.Option(
        help=f"One of: {', '.join(completion.PROTOCOLS)}.", show_default=False, autocompletion=completion.protocols
    ),
]
Out = Annotated[Path | None, typer.Option(help="The run folder.", show_default="runs/PROTOCOL-MODEL")]
Folds = Annotated[
    str,
    typer.Option(
        help="loso (leave one subject out; or the protocol's own), loco (one corpus), split, or a number of folds "
        "grouped by subject."
    ),
]
Seeds = Annotated[int, typer.Option(help="Number of seeds; scores are means over them.")]
Training = Annotated[
    str | None,
    typer.Option(
        help=f"Training recipe: {', '.join(RECIPES)}.",
        show_default="by model and settings",
        autocompletion=completion.recipes,
    ),
]
Changes = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="Change a setting: training.epochs=30. May be repeated; epir list settings names all.",
        show_default=False,
        autocompletion=completion.settings,
    ),
]
EngineName = Annotated[
    str, typer.Option("--engine", help="Where the work runs: local or ray.", autocompletion=completion.engines)
]
Workers = Annotated[int | None, typer.Option(help="Folds run in parallel.", show_default="one per core")]
Address = Annotated[str, typer.Option(help="Address of a running Ray cluster.", show_default="a cluster is started")]
Gpus = Annotated[float, typer.Option(help="Each fold's share of a GPU, with --engine ray.")]
AllowSeen = Annotated[
    bool,
    typer.Option("--allow-seen", help="Continue with people or clips seen in training; the scores are marked (leaks)."),
]
Force = Annotated[bool, typer.Option("--force", help="Start over and discard finished folds.")]
Json = Annotated[bool, typer.Option("--json", help="Print the scores as one JSON object.")]


def evaluate(
    maps: Maps,
    protocol: Protocol,
    model: Annotated[
        str | None,
        typer.Option(
            help="A model, or several separated by commas; epir list models names all.",
            show_default="epir",
            autocompletion=completion.models,
        ),
    ] = None,
    out: Out = None,
    folds: Folds = "loso",
    seeds: Seeds = 1,
    training: Training = None,
    changes: Changes = None,
    zero_shot: Annotated[
        bool, typer.Option("--zero-shot", help="No training: the given weights predict every clip.")
    ] = False,
    weights: Annotated[
        Path | None, typer.Option(help="The model folder for --zero-shot.", show_default="the shipped weights")
    ] = None,
    target: Annotated[
        str,
        typer.Option(help="What is scored: classes, or units (action units, on the clips where they are annotated)."),
    ] = "classes",
    nested: Annotated[
        list[str] | None,
        typer.Option(
            help="Settings to choose among inside each training fold, people kept apart: default, "
            "'training.lr=1e-4 training.epochs=12'. Give it twice or more; it costs as many trainings, times 3.",
            show_default=False,
        ),
    ] = None,
    allow_seen: AllowSeen = False,
    engine: EngineName = "local",
    workers: Workers = None,
    address: Address = "",
    gpus: Gpus = 0.0,
    force: Force = False,
    json: Json = False,
) -> None:
    """Train and predict every fold, print the table and write the run; the same command resumes an unfinished run.

    Example: epir evaluate maps --protocol cde --folds 10 --seeds 3 --out runs/first
    """
    from epir.cli.console import emit_json, showing_progress, stdout
    from epir.core.config import refuse_unknown
    from epir.core.engines import Engine
    from epir.core.errors import ConfigError
    from epir.evaluation import run as single
    from epir.evaluation.comparison import scores_with_training
    from epir.evaluation.published import comparisons
    from epir.evaluation.series import evaluate_models, parse_models
    from epir.evaluation.table import score_table, units_table
    from epir.recognition.alignment import alignment_note

    chosen = Engine(engine, workers, address, gpus)
    names = parse_models(model or "epir")
    refuse_unknown(target, ("classes", "units"), what="target")
    if target == "units" and len(names) > 1:
        raise ConfigError("--target units evaluates one model at a time", fix=f"for example --model {names[0]}")
    if nested and len(names) > 1:
        raise ConfigError("--nested chooses settings of one model", fix="give one --model")
    with showing_progress(quiet=json) as progress:
        if len(names) > 1 and not zero_shot:
            series = evaluate_models(
                maps,
                protocol=protocol,
                models=names,
                out=out,
                folds=folds,
                seeds=seeds,
                training=training,
                changes=changes or (),
                allow_seen=allow_seen,
                engine=chosen,
                force=force,
                progress=progress,
            )
            runs, table = series.runs, series.table
        else:
            run = single.evaluate(
                maps,
                protocol=protocol,
                model=model if zero_shot or model is None else names[0],
                out=out,
                folds=folds,
                seeds=seeds,
                training=training,
                changes=changes or (),
                zero_shot=zero_shot,
                weights=weights,
                target="units" if target == "units" else "classes",
                nested=nested or (),
                allow_seen=allow_seen,
                engine=chosen,
                force=force,
                progress=progress,
            )
            runs, table = (run,), score_table([run], comparisons(run.experiment.protocol))
            if target == "units":
                table = units_table(run) or table
    if json:
        found = {
            name: {"run": str(run.folder), **scores_with_training(run)} for name, run in zip(names, runs, strict=False)
        }
        emit_json({"runs": found} if len(runs) > 1 else next(iter(found.values())))
        return
    stdout.print(table.text(), markup=False)
    for run in runs:
        stdout.print(f"run: {run.folder}", markup=False)
    for note in (alignment_note(each, weights=weights) for each in maps if zero_shot):
        if note is not None:
            stdout.print(f"note: {note}", markup=False)
