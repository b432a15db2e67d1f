"""The verb `export`."""

from pathlib import Path
from typing import Annotated

import typer

from epir.cli.evaluate import Code

MOST_MAPS = 512  # of a map set that are compared


def export(
    out: Annotated[Path, typer.Option(help="The ONNX file to write.")],
    model: Annotated[
        Path | None,
        typer.Argument(help="A model folder, as epir train writes it.", show_default="that which comes with epir"),
    ] = None,
    maps: Annotated[
        Path | None, typer.Option(help="A map set to compare on, besides random maps.", show_default="synthetic maps")
    ] = None,
    int8: Annotated[
        bool,
        typer.Option("--int8", help="Weights of eight bits and raw logits: smaller, faster, a little different."),
    ] = False,
    logits: Annotated[
        bool, typer.Option("--logits", help="Raw logits of one view only, without views and temperature in the graph.")
    ] = False,
    code: Code = None,
    force: Annotated[bool, typer.Option("--force", help="Replace what is there.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Write a model as ONNX with a free batch size, compared with the original before it is kept.

    Example: epir export models/mine --out models/mine/model.onnx
    """
    from epir.cli.console import emit_json, stdout
    from epir.final.export import export as export_model
    from epir.maps.mapset import load_maps
    from epir.models.folder import find_folder, read_config
    from epir.synthetic.maps import synthetic_maps

    folder = find_folder(model)
    if maps is not None:
        compared = load_maps(maps).maps[:MOST_MAPS]
    else:
        settings = read_config(folder).settings
        compared = synthetic_maps(24, "direct", size=int(settings.get("map_size", 28))).maps
    done = export_model(folder, out, maps=compared, int8=int8, logits=logits, force=force)
    if json:
        emit_json(
            {
                "file": str(out),
                "max_difference": done.difference,
                "random_maps": done.random,
                "real_maps": done.real,
                "maps": done.maps,
                "same_answer": done.same,
                "mean_score_difference": done.scores,
                "megabytes": done.megabytes,
            }
        )
        return
    stdout.print(f"{out}: {done.megabytes:g} MB, batch of any size", markup=False)
    stdout.print(f"largest difference of a logit on {done.maps} maps: {done.difference:.2g}", markup=False)
    if int8:
        stdout.print(f"the same answer on {done.same} of them, scores {done.scores:.2g} apart on average", markup=False)
