"""The verb `align`."""

from pathlib import Path
from typing import Annotated

import typer

from epir.cli.evaluate import Code


def align(
    maps: Annotated[Path, typer.Argument(help="A map set that was made elsewhere.", show_default=False)],
    out: Annotated[Path, typer.Option(help="The map set to write.", show_default=False)],
    weights: Annotated[Path | None, typer.Option(help="A model folder.", show_default="the shipped weights")] = None,
    code: Code = None,
    force: Annotated[bool, typer.Option("--force", help="Replace what is there.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Move the faces in maps made elsewhere up or down to where the weights expect them, without using labels.

    Each person's maps move as suits the other people of the set: to where the weights are surest of their answers.

    Example: epir align maps/theirs --out maps/aligned
    """
    from epir.cli.console import emit_json, showing_progress, stdout
    from epir.final.alignment import align as align_maps
    from epir.final.alignment import step_words

    with showing_progress(quiet=json) as progress:
        found = align_maps(maps, out, weights=weights, force=force, progress=progress)
    if json:
        emit_json(
            {
                "maps": str(found.maps.folder),
                "people_by_step": found.moves,
                "mean_best_score": {"before": found.before, "after": found.after},
            }
        )
        return
    words = "; ".join(f"{step_words(step)} ({count} people)" for step, count in found.moves.items())
    stdout.print(f"{words}; mean best score {found.before:.3f} -> {found.after:.3f}", markup=False)
    stdout.print(f"maps: {found.maps.folder}", markup=False)
