"""The verbs `import-annotations`, `import-maps` and `import-predictions`: data from other software."""

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
        Option(help="The video or folder of frames, if the files do not name it.", show_default="from the files"),
    ] = None,
    fps: Annotated[
        float | None,
        Option(help="Frames per second of folders of frames; videos have time stamps.", show_default="from the video"),
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
    """Turn your own annotations (ELAN, Praat or CSV files) into a manifest for epir check and epir prepare.

    Example: epir import-annotations coded/*.eaf --out mine/manifest.csv

    Example: epir import-annotations s01.TextGrid --video s01.mp4 --subject s01 --tier emotion --out manifest.csv
    """
    from functools import cache

    from epir.cli.console import show
    from epir.core.errors import FrameError
    from epir.core.files import write_text
    from epir.core.output import claimed_file, resolved
    from epir.datasets.annotations import Clock, TierNames, import_rows, manifest_text
    from epir.frames.reader import open_frames
    from epir.frames.seeking import frame_times

    @cache
    def clock_of(path: Path) -> Clock:
        with open_frames(path, fps if path.is_dir() else None) as frames:
            rate = frames.fps or fps
            if rate is None:
                raise FrameError(f"{path} does not give its frame rate", fix="give --fps")
            if path.is_dir():
                return Clock(rate, frames.numbers[0], frames.numbers[-1])
        stamps = frame_times(path)
        return Clock(rate, last=len(stamps) - 1, stamps=stamps)

    names = TierNames(tier, apex_tier, units_tier)
    with claimed_file(out, force=force, inputs=files):
        imported = import_rows(files, clock_of, names=names, subject=subject, video=video)
        rows, without = imported.rows, imported.without_movements
        write_text(out, manifest_text(rows, resolved(out).parent))
    subjects = {row["subject"] for row in rows}
    lines = [f"{out}: {counted(len(rows), 'clip')} of {people(len(subjects))}"]
    lines += [f"note: {path}: {words}" for path, words in without.items()]
    lines += [
        f"note: {path}: {words}; correct it, or name the right video with --video"
        for path, words in imported.past_the_end.items()
    ]
    if imported.unnamed > 1:
        lines.append("note: each video counts as another person; correct the column subject if that is wrong")
    lines.append(f"next: epir prepare manifest {out} --out maps")
    value = {"manifest": str(out), "clips": len(rows), "people": len(subjects), "without_movements": without}
    show({**value, "past_the_end": imported.past_the_end}, lines, as_json=as_json)


def import_maps(
    folder: Annotated[Path, Argument(help="A folder with one PNG, NPY or NPZ file per clip.")],
    out: Annotated[Path, Option(help="The map set to write.")],
    labels: Annotated[
        Path | None,
        Option(help="A CSV with the columns subject, clip, emotion; optional: corpus, file, onset, apex, offset, fps."),
    ] = None,
    channels: Annotated[
        str | None, Option(help="Channel order: u,v,strain or strain,v,u or rgb.", show_default="u,v,strain")
    ] = None,
    layout: Annotated[
        str | None, Option(help="The layout of a published folder: htnet (442 composite clips).", show_default=False)
    ] = None,
    classes: Annotated[str, Option(help="Class names, if the table has numbers: negative,positive,surprise.")] = "",
    corpus: Annotated[str, Option(help="The corpus of clips for which the table gives none.")] = "imported",
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Import maps computed by other software as a map set. If a file or row does not fit, nothing is written.

    Maps carry the licence of their corpus. HTNet's repository states none, and its maps derive from corpora licensed
    for research: use them for research only.

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
        Argument(help="A CSV: corpus, subject, clip, truth, and prediction or one score per class; optional: fold."),
    ],
    protocol: Protocol,
    name: Annotated[str, Option(help="The name of the method in tables.", show_default=False)],
    out: Annotated[Path, Option(help="The run folder to write.", show_default=False)],
    maps: Annotated[
        list[Path] | None,
        Option(help="Map sets whose clips the table must contain. May be repeated.", show_default="no check"),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Import predictions of other software as a run for epir compare and epir report, marked as not checked.

    Example: epir import-predictions htnet.csv --protocol cde --name HTNet --out runs/htnet
    """
    from epir.cli.console import show
    from epir.evaluation import imported
    from epir.evaluation.published import comparisons
    from epir.evaluation.table import score_table

    run = imported.import_predictions(table, protocol=protocol, name=name, out=out, maps=maps or (), force=force)
    text = score_table([run], comparisons(run.experiment.protocol)).text()
    show({"run": str(run.folder), **run.scores}, [text, f"run: {run.folder}"], as_json=as_json)
