"""`epir score`: spotted intervals against the annotation, and submission files."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from epir.core.table import Table


def score(
    spotted: Annotated[list[Path], typer.Argument(help="Folders written by epir spot; several are pooled.")],
    annotation: Annotated[
        Path | None,
        typer.Option(help="Another list of intervals to compare with.", show_default="the corpus's own"),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="A folder for scores.json and the tables (csv, md, tex).", show_default="none")
    ] = None,
    challenge: Annotated[
        str | None,
        typer.Option(
            help="Write the files of a challenge to --out instead: 2022, 2023, 2024, 2024-str or 2025.",
            show_default="none",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace such files in --out.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Score spotted intervals: micro, macro and all, by the organisers' rule and one-to-one; STRS with its parts.

    Example: epir score spotted/casme-sq spotted/samm-lv --out scores

    Example: epir score spotted/unseen --challenge 2025 --out submission
    """
    from epir.cli.console import emit_json, stdout
    from epir.core.errors import ConfigError
    from epir.evaluation.spotting import score_spotting
    from epir.evaluation.spotting_table import spotting_tables
    from epir.recognition.spotted import read_spotted, refuse_twice, to_submit, weights_of

    refuse_twice(spotted)
    if challenge is not None:
        from epir.spotting.submission import submission_files

        if out is None:
            raise ConfigError("--challenge writes files and needs --out", fix="add --out submission")
        files = submission_files(challenge, [each for folder in spotted for each in to_submit(folder)])
        written = _write(out, files, force)
        if as_json:
            emit_json({"challenge": challenge, "written": written})
        else:
            for path in written:
                stdout.print(f"written: {path}", markup=False)
        return
    read = [read_spotted(folder, annotation) for folder in spotted]
    scores = score_spotting([video for videos, _ in read for video in videos])
    notes = [word for _, words in read for word in words]
    tables = spotting_tables(scores, notes=notes, weights=[weights_of(folder) for folder in spotted])
    written = _write(out, _table_files(scores, tables), force) if out is not None else []
    if as_json:
        emit_json(scores)
        return
    for table in tables:
        stdout.print(table.text(), markup=False)
    for path in written:
        stdout.print(f"written: {path}", markup=False)


def _table_files(scores: object, tables: "list[Table]") -> dict[str, str]:
    import json

    from epir.core.table import latex_tables, markdown_tables

    return {
        "scores.json": json.dumps(scores, indent=2) + "\n",
        **{f"{table.name}.csv": table.csv() for table in tables},
        "tables.md": markdown_tables(tables),
        "tables.tex": latex_tables(tables),
    }


def _write(out: Path, files: dict[str, str], force: bool) -> list[str]:
    """Write these files into a folder; none of them is replaced without `force`."""
    from epir.core.files import write_text
    from epir.core.output import check_file, check_place, real

    check_place(real(out))
    for name in files:
        check_file(real(out / name), force=force)
    for name, text in files.items():
        write_text(out / name, text)
    return [str(out / name) for name in files]
