from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from epir.bench.injection import plan_injections
from epir.bench.spotting import (
    ClassesRight,
    Tally,
    compare,
    film_of,
    injected_detail,
    match_courses,
    measure,
)
from epir.core.errors import ConfigError
from epir.core.records import Clip
from epir.frames.reader import Frame
from epir.spotting.timeline import FaceMovement as Found
from epir.spotting.timeline import overlap
from epir.synthetic.clip import Course


def clip(kind="expression", onset=11, apex=20, offset=40):
    return Clip("synthetic", "001", "001_01", "positive", onset, apex, offset, 100.0, extra={"kind": kind})


def movement(onset, apex, offset):
    return Found(onset, apex, offset, 0.01, "lip corners")


@pytest.mark.parametrize(
    ("one", "other", "expected"), [((1, 10), (1, 10), 1), ((1, 10), (11, 20), 0), ((1, 10), (6, 15), 1 / 3)]
)
def test_overlap_is_intersection_over_union(one, other, expected):
    assert overlap(one, other) == pytest.approx(expected)
    assert overlap(other, one) == pytest.approx(expected)


def test_a_tally_worked_by_hand():
    tally = Tally()
    compare(clip(), [movement(12, 22, 38)], 0.6, 100.0, tally)  # a hit, two frames off
    compare(clip(), [movement(12, 20, 38), movement(50, 52, 58)], 0.6, 100.0, tally)  # a hit and a false alarm
    compare(clip(), [], 0.6, 100.0, tally)  # missed
    compare(clip("blinking"), [movement(5, 8, 12)], 30.0, 100.0, tally)
    result = tally.to_dict()
    assert (result["movements"], result["recall"], result["precision"]) == (3, 2 / 3, 2 / 4)
    assert result["apex_error_frames"] == {"mean": 1.0, "median": 1.0}
    assert result["apex_error_ms"] == {"mean": 10.0, "median": 10.0}
    assert result["false_alarms_per_minute"] == {"blinking": 2.0}
    assert result["missed"] == ["synthetic/001/001_01"]


def test_courses_are_matched_by_hand():
    tally = Tally()
    hit, alarm = movement(11, 15, 20), movement(80, 83, 88)
    matches = match_courses([Course(10, 14, 20), Course(50, 54, 60)], [hit, alarm], 25.0, tally)
    assert matches == [hit, None]
    assert (tally.truths, tally.found, tally.hits) == (2, 2, 1)
    assert (tally.recall, tally.precision, tally.f1) == (0.5, 0.5, 0.5)
    assert tally.apex_seconds == [1 / 25]


def test_one_movement_found_counts_for_one_course_only():
    tally = Tally()
    found = movement(10, 14, 20)
    assert match_courses([Course(10, 14, 20)] * 2, [found], 25.0, tally) == [found, None]
    assert (tally.truths, tally.hits) == (2, 1)


def test_classes_of_unambiguous_units_count_apart():
    smile, *_ = plan_injections(3000, 100.0, 0.01)
    dimple = replace(smile, emotion="negative", certainty=0.61)
    smile = replace(smile, emotion="positive", certainty=0.97)
    counted = ClassesRight()
    for injection, answer in ((smile, "positive"), (smile, "negative"), (dimple, "negative"), (dimple, None)):
        counted.add(injection, answer)
    assert str(counted) == "1 of 2 with unambiguous units, 2 of 4"


def test_a_video_too_short_for_a_movement_is_not_called_a_failure():
    assert injected_detail(Tally()).startswith("nothing measured, no movement was shown: give a video of")
    assert "apex error unknown" in injected_detail(Tally(truths=3))
    found = Tally(truths=2, found=1, hits=1, apex_seconds=[0.04])
    assert injected_detail(found).startswith("recall 0.50, precision 1.00 of 2 movements; apex error 40 ms (median);")


@pytest.mark.parametrize(
    ("change", "words"),
    [("amplitudes=[0.5]", "shares of the face"), ("rates=[2]", "frames a sec"), ("repeats=0", "a number from 1")],
)
def test_impossible_choices_are_refused(change, words):
    with pytest.raises(ConfigError, match=rf"cannot be .*\n  fix: give {words}"):
        measure(changes=[change])


@pytest.mark.slow
def test_a_synthetic_corpus_is_measured(tmp_path):
    from epir.synthetic.corpus import CorpusSettings, write_corpus

    write_corpus(tmp_path / "corpus", CorpusSettings(people=1, clips=1, idle=1, size=200, fps=50, seed=5))
    recall, precision = measure(inputs=[str(tmp_path / "corpus")], changes=["corpus=synthetic"])
    assert recall.value == 1.0
    assert precision.value == 1.0
    assert "of 1 movements" in recall.detail


def test_the_rate_of_a_video_is_that_of_its_time_stamps(monkeypatch):
    """Containers with a varying rate announce the highest."""

    class Opened:
        fps = 120.0

        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

        def __iter__(self):
            return iter(
                [Frame(place, at, np.zeros((2, 2, 3), np.uint8)) for place, at in enumerate((0, 0.1, 0.2, 0.5))]
            )

    monkeypatch.setattr("epir.bench.spotting.open_frames", lambda path: Opened())
    film = film_of(Path("varying.mov"))
    assert (film.count, film.fps, film.name) == (4, pytest.approx(6.0), "varying.mov")
    assert len(list(film.frames())) == 4
