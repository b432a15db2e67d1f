"""The verb `import-maps`."""

from pathlib import Path
from typing import Annotated

import typer


def import_maps(
    folder: Annotated[Path, typer.Argument(help="A folder with one PNG, NPY or NPZ file for each clip.")],
    out: Annotated[Path, typer.Option(help="The map set to write.")],
    labels: Annotated[
        Path | None,
        typer.Option(
            help="A CSV with the columns subject, clip, emotion; also corpus, file, onset, apex, offset, fps."
        ),
    ] = None,
    channels: Annotated[
        str | None,
        typer.Option(help="The channels of a file: u,v,strain or strain,v,u or rgb.", show_default="u,v,strain"),
    ] = None,
    layout: Annotated[
        str | None, typer.Option(help="A published folder: htnet (the composite of 442 clips).", show_default=False)
    ] = None,
    classes: Annotated[
        str, typer.Option(help="The classes, where the table has numbers: negative,positive,surprise.")
    ] = "",
    corpus: Annotated[str, typer.Option(help="The corpus of clips without one in the table.")] = "imported",
    force: Annotated[bool, typer.Option("--force", help="Replace the map set.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Make maps that were computed elsewhere a map set. Every file and every row must fit, or nothing is written.

    Maps carry the licence of their corpus. The repository of HTNet states none, and its maps derive from corpora that
    are licensed for research: use them for research only.

    Example: epir import-maps HTNet --layout htnet --out maps/composite

    Example: epir import-maps flow/ --labels flow/labels.csv --channels strain,v,u --out maps/mine
    """
    from collections import Counter

    from epir.cli.console import emit_json, stdout
    from epir.maps import importing
    from epir.maps.copies import find_copies

    names = [name.strip() for name in classes.split(",") if name.strip()]
    found = importing.import_maps(
        folder, out, labels=labels, channels=channels, layout=layout, classes=names, corpus=corpus, force=force
    )
    maps = found.maps
    people = {clip.person for clip in maps.clips}
    emotions = dict(Counter(clip.emotion for clip in maps.clips).most_common())
    copies = find_copies(maps.maps, maps.clips)
    if as_json:
        emit_json(
            {
                "maps": str(out),
                "clips": len(maps),
                "people": len(people),
                "size": maps.size,
                "emotions": emotions,
                "digest": found.digest,
                "copies": [vars(copy) for copy in copies],
            }
        )
        return
    lines = [f"{out}: {len(maps)} maps of {len(people)} people, {maps.size} x {maps.size} px"]
    lines += [", ".join(f"{count} {name}" for name, count in emotions.items()), f"digest of the files: {found.digest}"]
    lines += [f"the same clip under two names: {copy}\n  fix: keep one of them" for copy in copies]
    lines += [f"note: {found.licence}"] if found.licence else []
    for line in lines:
        stdout.print(line, markup=False)
