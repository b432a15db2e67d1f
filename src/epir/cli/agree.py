"""The verb `agree`."""

from pathlib import Path
from typing import Annotated

import typer


def agree(
    study: Annotated[Path, typer.Argument(help="A study of epir annotate.", show_default=False)],
    coder: Annotated[
        list[str] | None,
        typer.Option(help="Only these coders; repeat for each. agreed is adjudication.", show_default="all but agreed"),
    ] = None,
    overlap: Annotated[float, typer.Option(help="Share of their union from which two movements are the same.")] = 0.5,
    out: Annotated[Path | None, typer.Option(help="Also write a page with all tables.", show_default=False)] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the page.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Say how reliable the coding of a study is: coders against each other, movement by movement.

    Example: epir agree study --out agreement.html
    """
    from epir.annotation.adjudication import disagreements
    from epir.annotation.agreement import agreement
    from epir.annotation.agreement_page import agreement_page, agreement_tables
    from epir.annotation.study import Study
    from epir.cli.console import emit_json, stdout
    from epir.core.files import write_text
    from epir.core.output import claimed_file
    from epir.core.words import counted

    with Study.open(study) as opened:
        result = agreement(opened, coder or (), overlap)
        cases = disagreements(opened, overlap)
        if out is not None:
            with claimed_file(out, force=force, inputs=[study]) as page:
                write_text(page, agreement_page(opened, result))
    if json:
        waiting = [case.to_dict() for case in cases]
        emit_json(result.to_dict() | {"disagreements": waiting, "report": None if out is None else str(out)})
        return
    for table in agreement_tables(result):
        stdout.print(table.text(), markup=False)
    left = sum(case.settled is None for case in cases)
    stdout.print(f"{counted(len(cases), 'disagreement')}, {left} of them not settled", markup=False)
    if out is not None:
        stdout.print(f"report: {out}", markup=False)
    if left:
        stdout.print(f"next: epir annotate {study} --coder agreed", markup=False)
