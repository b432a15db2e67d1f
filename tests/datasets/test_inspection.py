import pytest
from hypothesis import given
from hypothesis import strategies as st

from epir.core.records import Clip
from epir.datasets.inspection import defects, frame_problems, order_problems, ranges


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


def test_an_impossible_order_is_said_in_words():
    assert [text for _, text in order_problems(clip(112, 83, 358))] == ["the apex 83 is before the onset 112"]


@given(
    onset=st.integers(1, 50),
    length=st.integers(0, 60),
    missing=st.sets(st.integers(1, 120)),
    apex=st.integers(0, 60),
)
def test_exactly_the_frames_that_are_missing_are_reported(onset, length, missing, apex):
    offset, apex = onset + length, onset + min(apex, length)
    there = [n for n in range(1, 121) if n not in missing]
    found = dict(frame_problems(clip(onset, apex, offset), there))
    keys = {onset, apex} & missing
    between = {n for n in missing if onset <= n <= offset} - {onset, apex}
    assert ("missing key frame" in found) == bool(keys)
    assert ("missing frames" in found) == bool(between)
    if between:
        assert found["missing frames"].startswith(f"{len(between)} frame")


def test_the_sentence_about_missing_frames():
    there = [n for n in range(46, 98) if n not in (50, 51, 52, 60)]
    assert list(frame_problems(clip(46, 59, 97), there)) == [("missing frames", "4 frames of 46-97 missing: 50-52, 60")]
    assert list(frame_problems(clip(46, 59, 60), range(46, 59))) == [
        ("missing key frame", "the apex frame 59 is missing (the folder has 46-58)"),
        ("missing frames", "1 frame of 46-60 missing: 60"),
    ]


def test_an_empty_folder_and_doubled_pictures():
    assert list(frame_problems(clip(1, 2, 3), [])) == [("no frames", "its folder holds no pictures")]
    assert list(frame_problems(clip(1, 2, 3), [1, 2, 2, 3])) == [
        ("doubled frames", "more than one picture for frame 2")
    ]


def test_long_lists_are_cut():
    assert ranges([1, 3, 5, 7, 9, 11, 13]) == "1, 3, 5, 7, 9 and 2 more"


def test_a_known_problem_carries_its_reason():
    one = Clip("casme2", "sub05", "EP09_05f", "disgust", 69, 69, 115)
    (defect,) = defects(one, order_problems(one), tree="raw")
    assert defect.known and defect.clip == "casme2/sub05/EP09_05f"
    assert defect.problem.endswith("the 2019 challenge leaves the clip out)")
    other = Clip("casme2", "sub06", "EP09_05f", "disgust", 69, 69, 115)
    (defect,) = defects(other, order_problems(other), tree="raw")
    assert not defect.known
