"""Tables as HTML: each scrolls inside its own box, so that the page never does."""

from epir.reports.markup import Markup, element, join
from epir.reports.tables import Column, Kind, Row, Table

NOTES_SHOWN = 2


def html_table(table: Table) -> Markup:
    """A table with its caption above and its notes below."""
    heads: list[str] = []
    if table.is_grouped:
        spans = [
            element("th", title, colspan=span, class_="group" if title else None) for title, span in table.groups()
        ]
        heads.append(element("tr", *spans))
    titles = [element("th", column.title, scope="col", class_=_class(column)) for column in table.columns]
    heads.append(element("tr", *titles))
    body = element(
        "table",
        element("thead", *heads),
        element("tbody", *(_row(row, table.columns) for row in table.rows)),
    )
    box = element("div", body, class_="scroll", tabindex=0, role="region", aria_label=table.caption)
    return join(element("p", table.caption, class_="caption"), box, *_notes(table.notes))


def tag(text: str, kind: Kind) -> Markup:
    """A small label that says what kind of recognition a number describes."""
    return element("span", text, class_=f"tag {kind}")


def _notes(notes: tuple[str, ...]) -> list[str]:
    """The first notes in full, further ones folded away."""
    lines: list[str] = [element("p", note, class_="note") for note in notes]
    if len(notes) <= NOTES_SHOWN:
        return lines
    rest = element("details", element("summary", "Notes on single rows"), *lines[NOTES_SHOWN:], class_="notes")
    return [*lines[:NOTES_SHOWN], rest]


def _row(row: Row, columns: tuple[Column, ...]) -> Markup:
    cells: list[str] = []
    for number, (cell, column) in enumerate(zip(row.cells, columns, strict=True)):
        content = tag(cell, row.kind) if column.tag and cell else cell
        if number == 0:
            cells.append(element("th", content, scope="row", class_=_class(column)))
        else:
            cells.append(element("td", content, class_=_class(column)))
    return element("tr", *cells, class_=" ".join(filter(None, (row.kind, "strong" if row.strong else ""))) or None)


def _class(column: Column) -> str | None:
    return "number" if column.numeric else None
