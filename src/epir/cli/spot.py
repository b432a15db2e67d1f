"""`epir spot`: long videos -> intervals."""

from pathlib import Path
from typing import Annotated

import typer

from epir.cli.evaluate import Address, Code, EngineName


def spot(
    inputs: Annotated[
        list[str],
        typer.Argument(
            help="CORPUS ROOT (casme-sq, samm-lv, casme3-lv, smic-e, synthetic, manifest), or videos, folders.",
            metavar="CORPUS ROOT | VIDEO...",
        ),
    ],
    out: Annotated[Path, typer.Option(help="The folder to write.")],
    model: Annotated[
        Path | None, typer.Option(help="A model folder, or an ONNX file.", show_default="the shipped weights")
    ] = None,
    code: Code = None,
    sensitivity: Annotated[
        str, typer.Option(help="low, normal or high: high finds more movements, and more that are none.")
    ] = "normal",
    detector: Annotated[
        str | None,
        typer.Option(help="mtcnn, or none where the pictures are cropped to the face.", show_default="the model's own"),
    ] = None,
    fps: Annotated[
        float | None, typer.Option(help="Frames a second.", show_default="as the corpus or the file says")
    ] = None,
    sheet: Annotated[Path | None, typer.Option(help="The annotation sheet, if there are several.")] = None,
    tree: Annotated[str | None, typer.Option(help="Which frames, where there are several: cropped, raw, ...")] = None,
    part: Annotated[str | None, typer.Option(help="smic-e: hs, vis or nir.")] = None,
    engine: EngineName = "local",
    workers: Annotated[int | None, typer.Option(help="Videos at once.", show_default="one per core")] = None,
    address: Address = "",
    force: Annotated[bool, typer.Option("--force", help="Start over and discard finished videos.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Find the micro- and macro-expressions of long videos. Run the same command to resume.

    Example: epir spot casme-sq data/CASME_sq --out spotted/casme-sq --workers 2

    Example: epir spot interview.mp4 frames/004_3 --fps 200 --out spotted/mine
    """
    from epir.cli.console import emit_json, showing_progress, stderr, stdout
    from epir.core.engines import Engine
    from epir.recognition.spot import find_videos, spot_videos
    from epir.spotting.megc.spotted import INTERVALS, read_record, record_path

    given = {"sheet": sheet, "tree": tree, "part": part}
    videos = find_videos(inputs, fps, **{name: value for name, value in given.items() if value is not None})
    with showing_progress(quiet=as_json) as progress:
        result = spot_videos(
            videos,
            out,
            model=model,
            sensitivity=sensitivity,  # type: ignore[arg-type]
            detector=detector,
            fps=fps,
            engine=Engine(engine, workers, address),
            force=force,
            progress=progress,
        )
    done = [video.key for video in videos if record_path(out, video.key).exists()]
    kinds = [each.kind for key in done for each in read_record(out, key).intervals]
    if as_json:
        emit_json(
            {
                "folder": str(out),
                "videos": result.videos,
                "spotted": result.spotted,
                "micro": kinds.count("micro"),
                "macro": kinds.count("macro"),
                "intervals": str(out / INTERVALS),
                "failed": [{"video": each.key, "problem": each.problem, "fix": each.fix} for each in result.failed],
            }
        )
    else:
        found = f"{kinds.count('micro')} micro- and {kinds.count('macro')} macro-expressions"
        videos_word = "video" if len(done) == 1 else "videos"
        stdout.print(f"{out}: {found} in {len(done)} {videos_word}; {result.spotted} spotted now", markup=False)
        if any(video.intervals for video in videos):
            stdout.print(f"next: epir score {out}", markup=False)
    for each in result.failed:
        stderr.print(f"{each.key}: {each.problem}\nfix: {each.fix}", markup=False)
    if result.failed:
        raise typer.Exit(2)
