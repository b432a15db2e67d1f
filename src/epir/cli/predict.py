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
        Argument(help="Videos, folders of frames, patterns such as 'clips/*.mp4', or pairs of pictures: onset apex."),
    ],
    model: options.ModelOption = None,
    code: options.Code = None,
    onset: Annotated[int | None, Option(help="Number of the onset frame.", show_default="spotted")] = None,
    apex: Annotated[int | None, Option(help="Number of the apex frame.", show_default="spotted")] = None,
    fps: Annotated[
        float | None,
        Option(help="Frames per second, for folders and slow-motion files.", show_default="from the file"),
    ] = None,
    start: Annotated[float | None, Option(help="Start at this second of a video.")] = None,
    end: Annotated[float | None, Option(help="Stop at this second of a video.")] = None,
    faces: Annotated[str, Option(help="largest, or all: an answer for each person.")] = "largest",
    detector: options.Detector = None,
    sensitivity: options.Sensitivity = "normal",
    candidates: Annotated[
        float, Option(help="Also list this many of the most probable movements per minute, rejected ones included.")
    ] = 0.0,
    every: Annotated[
        bool, Option("--all", help="Include every rejected movement in the tables, with the reason.")
    ] = False,
    out: Annotated[
        Path | None, Option(help="A folder for pictures of why, timelines, annotated videos, tables and tiers.")
    ] = None,
    table: Annotated[
        Path | None,
        Option(help="Write the movements of all inputs to one CSV; inputs may be folders of videos. Resumes."),
    ] = None,
    engine: options.EngineName = "local",
    workers: Annotated[
        int | None, Option(help="Inputs analysed in parallel, with --table.", show_default="one per core")
    ] = None,
    address: options.Address = "",
    backend: Annotated[str | None, Option(help="torch or onnx.", show_default="torch")] = None,
    threshold: Annotated[
        float | None, Option(help="Answers below this score are `uncertain`.", show_default="from the model")
    ] = None,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Recognise the micro-expressions in a video, with scores and, with --out, pictures of why.

    Example: epir predict interview.mp4 --out answers

    Example: epir predict clip_folder --fps 200 --onset 46 --apex 62

    Example: epir predict onset.png apex.png

    Example: epir predict meeting.mkv --start 60 --end 90 --faces all

    Example: epir predict recordings --table events.csv --workers 4
    """
    from epir.core.engines import Engine
    from epir.core.errors import ConfigError, FrameError

    _check_options(model, (fps, start, end), (onset, apex), faces=faces, sensitivity=sensitivity, detector=detector)
    if len(inputs) == 1 and not as_json and not has_magic(inputs[0]) and not Path(inputs[0]).exists():
        raise FrameError(f"there is no folder or video {inputs[0]}", fix="check the path")
    where = Engine(engine, workers, address)
    if table is None:
        for name, is_used in {"--engine ray": where.is_cluster, "--workers": workers is not None}.items():
            if is_used:
                raise ConfigError(f"{name} needs --table", fix=f"add --table FILE.csv, or leave out {name.split()[0]}")
    for name, value in {"--out": out, "--onset": onset, "--apex": apex}.items():
        if table is not None and value is not None:
            raise ConfigError(f"{name} cannot be combined with --table", fix=f"leave out --table or {name}")
    from epir.recognition.collect import CollectOptions

    settings = CollectOptions(
        model=None if model is None else str(model),
        backend=backend,
        threshold=threshold,
        detector=detector,
        sensitivity=sensitivity,
        fps=fps,
        start=start,
        end=end,
        faces=faces,
        every=every,
        candidates=candidates,
    )
    if table is None:
        _answer_inputs(inputs, settings, onset=onset, apex=apex, out=out, force=force, as_json=as_json)
    else:
        _write_table(inputs, table, settings, engine=where, force=force, as_json=as_json)


def _check_options(
    model: Path | None,
    times: tuple[float | None, float | None, float | None],
    key_frames: tuple[int | None, int | None],
    **choices: Any,
) -> None:
    """Raise for impossible values before torch is imported; `times` are fps, start and end."""
    from epir.faces.face import FaceSettings, TrackingSettings
    from epir.spotting.decision import SpottingSettings

    TrackingSettings(faces=choices["faces"])
    SpottingSettings(sensitivity=choices["sensitivity"])
    if choices["detector"] is not None:
        FaceSettings(detector=choices["detector"])
    options.check_model(model)
    if any(value is not None for value in (*times, *key_frames)):
        from epir.recognition.source import check_order, check_times

        check_times(*times)
        check_order(*key_frames)


def _answer_inputs(
    inputs: list[str],
    settings: "CollectOptions",
    *,
    onset: int | None,
    apex: int | None,
    out: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Print an answer for each input, and write its files to `out`."""
    from epir.cli.console import show, showing_progress
    from epir.recognition.batch import answer_all
    from epir.recognition.events import answer_lines
    from epir.recognition.recognizer import Recognizer

    recognizer = Recognizer.from_pretrained(
        settings.model,
        backend=settings.backend,  # type: ignore[arg-type]
        threshold=settings.threshold,
        detector=settings.detector,  # type: ignore[arg-type]
        sensitivity=settings.sensitivity,  # type: ignore[arg-type]
    )
    with showing_progress(quiet=as_json) as progress:
        batch = answer_all(
            recognizer,
            inputs,
            onset=onset,
            apex=apex,
            fps=settings.fps,
            start=settings.start,
            end=settings.end,
            faces=settings.faces,
            candidates=settings.candidates,
            every=settings.every,
            out=out,
            force=force,
            progress=progress,
        )
    lines = [*answer_lines(batch.answers), *(f"written: {path}" for path in batch.written)]
    show(batch.to_dict(), lines, as_json=as_json)
    _report_errors(batch.errors, with_names=len(batch.answers) + len(batch.errors) > 1, stopped=batch.stopped)


def _write_table(
    inputs: list[str], table: Path, settings: "CollectOptions", *, engine: "Engine", force: bool, as_json: bool
) -> None:
    """Write the movements of all inputs into one CSV."""
    from epir.cli.console import show, showing_progress
    from epir.recognition.collect import collect_events

    with showing_progress(quiet=as_json) as progress:
        done = collect_events(inputs, table, settings, engine=engine, force=force, progress=progress)
    known = f", {done.known} known already" if done.known else ""
    line = f"{table}: {counted(done.answered, 'input')} answered{known}; {counted(done.movements, 'micro-expression')}"
    show(done.to_dict(), [line], as_json=as_json)
    _report_errors(done.errors)


def _report_errors(
    errors: "Sequence[tuple[str, EpirError]]", *, with_names: bool = True, stopped: BaseException | None = None
) -> None:
    """Print the inputs that failed and exit with 2; re-raise the interruption that stopped the batch."""
    from epir.cli.console import warn

    warn(*(f"{name + ': ' if with_names else ''}{error.problem}\nfix: {error.fix}" for name, error in errors))
    if stopped is not None:
        raise stopped
    if errors:
        raise typer.Exit(2)
