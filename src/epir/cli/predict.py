"""The verb `predict`."""

from pathlib import Path
from typing import Annotated

import typer


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
    onset: Annotated[int | None, typer.Option(help="Number of the onset frame.", show_default="spotted")] = None,
    apex: Annotated[int | None, typer.Option(help="Number of the apex frame.", show_default="spotted")] = None,
    fps: Annotated[
        float | None,
        typer.Option(help="Frames a second, for folders and slow-motion files.", show_default="as the file says"),
    ] = None,
    start: Annotated[float | None, typer.Option(help="Seconds from which a video is looked at.")] = None,
    end: Annotated[float | None, typer.Option(help="Seconds up to which a video is looked at.")] = None,
    faces: Annotated[str, typer.Option(help="largest, or all: an answer for each person.")] = "largest",
    detector: Annotated[
        str | None,
        typer.Option(help="mtcnn, or none where the pictures are cropped to the face.", show_default="the model's own"),
    ] = None,
    sensitivity: Annotated[
        str, typer.Option(help="low, normal or high: high finds more movements, and more that are none.")
    ] = "normal",
    out: Annotated[
        Path | None, typer.Option(help="A folder for pictures of why, timelines and annotated videos.")
    ] = None,
    backend: Annotated[str | None, typer.Option(help="torch or onnx.", show_default="torch")] = None,
    engine: Annotated[str | None, typer.Option(hidden=True)] = None,
    threshold: Annotated[
        float | None, typer.Option(help="Answers below this score are `uncertain`.", show_default="the model's own")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace what is in the folder --out.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Say which micro-expressions a video shows, how sure that is, and (with --out) why.

    Example: epir predict interview.mp4 --out answers

    Example: epir predict clip_folder --fps 200 --onset 46 --apex 62

    Example: epir predict onset.png apex.png

    Example: epir predict meeting.mkv --start 60 --end 90 --faces all
    """
    from epir.cli.console import emit_json, renamed, showing_progress, stderr, stdout
    from epir.recognition.batch import answer_all
    from epir.recognition.recognizer import Recognizer
    from epir.recognition.table import answer_lines

    recognizer = Recognizer.from_pretrained(
        model,
        backend=renamed(backend, engine, old="--engine", new="--backend"),  # type: ignore[arg-type]
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
