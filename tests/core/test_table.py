import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epir.core.table import Column, Row, Table, latex, latex_tables, markdown_tables

HOSTILE = r"50 % of a_b & {c} $x$ #1 ~ ^ \end{tabular} <d>"
PLAIN = Table(
    "t",
    "Some *scores*",
    (Column("method"), Column("UF1", "all clips", numeric=True), Column("UAR", "all clips", numeric=True)),
    (Row(("a|b", "0.1", ""), kind="strict", strong=True), Row(("<img src=x>", "0.2", "0.3\n4"))),
    ("a_note",),
)


def hostile_table():
    return Table(
        "an odd_name",
        HOSTILE,
        (Column(HOSTILE), Column("UF1", HOSTILE, numeric=True), Column("UAR", HOSTILE, numeric=True)),
        (Row((HOSTILE, "0.1", "CAS(ME)³ – 5"), kind="strict", strong=True), Row(("b", "", ""), kind="published")),
        (HOSTILE,),
    )


def test_neighbours_of_one_group_share_a_heading():
    columns = (Column("a"), Column("b"), Column("c", "g"), Column("d", "g"), Column("e", "h"))
    assert Table("t", "", columns, ()).groups == (("", 1), ("", 1), ("g", 2), ("h", 1))
    assert Table("t", "", (Column("a"),), ()).groups == ()


def test_a_row_of_the_wrong_length_is_our_mistake():
    with pytest.raises(AssertionError, match="has not 2 cells"):
        Table("t", "", (Column("a"), Column("b")), (Row(("x",)),))


def test_text_is_aligned_with_numbers_to_the_right_and_a_rule_above_published_rows():
    rows = (Row(("epir", "0.5"), kind="strict"), Row(("long name", "0.25"), kind="published"))
    table = Table("t", "a title", (Column("model"), Column("UF1", numeric=True)), rows, ("a note",))
    assert table.text() == "\n".join(
        [
            "a title",
            "",
            "model       UF1",
            "---------------",
            "epir        0.5",
            "---------------",
            "long name  0.25",
            "",
            "a note",
            "",
        ]
    )


def test_a_group_stands_above_its_columns_in_text_however_long_its_name():
    columns = (Column("m"), Column("a", "a long group"), Column("b", "a long group"), Column("c", "next"))
    upper, lower, _, row = Table("t", "", columns, (Row(("x", "1", "2", "3")),)).text().splitlines()[2:6]
    assert upper.index("a long group") == lower.index("a") == row.index("1")
    assert upper.index("next") == lower.index("c") == row.index("3")


def test_published_rows_between_others_get_no_rule():
    rows = (Row(("a",), kind="strict"), Row(("b",), kind="published"), Row(("c",), kind="strict"))
    table = Table("t", "", (Column("m"),), rows)
    assert table.rule_before == 0
    assert table.latex().count(r"\midrule") == 1


def test_csv_has_one_line_of_headings_and_empty_cells_for_what_is_missing():
    table = Table("t", "", (Column("m"), Column("UF1", "SAMM", numeric=True)), (Row(("a", "–")), Row(("b", "-0.1"))))
    assert table.csv() == "m,SAMM UF1\na,\nb,-0.1\n"


def test_typeset_numbers_have_minus_signs_and_dashes_but_names_keep_their_hyphens():
    columns = (Column("m"), Column("d", numeric=True), Column("i", numeric=True))
    table = Table("t", "", columns, (Row(("bi-2", "-0.1", "-0.2 to +0.1")), Row(("c", "0.3", "0.2 to 0.4"))))
    for text in (table.html(), table.latex().replace("$-$", "−").replace("--", "–")):
        assert "bi-2" in text and "−0.1" in text and "−0.2 to +0.1" in text and "0.2–0.4" in text
    assert "-0.2 to +0.1" in table.text()


def test_labels_of_rows_become_tags_and_text_is_escaped():
    columns = (Column("m"), Column("evaluation", tag=True), Column("UF1", "all", numeric=True))
    table = Table("t", "<caption>", columns, (Row(("<b>", "strict", "0.5"), kind="strict"),), ("one",))
    text = table.html()
    assert '<span class="tag strict">strict</span>' in text
    assert '<th scope="row">&lt;b&gt;</th>' in text
    assert '<td class="number">0.5</td>' in text
    assert 'aria-label="&lt;caption&gt;"' in text
    assert '<th class="group" colspan="1">all</th>' in text


def test_many_notes_are_folded_away_but_for_the_first():
    notes = tuple(f"note {number}" for number in range(4))
    text = Table("t", "c", (Column("a"),), (), notes).html()
    before, after = text.split("<details")
    assert "note 1" in before
    assert "note 2" in after


def test_markdown_has_as_many_columns_in_every_line_and_nothing_in_it_is_a_mark():
    text = PLAIN.markdown()
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert [len(line.replace("\\|", "").strip("|").split("|")) for line in lines] == [3] * 4
    assert lines[:2] == ["| method | all clips UF1 | all clips UAR |", "|---|---:|---:|"]
    escaped = (r"**Some \*scores\***", r"| **a\|b** | **0.1** |  |", r"\<img src=x\>", "0.3 4", r"- a\_note")
    assert all(words in text for words in escaped)
    assert "\n\n**Some" in markdown_tables([PLAIN, PLAIN])


def is_balanced(text):
    """Whether braces, dollars and environments close in the order in which they open; no sign is left unescaped."""
    bare = re.sub(r"\\[{}$&%#_\\]", "", re.sub(r"(?<!\\)%.*", "", text))
    depth = 0
    for sign in bare:
        depth += {"{": 1, "}": -1}.get(sign, 0)
        if depth < 0:
            return False
    stack = []
    for kind, name in re.findall(r"\\(begin|end)\{(\w+)\}", bare):
        if kind == "begin":
            stack.append(name)
        elif not stack or stack.pop() != name:
            return False
    return depth == 0 and not stack and bare.count("$") % 2 == 0


def test_a_table_of_hostile_words_is_balanced_and_every_row_has_its_columns():
    text = latex_tables([hostile_table()])
    assert text.startswith("% needs \\usepackage{booktabs}") and is_balanced(text)
    assert text.count(r"\end{tabular}") == 1 and text.count(r"\midrule") == 2  # one above the published row
    for words in (r"\label{tab:an-odd-name}", r"\multicolumn{2}{c}", r"\cmidrule(lr){2-3}"):
        assert words in text
    lines = [line for line in text.splitlines() if line.endswith(r"\\")]
    columns = [len(re.split(r"(?<!\\)&", line)) for line in lines]
    assert columns == [2, 3, 3, 3]  # a column without a group, and a group of two


def test_the_check_of_balance_can_fail():
    assert not is_balanced(r"\begin{table} { \end{table}")
    assert not is_balanced(r"\begin{table}\begin{tabular}\end{table}\end{tabular}")


@pytest.mark.parametrize("sign", list("&%$#_{}"))
def test_special_signs_are_escaped(sign):
    assert latex(sign) == "\\" + sign


@given(st.text(alphabet=st.characters(max_codepoint=0x2FF, exclude_categories=["Cc"])))
def test_no_text_breaks_the_balance(text):
    assert is_balanced(latex(text))
