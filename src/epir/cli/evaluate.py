"""The verb `evaluate`."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option

from epir.cli import options


def evaluate(
    context: typer.Context,
    maps: options.Maps,
    protocol: options.Protocol,
    model: Annotated[
        str | None,
        Option(
            help="A model, or several separated by commas: a name (epir list models), FILE.py:Name or "
            "package.module:Name.",
            show_default="epir",
            autocompletion=options.complete_models,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        Option(help="The run folder.", show_default="runs/PROTOCOL-MODEL; several models: runs/PROTOCOL-models"),
    ] = None,
    folds: options.Folds = "loso",
    seeds: options.Seeds = 1,
    training: options.Training = None,
    changes: options.Changes = None,
    zero_shot: Annotated[
        bool, Option("--zero-shot", help="No training: the weights as they are predict every clip.")
    ] = False,
    weights: Annotated[
        Path | None, Option(help="The model folder for --zero-shot.", show_default="the shipped weights")
    ] = None,
    target: Annotated[
        str, Option(help="What to score: classes, or units (action units, on clips annotated with them).")
    ] = "classes",
    nested: Annotated[
        list[str] | None,
        Option(
            help="Candidate settings, selected inside each training fold on held-out people: default, or "
            "'training.lr=1e-4 training.epochs=12'. Give two or more; each adds three trainings per fold.",
            show_default=False,
        ),
    ] = None,
    code: options.Code = None,
    allow_seen: options.AllowSeen = False,
    engine: options.EngineName = "local",
    workers: options.Workers = None,
    address: options.Address = "",
    gpus: options.Gpus = 0.0,
    record: Annotated[
        Path | None, Option(help="Also write each result as a small JSON file into this folder.", show_default="none")
    ] = None,
    force: options.StartOver = False,
    as_json: options.AsJson = False,
) -> None:
    """Train and predict every fold, print the scores and write the run. Run the same command to resume.

    Example: epir evaluate maps --protocol cde --folds 10 --seeds 3 --out runs/first
    """
    from epir.cli.console import command_line, show, showing_progress
    from epir.core.config import check_known
    from epir.core.engines import Engine
    from epir.core.errors import ConfigError, EpirError
    from epir.models.registry import parse_models

    options.check_names(maps, protocol)  # before torch is imported, so that errors come fast
    names = parse_models(model or "epir")
    check_known(target, ("classes", "units"), what="target")
    if target == "units" and len(names) > 1:
        raise ConfigError("--target units evaluates one model at a time", fix=f"for example --model {names[0]}")
    if nested and len(names) > 1:
        raise ConfigError("--nested selects settings of one model at a time", fix="give one --model")
    if zero_shot:
        training_options: dict[str, Any] = {"--set": changes, "--training": training, "--nested": nested}
        training_options |= {"--seeds": seeds != 1, "--folds": folds != "loso"}
        _check_zero_shot(training_options, weights, model)
    elif weights is not None:
        raise ConfigError("--weights needs --zero-shot", fix="to train from weights use --set training.start=MODEL")
    if record is not None and record.exists() and not record.is_dir():
        raise ConfigError(f"--record {record} is not a folder", fix="name a folder: --record results")
    where = Engine(engine, workers, address, gpus)

    from epir.evaluation.comparison import scores_with_training
    from epir.evaluation.published import comparisons
    from epir.evaluation.run import evaluate as evaluate_folds
    from epir.evaluation.run import evaluate_zero_shot
    from epir.evaluation.series import evaluate_models
    from epir.evaluation.table import score_table, units_table

    scored: Any = {"target": target}
    common: Any = {"protocol": protocol, "out": out, "allow_seen": allow_seen, "engine": where, "force": force}
    trained: Any = {"folds": folds, "seeds": seeds, "training": training, "changes": changes or ()}
    with showing_progress(quiet=as_json) as progress:
        common["progress"] = progress
        if len(names) > 1:
            series = evaluate_models(maps, models=names, **trained, **common)
            runs, table, names = series.runs, series.table, series.names
            own = [{"model": v.model, "changes": v.changes, "training": v.training} for v in series.variants]
        else:
            if zero_shot:
                run = evaluate_zero_shot(maps, weights=weights, **scored, **common)
            else:
                run = evaluate_folds(maps, model=names[0], nested=nested or (), **scored, **trained, **common)
            runs, table = (run,), score_table([run], comparisons(run.experiment.protocol))
            own = [{}]
            if target == "units":
                table = units_table(run) or table
    scores = {n: {"run": str(run.folder), **scores_with_training(run)} for n, run in zip(names, runs, strict=True)}
    lines = [table.text(), *(f"run: {run.folder}" for run in runs)]
    refused: EpirError | None = None
    if record is not None:
        from epir.reports.record import record_result

        try:
            for run, options_of_run in zip(runs, own, strict=True):
                path, change = record_result(run, record, command_line(context, **options_of_run))
                lines.append(f"recorded: {path} ({change})")
        except EpirError as error:
            refused = error  # the scores are shown first
    show({"runs": scores} if len(runs) > 1 else scores[names[0]], lines, as_json=as_json)
    if refused is not None:
        raise refused


def _check_zero_shot(training_options: dict[str, Any], weights: Path | None, model: str | None) -> None:
    """Raise if a training option is set, or if `model` is not the model of the weights."""
    from epir.core.errors import ConfigError

    if used := [name for name, is_used in training_options.items() if is_used]:
        raise ConfigError(f"--zero-shot does not train: {used[0]} has no effect", fix=f"leave out {', '.join(used)}")
    if model is not None:
        from epir.models.folder import find_folder, read_settings

        name = read_settings(find_folder(weights)).name
        if model != name:
            raise ConfigError(
                f"--zero-shot uses the weights as they are: they belong to {name!r}, not to {model!r}",
                fix=f"leave out --model, or give the weights of {model} with --weights",
            )
