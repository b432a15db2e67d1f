"""The tables of README and docs, made from the recorded results: `make results` fills the marked blocks of the pages.

A block lies between `<!-- results: VIEW PROTOCOL[,PROTOCOL...] [NAME...] -->` and `<!-- /results -->`. The views are
`scores`, `short`, `conventions`, `epochs`, `ladder`, `units`, `each-unit` and `commands`; names restrict it to some
rows. The view `bench` takes the names of recorded benchmarks.
"""

import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import takewhile
from pathlib import Path

from epir.core.errors import EpirError, RunError
from epir.core.files import read_json, read_text, write_text
from epir.core.table import MISSING, Column, Row, Table, numbers, words
from epir.evaluation.published import RUNGS, ladder
from epir.evaluation.table import COLUMN_NAMES, INTERVAL_NOTE, corpus_title, interval_text, score_text
from epir.reports.record import BENCH, FORMAT, Result

VERSION = ("epir", "commit")
EPOCHS_SHOWN = (1, 5, 10, 20, 30, 40, 60, 100, 200, 300)
BLOCK = re.compile(r"(<!-- results: (?P<words>[^>]*?) -->\n)(?P<body>.*?)(<!-- /results -->)", re.DOTALL)
NOTHING = "Nothing is recorded yet.\n"
NEEDED = {  # keys that the tables read, by format
    FORMAT: "name method command training first_weights protocol clips people folds seeds evaluation target main "
    "scores conventions epochs seconds settings versions machine device",
    BENCH: "name command versions machine ratios",
}

LEAKS = f"UF1, {COLUMN_NAMES['best_epoch']}"


def read_results(folder: str | Path) -> list[Result]:
    """Read every result of a folder, sorted by name."""
    results: list[Result] = []
    for path in sorted(Path(folder).glob("*.json")):
        fix = "record it again with --record, or remove it"
        result = read_json(path, error=RunError, fix=fix)
        if result.get("format") not in (FORMAT, BENCH):
            raise RunError(f"{path} is not a result of epir", fix=fix)
        if missing := [key for key in NEEDED[result["format"]].split() if key not in result]:
            raise RunError(f"{path} is incomplete: it has no {', '.join(missing)}", fix=fix)
        if result["format"] == FORMAT and result["main"] not in result["scores"]:
            raise RunError(f"{path} is incomplete: it has no scores of {result['main']}", fix=fix)
        results.append(result)
    return results


def fill_blocks(text: str, results: Sequence[Result]) -> str:
    """Fill every marked block of a page from the results."""
    if text.count("<!-- results: ") != len(BLOCK.findall(text)):
        raise EpirError("a block of results does not end", fix="end it with a line <!-- /results -->")
    return BLOCK.sub(lambda block: f"{block[1]}\n{_block(block['words'].split(), results)}\n{block[4]}", text)


def fill_pages(root: Path) -> list[Path]:
    """Fill README.md and docs/*.md of a project from its folder `results`; return the pages that changed."""
    results, changed = read_results(root / "results"), []
    for page, text in _pages(root):
        filled = fill_blocks(text, results)
        if filled != text:
            write_text(page, filled)
            changed.append(page)
    return changed


def block_notes(root: Path) -> list[str]:
    """Name the recorded results that no block of the pages shows, and the names in blocks that have no result."""
    results = read_results(root / "results")
    unshown, notes = {result["name"]: result for result in results}, []
    for page, text in _pages(root):
        for block in BLOCK.finditer(text):
            query = block["words"].split()
            rows = {result["name"] for result in _rows(query, results)}
            asked = query[1:] if query[0] == "bench" else query[2:]
            missing = ", ".join(name for name in asked if name not in rows)
            notes += [f"{page}: the block {query[0]} {query[1]} has no result for {missing}"] if missing else []
            unshown = {name: result for name, result in unshown.items() if name not in rows}
    for name, result in unshown.items():
        protocol = f" (protocol {result['protocol']})" if result["format"] == FORMAT else ""
        notes.append(f"no page shows the result {name}{protocol}: name it in a block <!-- results: ... -->")
    return notes


def _pages(root: Path) -> list[tuple[Path, str]]:
    """Return the pages with their texts."""
    pages = (root / "README.md", *sorted((root / "docs").glob("*.md")))
    return [(page, read_text(page, error=RunError, fix="restore the page")) for page in pages]


def _block(query: Sequence[str], results: Sequence[Result]) -> str:
    rows = _rows(query, results)
    if not rows:
        return NOTHING
    if query[0] == "bench":
        return _bench_table(rows).markdown()
    table = VIEWS[query[0]](rows)
    return table.markdown() if table.rows else NOTHING


def _rows(query: Sequence[str], results: Sequence[Result]) -> list[Result]:
    """Return the results that a block asks for: benchmarks in the order of their names, the others best first."""
    if len(query) < 2 or query[0] not in (*VIEWS, "bench"):
        raise EpirError(
            f"there is no table {' '.join(query)!r} of results",
            fix=f"write VIEW PROTOCOL or bench NAME; views: {', '.join(VIEWS)}",
        )
    if query[0] == "bench":
        by_name = {result["name"]: result for result in results if result["format"] == BENCH}
        return [by_name[name] for name in query[1:] if name in by_name]
    view, protocols, *names = query
    rows = [result for result in results if result["format"] == FORMAT]
    rows = [result for result in rows if result["protocol"] in protocols.split(",")]
    rows = [result for result in rows if not names or result["name"] in names]
    if view != "commands":
        rows = [result for result in rows if (result["target"] == "units") == (view in UNIT_VIEWS)]
    return sorted(rows, key=lambda result: -result["scores"][result["main"]]["uf1"])


# ------------------------------------------------------------------------------------------------------- tables


def _scores_table(results: Sequence[Result]) -> Table:
    parts = sorted({part for result in results for part in result["scores"][result["main"]]["parts"]})
    parts = parts if len(parts) > 1 else []
    evaluations = {COLUMN_NAMES[result["main"]] for result in results}
    mixed, several = len(evaluations) > 1, len({_maps(result) for result in results}) > 1
    columns = [Column("run"), *[Column("evaluation", tag=True)] * mixed]
    columns += numbers("UF1" if mixed else f"UF1, {evaluations.pop()}", "95 % interval", LEAKS)
    columns += [Column("UF1", corpus_title(part), numeric=True) for part in parts]
    columns += [*numbers("UAR", "accuracy"), *words("method", "folds, seeds", "training", "first weights")]
    columns += [*words(*["maps"] * several), *numbers("people")]
    rows = []
    for result in results:
        main = result["scores"][result["main"]]
        cells = [result["name"], *[COLUMN_NAMES[result["main"]]] * mixed]
        cells += [score_text(main["uf1"]), interval_text(main["uf1_interval"]), _best_epoch(result)]
        cells += [score_text(main["parts"].get(part, {}).get("uf1")) for part in parts]
        cells += [score_text(main["uar"]), score_text(main["accuracy"]), result["method"], _folds(result)]
        cells += [result["training"] or MISSING, result["first_weights"] or MISSING]
        rows.append(Row((*cells, *[_maps(result)] * several, str(result["people"])), kind="strict"))
    return Table("results", _caption(results), tuple(columns), tuple(rows), (INTERVAL_NOTE,))


def _short_table(results: Sequence[Result]) -> Table:
    """Return a table for a first page: the result, the score that leaks, and the command."""
    scores = numbers("UF1, strict", "95 % interval", LEAKS)
    columns = (*words("method", "training", "folds, seeds"), *scores, Column("rerun it"))
    rows = []
    for result in results:
        main = result["scores"][result["main"]]
        cells = (score_text(main["uf1"]), interval_text(main["uf1_interval"]), _best_epoch(result))
        training = result["training"] or MISSING
        rows.append(Row((result["method"], training, _folds(result), *cells, result["command"])))
    people = max(result["people"] for result in results)
    return Table("short", f"{_caption(results)} of {people} people", columns, tuple(rows), (INTERVAL_NOTE,))


def _conventions_table(results: Sequence[Result]) -> Table:
    with_epochs = [result for result in results if result["epochs"]]
    names = list(dict.fromkeys(row["name"] for result in with_epochs for row in result["conventions"]))
    leaks = {row["name"] for result in with_epochs for row in result["conventions"] if row["leaks"]}
    columns = (Column("run"), *numbers(*(f"{name}{' (leaks)' if name in leaks else ''}" for name in names)))
    rows = []
    for result in with_epochs:
        scores = {row["name"]: row["uf1"] for row in result["conventions"]}
        rows.append(Row((result["name"], *(score_text(scores.get(name)) for name in names))))
    notes = dict.fromkeys(f"{row['name']}: {row['who']}" for result in with_epochs for row in result["conventions"])
    return Table("conventions", "UF1 of one run by every convention", columns, tuple(rows), tuple(notes))


def _epochs_table(results: Sequence[Result]) -> Table:
    """Tabulate both columns by epoch, as shorter training at a constant learning rate would have given."""
    with_epochs = [result for result in results if result["epochs"]]
    last = {result["epochs"][-1][0] for result in with_epochs}
    shown = [epoch for epoch in sorted({*EPOCHS_SHOWN, *last}) if epoch <= max(last, default=0)]
    columns = (*words("run", "UF1 after epoch"), *numbers(*map(str, shown)))
    rows = []
    for result in with_epochs:
        for place, column in enumerate((result["main"], "best_epoch"), start=1):
            values = {row[0]: row[place] for row in result["epochs"]}
            rows.append(
                Row((result["name"], COLUMN_NAMES[column], *(score_text(values.get(epoch)) for epoch in shown)))
            )
    return Table("epochs", "Scores over the epochs of training", columns, tuple(rows))


def _ladder_table(results: Sequence[Result]) -> Table:
    """Tabulate the rungs of the ablation in the paper's order, next to its printed scores."""
    trained = [result for result in results if result["settings"]["folds"] != "zero-shot"]
    by_model = {result["settings"]["model"]["name"]: result for result in trained}
    protocols = sorted({result["protocol"] for result in results})
    ladders = [scores for protocol in protocols for scores in ladder(protocol)]
    printed = {scores.method: scores for scores in ladders if scores.part == "full"}
    columns = (*words("model", "run"), *numbers("UF1, strict", "95 % interval", LEAKS, "UF1, printed"))
    rows = []
    for model, rung in RUNGS.items():
        if (result := by_model.get(model)) is None:
            continue
        main, best = result["scores"][result["main"]], result["scores"].get("best_epoch", {})
        paper = printed[rung].uf1_text if rung in printed else MISSING
        cells = (score_text(main["uf1"]), interval_text(main["uf1_interval"]), score_text(best.get("uf1")), paper)
        rows.append(Row((f"{model} ({rung})", result["name"], *cells)))
    return Table("ladder", "The ladder of the ablation", columns, tuple(rows), (INTERVAL_NOTE,))


def _units_table(results: Sequence[Result]) -> Table:
    means = ["all that occur", "95 % interval", "always yes", "of CD6ME", "CD6ME always yes"]
    corpora = sorted({corpus for result in results for corpus in result["units"]["parts"]})
    means += [f"of CD6ME, {corpus_title(corpus)}" for corpus in corpora]
    columns = (Column("run"), *numbers("clips"), *numbers(*means, group="mean F1"))
    rows = []
    for result in results:
        units = result["units"]
        whole, cd6me, always = units["mean"]["all"], units["mean"]["cd6me"], units["always_positive"]
        cells = (score_text(whole["f1"]), interval_text(whole["interval"]), score_text(always["all"]))
        of_corpus = [
            units["parts"][corpus]["mean"]["cd6me"]["f1"] if corpus in units["parts"] else None for corpus in corpora
        ]
        cd6me_cells = map(score_text, (cd6me["f1"], always["cd6me"], *of_corpus))
        rows.append(Row((result["name"], str(units["clips"]), *cells, *cd6me_cells)))
    return Table("units", "Action units, strict", columns, tuple(rows))


def _each_unit_table(results: Sequence[Result]) -> Table:
    columns = (Column("run"), *numbers("unit", "clips with it", "F1, strict", "95 % interval", "always yes"))
    rows = []
    for result in results:
        for unit, values in result["units"]["units"].items():
            scores = (score_text(values["f1"]), interval_text(values["interval"]), score_text(values["always"]))
            rows.append(Row((result["name"], unit, str(values["there"]), *scores)))
    return Table("each-unit", "Each action unit", columns, tuple(rows))


def _commands_table(results: Sequence[Result]) -> Table:
    columns = (*words("run", "command", "epir", "commit"), *numbers("seconds"), Column("machine"))
    rows = []
    for result in results:
        places = [{**result, **entry} for entry in ({}, *result.get("continued", ()))]  # what differs, filled up
        version, commit = (_each(place["versions"].get(key, MISSING)[:12] for place in places) for key in VERSION)
        machine = _each(_machine(place) for place in places)
        rows.append(Row((result["name"], result["command"], version, commit, f"{result['seconds']:.0f}", machine)))
    return Table("commands", "How each row was measured", columns, tuple(rows))


def _machine(place: Result) -> str:
    machine = place["machine"]
    return f"{machine.get('processor', MISSING)}, {machine.get('cores', MISSING)} cores, {place['device']}"


def _each(values: Iterable[str]) -> str:
    """Join the values of a run that was continued elsewhere, each once."""
    return "; ".join(dict.fromkeys(values))


def _bench_table(benches: Sequence[Result]) -> Table:
    """The lines of one benchmark, or of several one below the other; the notes say how each was measured."""
    several = len(benches) > 1
    columns = (*words("run")[:several], Column("measured"), *numbers("value", "aim"), Column("in detail"))
    rows, notes = [], []
    for bench in benches:
        name, machine, versions = bench["name"].removeprefix("bench-"), bench["machine"], bench["versions"]
        for ratio in bench["ratios"]:
            aim = MISSING if ratio["target"] is None else f"{ratio['target']:g}"
            cells = (ratio["name"], f"{ratio['value']:.2f}", aim, ratio["detail"])
            rows.append(Row((name, *cells) if several else cells))
        where = f"{machine['processor']}, {machine['cores']} cores, torch {versions['torch']}"
        version = f"epir {versions['epir']}, commit {versions.get('commit', MISSING)[:12]}; {where}."
        notes.append(f"{name}: {bench['command']}; {version}" if several else version)
    caption = f"epir bench, {len(benches)} runs" if several else benches[0]["command"]
    return Table("bench", caption, columns, tuple(rows), tuple(notes))


VIEWS: Mapping[str, Callable[[Sequence[Result]], Table]] = {
    "scores": _scores_table,
    "short": _short_table,
    "conventions": _conventions_table,
    "epochs": _epochs_table,
    "ladder": _ladder_table,
    "units": _units_table,
    "each-unit": _each_unit_table,
    "commands": _commands_table,
}

UNIT_VIEWS = ("units", "each-unit")


def _best_epoch(result: Result) -> str:
    """Return the score that leaks, if the model has epochs."""
    best = result["scores"].get("best_epoch") if result["epochs"] else None
    return score_text(best["uf1"] if best else None)


def _maps(result: Result) -> str:
    """Return the names of the map sets, which the command has before its options."""
    return ", ".join(takewhile(lambda word: not word.startswith("-"), shlex.split(result["command"])[2:]))


def _folds(result: Result) -> str:
    if result["evaluation"] == "zero-shot":
        return "zero-shot"
    how = "LOSO" if result["evaluation"] == "loso" else f"{result['folds']} folds"
    return f"{how}, {result['seeds']} seed{'s' if result['seeds'] > 1 else ''}"


def _caption(results: Sequence[Result]) -> str:
    clips = sorted({result["clips"] for result in results})
    protocols = sorted({result["protocol"] for result in results})
    return f"{' or '.join(protocols)}: {' or '.join(map(str, clips))} clips"


def main(folders: Iterable[str]) -> int:
    """Fill the pages of the project in the named folder or, by default, the current one; return the exit status."""
    import sys

    root = Path(next(iter(folders), "."))
    try:
        pages, notes = fill_pages(root), block_notes(root)
    except EpirError as error:
        sys.stderr.write(f"{error.problem}\nfix: {error.fix}\n")
        return 2
    sys.stdout.writelines(f"filled: {page}\n" for page in pages)
    sys.stderr.writelines(f"note: {note}\n" for note in notes)
    return 0


if __name__ == "__main__":
    import sys

    sys.exit(main(sys.argv[1:]))
