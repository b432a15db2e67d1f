"""The verbs `prepare` and `align`: turn frames into a map set, and shift maps to where the weights expect faces."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from epir.cli import options
from epir.cli.options import AsJson, Force, only_set
from epir.core.words import counted, people

if TYPE_CHECKING:
    from epir.flow.recipe import FlowRecipe
    from epir.maps.mapset import MapSet


def prepare(
    corpus: options.CorpusName,
    root: options.CorpusRoot,
    out: Annotated[Path, Option(help="The map set to write.")],
    size: Annotated[int, Option(help="Width and height of a map, in pixels.")] = 28,
    engine: options.EngineName = "local",
    workers: Annotated[int | None, Option(help="Clips prepared in parallel.", show_default="one per core")] = None,
    address: options.Address = "",
    recipe: Annotated[str, Option(help="Flow recipe: epir, ststnet-like or htnet-like.")] = "epir",
    changes: Annotated[
        list[str] | None, Option("--set", help="Change the flow recipe: flow.size=224, flow.method=my_flow.py:raft.")
    ] = None,
    detector: Annotated[str | None, Option(help="mtcnn, or none for frames cropped to the face.")] = None,
    apex: Annotated[str | None, Option(help="Apex of clips annotated without one: spotted or middle.")] = None,
    sheet: options.Sheet = None,
    tree: options.Tree = None,
    part: options.Part = None,
    labels: options.Labels = None,
    strict: Annotated[bool, Option("--strict", help="Fail if a clip cannot be prepared, instead of omitting it.")] = (
        False
    ),
    contact_sheet: Annotated[
        bool, Option("--contact-sheet", help="Draw the faces and maps of each person as one picture.")
    ] = False,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Turn the frames of a corpus into a map set. Run the same command to resume.

    Example: epir prepare casme2 data/CASME2 --out maps/casme2 --contact-sheet

    Example: epir prepare casme3 /shared/CASME3 --out maps/casme3 --engine ray --address 10.0.0.1:6379
    """
    from epir.cli.console import show, showing_progress
    from epir.core.engines import Engine
    from epir.flow.recipe import flow_recipe
    from epir.maps.prepare import chosen_recipe
    from epir.maps.prepare import prepare as prepare_maps

    chosen = chosen_recipe(flow_recipe(recipe, changes or ()), detector, apex)
    with showing_progress() as progress:
        maps = prepare_maps(
            corpus,
            root,
            out,
            size=size,
            engine=Engine(engine, workers, address),
            recipe=chosen,
            strict=strict,
            contact_sheet=contact_sheet,
            progress=progress,
            force=force,
            **only_set(sheet=sheet, tree=tree, part=part, labels=labels),
        )
    summary = _summary(maps, out, chosen, contact_sheet=contact_sheet)
    show(summary, _lines(summary), as_json=as_json)


def _summary(maps: "MapSet", out: Path, recipe: "FlowRecipe", *, contact_sheet: bool) -> dict[str, Any]:
    """The result as JSON: counts, clips left out, and clips or people that look wrong."""
    from epir.core.records import probably_one
    from epir.flow.recipe import changed
    from epir.maps.copies import find_copies
    from epir.maps.prepare import CONTACT_SHEETS
    from epir.maps.resume import read_left_out

    sources = [clip.extra.get("apex_source", "") for clip in maps.clips]
    persons = {clip.person for clip in maps.clips}
    return {
        "maps": str(out),
        "corpus": maps.meta["recipe"]["corpus"],
        "sheet": maps.meta["recipe"]["sheet"],
        "clips": len(maps),
        "people": len(persons),
        "size": maps.size,
        "recipe": {"name": recipe.name, "digest": recipe.digest, "changed": changed(recipe)},
        "apex": {source: sources.count(source) for source in sorted(set(sources))},
        "left_out": [{"clip": clip.key, "problem": clip.problem, "fix": clip.fix} for clip in read_left_out(out)],
        "notes": {clip.key: clip.extra["notes"] for clip in maps.clips if clip.extra.get("notes")},
        "copies": [vars(copy) for copy in find_copies(maps.maps, maps.clips)],
        "probably_one": [list(names) for names in probably_one(persons)],
        "contact_sheets": str(out / CONTACT_SHEETS) if contact_sheet else None,
    }


def _lines(summary: dict[str, Any]) -> list[str]:
    """The summary as text."""
    from epir.maps.copies import Copy

    size, recipe = summary["size"], summary["recipe"]
    what = f"{counted(summary['clips'], 'map')} of {people(summary['people'])}"
    lines = [f"{summary['maps']}: {what}, {size} x {size} px"]
    lines.append(f"flow recipe: {'; '.join([recipe['name'], *recipe['changed']])}")
    lines.append(f"apex: {', '.join(f'{count} {source}' for source, count in summary['apex'].items())}")
    if summary["contact_sheets"]:
        lines.append(f"contact sheets: {summary['contact_sheets']}")
    for copy in summary["copies"]:
        lines.append(f"the same clip under two names: {Copy(**copy)}\n  fix: keep one of them")
    for names in summary["probably_one"]:
        lines.append(f"probably one person: {', '.join(map(repr, names))}\n  fix: give both the same name")
    lines += [f"note: {key}: {words}" for key, words in summary["notes"].items()]
    lines += [f"left out {clip['clip']}: {clip['problem']}\n  fix: {clip['fix']}" for clip in summary["left_out"]]
    return lines


def align(
    maps: Annotated[Path, Argument(help="A map set made by other software.", show_default=False)],
    out: Annotated[Path, Option(help="The map set to write.", show_default=False)],
    weights: Annotated[Path | None, Option(help="A model folder.", show_default="the shipped weights")] = None,
    code: options.Code = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Shift imported maps up or down to where the weights expect the face, without using labels.

    Each person's shift is the one at which the weights are most confident about the other people of the set.

    Example: epir align maps/theirs --out maps/aligned
    """
    from epir.cli.console import show, showing_progress
    from epir.final.alignment import align as align_maps
    from epir.final.alignment import step_words

    with showing_progress(quiet=as_json) as progress:
        done = align_maps(maps, out, weights=weights, force=force, progress=progress)
    folder, before, after = done.maps.folder, done.before, done.after
    words = "; ".join(f"{step_words(step)} ({people(count)})" for step, count in done.moves.items())
    value = {"maps": str(folder), "people_by_step": done.moves, "mean_best_score": {"before": before, "after": after}}
    show(value, [f"{words}; mean best score {before:.3f} -> {after:.3f}", f"maps: {folder}"], as_json=as_json)
