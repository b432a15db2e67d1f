"""Tables as Markdown."""

from collections.abc import Iterable

from epir.reports.tables import Table


def markdown_tables(tables: Iterable[Table]) -> str:
    """The tables one below the other, each under its caption."""
    return "\n".join(map(markdown_table, tables))


def markdown_table(table: Table) -> str:
    """One table; the headings of a group become the first word of its columns' headings."""
    headings = [" ".join(filter(None, (column.group, column.title))) for column in table.columns]
    lines = [f"**{_cell(table.caption)}**", "", _line(headings)]
    lines.append("|" + "|".join("---:" if column.numeric else "---" for column in table.columns) + "|")
    for row in table.rows:
        lines.append(
            _line([f"**{_cell(cell)}**" if row.strong and cell else _cell(cell) for cell in row.cells], done=True)
        )
    lines += ["", *(f"- {_cell(note)}" for note in table.notes)]
    return "\n".join(lines).rstrip() + "\n"


def _line(cells: list[str], *, done: bool = False) -> str:
    return "| " + " | ".join(cell if done else _cell(cell) for cell in cells) + " |"


def _cell(text: str) -> str:
    """Text in which nothing is Markdown, HTML or the end of a cell."""
    for mark in "\\`*_[]<>|":
        text = text.replace(mark, "\\" + mark)
    return " ".join(text.split())
