"""The verb `calibrate`."""

from pathlib import Path
from typing import Annotated

import typer

from epir.cli.evaluate import Code, Protocol


def calibrate(
    on: Annotated[list[Path], typer.Option(help="Map sets of people that the model has not seen.", show_default=False)],
    protocol: Protocol,
    model: Annotated[
        Path | None,
        typer.Argument(help="A model folder, as epir train writes it.", show_default="that which comes with epir"),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Measure only: change nothing in the folder.")] = False,
    code: Code = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Fit the one temperature of a model's scores on map sets of real people, and write it into the model folder.

    The weights stay as they are. The check leaves one corpus out: its scores under the temperature of the others.

    Example: epir calibrate models/mine --on maps/casme2 --on maps/samm --protocol cde
    """
    from dataclasses import asdict

    from epir.cli.console import emit_json, stdout
    from epir.core.words import counted, people
    from epir.final.real_people import calibrate_on_real_people

    found = calibrate_on_real_people(model, on, protocol=protocol, write=not dry_run)
    if json:
        emit_json(asdict(found))
        return
    stdout.print(f"{counted(found.clips, 'clip')} of {people(found.people)}, protocol {found.protocol}", markup=False)
    stdout.print(f"temperature {found.temperature_before:.3g} -> {found.temperature:.3g}", markup=False)
    stdout.print(
        f"expected calibration error {found.error_before:.3f} -> {found.error_after:.3f} "
        f"(each corpus under the temperature of the others; mean best score {found.mean_score:.3f}, right "
        f"{found.right:.3f})",
        markup=False,
    )
    for name, own in found.by_corpus.items():
        stdout.print(f"  {name}: temperature of the others {own['temperature']:.3g}, error {own['error']:.3f}")
    stdout.print("nothing was written (--dry-run)" if dry_run else "written to the model folder", markup=False)
