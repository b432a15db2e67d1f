"""Tables of scores: both columns of every run, beside the numbers that the paper prints."""

from collections.abc import Sequence
from typing import Any

from epir.evaluation.comparison import compare
from epir.evaluation.published import RUNGS, Printed, comparisons, ladder
from epir.evaluation.store import Run
from epir.evaluation.table import PRINTED_NOTE
from epir.reports.results import class_counts, confusions
from epir.reports.series import is_ladder, run_titles, sweep_of
from epir.reports.tables import Column, Row, Table
from epir.reports.wording import COLUMNS, STRICT, corpus_title, interval, score, signed

EVALUATION = Column("evaluation", tag=True)
PAPERS_OWN = "EPIR"  # what the printed tables call the paper's own method
INTERVAL_NOTE = "Interval: bootstrap over people, 95 %. Scores of several seeds are their means."


def printed_beside(runs: Sequence[Run]) -> tuple[Printed, ...]:
    """What the paper prints for the runs' protocol: of a ladder its rungs, of a sweep only its own method.

    Nothing, if the runs are of corpora that it does not speak of.
    """
    protocol = runs[0].experiment.protocol
    printed = ladder(protocol) if is_ladder(runs) else comparisons(protocol)
    if len(runs) > 1 and sweep_of(runs):
        printed = tuple(each for each in printed if each.method == PAPERS_OWN)
    corpora = {each.corpus for run in runs for each in run.predictions}
    return printed if corpora <= {each.part for each in printed} else ()


def score_table(runs: Sequence[Run]) -> Table:
    """UF1 with its interval, UAR and accuracy of all clips, then UF1 and UAR of each corpus; two rows per run.

    Printed scores follow: below each rung of a ladder its own, otherwise below all runs.
    """
    parts = _parts(runs)
    columns = [Column("method"), EVALUATION]
    columns += [Column(title, "all clips", numeric=True) for title in ("UF1", "95 % interval", "UAR", "accuracy")]
    columns += [Column(title, corpus_title(part), numeric=True) for part in parts for title in ("UF1", "UAR")]
    printed = printed_beside(runs)
    by_method = {each.method: [other for other in printed if other.method == each.method] for each in printed}
    rows = []
    for title, run in zip(run_titles(runs), runs, strict=True):
        for column, label in COLUMNS.items():
            rows.append(Row((title, label, *_cells(run.scores[column], parts)), kind=column, strong=column == "strict"))
        if is_ladder(runs) and RUNGS[run.experiment.model.name] in by_method:
            rows.append(_printed_row(by_method.pop(RUNGS[run.experiment.model.name]), parts))
    if not is_ladder(runs):
        own_first = sorted(by_method, key=lambda method: method != PAPERS_OWN)
        rows += [_printed_row(by_method[method], parts) for method in own_first]
    notes = [INTERVAL_NOTE, *([PRINTED_NOTE] if printed else [])]
    notes += dict.fromkeys(f"{each.method}, printed ({each.selection}): {each.note}." for each in printed if each.note)
    caption = f"Scores under the protocol {runs[0].experiment.protocol}"
    return Table("scores", caption, tuple(columns), tuple(rows), tuple(notes))


def comparison_table(runs: Sequence[Run]) -> Table:
    """Every later run against the first: the difference in strict UF1, its interval and the paired test."""
    titles = run_titles(runs)
    rows = []
    for title, run in zip(titles[1:], runs[1:], strict=True):
        found = compare(runs[0], run)
        low, high = found.interval
        p = "< 0.001" if found.p < 0.001 else f"{found.p:.3f}"
        rows.append(
            Row(
                (
                    f"{title} − {titles[0]}",
                    STRICT,
                    signed(found.difference, 4),
                    f"{signed(low, 3)} to {signed(high, 3)}",
                    p,
                ),
                kind="strict",
            )
        )
    columns = (
        Column("runs"),
        EVALUATION,
        Column("difference in UF1", numeric=True),
        Column("95 % interval", numeric=True),
        Column("p", numeric=True),
    )
    note = (
        "p: how often a difference at least as large appears when the two runs' answers are swapped person by person "
        "at random."
    )
    return Table("comparison", "Paired comparison over people", columns, tuple(rows), (note,))


def class_table(run: Run) -> Table:
    """Precision, recall and F1 of each class in the pooled matrix, both columns."""
    columns = (
        Column("class"),
        EVALUATION,
        *(Column(title, numeric=True) for title in ("clips", "precision", "recall", "F1")),
    )
    rows = []
    for column, label in COLUMNS.items():
        counts = confusions(run.predictions, run.experiment.classes, column)[0].counts
        for number, name in enumerate(run.experiment.classes):
            hits, truths, answers = counts[number, number], counts[number].sum(), counts[:, number].sum()
            cells = [score(hits / answers if answers else None), score(hits / truths if truths else None)]
            f1 = score(2 * hits / (truths + answers) if truths + answers else None)
            rows.append(Row((name, label, f"{truths:g}", *cells, f1), kind=column))
    note = (
        "From the mean counts over seeds, so the mean of F1 may differ slightly from UF1, which is the mean over seeds."
    )
    several = run.experiment.seeds > 1
    return Table("classes", "Each class", columns, tuple(rows), (note,) if several else ())


def seed_table(run: Run) -> Table | None:
    """Each seed alone, if there are several."""
    seeds: dict[str, Any] = run.scores.get("by_seed", {})
    if len(seeds) < 2:
        return None
    columns = (Column("seed"), EVALUATION, *(Column(title, numeric=True) for title in ("UF1", "UAR", "accuracy")))
    rows = [
        Row((seed, label, *(score(values[column][name]) for name in ("uf1", "uar", "accuracy"))), kind=column)
        for column, label in COLUMNS.items()
        for seed, values in seeds.items()
    ]
    return Table("seeds", "Each seed alone", columns, tuple(rows))


def data_table(run: Run) -> Table:
    """How many clips of each class and how many people each corpus gives."""
    classes = run.experiment.classes
    counts = class_counts(run.predictions, classes)
    people = {corpus: len({each.person for each in run.predictions if each.corpus == corpus}) for corpus in counts}
    rows = [
        Row((corpus_title(corpus), *(str(of[name]) for name in classes), str(sum(of.values())), str(people[corpus])))
        for corpus, of in counts.items()
    ]
    if len(counts) > 1:
        totals = [sum(of[name] for of in counts.values()) for name in classes]
        rows.append(Row(("all clips", *map(str, totals), str(sum(totals)), str(sum(people.values()))), strong=True))
    columns = (Column("corpus"), *(Column(name, numeric=True) for name in (*classes, "clips", "people")))
    return Table("data", "Clips and people", columns, tuple(rows))


def _parts(runs: Sequence[Run]) -> list[str]:
    """The corpora that get columns of their own: none where there is only one."""
    parts = sorted({part for run in runs for part in run.scores["strict"].get("parts", {})})
    return parts if len(parts) > 1 else []


def _cells(scores: dict[str, Any], parts: Sequence[str]) -> list[str]:
    cells = [
        score(scores["uf1"]),
        interval(scores.get("uf1_interval")),
        score(scores["uar"]),
        score(scores["accuracy"]),
    ]
    for part in parts:
        own = scores.get("parts", {}).get(part, {})
        cells += [score(own.get("uf1")), score(own.get("uar"))]
    return cells


def _printed_row(pairs: Sequence[Printed], parts: Sequence[str]) -> Row:
    """One method of the paper's tables; a table of one corpus has no `full`."""
    by_part = {each.part: each for each in pairs}
    whole = by_part.get("full") or pairs[0]
    cells = [whole.uf1_text, "", whole.uar_text, ""]
    for part in parts:
        cells += [by_part[part].uf1_text, by_part[part].uar_text] if part in by_part else ["–", "–"]
    return Row((whole.method, f"printed: {whole.selection}", *cells), kind="printed")
