import csv
from importlib.resources import files

import pytest

from epir.datasets.corrections import all_corrections, correct, known_reason


def test_a_correction_is_applied_where_the_old_value_stands():
    cells, applied = correct("casme2/sub16/EP01_08", {"onset": "40", "offset": "110"})
    assert cells == {"onset": "40", "offset": "96"}
    assert [(one.field, one.old, one.new) for one in applied] == [("offset", "110", "96")]


def test_a_sheet_that_is_right_already_is_left_alone():
    assert correct("casme2/sub16/EP01_08", {"offset": "96"}) == ({"offset": "96"}, ())
    assert correct("casme2/sub16/EP01_08", {"apex": "110"}) == ({"apex": "110"}, ())
    assert correct("casme2/sub17/EP01_08", {"offset": "110"}) == ({"offset": "110"}, ())


@pytest.mark.parametrize("one", all_corrections(), ids=lambda one: f"{one.clip}-{one.field}")
def test_every_correction_changes_a_frame_number_and_gives_a_reason(one):
    assert one.field in ("onset", "apex", "offset")
    assert one.old.isdecimal() and one.new.isdecimal() and one.old != one.new
    assert len(one.reason) > 20
    assert one.clip.count("/") == 2


def test_no_value_is_corrected_twice():
    places = [(one.clip, one.field) for one in all_corrections()]
    assert len(set(places)) == len(places)


def test_what_every_copy_has_is_known():
    assert "challenge" in known_reason("casme2/sub05/EP09_05f", "apex at onset", "cropped")
    assert known_reason("casme2/sub05/EP09_05f", "order", "cropped") is None
    assert known_reason("casme2/sub01/EP02_01f", "apex at onset", "cropped") is None
    assert known_reason("casme3/spNO.7/i_5", "apex at onset", "full")


def test_a_flaw_of_one_tree_is_not_known_in_another():
    assert known_reason("smic/s18/s18_sur_03", "no frames", "cropped")
    assert known_reason("smic/s18/s18_sur_03", "no frames", "raw") is None


def test_the_lists_are_complete_tables():
    for name, width in (("corrections.csv", 5), ("known.csv", 4)):
        rows = list(csv.reader(files("epir.datasets").joinpath(name).read_text(encoding="utf-8").splitlines()))
        assert {len(row) for row in rows} == {width}
