import csv
import pickle
import re
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epir.core.records import Clip
from epir.datasets.base import (
    Corpus,
    Correction,
    Defect,
    all_corrections,
    correct,
    defects,
    frame_problems,
    known_reason,
    order_problems,
)

CLIPS = (Clip("x", "a", "1", "joy"), Clip("x", "b", "1", "joy"), Clip("x", "b", "2", "fear"))
CORPUS = Corpus(
    "x",
    Path("here"),
    "v2",
    CLIPS,
    corrected=(Correction("x/a/1", "apex", "1", "2", "why"),),
    defects=(Defect("x/a/1", "old", known=True), Defect("x/b/1", "new")),
)


def test_a_corpus_counts_what_it_holds_and_can_be_sent_to_a_worker():
    assert CORPUS.people == ("x/a", "x/b")
    assert CORPUS.emotions == {"joy": 2, "fear": 1}
    assert [defect.clip for defect in CORPUS.faults] == ["x/b/1"]  # what is wrong with this copy
    assert repr(CORPUS) == "Corpus(x, sheet v2: clips 3, people 2, corrected 1, defects 1)"
    assert pickle.loads(pickle.dumps(CORPUS)) == CORPUS


def test_a_correction_is_applied_where_the_old_value_stands():
    cells, applied = correct("casme2/sub16/EP01_08", {"onset": "40", "offset": "110"})
    assert cells == {"onset": "40", "offset": "96"}
    assert [(one.field, one.old, one.new) for one in applied] == [("offset", "110", "96")]
    # A sheet that is right already is left alone.
    assert correct("casme2/sub16/EP01_08", {"offset": "96"}) == ({"offset": "96"}, ())
    assert correct("casme2/sub16/EP01_08", {"apex": "110"}) == ({"apex": "110"}, ())
    assert correct("casme2/sub17/EP01_08", {"offset": "110"}) == ({"offset": "110"}, ())


@pytest.mark.parametrize("one", all_corrections(), ids=lambda one: f"{one.clip}-{one.field}")
def test_every_correction_changes_a_value_and_gives_a_reason(one):
    by_row = re.fullmatch(r"\w+/row \d+", one.clip)
    assert (one.old == "*") == bool(by_row)
    assert one.old != one.new
    if one.field in ("onset", "apex", "offset"):
        assert one.new.isdecimal() and (by_row or one.old.isdecimal())
    else:
        assert one.field in ("action_units", "self_report")
    assert len(one.reason) > 15
    assert [(each.clip, each.field) for each in all_corrections()].count((one.clip, one.field)) == 1


def test_a_correction_may_go_by_row_or_by_pattern():
    rows = [{"action_units": "4"}] * 144 + [{"action_units": "12"}, {"action_units": "1+2"}]
    cells, (applied,) = correct("4dme/01/a", rows[144], rows, 144)
    assert cells["action_units"] == "1+2"
    assert (applied.clip, applied.old, applied.new) == ("4dme/01/a", "12", "1+2")
    assert correct("4dme/01/a", rows[144])[1] == ()  # not a complete sheet
    assert correct("casme-sq/s15/anger1_1", {"self_report": "happyiness"})[0]["self_report"] == "happiness"
    assert correct("mmew/S01/x", {"apex": "40.0", "offset": "75"}, rows, 33)[1] == ()  # right already


def test_what_every_copy_has_is_known():
    assert "challenge" in known_reason("casme2/sub05/EP09_05f", "apex at onset", "cropped")
    assert known_reason("casme2/sub05/EP09_05f", "order", "cropped") is None
    assert known_reason("casme2/sub01/EP02_01f", "apex at onset", "cropped") is None
    assert known_reason("casme3/spNO.7/i_5", "apex at onset", "full")
    # A flaw of one tree is not known in another.
    assert known_reason("smic/s18/s18_sur_03", "no frames", "cropped")
    assert known_reason("smic/s18/s18_sur_03", "no frames", "raw") is None


def test_the_lists_are_complete_tables():
    for name, width in (("corrections.csv", 5), ("known.csv", 4)):
        rows = list(csv.reader(files("epir.datasets").joinpath(name).read_text(encoding="utf-8").splitlines()))
        assert {len(row) for row in rows} == {width}


def clip(onset=None, apex=None, offset=None):
    return Clip("manifest", "a", "b", "joy", onset, apex, offset)


@pytest.mark.parametrize(
    ("frames", "kinds"),
    [
        ((10, 20, 30), []),
        ((10, 30, 30), []),
        ((10, None, 30), []),
        ((10, None, 10), []),
        ((None, None, None), []),
        ((10, 10, 30), ["apex at onset"]),
        ((10, 9, 30), ["order"]),
        ((10, 31, 30), ["order"]),
        ((10, None, 9), ["order"]),
        ((10, 20, 9), ["order", "order"]),
        ((None, 31, 30), ["order"]),
    ],
)
def test_orders(frames, kinds):
    assert [kind for kind, _ in order_problems(clip(*frames))] == kinds


@given(
    onset=st.integers(1, 50),
    length=st.integers(0, 60),
    missing=st.sets(st.integers(1, 120)),
    apex=st.integers(0, 60),
)
def test_exactly_the_frames_that_are_missing_are_reported(onset, length, missing, apex):
    offset, apex = onset + length, onset + min(apex, length)
    there = [n for n in range(1, 121) if n not in missing]
    problems = dict(frame_problems(clip(onset, apex, offset), there))
    keys = {onset, apex} & missing
    between = {n for n in missing if onset <= n <= offset} - {onset, apex}
    assert ("missing key frame" in problems) == bool(keys)
    assert ("missing frames" in problems) == bool(between)
    if between:
        assert problems["missing frames"].startswith(f"{len(between)} frame")


def test_problems_are_said_in_words():
    assert [text for _, text in order_problems(clip(112, 83, 358))] == ["the apex 83 is before the onset 112"]
    there = [n for n in range(46, 98) if n not in (50, 51, 52, 60)]
    assert list(frame_problems(clip(46, 59, 97), there)) == [("missing frames", "4 frames of 46-97 missing: 50-52, 60")]
    assert list(frame_problems(clip(46, 59, 60), range(46, 59))) == [
        ("missing key frame", "the apex frame 59 is missing (the folder has 46-58)"),
        ("missing frames", "1 frame of 46-60 missing: 60"),
    ]
    assert list(frame_problems(clip(0, 2, 14), range(0, 15, 2))) == [
        ("missing frames", "7 frames of 0-14 missing: 1, 3, 5, 7, 9 and 2 more")
    ]
    assert list(frame_problems(clip(1, 2, 3), [])) == [("no frames", "its folder holds no pictures")]
    assert list(frame_problems(clip(1, 2, 3), [1, 2, 2, 3])) == [
        ("doubled frames", "more than one picture for frame 2")
    ]


def test_a_known_problem_carries_its_reason():
    one = Clip("casme2", "sub05", "EP09_05f", "disgust", 69, 69, 115)
    (defect,) = defects(one, order_problems(one), tree="raw")
    assert defect.known and defect.clip == "casme2/sub05/EP09_05f"
    assert defect.problem.endswith("the 2019 challenge leaves the clip out)")
    other = Clip("casme2", "sub06", "EP09_05f", "disgust", 69, 69, 115)
    (defect,) = defects(other, order_problems(other), tree="raw")
    assert not defect.known
