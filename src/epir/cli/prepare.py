"""`epir prepare`: frames -> map set."""

from pathlib import Path
from typing import Annotated, Any

import typer

from epir.cli.check import CorpusName
from epir.cli.evaluate import Address, EngineName


def prepare(
    corpus: CorpusName,
    root: Annotated[Path, typer.Argument(help="The folder into which it was unpacked; for manifest, the CSV file.")],
    out: Annotated[Path, typer.Option(help="The map set to write.")],
    size: Annotated[int, typer.Option(help="Width and height of a map, in pixels.")] = 28,
    engine: EngineName = "local",
    workers: Annotated[
        int | None, typer.Option(help="Clips prepared in parallel.", show_default="one per core")
    ] = None,
    address: Address = "",
    recipe: Annotated[str, typer.Option(help="Flow recipe: epir, ststnet-like or htnet-like.")] = "epir",
    changes: Annotated[
        list[str] | None, typer.Option("--set", help="Change the flow recipe: flow.size=224, strain=tensor.")
    ] = None,
    detector: Annotated[str | None, typer.Option(help="mtcnn, or none for frames that are cropped already.")] = None,
    apex: Annotated[str | None, typer.Option(help="Apex of clips without one: spotted or middle.")] = None,
    views: Annotated[
        str, typer.Option(help="Maps per clip: apex, neighbours, rise2+return2, or with flow methods apex+apex:dis.")
    ] = "apex",
    sheet: Annotated[Path | None, typer.Option(help="The annotation sheet, if there are several.")] = None,
    tree: Annotated[str | None, typer.Option(help="Which frames, where there are several: cropped, raw, ...")] = None,
    part: Annotated[str | None, typer.Option(help="smic, smic-e: hs (default), vis, nir.")] = None,
    labels: Annotated[
        Path | None, typer.Option(help="manifest: a CSV that gives each emotion word a class: word,class.")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="A clip that cannot be prepared is an error.")] = False,
    contact_sheet: Annotated[bool, typer.Option("--contact-sheet", help="Draw one picture per person.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a map set made in another way.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Turn the frames of a corpus into a map set. Run the same command to resume.

    Example: epir prepare casme2 data/CASME2 --out maps/casme2 --contact-sheet

    Example: epir prepare casme3 /shared/CASME3 --out maps/casme3 --engine ray --address 10.0.0.1:6379
    """
    from epir.cli.console import emit_json, showing_progress, stdout
    from epir.core.engines import Engine
    from epir.core.people import probably_one
    from epir.flow.recipe import changed, flow_recipe
    from epir.maps.copies import find_copies
    from epir.maps.prepare import CONTACT_SHEETS, chosen_recipe
    from epir.maps.prepare import prepare as prepare_maps
    from epir.maps.resume import read_left_out

    chosen = chosen_recipe(flow_recipe(recipe, changes or ()), detector, apex)
    given: dict[str, Any] = {"sheet": sheet, "tree": tree, "part": part, "labels": labels}
    with showing_progress() as progress:
        maps = prepare_maps(
            corpus,
            root,
            out,
            size=size,
            engine=Engine(engine, workers, address),
            recipe=chosen,
            views=views,
            strict=strict,
            contact_sheet=contact_sheet,
            progress=progress,
            force=force,
            **{name: value for name, value in given.items() if value is not None},
        )
    left_out = read_left_out(out)
    copies = find_copies(maps.maps, maps.clips)
    twins = probably_one({clip.person for clip in maps.clips})
    sources = [clip.extra.get("apex_source", "") for clip in maps.clips]
    apexes = {source: sources.count(source) for source in sorted(set(sources))}
    people = len({clip.person for clip in maps.clips})
    noted = {clip.key: clip.extra["notes"] for clip in maps.clips if clip.extra.get("notes")}
    if as_json:
        emit_json(
            {
                "maps": str(out),
                "corpus": maps.meta["recipe"]["corpus"],
                "sheet": maps.meta["recipe"]["sheet"],
                "clips": len(maps),
                "people": people,
                "size": maps.size,
                "views": list(maps.view_names),
                "recipe": {"name": chosen.name, "digest": chosen.digest, "changed": changed(chosen)},
                "apex": apexes,
                "left_out": [{"clip": clip.key, "problem": clip.problem, "fix": clip.fix} for clip in left_out],
                "notes": noted,
                "copies": [vars(copy) for copy in copies],
                "probably_one": [list(names) for names in twins],
                "contact_sheets": str(out / CONTACT_SHEETS) if contact_sheet else None,
            }
        )
        return
    stdout.print(f"{out}: {len(maps)} maps of {people} people, {maps.size} x {maps.size} px", markup=False)
    if maps.views > 1:
        stdout.print(f"{maps.views} views of each: {', '.join(maps.view_names)}", markup=False)
    stdout.print(f"flow recipe: {'; '.join([chosen.name, *changed(chosen)])}", markup=False)
    stdout.print(f"apex: {', '.join(f'{count} {source}' for source, count in apexes.items())}", markup=False)
    if contact_sheet:
        stdout.print(f"contact sheets: {out / CONTACT_SHEETS}", markup=False)
    for copy in copies:
        stdout.print(f"the same clip under two names: {copy}\n  fix: keep one of them", markup=False)
    for names in twins:
        stdout.print(f"probably one person: {', '.join(map(repr, names))}\n  fix: give both one name", markup=False)
    for key, words in noted.items():
        stdout.print(f"note: {key}: {words}", markup=False)
    for clip in left_out:
        stdout.print(f"left out {clip.key}: {clip.problem}\n  fix: {clip.fix}", markup=False)
