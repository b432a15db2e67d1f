import openpyxl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from epir.core.errors import DatasetError
from epir.datasets.folders import Tree
from epir.datasets.sheet import find_sheet, read_sheet

FIELDS = {"subject": ("Subject",), "clip": ("Filename",), "onset": ("OnsetFrame", "Onset")}


def test_columns_are_found_by_name_wherever_they_are(tmp_path, release):
    path = release.workbook(
        tmp_path / "a.xlsx", [None, "Filename ", " Onset Frame", "Subject"], [(None, "EP1", 46, "01")]
    )
    (row,) = read_sheet(path, FIELDS).rows
    assert row.cells == {"subject": "01", "clip": "EP1", "onset": "46"}


def test_the_header_is_searched_for(tmp_path, release):
    path = release.workbook(
        tmp_path / "a.xlsx", ["Subject", "Filename", "Onset"], [("006", "006_1_2", 5562)], above=[["remark"]] * 13
    )
    (row,) = read_sheet(path, FIELDS).rows
    assert row.number == 15
    assert row.cells["subject"] == "006"


def test_the_named_page_comes_first_and_the_others_after_it(tmp_path, release):
    other = ("other", [["Subject", "Filename", "Onset"], ["2", "b", 1]])
    path = release.workbook(
        tmp_path / "a.xlsx", ["Subject", "Filename", "Onset"], [("1", "a", 1)], page="label", further_pages=[other]
    )
    assert read_sheet(path, FIELDS, page="LABEL").rows[0].cells["clip"] == "a"
    assert read_sheet(path, FIELDS, page="other").rows[0].cells["clip"] == "b"
    assert read_sheet(path, FIELDS, page="nowhere").rows[0].cells["clip"] == "a"
    wrong_ending = path.rename(tmp_path / "a.xls")
    assert read_sheet(wrong_ending, FIELDS, page="other").rows[0].cells["clip"] == "b"


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_cells_with_separators_further_columns_and_short_rows(tmp_path, separator):
    path = tmp_path / "a.csv"
    quoted = '"a, b"' if separator == "," else "a, b"
    lines = [["Subject", "Filename", "Onset", "More"], ["1", quoted, "7", "x"], ["", "", "", ""], ["2", "c"]]
    path.write_text("\n".join(separator.join(line) for line in lines), encoding="utf-8")
    first, short = read_sheet(path, FIELDS).rows
    assert first.cells == {"subject": "1", "clip": "a, b", "onset": "7"}
    assert first.further == {"More": "x"}
    assert short.cells["onset"] == ""


def test_a_missing_column_is_named_with_those_that_are_there(tmp_path, release):
    path = release.workbook(tmp_path / "a.xlsx", ["Subject", "Filename", "Begin"], [("1", "a", 1)])
    with pytest.raises(
        DatasetError,
        match=r"no column 'OnsetFrame' \(nor 'Onset'\); its columns are: Subject, Filename, Begin\n  fix: rename",
    ):
        read_sheet(path, FIELDS)
    assert read_sheet(path, FIELDS, optional=["onset"]).rows[0].cells == {"subject": "1", "clip": "a"}


@pytest.mark.parametrize(("text", "columns"), [("Hello,world\n", "Hello, world"), ("", "none")])
def test_a_sheet_without_a_header_shows_its_first_row(tmp_path, text, columns):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(DatasetError, match=rf"no column 'Subject'; its columns are: {columns}"):
        read_sheet(tmp_path / "a.csv", FIELDS)


def test_old_excel_files_are_read(tmp_path, release):
    path = release.old_workbook(
        tmp_path / "a.xls", {"notes": [["x"]], "codes": [[], ["Subject", "Filename", "Onset"], [6.0, "EP02_01f", 46]]}
    )
    table = read_sheet(path, FIELDS)
    assert [row.cells for row in table.rows] == [{"subject": "6", "clip": "EP02_01f", "onset": "46"}]
    assert [row.number for row in table.rows] == [3]


@pytest.mark.parametrize("share", [0.001, 0.02, 0.3, 0.6, 0.9, 0.99])
def test_damaged_old_excel_files_are_named(tmp_path, release, share):
    path = release.old_workbook(tmp_path / "a.xls", {"codes": [["Subject", "Filename"]] * 200})
    content = path.read_bytes()
    path.write_bytes(content[: max(8, int(share * len(content)))])
    with pytest.raises(DatasetError, match=r"a.xls (cannot be read: |has no column)"):
        read_sheet(path, FIELDS)


ROWS = "Subject{0}Filename{0}Onset\n6{0}Ekel_ü{0}46\n"


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_text_is_read_as_spreadsheets_write_it(tmp_path, separator, encoding, line_end):
    path = tmp_path / "a.csv"
    path.write_bytes(ROWS.format(separator).replace("\n", line_end).encode(encoding))
    (row,) = read_sheet(path, FIELDS).rows
    assert row.cells == {"subject": "6", "clip": "Ekel_ü", "onset": "46"}


def test_a_title_above_the_header_does_not_hide_the_separator(tmp_path):
    (tmp_path / "a.csv").write_text("Codes, second version\n" + ROWS.format(";"), encoding="utf-8")
    assert read_sheet(tmp_path / "a.csv", FIELDS).rows[0].cells["onset"] == "46"


@pytest.mark.parametrize("content", [bytes(range(256)) * 20, b"Subject,Filename\n" + b"x" * 200_000])
def test_what_is_no_table_gives_two_lines(tmp_path, content):
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(DatasetError, match=r"a.csv .*\n  fix: "):
        read_sheet(tmp_path / "a.csv", FIELDS)


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04 cut off"])
def test_damaged_files_are_named(tmp_path, content):
    path = tmp_path / "a.xlsx"
    path.write_bytes(content)
    with pytest.raises(DatasetError, match=r"a.xlsx (is damaged|cannot be read).*\n  fix: copy it again"):
        read_sheet(path, FIELDS)


@given(places=st.lists(st.floats(0, 1, exclude_max=True), min_size=1, max_size=20), end=st.floats(0.01, 1))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_workbook_with_damaged_bytes_is_read_or_named(tmp_path, release, places, end):
    path = tmp_path / "a.xlsx"
    content = bytearray(release.workbook(path, ["Subject", "Filename", "Onset"], [("1", "a", 1)]).read_bytes())
    for place in places:
        content[4 + int(place * (len(content) - 4))] ^= 0xFF
    path.write_bytes(content[: int(end * len(content))])
    try:
        read_sheet(path, FIELDS)
    except DatasetError as error:
        assert "a.xlsx" in error.problem


def test_workbooks_without_values(tmp_path):
    book = openpyxl.Workbook()
    for row in (["subject", "clip"], ["1", "a"], ["=1+1", '="b"']):
        book.active.append(row)
    book.save(tmp_path / "a.xlsx")
    with pytest.raises(DatasetError, match=r"a.xlsx, row 3 holds the formula =1\+1 without its value\n  fix: open the"):
        read_sheet(tmp_path / "a.xlsx", FIELDS)
    book.create_chartsheet("c")
    book.remove(book["Sheet"])
    book.save(tmp_path / "a.xlsx")
    with pytest.raises(DatasetError, match=r"a\.xlsx cannot be read"):  # charts alone
        read_sheet(tmp_path / "a.xlsx", FIELDS)
    with pytest.raises(DatasetError, match=r"there is no file .*b.xlsx\n  fix: check the path"):
        read_sheet(tmp_path / "b.xlsx", FIELDS)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "subject,clip\n1,2,5\n",
            "row 2 has 3 cells, but the header has 2\n  fix: put cells that contain a separator in",
        ),
        ("subject,clip,Clip\n1,a,b\n", "has the column 'clip' twice\n  fix: remove or rename one of them"),
    ],
)
def test_an_exact_sheet_has_no_loose_cells(tmp_path, text, words):
    (tmp_path / "a.csv").write_text(text)
    fields = {"subject": ("subject",), "clip": ("clip",)}
    read_sheet(tmp_path / "a.csv", fields)  # as published ones may be
    with pytest.raises(DatasetError, match=words):
        read_sheet(tmp_path / "a.csv", fields, exact=True)


def test_of_several_versions_the_newest_is_taken_and_the_others_are_named(tmp_path):
    for name in ("CODING-2014.xlsx", "coding-2019.xlsx", "~$coding-2020.xlsx", "other.xlsx"):
        (tmp_path / name).touch()
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "coding-2012.xlsx").touch()
    path, others = find_sheet(Tree(tmp_path), ["coding-*.xlsx"], title="X")
    assert path.name == "coding-2019.xlsx"
    assert {other.name for other in others} == {"CODING-2014.xlsx", "coding-2012.xlsx"}


def test_no_sheet_says_what_was_looked_for(tmp_path):
    with pytest.raises(
        DatasetError, match=r"no annotation sheet of X in .*\n  fix: .*looked for: a.xlsx, b\*.csv.*--sheet"
    ):
        find_sheet(Tree(tmp_path), ["a.xlsx", "b*.csv"], title="X")
