"""The verb `import-annotations`."""

from pathlib import Path
from typing import Annotated

import typer


def import_annotations(
    files: Annotated[list[Path], typer.Argument(help="ELAN (.eaf), Praat (.TextGrid) or CSV files.")],
    out: Annotated[Path, typer.Option(help="The manifest to write, a CSV.")],
    video: Annotated[
        Path | None,
        typer.Option(help="The video or folder of frames, where a file does not name it.", show_default="as named"),
    ] = None,
    fps: Annotated[
        float | None, typer.Option(help="Frames a second, for folders of frames.", show_default="as the video says")
    ] = None,
    subject: Annotated[
        str | None, typer.Option(help="The person in all of these files.", show_default="one per video")
    ] = None,
    tier: Annotated[str, typer.Option(help="The tier with the emotion.")] = "micro-expression",
    apex_tier: Annotated[str, typer.Option(help="The tier with the apex.")] = "apex",
    units_tier: Annotated[str, typer.Option(help="The tier with the action units.")] = "action units",
    force: Annotated[bool, typer.Option("--force", help="Replace the manifest.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Make a lab's own annotations a corpus: ELAN, Praat or CSV files -> a manifest for epir check and epir prepare.

    Example: epir import-annotations coded/*.eaf --out mine/manifest.csv

    Example: epir import-annotations s01.TextGrid --video s01.mp4 --subject s01 --tier emotion --out manifest.csv
    """
    from epir.cli.console import emit_json, stdout
    from epir.core.errors import FrameError
    from epir.core.files import write_text
    from epir.core.output import claimed_file, resolved
    from epir.core.words import counted, people
    from epir.datasets.annotations import Clock, TierNames, import_rows, manifest_text
    from epir.frames.reader import open_frames

    def clock_of(place: Path) -> Clock:
        with open_frames(place, fps) as frames:
            if frames.fps is None:
                raise FrameError(f"{place} does not say how many frames a second it has", fix="give --fps")
            return Clock(frames.fps, frames.numbers[0] if place.is_dir() else 0)

    names = TierNames(tier, apex_tier, units_tier)
    with claimed_file(out, force=force, inputs=files):
        found = import_rows(files, clock_of, names=names, subject=subject, video=video)
        rows = found.rows
        write_text(out, manifest_text(rows, resolved(out).parent))
    subjects = len({row["subject"] for row in rows})
    if as_json:
        emit_json(
            {"manifest": str(out), "clips": len(rows), "people": subjects, "without_movements": found.without_movements}
        )
        return
    stdout.print(f"{out}: {counted(len(rows), 'clip')} of {people(subjects)}", markup=False)
    for path, words in found.without_movements.items():
        stdout.print(f"note: {path}: {words}", markup=False)
    if subject is None and len({row["subject"] for row in rows if row["subject"] == Path(row["frames"]).stem}) > 1:
        stdout.print("note: each video counts as a person of its own; correct the column subject where it is not")
    stdout.print(f"next: epir prepare manifest {out} --out maps", markup=False)
