"""The verb `predict`."""

from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from epir.cli import options
from epir.core.words import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from epir.core.engines import Engine
    from epir.core.errors import EpirError
    from epir.recognition.collect import CollectOptions


def predict(
    inputs: Annotated[
        list[str],
        Argument(help="Videos, folders of frames, patterns such as 'clips/*.mp4'; pictures in pairs: onset apex."),
    ],
    model: options.ModelOption = None,
    code: options.Code = None,
    onset: Annotated[int | None, Option(help="Number of the onset frame.", show_default="spotted")] = None,
    apex: Annotated[int | None, Option(help="Number of the apex frame.", show_default="spotted")] = None,
    fps: Annotated[
        float | None,
        Option(help="Frames a second, for folders and slow-motion files.", show_default="as the file says"),
    ] = None,
    start: Annotated[float | None, Option(help="Start at this second of a video.")] = None,
    end: Annotated[float | None, Option(help="Stop at this second of a video.")] = None,
    faces: Annotated[str, Option(help="largest, or all: an answer for each person.")] = "largest",
    detector: options.Detector = None,
    sensitivity: options.Sensitivity = "normal",
    candidates: Annotated[
        float, Option(help="List the most probable movements, so many a minute, also those that are rejected.")
    ] = 0.0,
    every: Annotated[bool, Option("--all", help="Tables also hold every rejected movement and why.")] = False,
    out: Annotated[
        Path | None, Option(help="A folder for pictures of why, timelines, annotated videos, tables and tiers.")
    ] = None,
    table: Annotated[
        Path | None, Option(help="One CSV of the movements of all inputs, also of folders of videos; resumes.")
    ] = None,
    engine: options.EngineName = "local",
    workers: Annotated[
        int | None, Option(help="Inputs analysed in parallel, with --table.", show_default="one per core")
    ] = None,
    address: options.Address = "",
    backend: Annotated[str | None, Option(help="torch or onnx.", show_default="torch")] = None,
    threshold: Annotated[
        float | None, Option(help="Answers below this score are `uncertain`.", show_default="the model's own")
    ] = None,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Say which micro-expressions a video shows, how sure that is, and (with --out) why.

    Example: epir predict interview.mp4 --out answers

    Example: epir predict clip_folder --fps 200 --onset 46 --apex 62

    Example: epir predict onset.png apex.png

    Example: epir predict meeting.mkv --start 60 --end 90 --faces all

    Example: epir predict recordings --table events.csv --workers 4
    """
    from epir.cli.console import show, showing_progress, warn
    from epir.core.engines import Engine
    from epir.core.errors import ConfigError

    _check_options(model, (fps, start, end), (onset, apex), faces=faces, sensitivity=sensitivity, detector=detector)
    if len(inputs) == 1 and not as_json and not has_magic(inputs[0]) and not Path(inputs[0]).exists():
        warn(f"there is no folder or video {inputs[0]}\nfix: check the path")
        raise typer.Exit(2)
    from epir.recognition.batch import answer_all
    from epir.recognition.collect import CollectOptions
    from epir.recognition.events import answer_lines
    from epir.recognition.recognizer import Recognizer

    where = Engine(engine, workers, address)
    if table is not None:
        for name, value in {"out": out, "onset": onset, "apex": apex}.items():
            if value is not None:
                raise ConfigError(f"--{name} does not go with --table", fix=f"leave out one of --table and --{name}")
        folder = None if model is None else str(model)
        how = (folder, backend, threshold, detector, sensitivity, fps, start, end, faces, every, candidates)
        _collect(inputs, table, CollectOptions(*how), engine=where, force=force, as_json=as_json)
        return
    for name, is_used in {"--engine ray": where.is_cluster, "--workers": workers is not None}.items():
        if is_used:
            raise ConfigError(f"{name} needs --table", fix=f"add --table FILE.csv, or leave out {name.split()[0]}")
    recognizer = Recognizer.from_pretrained(
        model,
        backend=backend,  # type: ignore[arg-type]
        threshold=threshold,
        detector=detector,  # type: ignore[arg-type]
        sensitivity=sensitivity,  # type: ignore[arg-type]
    )
    with showing_progress(quiet=as_json) as progress:
        batch = answer_all(
            recognizer,
            inputs,
            onset=onset,
            apex=apex,
            fps=fps,
            start=start,
            end=end,
            faces=faces,
            candidates=candidates,
            every=every,
            out=out,
            force=force,
            progress=progress,
        )
    show(
        batch.to_dict(),
        [*answer_lines(batch.answers), *(f"written: {path}" for path in batch.written)],
        as_json=as_json,
    )
    _show_errors(batch.errors, named=len(batch.answers) + len(batch.errors) > 1, stopped=batch.stopped)


def _check_options(
    model: Path | None,
    times: tuple[float | None, float | None, float | None],
    key_frames: tuple[int | None, int | None],
    **choices: Any,
) -> None:
    """Raise for what cannot be, before torch is loaded."""
    from epir.faces.face import FaceSettings, TrackingSettings
    from epir.spotting.decision import SpottingSettings

    TrackingSettings(faces=choices["faces"])
    SpottingSettings(sensitivity=choices["sensitivity"])
    if choices["detector"] is not None:
        FaceSettings(detector=choices["detector"])
    options.check_model(model)
    if any(each is not None for each in (*times, *key_frames)):
        from epir.recognition.source import check_order, check_times

        check_times(*times)
        check_order(*key_frames)


def _collect(
    inputs: list[str], table: Path, how: "CollectOptions", *, engine: "Engine", force: bool, as_json: bool
) -> None:
    """The movements of all inputs in one table."""
    from epir.cli.console import show, showing_progress
    from epir.recognition.collect import collect_events

    with showing_progress(quiet=as_json) as progress:
        done = collect_events(inputs, table, how, engine=engine, force=force, progress=progress)
    known = f", {done.known} known already" if done.known else ""
    line = f"{table}: {counted(done.answered, 'input')} answered{known}; {counted(done.movements, 'micro-expression')}"
    show(done.to_dict(), [line], as_json=as_json)
    _show_errors(done.errors)


def _show_errors(
    errors: "Sequence[tuple[str, EpirError]]", *, named: bool = True, stopped: BaseException | None = None
) -> None:
    """Inputs without an answer; the exit code then is 2."""
    from epir.cli.console import warn

    warn(*(f"{name + ': ' if named else ''}{error.problem}\nfix: {error.fix}" for name, error in errors))
    if stopped is not None:
        raise stopped
    if errors:
        raise typer.Exit(2)
