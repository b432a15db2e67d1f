"""The verb `score`: spotted intervals against the annotation, submission files, and runs by every convention."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from epir.cli.options import AsJson, Force

if TYPE_CHECKING:
    from epir.core.table import Table


def score(
    spotted: Annotated[
        list[Path] | None, Argument(help="Folders written by epir spot (pooled), or runs of epir evaluate.")
    ] = None,
    annotation: Annotated[
        Path | None, Option(help="A list of intervals to compare with.", show_default="that of the corpus")
    ] = None,
    out: Annotated[
        Path | None, Option(help="A folder for scores.json and the tables (csv, md, tex).", show_default="none")
    ] = None,
    challenge: Annotated[
        str | None,
        Option(
            help="Write submission files for a challenge to --out instead: 2022, 2023, 2024, 2024-str or 2025.",
            show_default="none",
        ),
    ] = None,
    printed: Annotated[
        list[str] | None,
        Option(
            "--explain-printed",
            help="Find the counts behind printed scores: '[PART] UF1 UAR', or TABLE:METHOD of the paper. May be "
            "repeated.",
            show_default="none",
        ),
    ] = None,
    tolerance: Annotated[
        float | None, Option(help="Tolerance of --explain-printed.", show_default="half of the last printed digit")
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Score spotted intervals: micro, macro and all, by the organisers' rule and one-to-one; STRS with its parts.

    For runs of epir evaluate, print the scores that other authors would compute from the same predictions.

    Example: epir score spotted/casme-sq spotted/samm-lv --out scores

    Example: epir score spotted/unseen --challenge 2025 --out submission

    Example: epir score runs/cde-epir

    Example: epir score --explain-printed 1:EPIR
    """
    from epir.cli.console import show
    from epir.core.errors import ConfigError
    from epir.evaluation.comparison import weights_name
    from epir.spotting.megc.scores import score_spotting
    from epir.spotting.megc.spotted import check_distinct, read_spotted, spotted_weights, to_submit
    from epir.spotting.megc.table import spotting_tables

    if printed and spotted:
        fix = f"quote a pair of scores: '0.88 0.89', or leave out {spotted[0]}"
        raise ConfigError("--explain-printed takes no folders", fix=fix)
    if not printed and not spotted:
        raise ConfigError("there is nothing to score", fix="name folders of epir spot or epir evaluate")
    spotted = spotted or []
    if printed or _are_runs(spotted):
        if annotation is not None or challenge is not None:
            raise ConfigError("--annotation and --challenge are for spotted videos", fix="leave them out")
        scores, tables = _explain_printed(printed, tolerance) if printed else _score_runs(spotted)
        _show_tables(scores, tables, out, force=force, as_json=as_json)
        return
    check_distinct(spotted)
    if challenge is not None:
        from epir.spotting.megc.submission import submission_files

        if out is None:
            raise ConfigError("--challenge writes files and needs --out", fix="add --out submission")
        files = submission_files(challenge, [video for folder in spotted for video in to_submit(folder)])
        written = _write(out, files, force)
        lines = [f"written: {path}" for path in written]
        show({"challenge": challenge, "written": written}, lines, as_json=as_json)
        return
    read = [read_spotted(folder, annotation) for folder in spotted]
    scores = score_spotting([video for videos, _ in read for video in videos])
    notes = [note for _, folder_notes in read for note in folder_notes]
    weights = [weights_name(spotted_weights(folder)) for folder in spotted]
    tables = spotting_tables(scores, notes=notes, weights=weights)
    _show_tables(scores, tables, out, force=force, as_json=as_json)


def _are_runs(folders: Sequence[Path]) -> bool:
    """Whether these are run folders of `epir evaluate`; raises if only some are, or if one is missing or holds runs."""
    from epir.core.errors import ConfigError, RunError
    from epir.core.output import RUN, kind_of
    from epir.evaluation.store import runs_in

    for folder in folders:
        if not folder.is_dir():
            raise RunError(
                f"there is no run or spotted folder {folder}",
                fix="check the path, or create one with epir evaluate or epir spot",
            )
        if kind_of(folder) is None and (inside := runs_in(folder)):
            raise RunError(f"{folder} is a folder of runs", fix=f"score the runs in it: {' '.join(map(str, inside))}")
    runs = [folder for folder in folders if kind_of(folder) == RUN]
    if runs and len(runs) < len(folders):
        other = next(folder for folder in folders if folder not in runs)
        raise ConfigError(
            f"{runs[0]} is a run and {other} is not", fix="score runs and spotted videos in separate commands"
        )
    return bool(runs)


def _score_runs(folders: Sequence[Path]) -> "tuple[dict[str, Any], list[Table]]":
    """Scores of every run by every convention, as JSON and as tables; the JSON includes the curves over epochs."""
    from dataclasses import asdict, replace

    from epir.evaluation.conventions import convention_rows, convention_table, epoch_rows
    from epir.evaluation.store import open_run

    values: dict[str, Any] = {}
    tables: list[Table] = []
    for folder in folders:
        run = open_run(folder)
        values[str(folder)] = {
            "conventions": [asdict(row) for row in convention_rows(run)],
            "epochs": [asdict(row) for row in epoch_rows(run)],
        }
        table = convention_table(run)
        tables.append(table if len(folders) == 1 else replace(table, name=f"{table.name}-{len(tables) + 1}"))
    return {"runs": values}, tables


def _explain_printed(texts: Sequence[str], tolerance: float | None) -> "tuple[dict[str, Any], list[Table]]":
    """The counts behind printed scores, as JSON and as a table."""
    from epir.evaluation.printed import explain, explanation_table, read_printed

    explanation = explain(read_printed(texts, tolerance))
    together = explanation.together
    values = {
        "alone": {part: [list(hits) for hits in sets] for part, sets in explanation.alone.items()},
        "together": None if together is None else [{part: list(hits) for part, hits in s.items()} for s in together],
    }
    return values, [explanation_table(explanation)]


def _show_tables(
    scores: Mapping[str, Any], tables: "list[Table]", out: Path | None, *, force: bool, as_json: bool
) -> None:
    import json

    from epir.cli.console import show
    from epir.core.table import latex_tables, markdown_tables

    files = {
        "scores.json": json.dumps(scores, indent=2) + "\n",
        **{f"{table.name}.csv": table.csv() for table in tables},
        "tables.md": markdown_tables(tables),
        "tables.tex": latex_tables(tables),
    }
    written = _write(out, files, force) if out is not None else []
    lines = [*(table.text() for table in tables), *(f"written: {path}" for path in written)]
    show(scores, lines, as_json=as_json)


def _write(out: Path, files: dict[str, str], force: bool) -> list[str]:
    """Write the files into a folder and return their paths; replaces none without `force`."""
    from epir.core.files import write_text
    from epir.core.output import check_file, check_place, resolved

    check_place(resolved(out))
    for name in files:
        check_file(resolved(out / name), force=force)
    for name, text in files.items():
        write_text(out / name, text)
    return [str(out / name) for name in files]
