"""The verb `train`."""

from pathlib import Path
from typing import Annotated

import typer

from epir.cli.evaluate import AllowSeen, Code, Protocol


def train(
    maps: Annotated[list[Path], typer.Argument(help="Map sets of one size, as epir prepare writes them.")],
    protocol: Protocol,
    out: Annotated[Path, typer.Option(help="The model folder to write.")],
    model: Annotated[
        str, typer.Option(help="The model to train: a name, FILE.py:Name or package.module:Name.")
    ] = "epir",
    start: Annotated[
        Path | None, typer.Option(help="A model folder to start from, or shipped.", show_default="as the recipe has it")
    ] = None,
    training: Annotated[
        str | None,
        typer.Option(
            help="The recipe: finetune, scratch, baseline, paper, or a TOML file.", show_default="as epir evaluate"
        ),
    ] = None,
    changes: Annotated[list[str] | None, typer.Option("--set", help="Change a setting: training.epochs=30.")] = None,
    folds: Annotated[int, typer.Option(help="Grouped folds that calibrate the scores.")] = 5,
    seed: Annotated[int, typer.Option(help="Random seed of the final model.")] = 0,
    run: Annotated[Path | None, typer.Option(help="Keep the folds as this run; a second call finishes them.")] = None,
    workers: Annotated[int | None, typer.Option(help="Folds run in parallel.", show_default="one per core")] = None,
    calibrate_on: Annotated[
        list[Path] | None,
        typer.Option(help="Map sets of other people that calibrate the scores, instead of folds.", show_default=False),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="Save the state of training in this file; a second call resumes from it.", show_default=False
        ),
    ] = None,
    note: Annotated[
        Path | None, typer.Option(help="A text file to include in the model card.", show_default=False)
    ] = None,
    half: Annotated[bool, typer.Option("--half", help="Store the weights in half precision.")] = False,
    allow_seen: AllowSeen = False,
    code: Code = None,
    force: Annotated[bool, typer.Option("--force", help="Replace what is there.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Train one model on all clips, calibrate its scores on held-out people, and write its folder with a model card.

    Example: epir train maps/casme2 maps/samm maps/smic --protocol cde --out models/mine
    """
    from dataclasses import asdict

    from epir.cli.console import emit_json, showing_progress, stdout
    from epir.core.words import counted, people
    from epir.final.train import train as train_model

    with showing_progress(quiet=json) as progress:
        made = train_model(
            maps,
            protocol=protocol,
            out=out,
            model=model,
            start=start,
            training=training,
            changes=changes or (),
            folds=folds,
            seed=seed,
            run=run,
            workers=workers,
            calibrate_on=calibrate_on or (),
            checkpoint=checkpoint,
            note=_read(note),
            half=half,
            allow_seen=allow_seen,
            force=force,
            progress=progress,
        )
    if json:
        calibration = asdict(made.calibration)
        leaking = {"evaluation": made.evaluation, "seen_in_training": made.strict}
        emit_json(
            {
                "model": str(out),
                "clips": made.clips,
                "people": made.people,
                **({"strict": made.strict} if made.evaluation == "strict" else leaking),
                "calibration": calibration,
            }
        )
        return
    strict, fitted = made.strict, made.calibration
    stdout.print(f"{counted(made.clips, 'clip')} of {people(made.people)}, protocol {protocol}", markup=False)
    stdout.print(
        f"{made.evaluation}, {'other people' if calibrate_on else 'grouped folds'}: "
        f"UF1 {strict['uf1']:.4f}  UAR {strict['uar']:.4f}  accuracy {strict['accuracy']:.4f}"
    )
    errors = f"{fitted.error_before:.3f} -> {fitted.error_after:.3f}"
    stdout.print(f"temperature {fitted.temperature:.3g}: expected calibration error {errors}", markup=False)
    named = f" --code {model}" if ":" in model else ""
    stdout.print(f"the model is in {out}; next: epir predict VIDEO --model {out}{named}", markup=False)


def _read(note: Path | None) -> str:
    from epir.core.errors import ConfigError

    if note is None:
        return ""
    try:
        return note.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"the note {note} cannot be read: {error}", fix="give a text file") from None
