"""The data behind the page's list and curves, worked by hand."""

import numpy as np
import pytest

from epir.annotation.records import Decision, Recording, StudyAction, StudyMovement
from epir.annotation.server import binned_curves, frame_seconds, movement_row, pace_of
from epir.frames.seeking import SeekableVideo
from epir.spotting.regions import GROUPS


def curves(numbers, values):
    numbers = np.array(numbers, np.int32)
    motion = np.zeros((len(numbers), len(GROUPS)), np.float32)
    motion[:, 0] = values
    return {"numbers": numbers, "motion": motion, "head": np.zeros(len(numbers), np.float32)}


def test_a_point_is_the_largest_of_its_frames_and_gaps_stay_gaps():
    points = binned_curves(curves([0, 1, 2, 3, 8, 9], [0.01, 0.03, 0.02, 0.0, 0.05, 0.01]), 0, 9, points=5)
    assert points["motion"][GROUPS[0]] == [3.0, 2.0, None, None, 5.0]
    assert points["frames"] == [0, 2, 4, 6, 8]


def test_few_frames_are_all_drawn_and_nothing_is_nothing():
    points = binned_curves(curves(range(10), np.arange(10) / 100), 3, 6, points=100)
    assert points["frames"] == [3, 4, 5, 6] and points["motion"][GROUPS[0]] == [3.0, 4.0, 5.0, 6.0]
    assert binned_curves({}, 0, 9, 100)["frames"] == []


def test_a_row_has_the_key_frames_of_the_coder():
    movement = StudyMovement(7, 1, 0, 10, 15, 20, probability=0.4, region="brows")
    assert movement_row(movement, None, 0.6)["probability"] == 0.6
    row = movement_row(movement, Decision(7, "anna", "accept", 11, 15, 19, emotion="fear"), 0.4)
    assert (row["frames"], row["state"], row["emotion"]) == ([11, 15, 19], "accept", "fear")


def test_the_pace_ignores_breaks_and_revisions():
    def action(movement, seconds, state="accept"):
        at = f"2026-01-01T00:{seconds // 60:02d}:{seconds % 60:02d}.000+00:00"
        return StudyAction(seconds, at, "anna", "decide", movement, Decision(movement, "anna", state, 1, 2, 3))

    history = [
        action(1, 0),
        action(1, 3),
        action(2, 10),
        action(3, 20),
        action(4, 600),
        action(5, 610),
        action(9, 700, "draft"),
    ]
    assert pace_of(history) == 10.0  # 10, 10 and 10 seconds; ten minutes are a break, a draft is not a decision
    assert pace_of(history[:3]) is None


@pytest.mark.parametrize("times", [None, list(np.cumsum([10, 20, 90, 20, 10] * 12))])
def test_times_of_an_even_rate_are_its_rate_alone(numbered, tmp_path, times):
    path = numbered.write(tmp_path / "video.mp4", count=60, times=times)
    times_shown = frame_seconds(SeekableVideo(path), Recording(1, "x", "", 0, 0, 60, 30.0, 2.0, "x", "x"))
    if times is None:
        assert times_shown == {"fps": pytest.approx(30), "seconds": None}
    else:
        assert times_shown["seconds"] == pytest.approx((np.array(times) - times[0]) / 600, abs=1e-3)
