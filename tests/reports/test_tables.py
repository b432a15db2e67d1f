import pytest

from epir.reports.tables import Column, Row, Table


def test_neighbours_of_one_group_share_a_heading():
    columns = (Column("a"), Column("b"), Column("c", "g"), Column("d", "g"), Column("e", "h"))
    table = Table("t", "", columns, ())
    assert table.groups() == (("", 1), ("", 1), ("g", 2), ("h", 1))
    assert table.is_grouped
    assert not Table("t", "", (Column("a"),), ()).is_grouped


def test_a_row_of_the_wrong_length_is_our_mistake():
    with pytest.raises(AssertionError, match="has not 2 cells"):
        Table("t", "", (Column("a"), Column("b")), (Row(("x",)),))
