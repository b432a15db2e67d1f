from epir.reports.markdown import markdown_table, markdown_tables
from epir.reports.tables import Column, Row, Table

TABLE = Table(
    "t",
    "Some *scores*",
    (Column("method"), Column("UF1", "all clips", numeric=True), Column("UAR", "all clips", numeric=True)),
    (Row(("a|b", "0.1", ""), kind="strict", strong=True), Row(("<img src=x>", "0.2", "0.3\n4"))),
    ("a_note",),
)


def cells(line):
    """The cells of a line, not counting a bar that is escaped."""
    return line.replace("\\|", "").strip("|").split("|")


def test_every_line_has_as_many_columns_as_the_heading():
    lines = [line for line in markdown_table(TABLE).splitlines() if line.startswith("|")]
    assert len(lines) == 4
    assert {len(cells(line)) for line in lines} == {3}
    assert lines[1] == "|---|---:|---:|"


def test_groups_become_words_of_the_heading_and_marks_are_escaped():
    text = markdown_table(TABLE)
    assert "| method | all clips UF1 | all clips UAR |" in text
    assert r"**Some \*scores\***" in text
    assert r"| **a\|b** | **0.1** |  |" in text
    assert r"\<img src=x\>" in text
    assert "0.3 4" in text
    assert r"- a\_note" in text


def test_tables_are_kept_apart_by_an_empty_line():
    assert "\n\n**Some" in markdown_tables([TABLE, TABLE])
