"""The verb `spot`: long videos -> intervals."""

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from epir.cli import options
from epir.core.words import counted


def spot(
    inputs: Annotated[
        list[str],
        Argument(
            help="CORPUS ROOT (casme-sq, samm-lv, casme3-lv, smic-e, synthetic, manifest), or videos and folders "
            "of frames.",
            metavar="CORPUS ROOT | VIDEO...",
        ),
    ],
    out: Annotated[Path, Option(help="The folder to write.")],
    model: options.ModelOption = None,
    code: options.Code = None,
    sensitivity: options.Sensitivity = "normal",
    detector: options.Detector = None,
    fps: Annotated[float | None, Option(help="Frames per second.", show_default="from the corpus or the file")] = None,
    sheet: options.Sheet = None,
    tree: options.Tree = None,
    part: options.Part = None,
    engine: options.EngineName = "local",
    workers: Annotated[int | None, Option(help="Videos spotted in parallel.", show_default="one per core")] = None,
    address: options.Address = "",
    force: options.StartOver = False,
    as_json: options.AsJson = False,
) -> None:
    """Find the micro- and macro-expressions in long videos. Run the same command to resume.

    Example: epir spot casme-sq data/CASME_sq --out spotted/casme-sq --workers 2

    Example: epir spot interview.mp4 frames/004_3 --fps 200 --out spotted/mine
    """
    from epir.cli.console import show, showing_progress, warn
    from epir.core.engines import Engine
    from epir.recognition.caution import frame_rate_warnings
    from epir.recognition.spot import find_videos, spot_videos
    from epir.spotting.megc.spotted import INTERVALS, read_record, record_path

    videos = find_videos(inputs, fps, **options.only_set(sheet=sheet, tree=tree, part=part))
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
    records = [read_record(out, key) for key in done]
    kinds = [interval.kind for record in records for interval in record.intervals]
    micro, macro = kinds.count("micro"), kinds.count("macro")
    value = {
        "folder": str(out),
        "videos": result.videos,
        "spotted": result.spotted,
        "micro": micro,
        "macro": macro,
        "intervals": str(out / INTERVALS),
        "failed": [{"video": video.key, "problem": video.problem, "fix": video.fix} for video in result.failed],
    }
    counts = f"{micro} micro- and {macro} macro-expressions in {counted(len(done), 'video')}"
    lines = [f"{out}: {counts}; {result.spotted} spotted now"]
    if any(video.intervals for video in videos):
        lines.append(f"next: epir score {out}")
    show(value, lines, as_json=as_json)
    (unknown,) = frame_rate_warnings(None)
    assumed = [record.video for record in records if unknown in record.warnings]
    if assumed:
        warn(f"note: {assumed[0]}{f' and {len(assumed) - 1} more' if assumed[1:] else ''}: {unknown}")
    warn(*(f"{video.key}: {video.problem}\nfix: {video.fix}" for video in result.failed))
    if result.failed:
        raise typer.Exit(2)
