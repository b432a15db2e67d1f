"""A table as plain text cells, written out as Markdown, LaTeX or HTML by the files of those names."""

from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["", "strict", "best_epoch", "printed"]


@dataclass(frozen=True)
class Column:
    """A heading; neighbours of one `group` share a heading above theirs."""

    title: str
    group: str = ""
    numeric: bool = False
    tag: bool = False  # holds what kind of recognition the row's scores describe


@dataclass(frozen=True)
class Row:
    """Cells as text, and what kind of recognition its scores describe."""

    cells: tuple[str, ...]
    kind: Kind = ""
    strong: bool = False


@dataclass(frozen=True)
class Table:
    """A caption, headings, rows and notes; `name` is the file name or label it goes by."""

    name: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        for row in self.rows:
            assert len(row.cells) == len(self.columns), f"{self.name}: {row.cells} has not {len(self.columns)} cells"

    @property
    def is_grouped(self) -> bool:
        """Whether there is a second line of headings above the first."""
        return any(column.group for column in self.columns)

    def groups(self) -> tuple[tuple[str, int], ...]:
        """The headings of the upper line, each with the number of columns it spans."""
        spans: list[tuple[str, int]] = []
        for column in self.columns:
            if spans and column.group and spans[-1][0] == column.group:
                spans[-1] = (column.group, spans[-1][1] + 1)
            else:
                spans.append((column.group, 1))
        return tuple(spans)
