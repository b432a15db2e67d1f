"""Result tables: cells of text, written as aligned text, CSV, Markdown, LaTeX or HTML."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape as escape_html
from typing import Literal

from epir.core.files import csv_text

Kind = Literal["", "strict", "best_epoch", "published"]  # of the scores in a row

MISSING = "–"
NOTES_SHOWN = 2  # of a table in HTML; further notes are collapsed
LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "³": r"$^3$",
    "–": "--",
    "×": r"$\times$",
    "→": r"$\rightarrow$",
    "µ": r"$\mu$",
    "μ": r"$\mu$",
    "−": "$-$",
    "±": r"$\pm$",
}


@dataclass(frozen=True)
class Column:
    """A heading; neighbouring columns with the same `group` share a second heading above."""

    title: str
    group: str = ""
    numeric: bool = False
    tag: bool = False  # shows the kind of score of the row


def words(*titles: str) -> tuple[Column, ...]:
    """Columns of words."""
    return tuple(map(Column, titles))


def numbers(*titles: str, group: str = "") -> tuple[Column, ...]:
    """Columns of numbers."""
    return tuple(Column(title, group, numeric=True) for title in titles)


@dataclass(frozen=True)
class Row:
    """Cells of text, and the kind of their scores."""

    cells: tuple[str, ...]
    kind: Kind = ""
    strong: bool = False


@dataclass(frozen=True)
class Table:
    """A caption, columns, rows and notes; `name` is its label in LaTeX."""

    name: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for row in self.rows:
            assert len(row.cells) == len(self.columns), f"{self.name}: {row.cells} has not {len(self.columns)} cells"

    @property
    def groups(self) -> tuple[tuple[str, int], ...]:
        """The upper headings and the number of columns that each spans; empty without groups."""
        if not any(column.group for column in self.columns):
            return ()
        spans: list[tuple[str, int]] = []
        for column in self.columns:
            if spans and column.group and spans[-1][0] == column.group:
                spans[-1] = (column.group, spans[-1][1] + 1)
            else:
                spans.append((column.group, 1))
        return tuple(spans)

    @property
    def headings(self) -> list[str]:
        """One line of headings: the group, then the title."""
        return [" ".join(filter(None, (column.group, column.title))) for column in self.columns]

    @property
    def rule_before(self) -> int:
        """The index of the first published row, if the published rows come last; otherwise 0."""
        ours = [number for number, row in enumerate(self.rows) if row.kind != "published"]
        return ours[-1] + 1 if ours and ours[-1] + 1 < len(self.rows) else 0

    def text(self) -> str:
        """Aligned columns for a terminal or a log."""
        lines = [[column.title for column in self.columns], *(list(row.cells) for row in self.rows)]
        widths = [max(map(len, words)) for words in zip(*lines, strict=True)]
        upper, start = "", 0
        for title, span in self.groups:
            room = sum(widths[start : start + span]) + 2 * (span - 1)
            widths[start + span - 1] += max(0, len(title) - room)
            upper += f"{title:<{max(room, len(title))}}  "
            start += span
        head, *body = ("  ".join(map(self._align, self.columns, line, widths)).rstrip() for line in lines)
        rule = "-" * (sum(widths) + 2 * len(widths) - 2)
        if self.rule_before:
            body.insert(self.rule_before, rule)
        headings = [upper.rstrip(), head] if upper else [head]
        return "\n".join([self.caption, "", *headings, rule, *body, "", *self.notes]).rstrip() + "\n"

    def csv(self) -> str:
        """One line of headings and the rows; a missing value is an empty cell."""
        return csv_text(self.headings, (["" if cell == MISSING else cell for cell in row.cells] for row in self.rows))

    def markdown(self) -> str:
        """The caption in bold, the table, and its notes as a list."""
        lines = [f"**{_markdown(self.caption)}**", "", _markdown_line(map(_markdown, self.headings))]
        lines.append("|" + "|".join("---:" if column.numeric else "---" for column in self.columns) + "|")
        for row in self.rows:
            cells = map(_markdown, row.cells)
            lines.append(_markdown_line(f"**{cell}**" if row.strong and cell else cell for cell in cells))
        lines += ["", *(f"- {_markdown(note)}" for note in self.notes)]
        return "\n".join(lines).rstrip() + "\n"

    def latex(self) -> str:
        """A `table` environment with the rules of `booktabs`."""
        label = "".join(sign if sign.isalnum() or sign == "-" else "-" for sign in self.name)
        shape = "".join("r" if column.numeric else "l" for column in self.columns)
        lines = [r"\begin{table}[t]", r"\centering", rf"\caption{{{latex(self.caption)}}}", rf"\label{{tab:{label}}}"]
        lines += [rf"\begin{{tabular}}{{{shape}}}", r"\toprule", *self._latex_groups()]
        lines += [_latex_line(latex(column.title) for column in self.columns), r"\midrule"]
        for number, row in enumerate(self.rows):
            if number and number == self.rule_before:
                lines.append(r"\midrule")
            cells = [latex(_typeset(cell, column)) for cell, column in zip(row.cells, self.columns, strict=True)]
            lines.append(_latex_line(rf"\textbf{{{cell}}}" if row.strong and cell else cell for cell in cells))
        lines += [r"\bottomrule", r"\end{tabular}"]
        lines += [rf"\par\smallskip{{\footnotesize {latex(note)}\par}}" for note in self.notes]
        return "\n".join([*lines, r"\end{table}", ""])

    def html(self) -> str:
        """The caption, the table in a scrollable box, and the notes."""
        heads = ""
        if self.groups:
            spans = (f'<th{_class("group" if t else "")} colspan="{n}">{escape_html(t)}</th>' for t, n in self.groups)
            heads = f"<tr>{''.join(spans)}</tr>"
        titles = (f'<th scope="col"{_numeric(column)}>{escape_html(column.title)}</th>' for column in self.columns)
        head = f"<thead>{heads}<tr>{''.join(titles)}</tr></thead>"
        body = f"<tbody>{''.join(map(self._html_row, self.rows))}</tbody>"
        caption = escape_html(self.caption)
        box = f'<div class="scroll" tabindex="0" role="region" aria-label="{caption}"><table>{head}{body}</table></div>'
        notes = [f'<p class="note">{escape_html(note)}</p>' for note in self.notes]
        if len(notes) > NOTES_SHOWN:
            rest = "".join(notes[NOTES_SHOWN:])
            notes[NOTES_SHOWN:] = [f'<details class="notes"><summary>Notes on single rows</summary>{rest}</details>']
        return f'<p class="caption">{caption}</p>{box}{"".join(notes)}'

    def _html_row(self, row: Row) -> str:
        cells = []
        for number, (cell, column) in enumerate(zip(row.cells, self.columns, strict=True)):
            word = escape_html(_typeset(cell, column))
            word = f'<span class="tag {row.kind}">{word}</span>' if column.tag and word else word
            name = 'th scope="row"' if number == 0 else "td"
            cells.append(f"<{name}{_numeric(column)}>{word}</{name.split()[0]}>")
        kinds = " ".join(filter(None, (row.kind, "strong" if row.strong else "")))
        return f"<tr{_class(kinds)}>{''.join(cells)}</tr>"

    def _latex_groups(self) -> list[str]:
        cells, rules, start = [], [], 1
        for title, span in self.groups:
            cells.append(rf"\multicolumn{{{span}}}{{c}}{{{latex(title)}}}" if title else "")
            if title:
                rules.append(rf"\cmidrule(lr){{{start}-{start + span - 1}}}")
            start += span
        return [_latex_line(cells), "".join(rules)] if cells else []

    @staticmethod
    def _align(column: Column, word: str, width: int) -> str:
        return word.rjust(width) if column.numeric else word.ljust(width)


def markdown_tables(tables: Iterable[Table]) -> str:
    """The tables in Markdown, one below the other."""
    return "\n".join(table.markdown() for table in tables)


def latex_tables(tables: Iterable[Table]) -> str:
    """The tables in LaTeX, one below the other, for documents that load `booktabs`."""
    return "% needs \\usepackage{booktabs}\n" + "\n".join(table.latex() for table in tables)


def latex(text: str) -> str:
    r"""Text escaped for LaTeX.

    >>> latex("50 % of a_b")
    '50 \\% of a\\_b'
    """
    return "".join(LATEX.get(sign, sign) for sign in " ".join(text.split()))


def _latex_line(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _markdown(text: str) -> str:
    """Text escaped for a cell of a Markdown table."""
    for mark in "\\`*_[]<>|":
        text = text.replace(mark, "\\" + mark)
    return " ".join(text.split())


def _markdown_line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _typeset(cell: str, column: Column) -> str:
    """A numeric cell with typographic minus signs and dashes."""
    if not column.numeric:
        return cell
    return re.sub(r"(?<=\d) to (?=\d)", "–", re.sub(r"(?<![\w.])-(?=[\d.])", "−", cell))


def _numeric(column: Column) -> str:
    return _class("number" if column.numeric else "")


def _class(names: str | Sequence[str]) -> str:
    return f' class="{names}"' if names else ""


def score_text(value: float | None) -> str:
    """A score with four decimals, as published scores have; a dash for None and NaN."""
    return MISSING if value is None or value != value else f"{value:.4f}"


def interval_text(bounds: Sequence[float] | None) -> str:
    """An interval as `0.660 to 0.760`; an empty text for None."""
    return f"{bounds[0]:.3f} to {bounds[1]:.3f}" if bounds else ""
