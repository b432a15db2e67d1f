from epir.reports.htmltable import html_table
from epir.reports.tables import Column, Row, Table


def test_labels_of_rows_become_tags_and_text_is_escaped():
    columns = (Column("m"), Column("evaluation", tag=True), Column("UF1", "all", numeric=True))
    table = Table("t", "<caption>", columns, (Row(("<b>", "strict", "0.5"), kind="strict"),), ("one",))
    text = html_table(table)
    assert '<span class="tag strict">strict</span>' in text
    assert '<th scope="row">&lt;b&gt;</th>' in text
    assert '<td class="number">0.5</td>' in text
    assert 'aria-label="&lt;caption&gt;"' in text
    assert '<th colspan="1" class="group">all</th>' in text


def test_many_notes_are_folded_away_but_for_the_first():
    notes = tuple(f"note {number}" for number in range(4))
    text = html_table(Table("t", "c", (Column("a"),), (), notes))
    before, after = text.split("<details")
    assert "note 1" in before
    assert "note 2" in after
