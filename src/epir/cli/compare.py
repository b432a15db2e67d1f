"""The verb `compare`."""

from pathlib import Path
from typing import Annotated

import typer


def compare(
    runs: Annotated[list[Path], typer.Argument(help="Two or more run folders of the same clips.", show_default=False)],
    json: Annotated[bool, typer.Option("--json", help="Print the comparison as one JSON object.")] = False,
) -> None:
    """Compare runs: scores with intervals, a paired test over people, and the settings that differ.

    Example: epir compare runs/cde-epir runs/cde-ststnet
    """
    from dataclasses import asdict

    from epir.cli.console import emit_json, stdout
    from epir.core.errors import RunError
    from epir.evaluation.comparison import compare_all, scores_with_training
    from epir.evaluation.store import open_run
    from epir.evaluation.table import comparison_table, score_table

    if len(runs) < 2:
        raise RunError("one run cannot be compared", fix="name two run folders or more")
    opened = [open_run(folder) for folder in runs]
    comparisons = compare_all(opened)
    names = [str(folder) for folder in runs]
    if json:
        scores = {name: scores_with_training(run) for name, run in zip(names, opened, strict=True)}
        emit_json({"runs": scores, "comparisons": [asdict(each) for each in comparisons]})
        return
    stdout.print(score_table(opened, names=names).text(), markup=False)
    stdout.print(comparison_table(comparisons).text(), markup=False)
    for each in comparisons:
        for line in each.settings if each.column != "best_epoch" else ():
            stdout.print(f"{each.second}: {line}", markup=False)
