"""Score tables: every run with its training and initial weights, next to the published scores."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from epir.core import seeds
from epir.core.facs import CD6ME_UNITS
from epir.core.table import MISSING, Column, Row, Table, numbers
from epir.core.table import interval_text as interval_text
from epir.core.table import score_text as score_text
from epir.core.words import counted, people
from epir.evaluation import scores
from epir.evaluation.comparison import SWAPS, Comparison, Training, training_of
from epir.evaluation.published import RUNGS, PublishedScores
from epir.evaluation.store import NOT_CHECKED, SEEN, Run
from epir.models.seen import UNKNOWN

COLUMN_NAMES: Final[dict[scores.Column, str]] = {
    "strict": "strict",
    "best_epoch": "best epoch (leaks)",
    "seen_in_training": SEEN,
    "not_checked": NOT_CHECKED,
}
LEVEL: Final = f"{100 * seeds.LEVEL:g} %"
OWN_METHOD: Final = "EPIR"  # the paper's method in the published tables
CORPORA: Final = {
    "casme2": "CASME II",
    "samm": "SAMM",
    "smic": "SMIC",
    "casme3": "CAS(ME)³",
    "casme": "CASME",
    "mmew": "MMEW",
    "dfme": "DFME",
    "4dme": "4DME",
    "casme-sq": "CAS(ME)²",
    "test-a": "test A",
    "test-b": "test B",
    "synthetic": "synthetic",
}
FOLDS: Final = {"loso": "leave one person out", "loco": "leave one corpus out", "split": "the corpus's own split"}
TRAINING_COLUMNS: Final = (Column("training"), Column("first weights"))
EVALUATION: Final = Column("evaluation", tag=True)

INTERVAL_NOTE = f"Interval: {LEVEL}, bootstrap over people. Scores of several seeds are means."
CHANGED_NOTE = "Training (changed): settings differ from those of the recipe; config.toml of the run lists them."
PUBLISHED_NOTE = (
    "Published scores (Table {tables} of the paper) cover all people of the protocol, and are best epoch or unknown "
    "unless a row says otherwise; compare them with best epoch (leaks), not with strict."
)


def score_table(runs: Sequence[Run], published: Sequence[PublishedScores] = (), *, names: Sequence[str] = ()) -> Table:
    """Tabulate UF1, interval, UAR and accuracy of every run, pooled and by corpus, then the published scores.

    A published ablation rung goes below the run of the same model, all other published rows below all runs.
    """
    corpora = sorted({corpus for run in runs for corpus in run.main.get("parts", {})})
    parts = corpora if len(corpora) > 1 else []
    columns = [Column("method"), *TRAINING_COLUMNS, EVALUATION]
    columns += numbers("UF1", f"{LEVEL} interval", "UAR", "accuracy", group="all clips")
    columns += [Column(title, corpus_title(part), numeric=True) for part in parts for title in ("UF1", "UAR")]
    methods: dict[str, list[PublishedScores]] = {}
    for pair in published:
        methods.setdefault(pair.method, []).append(pair)
    rows: list[Row] = []
    for run, name in zip(runs, names or [run.name for run in runs], strict=True):
        training = training_of(run.experiment)
        for column in run.experiment.columns:
            cells = _cells(run.scores[column], parts)
            rows.append(score_row((name,), training, column, cells, strong=column != "best_epoch"))
        rung = methods.get(RUNGS.get(run.experiment.model.name, ""))
        if rung and rung[0].table >= 4:
            rows.append(_published_row(methods.pop(rung[0].method), parts))
    others = [method for method, pairs in methods.items() if pairs[0].table <= 3]
    own_first = sorted(others, key=lambda method: method != OWN_METHOD)
    rows += [_published_row(methods[method], parts) for method in own_first]
    has_changes = any("(changed)" in row.cells[1] for row in rows)
    notes = [f"{INTERVAL_NOTE} {CHANGED_NOTE}" if has_changes else INTERVAL_NOTE]
    tables = ", ".join(map(str, sorted({pair.table for pair in published if pair.table})))
    later = [pair.method for pair in published if not pair.table]
    notes += [PUBLISHED_NOTE.format(tables=tables)] if published else []
    notes += [f"Published since the paper: {', '.join(dict.fromkeys(later))}."] if later else []
    for run, name in zip(runs, names or [run.name for run in runs], strict=True):
        notes += [f"{name}: {note}." for note in run.environment.get("notes", ())]
        notes += [f"{name}, nested: {text}."] if (text := choices_text(run)) else []
    remarks = (pair for pair in published if pair.note)
    notes += dict.fromkeys(f"{pair.method}, published ({pair.selection}): {pair.note}." for pair in remarks)
    return Table("scores", _caption(runs[0]), tuple(columns), tuple(rows), tuple(notes))


def comparison_table(comparisons: Sequence[Comparison], *, names: Mapping[str, str] | None = None) -> Table:
    """Tabulate differences to the first run, with the paired test; `names` maps run folders to names."""
    names = names or {}
    columns = (
        *(Column("run"), *TRAINING_COLUMNS, EVALUATION, Column("difference in UF1", numeric=True)),
        *(Column(f"{LEVEL} interval", numeric=True), Column("p", numeric=True)),
    )
    rows = tuple(
        score_row(
            (names.get(comparison.second, comparison.second),),
            comparison.second_training,
            comparison.column,
            (
                f"{comparison.difference:+.4f}",
                f"{comparison.interval[0]:+.4f} to {comparison.interval[1]:+.4f}",
                "< 0.001" if comparison.p < 0.001 else f"{comparison.p:.4f}",
            ),
        )
        for comparison in comparisons
    )
    first = comparisons[0].first
    swaps = "exact: all swaps" if comparisons[0].is_exact else f"{SWAPS:,} random swaps"
    note = f"p: paired permutation test over people ({swaps}). Only strict is a result."
    caption = f"Difference to {names.get(first, first)} ({comparisons[0].first_training})"
    return Table("comparison", caption, columns, rows, (note,))


def units_table(run: Run) -> Table | None:
    """Tabulate the F1 of every action unit and their means, next to always answering yes; None without units."""
    values = run.scores.get("units")
    if not values:
        return None
    parts, main = values["parts"] if len(values["parts"]) > 1 else {}, run.experiment.columns[0]
    titles = ("clips with it", "found", "F1", f"{LEVEL} interval", "always yes")
    columns = [Column("unit"), EVALUATION, *numbers(*titles, group="all clips")]
    columns += [Column(title, corpus_title(part), numeric=True) for part in parts for title in ("clips with it", "F1")]
    rows = []
    for unit, score in values["units"].items():
        cells = [f"{score['there']}", f"{score['found']:g}", score_text(score["f1"]), interval_text(score["interval"])]
        cells.append(score_text(score["always"]))
        for part in parts.values():
            cells += [f"{part['units'][unit]['there']}", score_text(part["units"][unit]["f1"])]
        rows.append(Row((f"AU {unit}", COLUMN_NAMES[main], *cells), kind=column_kind(main)))
    for name, title in (("all", "mean of all that occur"), ("cd6me", "mean of those of CD6ME")):
        score = values["mean"][name]
        cells = ["", "", score_text(score["f1"]), interval_text(score["interval"])]
        cells.append(score_text(values["always_positive"][name]))
        for part in parts.values():
            cells += ["", score_text(part["mean"][name]["f1"])]
        rows.append(
            Row((f"{title} ({score['units']})", COLUMN_NAMES[main], *cells), kind=column_kind(main), strong=True)
        )
    left_out = run.environment.get("clips_without_units", 0) + values["without_annotation"]
    caption = f"Action units, {run.name}: {counted(values['clips'], 'annotated clip')} of {people(values['people'])}"
    notes: tuple[str, ...] = (
        f"Binary F1 with thresholds fixed together with the weights. {left_out} clips without annotated units are left "
        f"out. A dash: no annotation names the unit, so the means leave it out. {INTERVAL_NOTE}",
        f"Always yes: every unit detected in every clip. The benchmark CD6ME has {' '.join(map(str, CD6ME_UNITS))}.",
    )
    if run.experiment.unknown_weights:
        notes = (*notes, f"{run.name}: {UNKNOWN}.")
    return Table("units", caption, tuple(columns), tuple(rows), notes)


def choices_text(run: Run) -> str:
    """Describe which settings the folds of a nested run chose, such as `default in 4 of 6 folds`."""
    chosen = Counter(fold.chosen for fold in run.folds if fold.chosen)
    return ", ".join(f"{name} in {times} of {counted(chosen.total(), 'fold')}" for name, times in chosen.most_common())


def score_row(
    first: tuple[str, ...], training: Training, column: scores.Column, cells: Sequence[str], *, strong: bool = False
) -> Row:
    """Return a row of scores with its training and its kind."""
    return Row((*first, *training.cells, COLUMN_NAMES[column], *cells), kind=column_kind(column), strong=strong)


def column_kind(column: scores.Column) -> Literal["strict", "best_epoch"]:
    """Return the style of a column: every column that leaks looks like best epoch."""
    return "strict" if column == "strict" else "best_epoch"


def corpus_title(name: str) -> str:
    """Return the name of a corpus as its authors write it; `full` means all clips."""
    return "all clips" if name == "full" else CORPORA.get(name, name)


def _caption(run: Run) -> str:
    values, experiment = run.scores, run.experiment
    if experiment.is_zero_shot:
        how = "zero-shot: each predicted once, without training"
    elif experiment.is_imported:
        how = NOT_CHECKED
    else:
        seeds = "1 seed" if values["seeds"] == 1 else f"mean of {values['seeds']} seeds"
        how = f"{values['folds']} folds ({FOLDS.get(experiment.folds, 'grouped by person')}), {seeds}"
    return f"{values['protocol']}: {counted(values['clips'], 'clip')} of {people(values['people'])}, {how}"


def _cells(values: Mapping[str, Any], parts: Sequence[str]) -> list[str]:
    cells = [score_text(values["uf1"]), interval_text(values.get("uf1_interval"))]
    cells += [score_text(values["uar"]), score_text(values["accuracy"])]
    for part in parts:
        scores_of_part = values.get("parts", {}).get(part, {})
        cells += [score_text(scores_of_part.get("uf1")), score_text(scores_of_part.get("uar"))]
    return cells


def _published_row(pairs: Sequence[PublishedScores], parts: Sequence[str]) -> Row:
    """Return the row of one published method; a table of one corpus has no `full`."""
    by_part = {pair.part: pair for pair in pairs}
    whole = by_part.get("full") or pairs[0]
    cells = [whole.uf1_text, "", whole.uar_text or MISSING, ""]
    for part in parts:
        cells += [by_part[part].uf1_text, by_part[part].uar_text] if part in by_part else [MISSING, MISSING]
    return Row((whole.method, MISSING, MISSING, f"published: {whole.selection}", *cells), kind="published")
