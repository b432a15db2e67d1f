"""Tables as LaTeX, for `booktabs`."""

from collections.abc import Iterable

from epir.reports.tables import Table

SPECIAL = {
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


def latex_tables(tables: Iterable[Table]) -> str:
    """The tables one below the other, for documents that load `booktabs`."""
    return "% needs \\usepackage{booktabs}\n" + "\n".join(map(latex_table, tables))


def latex_table(table: Table) -> str:
    """One `table` environment with rules as books have them."""
    shape = "".join("r" if column.numeric else "l" for column in table.columns)
    lines = [
        r"\begin{table}[t]",
        r"\centering",
        rf"\caption{{{escape(table.caption)}}}",
        rf"\label{{tab:{_label(table.name)}}}",
    ]
    lines += [rf"\begin{{tabular}}{{{shape}}}", r"\toprule"]
    if table.is_grouped:
        lines += _group_lines(table)
    lines += [_line([column.title for column in table.columns]), r"\midrule"]
    for number, row in enumerate(table.rows):
        if number and row.kind != table.rows[number - 1].kind and row.kind == "printed":
            lines.append(r"\midrule")
        lines.append(_line(row.cells, strong=row.strong))
    lines += [r"\bottomrule", r"\end{tabular}"]
    lines += [rf"\par\smallskip{{\footnotesize {escape(note)}\par}}" for note in table.notes]
    return "\n".join([*lines, r"\end{table}", ""])


def escape(text: str) -> str:
    r"""Text in which nothing is a command.

    >>> escape("50 % of a_b")
    '50 \\% of a\\_b'
    """
    return "".join(SPECIAL.get(sign, sign) for sign in " ".join(text.split()))


def _group_lines(table: Table) -> list[str]:
    cells, rules, start = [], [], 1
    for title, span in table.groups():
        cells.append(rf"\multicolumn{{{span}}}{{c}}{{{escape(title)}}}" if title else "")
        if title:
            rules.append(rf"\cmidrule(lr){{{start}-{start + span - 1}}}")
        start += span
    return [" & ".join(cells) + r" \\", "".join(rules)]


def _line(cells: Iterable[str], *, strong: bool = False) -> str:
    return " & ".join(rf"\textbf{{{escape(cell)}}}" if strong and cell else escape(cell) for cell in cells) + r" \\"


def _label(name: str) -> str:
    return "".join(sign if sign.isalnum() or sign == "-" else "-" for sign in name)
