"""The verb `evaluate`."""

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from epir.cli import completion
from epir.datasets.protocols import list_protocols
from epir.training.recipe import RECIPES

Maps = Annotated[list[Path], typer.Argument(help="Map sets of one size, written by epir prepare.", show_default=False)]
Protocol = Annotated[
    str,
    typer.Option(
        help=f"A file such as mine.toml, or one of: {', '.join(list_protocols())}.",
        show_default=False,
        autocompletion=completion.protocols,
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
        help=f"Training recipe: {', '.join(RECIPES)}, or a TOML file.",
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


def _name_code(code: list[str] | None) -> list[str] | None:
    if code:
        from epir.models.registry import name_code

        name_code(code)
    return code


Code = Annotated[  # naming it is all: a verb need not look at it
    list[str] | None,
    typer.Option(
        help="The code of a model folder of your own method: FILE.py:Name. May be repeated.",
        show_default=False,
        callback=_name_code,
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Start over and discard finished folds.")]
Json = Annotated[bool, typer.Option("--json", help="Print the scores as one JSON object.")]


def evaluate(
    context: typer.Context,
    maps: Maps,
    protocol: Protocol,
    model: Annotated[
        str | None,
        typer.Option(
            help="A model, or several separated by commas: a name (epir list models), FILE.py:Name or "
            "package.module:Name.",
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
    check_alignment: Annotated[
        bool,
        typer.Option(
            "--check-alignment",
            help="With --zero-shot: say whether the faces in the maps lie where the weights expect them.",
        ),
    ] = False,
    code: Code = None,
    allow_seen: AllowSeen = False,
    engine: EngineName = "local",
    workers: Workers = None,
    address: Address = "",
    gpus: Gpus = 0.0,
    record: Annotated[
        Path | None,
        typer.Option(help="Also write each result as one small JSON file into this folder.", show_default="none"),
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Train and predict every fold, print the table and write the run; the same command resumes an unfinished run.

    Example: epir evaluate maps --protocol cde --folds 10 --seeds 3 --out runs/first
    """
    from epir.cli.console import emit_json, showing_progress, stdout
    from epir.core.config import check_known
    from epir.core.engines import Engine
    from epir.core.errors import ConfigError
    from epir.evaluation.comparison import scores_with_training
    from epir.evaluation.published import comparisons
    from epir.evaluation.run import evaluate as evaluate_folds
    from epir.evaluation.run import evaluate_zero_shot
    from epir.evaluation.series import evaluate_models, parse_models
    from epir.evaluation.table import score_table, units_table

    names = parse_models(model or "epir")
    check_known(target, ("classes", "units"), what="target")
    if target == "units" and len(names) > 1:
        raise ConfigError("--target units evaluates one model at a time", fix=f"for example --model {names[0]}")
    if nested and len(names) > 1:
        raise ConfigError("--nested chooses settings of one model", fix="give one --model")
    _check_options(
        zero_shot=zero_shot,
        weights=weights,
        model=model,
        trains={"--set": changes, "--training": training, "--nested": nested, "--seeds": seeds != 1}
        | {"--folds": folds != "loso"},
        check_alignment=check_alignment,
    )
    common: dict[str, Any] = {
        "protocol": protocol,
        "out": out,
        "allow_seen": allow_seen,
        "engine": Engine(engine, workers, address, gpus),
        "force": force,
    }
    training_options: dict[str, Any] = {
        "folds": folds,
        "seeds": seeds,
        "training": training,
        "changes": changes or (),
    }
    notes: list[str] = []
    with showing_progress(quiet=json) as progress:
        if len(names) > 1:
            series = evaluate_models(maps, models=names, **training_options, **common, progress=progress)
            runs, table, names = series.runs, series.table, series.names
        else:
            scored: Any = {"target": target, **common, "progress": progress}
            if zero_shot:
                run = evaluate_zero_shot(maps, weights=weights, **scored)
            else:
                run = evaluate_folds(maps, model=names[0], nested=nested or (), **training_options, **scored)
            runs, table = (run,), score_table([run], comparisons(run.experiment.protocol))
            if target == "units":
                table = units_table(run) or table
        if check_alignment:
            from epir.final.alignment import alignment_note

            notes = [note for each in maps if (note := alignment_note(each, weights=weights)) is not None]
    if record is not None:
        from epir.reports.leaderboard import record_result

        for name, run in zip(names, runs, strict=True):
            record_result(run, record, _command(context, **({"model": name} if len(runs) > 1 else {})))
    if json:
        scores = {
            name: {"run": str(run.folder), **scores_with_training(run)} for name, run in zip(names, runs, strict=True)
        }
        alignment = {"alignment": notes} if check_alignment else {}
        emit_json({"runs": scores} if len(runs) > 1 else {**next(iter(scores.values())), **alignment})
        return
    stdout.print(table.text(), markup=False)
    for run in runs:
        stdout.print(f"run: {run.folder}", markup=False)
    for note in notes:
        stdout.print(f"note: {note}", markup=False)


def _check_options(
    *,
    zero_shot: bool,
    weights: Path | None,
    model: str | None,
    trains: dict[str, Any],
    check_alignment: bool,
) -> None:
    """Refuse options that contradict each other or would have no effect."""
    from epir.core.errors import ConfigError

    if not zero_shot:
        if weights is not None:
            raise ConfigError("--weights needs --zero-shot", fix="to train from weights use --set training.start=MODEL")
        if check_alignment:
            raise ConfigError("--check-alignment needs --zero-shot", fix="add --zero-shot, or leave it out")
        return
    if used := [name for name, is_used in trains.items() if is_used]:
        raise ConfigError(f"--zero-shot does not train: {used[0]} has no effect", fix=f"leave out {', '.join(used)}")
    if model is not None:
        from epir.models.folder import find_folder, read_settings

        name = read_settings(find_folder(weights)).name
        if model != name:
            raise ConfigError(
                f"--zero-shot uses the weights as they are, which are of {name!r} and not of {model!r}",
                fix=f"leave out --model, or give the weights of {model} with --weights",
            )


def _command(context: typer.Context, **changed: Any) -> str:
    """The command line as it was given, without what has its default."""
    words = ["epir", "evaluate"]
    for parameter in context.command.params:
        value = changed.get(str(parameter.name), context.params.get(str(parameter.name)))
        if value in (None, [], ()) or value == parameter.default:
            continue
        values = value if isinstance(value, list | tuple) else [value]
        if parameter.param_type_name == "argument":
            words += map(str, values)
        elif value is True:
            words.append(parameter.opts[0])
        else:
            words += [word for each in values for word in (parameter.opts[0], str(each))]
    return shlex.join(words)
