"""The verb `join`: maps of the same clips, made in different ways -> one map set of several views."""

from pathlib import Path
from typing import Annotated

import typer

from epir.cli.evaluate import Json


def join(
    maps: Annotated[list[Path], typer.Argument(help="Map sets of the same clips, in the order of their views.")],
    out: Annotated[Path, typer.Option(help="The map set to write.")],
    reverse: Annotated[
        list[Path] | None,
        typer.Option(
            help="One of them that shows the movement backwards, as flow of its return does. May be repeated.",
            show_default=False,
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace what is there.")] = False,
    json: Json = False,
) -> None:
    """Put map sets of the same clips side by side, as several views of each clip.

    Example: epir join maps/rise maps/return --reverse maps/return --out maps/both
    """
    from epir.cli.console import emit_json, stdout
    from epir.maps.join import join_maps

    made = join_maps(maps, out, reverse=reverse or (), force=force)
    if json:
        emit_json({"maps": str(out), "clips": len(made), "size": made.size, "views": list(made.view_names)})
        return
    stdout.print(f"{out}: {len(made)} clips of {made.views} views: {', '.join(made.view_names)}", markup=False)
    stdout.print(f"next: epir evaluate {out} --protocol PROTOCOL --model epir-seq", markup=False)
