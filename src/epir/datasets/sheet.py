"""Annotation sheets: find the file (.xlsx, .xls or .csv) and read its rows by column name."""

import codecs
import csv
import io
import struct
import warnings
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NoReturn
from zipfile import BadZipFile, ZipFile

from epir.core.errors import DatasetError, is_machine_fault
from epir.core.files import read_bytes
from epir.datasets.folders import Tree
from epir.datasets.spelling import column, plain

if TYPE_CHECKING:
    from openpyxl.worksheet._read_only import ReadOnlyWorksheet

_ZIP, _OLD_EXCEL = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"
_DAMAGE = (
    BadZipFile, zlib.error, EOFError, LookupError, ValueError, OSError, RuntimeError, SyntaxError, AttributeError,
)  # fmt: skip
MOST_BYTES = 256 << 20
HEADER = ("subject", "clip")  # the header is the first row with both columns
Grid = list[list[str]]


@dataclass(frozen=True, slots=True)
class SheetRow:
    """One row of a sheet; `number` counts as a spreadsheet does."""

    number: int
    cells: Mapping[str, str]  # by field
    further: Mapping[str, str]  # the remaining columns, by name


@dataclass(frozen=True, slots=True)
class Sheet:
    """The header of an annotation sheet, and the rows below it."""

    path: Path
    columns: tuple[str, ...]
    rows: tuple[SheetRow, ...]


def find_sheet(tree: Tree, patterns: Sequence[str], *, title: str, example: str = "") -> tuple[Path, tuple[Path, ...]]:
    """The annotation sheet of a corpus and the other files that match; of several versions the newest comes first."""
    named: dict[str, list[Path]] = {pattern: [] for pattern in patterns}
    for folder in tree.below(tree.root, depth=2):
        for name in tree.listing(folder).files:
            fits = (pattern for pattern in patterns if fnmatchcase(name.casefold(), pattern.casefold()))
            if not name.startswith("~$") and (first := next(fits, None)):
                named[first].append(folder / name)
    sheets = [
        path for paths in named.values() for path in sorted(paths, key=lambda path: path.name.casefold(), reverse=True)
    ]
    if not sheets:
        raise DatasetError(
            f"there is no annotation sheet of {title} in {tree.root}; it holds {tree.contents()}",
            fix=f"put it there (looked for: {', '.join(patterns)}), or give its path with --sheet"
            + (f"; frames are expected as {example}" if example else ""),
        )
    return sheets[0], tuple(sheets[1:])


def read_sheet(
    path: Path,
    fields: Mapping[str, Sequence[str]],
    *,
    page: str = "",
    optional: Iterable[str] = (),
    names: Sequence[str] = (),
    exact: bool = False,
) -> Sheet:
    """Read an .xlsx, .xls or .csv file; `fields` maps each field to the possible names of its column.

    The header is the first row with columns for `subject` and `clip`; the page called `page` is tried first. `names`
    are the columns of a sheet that comes without a header, on its first page. With `exact`, a repeated column and a
    row longer than the header are errors; published sheets have remarks there.
    """
    grids = dict(_pages(path))
    order = sorted(grids, key=lambda name: name.casefold() != page.casefold())
    headers = {name: start for name in order if (start := _header_row(grids[name], fields)) is not None}
    chosen = next(iter(headers), None)
    if chosen is None and names and grids:
        first = next(iter(grids))
        return _sheet(path, [list(names), *grids[first]], 0, fields, frozenset(optional), above=1)
    if chosen is None:
        shown = next((row for grid in grids.values() for row in grid if any(row)), [])
        reduced = {column(cell) for cell in shown}
        missing = next(field for field in HEADER if not reduced & {column(name) for name in fields[field]})
        _fail_without_column(path, fields[missing], [cell for cell in shown if cell])
    if exact:
        _check_cells(path, grids[chosen], headers[chosen], fields)
    return _sheet(path, grids[chosen], headers[chosen], fields, frozenset(optional))


def read_cells(path: Path) -> Grid:
    """The cells of a sheet's first page as text, row by row."""
    return next(iter(dict(_pages(path)).values()), [])


def _sheet(
    path: Path, grid: Grid, start: int, fields: Mapping[str, Sequence[str]], optional: frozenset[str], above: int = 0
) -> Sheet:
    """The sheet whose header is in row `start`; the first `above` rows of the grid are not in the file."""
    names = grid[start]
    reduced = [column(name) for name in names]
    places: dict[str, int] = {}
    for field, spellings in fields.items():
        place = next((reduced.index(column(name)) for name in spellings if column(name) in reduced), None)
        if place is not None:
            places[field] = place
        elif field not in optional:
            _fail_without_column(path, spellings, [name for name in names if name])
    left = {name: place for place, name in enumerate(names) if name and place not in places.values()}
    rows = []
    for number, cells in enumerate(grid[start + 1 :], start=start + 2 - above):
        cells = cells + [""] * (len(names) - len(cells))
        if any(cells):
            picked = {field: cells[place] for field, place in places.items()}
            rows.append(SheetRow(number, picked, {name: cells[place] for name, place in left.items()}))
    return Sheet(path, tuple(name for name in names if name), tuple(rows))


def _check_cells(path: Path, grid: Grid, start: int, fields: Iterable[str]) -> None:
    """Raise an error for a repeated column, or for a row with more cells than the header."""
    names = grid[start]
    reduced = [column(name) for name in names]
    twice = next((field for field in fields if reduced.count(column(field)) > 1), None)
    if twice is not None:
        raise DatasetError(f"{path} has the column {twice!r} twice", fix="remove or rename one of them")
    for number, cells in enumerate(grid[start + 1 :], start=start + 2):
        if any(cells[len(names) :]):
            raise DatasetError(
                f"{path}, row {number} has {len(cells)} cells, but the header has {len(names)}",
                fix="put cells that contain a separator in quotation marks, and write decimals with a point",
            )


def _header_row(grid: Grid, fields: Mapping[str, Sequence[str]]) -> int | None:
    for number, cells in enumerate(grid):
        reduced = {column(cell) for cell in cells}
        if all(reduced & {column(name) for name in fields[field]} for field in HEADER):
            return number
    return None


def _fail_without_column(path: Path, spellings: Sequence[str], columns: Sequence[str]) -> NoReturn:
    others = f" (nor {', '.join(map(repr, spellings[1:]))})" if spellings[1:] else ""
    raise DatasetError(
        f"{path} has no column {spellings[0]!r}{others}; its columns are: {', '.join(columns) or 'none'}",
        fix=f"rename the column to {spellings[0]!r}, or give another sheet",
    )


def _pages(path: Path) -> Iterator[tuple[str, Grid]]:
    """The name and the cells of every page, as text; a .csv has one page."""
    try:
        content = read_bytes(path, error=DatasetError, fix="give an annotation sheet", most=MOST_BYTES)
    except FileNotFoundError:
        raise DatasetError(f"there is no file {path}", fix="check the path") from None
    if content.startswith(_OLD_EXCEL):
        yield from _old_workbook(path, content)
    elif content.startswith(_ZIP):
        yield from _workbook(path)
    elif path.suffix.casefold() in (".xlsx", ".xls"):
        raise DatasetError(f"{path} is damaged: it is not an Excel file", fix="copy it again from the release")
    else:
        yield "", _comma_separated(path, content)


def _workbook(path: Path) -> Iterator[tuple[str, Grid]]:
    """The pages of an .xlsx."""
    import openpyxl

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # openpyxl warns of styles that it does not keep
        try:
            with path.open("rb") as file:
                book = openpyxl.load_workbook(file, read_only=True, data_only=True)
                formulas = openpyxl.load_workbook(file, read_only=True) if _holds_formulas(file) else None
                for page in book.worksheets:
                    page.reset_dimensions()  # some programs write a wrong size, and rows would be lost
                    rows = [[plain(cell) for cell in row] for row in page.iter_rows(values_only=True)]
                    if formulas is not None:
                        _check_formulas(path, rows, formulas[page.title])
                    yield page.title, rows
        except DatasetError:
            raise
        except Exception as error:  # openpyxl has no base class for its errors: a damaged file may raise anything
            if is_machine_fault(error):
                raise
            words = " ".join(str(error).split()) or type(error).__name__
            raise DatasetError(f"{path} cannot be read: {words}", fix="copy it again from the release") from None


def _holds_formulas(file: BinaryIO) -> bool:
    """Whether a page of an .xlsx holds a formula."""
    with ZipFile(file) as book:
        pages = [name for name in book.namelist() if name.startswith("xl/worksheets/") and name.endswith(".xml")]
        return any(b"<f>" in content or b"<f " in content for content in map(book.read, pages))


def _check_formulas(path: Path, rows: Grid, page: "ReadOnlyWorksheet") -> None:
    """Raise an error for a formula without a stored value: its cell would look empty."""
    page.reset_dimensions()
    for number, (values, cells) in enumerate(zip(rows, page.iter_rows(values_only=True), strict=False), start=1):
        for value, cell in zip(values, cells, strict=False):
            if not value and isinstance(cell, str) and cell.startswith("="):
                raise DatasetError(
                    f"{path}, row {number} holds the formula {cell} without its value",
                    fix="open the sheet in a spreadsheet program and save it",
                )


def _old_workbook(path: Path, content: bytes) -> Iterator[tuple[str, Grid]]:
    """The pages of an .xls; a password-protected .xlsx starts with the same bytes."""
    import xlrd

    try:
        book = xlrd.open_workbook(file_contents=content, logfile=io.StringIO())
        pages = [(page.name, [page.row_values(row) for row in range(page.nrows)]) for page in book.sheets()]
    except (xlrd.XLRDError, xlrd.compdoc.CompDocError, struct.error, AssertionError, TypeError, *_DAMAGE) as error:
        raise DatasetError(
            f"{path} cannot be read: {error or 'it is damaged'}",
            fix="if it has a password, save it without one; else copy it again from the release",
        ) from None
    for name, rows in pages:
        yield name, [[plain(cell) for cell in row] for row in rows]


def _comma_separated(path: Path, content: bytes) -> Grid:
    """The rows of a .csv, in any encoding and with any separator that spreadsheets write."""
    text = io.StringIO(_decoded(content), newline=None).read()  # unifies line ends
    start = text[:10_000]
    separator = max(",;\t", key=start.count)  # spreadsheets in some countries write semicolons
    try:
        return [[plain(cell) for cell in row] for row in csv.reader(io.StringIO(text), delimiter=separator)]
    except csv.Error as error:
        raise DatasetError(f"{path} is not a table: {error}", fix="save it as CSV with commas, in UTF-8") from None


def _decoded(content: bytes) -> str:
    """The text of a file: UTF-8, UTF-16 (with a byte-order mark, or recognised by its zeros), or Windows-1252."""
    half = content[:2000]
    zeros = half[0::2].count(0), half[1::2].count(0)
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return content.decode("utf-16", errors="replace")
    if max(zeros) > len(half) / 4:
        return content.decode("utf-16-be" if zeros[0] > zeros[1] else "utf-16-le", errors="replace")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252", errors="replace")
