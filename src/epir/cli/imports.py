"""The verbs `import-annotations`, `import-maps` and `import-predictions`: what others made, for epir."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from epir.cli.options import AsJson, Force, Protocol
from epir.core.words import counted, people


def import_annotations(
    files: Annotated[list[Path], Argument(help="ELAN (.eaf), Praat (.TextGrid) or CSV files.")],
    out: Annotated[Path, Option(help="The manifest to write, a CSV.")],
    video: Annotated[
        Path | None,
        Option(help="The video or folder of frames, where a file does not name it.", show_default="as named"),
    ] = None,
    fps: Annotated[
        float | None, Option(help="Frames a second, for folders of frames.", show_default="as the video says")
    ] = None,
    subject: Annotated[
        str | None, Option(help="The person in all of these files.", show_default="one per video")
    ] = None,
    tier: Annotated[str, Option(help="The tier with the emotion.")] = "micro-expression",
    apex_tier: Annotated[str, Option(help="The tier with the apex.")] = "apex",
    units_tier: Annotated[str, Option(help="The tier with the action units.")] = "action units",
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Make a lab's own annotations a corpus: ELAN, Praat or CSV files -> a manifest for epir check and epir prepare.

    Example: epir import-annotations coded/*.eaf --out mine/manifest.csv

    Example: epir import-annotations s01.TextGrid --video s01.mp4 --subject s01 --tier emotion --out manifest.csv
    """
    from epir.cli.console import show
    from epir.core.errors import FrameError
    from epir.core.files import write_text
    from epir.core.output import claimed_file, resolved
    from epir.datasets.annotations import Clock, TierNames, import_rows, manifest_text
    from epir.frames.reader import open_frames

    def clock_of(place: Path) -> Clock:
        with open_frames(place, fps) as frames:
            if frames.fps is None:
                raise FrameError(f"{place} does not say how many frames a second it has", fix="give --fps")
            return Clock(frames.fps, frames.numbers[0] if place.is_dir() else 0)

    names = TierNames(tier, apex_tier, units_tier)
    with claimed_file(out, force=force, inputs=files):
        imported = import_rows(files, clock_of, names=names, subject=subject, video=video)
        rows, without = imported.rows, imported.without_movements
        write_text(out, manifest_text(rows, resolved(out).parent))
    subjects = {row["subject"] for row in rows}
    lines = [f"{out}: {counted(len(rows), 'clip')} of {people(len(subjects))}"]
    lines += [f"note: {path}: {words}" for path, words in without.items()]
    if subject is None and len({row["subject"] for row in rows if row["subject"] == Path(row["frames"]).stem}) > 1:
        lines.append("note: each video counts as a person of its own; correct the column subject where it is not")
    lines.append(f"next: epir prepare manifest {out} --out maps")
    value = {"manifest": str(out), "clips": len(rows), "people": len(subjects), "without_movements": without}
    show(value, lines, as_json=as_json)


def import_maps(
    folder: Annotated[Path, Argument(help="A folder with one PNG, NPY or NPZ file for each clip.")],
    out: Annotated[Path, Option(help="The map set to write.")],
    labels: Annotated[
        Path | None,
        Option(help="A CSV with the columns subject, clip, emotion; also corpus, file, onset, apex, offset, fps."),
    ] = None,
    channels: Annotated[
        str | None, Option(help="The channels of a file: u,v,strain or strain,v,u or rgb.", show_default="u,v,strain")
    ] = None,
    layout: Annotated[
        str | None, Option(help="A published folder: htnet (the composite of 442 clips).", show_default=False)
    ] = None,
    classes: Annotated[str, Option(help="The classes, where the table has numbers: negative,positive,surprise.")] = "",
    corpus: Annotated[str, Option(help="The corpus of clips without one in the table.")] = "imported",
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Make maps that were computed elsewhere a map set. Every file and every row must fit, or nothing is written.

    Maps carry the licence of their corpus. The repository of HTNet states none, and its maps derive from corpora that
    are licensed for research: use them for research only.

    Example: epir import-maps HTNet --layout htnet --out maps/composite

    Example: epir import-maps flow/ --labels flow/labels.csv --channels strain,v,u --out maps/mine
    """
    from collections import Counter

    from epir.cli.console import show
    from epir.maps import importing
    from epir.maps.copies import find_copies

    names = [name.strip() for name in classes.split(",") if name.strip()]
    imported = importing.import_maps(
        folder, out, labels=labels, channels=channels, layout=layout, classes=names, corpus=corpus, force=force
    )
    maps, digest = imported.maps, imported.digest
    persons = len({clip.person for clip in maps.clips})
    emotions = dict(Counter(clip.emotion for clip in maps.clips).most_common())
    copies = find_copies(maps.maps, maps.clips)
    value = {"maps": str(out), "clips": len(maps), "people": persons, "size": maps.size, "emotions": emotions}
    lines = [f"{out}: {counted(len(maps), 'map')} of {people(persons)}, {maps.size} x {maps.size} px"]
    lines += [", ".join(f"{count} {name}" for name, count in emotions.items()), f"digest of the files: {digest}"]
    lines += [f"the same clip under two names: {copy}\n  fix: keep one of them" for copy in copies]
    lines += [f"note: {imported.licence}"] if imported.licence else []
    show({**value, "digest": digest, "copies": [vars(copy) for copy in copies]}, lines, as_json=as_json)


def import_predictions(
    table: Annotated[
        Path,
        Argument(help="A CSV: corpus, subject, clip, truth, then prediction or a score per class; fold if known."),
    ],
    protocol: Protocol,
    name: Annotated[str, Option(help="The method, as tables shall name it.", show_default=False)],
    out: Annotated[Path, Option(help="The run folder to write.", show_default=False)],
    maps: Annotated[
        list[Path] | None,
        Option(help="Map sets whose clips the table must have; repeat for several.", show_default="no check"),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Make predictions of other software a run for epir compare and epir report, marked as not checked.

    Example: epir import-predictions htnet.csv --protocol cde --name HTNet --out runs/htnet
    """
    from epir.cli.console import show
    from epir.evaluation import imported
    from epir.evaluation.published import comparisons
    from epir.evaluation.table import score_table

    run = imported.import_predictions(table, protocol=protocol, name=name, out=out, maps=maps or (), force=force)
    text = score_table([run], comparisons(run.experiment.protocol)).text()
    show({"run": str(run.folder), **run.scores}, [text, f"run: {run.folder}"], as_json=as_json)
