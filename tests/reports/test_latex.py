import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epir.reports.latex import escape, latex_table, latex_tables
from epir.reports.tables import Column, Row, Table

HOSTILE = r"50 % of a_b & {c} $x$ #1 ~ ^ \end{tabular} <d>"


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


def hostile_table():
    return Table(
        "an odd_name",
        HOSTILE,
        (Column(HOSTILE), Column("UF1", HOSTILE, numeric=True), Column("UAR", HOSTILE, numeric=True)),
        (Row((HOSTILE, "0.1", "CAS(ME)³ – 5"), kind="strict", strong=True), Row(("b", "", ""), kind="printed")),
        (HOSTILE,),
    )


def test_a_table_of_hostile_words_is_balanced():
    text = latex_table(hostile_table())
    assert is_balanced(text)
    assert text.count(r"\end{tabular}") == 1
    assert r"\label{tab:an-odd-name}" in text
    assert r"\multicolumn{2}{c}" in text
    assert r"\cmidrule(lr){2-3}" in text


def test_the_check_of_balance_can_fail():
    assert not is_balanced(r"\begin{table} { \end{table}")
    assert not is_balanced(r"\begin{table}\begin{tabular}\end{table}\end{tabular}")


def test_every_row_has_the_columns_of_the_table():
    lines = [line for line in latex_table(hostile_table()).splitlines() if line.endswith(r"\\")]
    assert [len(re.split(r"(?<!\\)&", line)) for line in lines[1:]] == [3, 3, 3]
    assert len(re.split(r"(?<!\\)&", lines[0])) == 2  # a column without a group, and a group of two


@pytest.mark.parametrize("sign", list("&%$#_{}"))
def test_special_signs_are_escaped(sign):
    assert escape(sign) == "\\" + sign


@given(st.text(alphabet=st.characters(max_codepoint=0x2FF, exclude_categories=["Cc"])))
def test_no_text_breaks_the_balance(text):
    assert is_balanced(escape(text))


def test_printed_rows_stand_below_a_rule_and_tables_say_what_they_need():
    text = latex_tables([hostile_table()])
    assert text.startswith("% needs \\usepackage{booktabs}")
    assert text.count(r"\midrule") == 2
