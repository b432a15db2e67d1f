"""Tables as plain data, then as aligned text or CSV: runs in both columns, and the printed scores beside them."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

from epir.evaluation.comparison import SWAPS, Comparison
from epir.evaluation.published import Printed
from epir.evaluation.scores import Column
from epir.evaluation.store import Run

COLUMN_NAMES: dict[Column, str] = {"strict": "strict", "best_epoch": "best epoch (leaks)"}
PRINTED_NOTE = (
    "Printed scores are of all people of the protocol, and best epoch or unknown unless a row says otherwise; "
    "compare them with the column best epoch (leaks), not with strict."
)


@dataclass(frozen=True)
class Table:
    """A title, a header, rows of words, and notes below."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    rule_before: int = 0  # the row that a line stands above; 0: none but the header's

    def text(self) -> str:
        """Aligned columns for a terminal or a log."""
        widths = [max(map(len, column)) for column in zip(self.header, *self.rows, strict=True)]
        head, *lines = (
            "  ".join(word.ljust(width) for word, width in zip(row, widths, strict=True)).rstrip()
            for row in (self.header, *self.rows)
        )
        rule = "-" * (sum(widths) + 2 * len(widths) - 2)
        if self.rule_before:
            lines.insert(self.rule_before, rule)
        return "\n".join([self.title, "", head, rule, *lines, "", *self.notes]).rstrip() + "\n"

    def csv(self) -> str:
        """The header and the rows as CSV."""
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows([self.header, *self.rows])
        return out.getvalue()


def score_table(runs: Sequence[Run], printed: Sequence[Printed] = (), *, names: Sequence[str] = ()) -> Table:
    """Both columns of every run, with intervals and parts; below them what the paper prints."""
    corpora = sorted({corpus for run in runs for corpus in run.scores["strict"]["parts"]})
    parts = corpora if len(corpora) > 1 else []
    header = ("model", "what", "UF1", "95 % interval", "UAR", "accuracy", *(f"{part} UF1 / UAR" for part in parts))
    rows = [
        _row(run, name, column, parts)
        for run, name in zip(runs, names or [run.name for run in runs], strict=True)
        for column in COLUMN_NAMES
    ]
    methods = dict.fromkeys(each.method for each in printed)
    below = [_printed_row([each for each in printed if each.method == method], parts) for method in methods]
    notes = dict.fromkeys(f"{each.method}: {each.note}." for each in printed if each.note)
    if not printed:
        return Table(_title(runs[0]), header, tuple(rows))
    return Table(_title(runs[0]), header, (*rows, *below), (PRINTED_NOTE, *notes), rule_before=len(rows))


def comparison_table(comparisons: Sequence[Comparison]) -> Table:
    """Differences against the first run, with the chance that they are chance; below, the settings that differ."""
    header = ("run", "what", "UF1 against the first", "95 % interval", "p")
    rows = tuple(
        (
            each.second,
            COLUMN_NAMES[each.column],
            f"{each.difference:+.4f}",
            f"{each.interval[0]:+.4f} to {each.interval[1]:+.4f}",
            f"{each.p:.4f}",
        )
        for each in comparisons
    )
    exact = "every way of swapping" if comparisons[0].is_exact else f"{SWAPS} random ways of swapping"
    notes = [
        f"p: paired permutation test over people, {exact}; small means hardly chance. Only strict is a result.",
        "",
        *(
            f"{each.second} differs in {line}"
            for each in comparisons
            if each.column == "strict"
            for line in each.settings
        ),
    ]
    return Table(f"against {comparisons[0].first}", header, rows, tuple(notes))


def _title(run: Run) -> str:
    scores, experiment = run.scores, run.experiment
    if experiment.is_zero_shot:
        how = "zero-shot: each predicted once, nothing trained"
    else:
        seeds = "1 seed" if scores["seeds"] == 1 else f"mean of {scores['seeds']} seeds"
        how = f"{scores['folds']} folds ({_scheme(experiment.folds)}), {seeds}"
    return f"{scores['protocol']}: {scores['clips']} clips of {scores['people']} people, {how}"


def _scheme(folds: str) -> str:
    words = {"loso": "leave one person out", "loco": "leave one corpus out"}
    return words.get(folds, "grouped by person")


def _row(run: Run, name: str, column: Column, parts: Sequence[str]) -> tuple[str, ...]:
    scores = run.scores[column]
    low, high = scores["uf1_interval"]
    pairs = [scores["parts"].get(part) for part in parts]
    return (
        name,
        COLUMN_NAMES[column],
        f"{scores['uf1']:.4f}",
        f"{low:.4f} to {high:.4f}",
        f"{scores['uar']:.4f}",
        f"{scores['accuracy']:.4f}",
        *(f"{pair['uf1']:.4f} / {pair['uar']:.4f}" if pair else "" for pair in pairs),
    )


def _printed_row(printed: Sequence[Printed], parts: Sequence[str]) -> tuple[str, ...]:
    """One method of the paper's tables; a table of one corpus has no `full`."""
    by_part = {each.part: each for each in printed}
    whole = by_part.get("full") or printed[0]
    pairs = [by_part.get(part) for part in parts]
    return (
        whole.method,
        f"printed in Table {whole.table}, {whole.selection}",
        whole.uf1_text,
        "",
        whole.uar_text,
        "",
        *(f"{pair.uf1_text} / {pair.uar_text}" if pair else "" for pair in pairs),
    )
