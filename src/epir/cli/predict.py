"""The verb `predict`."""

from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from epir.cli import completion
from epir.cli.evaluate import Address, Code

if TYPE_CHECKING:
    from epir.core.engines import Engine


def predict(
    inputs: Annotated[
        list[str],
        typer.Argument(
            help="Videos, folders of frames, patterns such as 'clips/*.mp4'; pictures in pairs: onset apex."
        ),
    ],
    model: Annotated[
        Path | None, typer.Option(help="A model folder, or an ONNX file.", show_default="the shipped weights")
    ] = None,
    code: Code = None,
    onset: Annotated[int | None, typer.Option(help="Number of the onset frame.", show_default="spotted")] = None,
    apex: Annotated[int | None, typer.Option(help="Number of the apex frame.", show_default="spotted")] = None,
    fps: Annotated[
        float | None,
        typer.Option(help="Frames a second, for folders and slow-motion files.", show_default="as the file says"),
    ] = None,
    start: Annotated[float | None, typer.Option(help="Start at this second of a video.")] = None,
    end: Annotated[float | None, typer.Option(help="Stop at this second of a video.")] = None,
    faces: Annotated[str, typer.Option(help="largest, or all: an answer for each person.")] = "largest",
    detector: Annotated[
        str | None,
        typer.Option(help="mtcnn, or none where the pictures are cropped to the face.", show_default="the model's own"),
    ] = None,
    sensitivity: Annotated[
        str, typer.Option(help="low, normal or high: high finds more movements, and more that are none.")
    ] = "normal",
    candidates: Annotated[
        float, typer.Option(help="List the most probable movements, so many a minute, also those that are rejected.")
    ] = 0.0,
    every: Annotated[bool, typer.Option("--all", help="Tables also hold every rejected movement and why.")] = False,
    out: Annotated[
        Path | None, typer.Option(help="A folder for pictures of why, timelines, annotated videos, tables and tiers.")
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(help="One CSV of the movements of all inputs, also of folders of videos; resumes."),
    ] = None,
    engine: Annotated[
        str,
        typer.Option(help="Where the work runs, with --table: local or ray.", autocompletion=completion.engines),
    ] = "local",
    workers: Annotated[
        int | None, typer.Option(help="Inputs analysed in parallel, with --table.", show_default="one per core")
    ] = None,
    address: Address = "",
    backend: Annotated[str | None, typer.Option(help="torch or onnx.", show_default="torch")] = None,
    threshold: Annotated[
        float | None, typer.Option(help="Answers below this score are `uncertain`.", show_default="the model's own")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace what is in the folder --out, or the file --table.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Say which micro-expressions a video shows, how sure that is, and (with --out) why.

    Example: epir predict interview.mp4 --out answers

    Example: epir predict clip_folder --fps 200 --onset 46 --apex 62

    Example: epir predict onset.png apex.png

    Example: epir predict meeting.mkv --start 60 --end 90 --faces all

    Example: epir predict recordings --table events.csv --workers 4
    """
    from epir.cli.console import emit_json, showing_progress, stderr, stdout
    from epir.core.engines import Engine
    from epir.core.errors import ConfigError

    _check_options(model, (fps, start, end), faces=faces, sensitivity=sensitivity, detector=detector)
    if len(inputs) == 1 and not json and not has_magic(inputs[0]) and not Path(inputs[0]).exists():
        stderr.print(f"there is no folder or video {inputs[0]}\nfix: check the path", markup=False)
        raise typer.Exit(2)
    from epir.recognition.batch import answer_all
    from epir.recognition.events import answer_lines
    from epir.recognition.recognizer import Recognizer

    where = Engine(engine, workers, address)
    if table is None and where.is_cluster:
        raise ConfigError("--engine ray needs --table", fix="add --table FILE.csv, or leave out --engine")
    if table is None and workers is not None:
        raise ConfigError("--workers needs --table", fix="add --table FILE.csv, or leave out --workers")
    if table is not None:
        _check_not_with_table(out=out, onset=onset, apex=apex)
        own = None if model is None else str(model)
        options = (own, backend, threshold, detector, sensitivity, fps, start, end, faces, every, candidates)
        _collect(inputs, table, options, engine=where, force=force, json=json)
        return
    recognizer = Recognizer.from_pretrained(
        model,
        backend=backend,  # type: ignore[arg-type]
        threshold=threshold,
        detector=detector,  # type: ignore[arg-type]
        sensitivity=sensitivity,  # type: ignore[arg-type]
    )
    with showing_progress(quiet=json) as progress:
        batch = answer_all(
            recognizer,
            inputs,
            onset=onset,
            apex=apex,
            fps=fps,
            start=start,
            end=end,
            faces=faces,  # type: ignore[arg-type]
            candidates=candidates,
            every=every,
            out=out,
            force=force,
            progress=progress,
        )
    if json:
        emit_json(batch.to_dict())
    else:
        for line in answer_lines(batch.answers):
            stdout.print(line, markup=False)
        for path in batch.written:
            stdout.print(f"written: {path}", markup=False)
    for name, error in batch.errors:
        head = f"{name}: " if len(batch.answers) + len(batch.errors) > 1 else ""
        stderr.print(f"{head}{error.problem}\nfix: {error.fix}", markup=False)
    if batch.stopped is not None:
        raise batch.stopped
    if batch.errors:
        raise typer.Exit(2)


def _check_options(model: Path | None, times: tuple[float | None, float | None, float | None], **choices: Any) -> None:
    """Raise for what cannot be, before torch is loaded."""
    from epir.core.errors import CheckpointError
    from epir.faces.settings import FaceSettings, TrackingSettings
    from epir.spotting.settings import SpottingSettings

    TrackingSettings(faces=choices["faces"])
    SpottingSettings(sensitivity=choices["sensitivity"])
    if choices["detector"] is not None:
        FaceSettings(detector=choices["detector"])
    if model is not None and not model.exists() and len(model.parts) != 2:  # owner/name is looked for on the hub
        raise CheckpointError(f"there is no model folder {model}", fix="check the path, or make one with epir train")
    if any(each is not None for each in times):
        from epir.recognition.source import check_times

        check_times(*times)


def _collect(
    inputs: list[str], table: Path, options: tuple[Any, ...], *, engine: "Engine", force: bool, json: bool
) -> None:
    """The movements of all inputs in one table."""
    from epir.cli.console import emit_json, showing_progress, stderr, stdout
    from epir.recognition.collect import CollectOptions, collect_events

    with showing_progress(quiet=json) as progress:
        done = collect_events(inputs, table, CollectOptions(*options), engine=engine, force=force, progress=progress)
    if json:
        emit_json(done.to_dict())
    else:
        known = f", {done.known} known already" if done.known else ""
        stdout.print(
            f"{table}: {done.answered} inputs answered{known}; {done.movements} micro-expressions", markup=False
        )
    for name, error in done.errors:
        stderr.print(f"{name}: {error.problem}\nfix: {error.fix}", markup=False)
    if done.errors:
        raise typer.Exit(2)


def _check_not_with_table(**options: Any) -> None:
    from epir.core.errors import ConfigError

    for name, value in options.items():
        if value is not None:
            raise ConfigError(f"--{name} does not go with --table", fix=f"leave out one of --table and --{name}")
