from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from epir.bench.injection import (
    KnownMovement,
    known_movements,
    plan_injections,
    ranked_lines,
    size_lines,
    visibility_table,
)
from epir.bench.spotting import (
    ClassesRight,
    Tally,
    film_of,
    injected_detail,
    match_courses,
    measure,
)
from epir.core.errors import ConfigError
from epir.faces.align import Crop
from epir.frames.reader import Frame
from epir.spotting.regions import GROUPS, REGIONS
from epir.spotting.timeline import FaceMovement, Timeline, most_probable, overlap
from epir.spotting.visibility import MOVING, STILL
from epir.synthetic.clip import Course


def movement(onset, apex, offset):
    return FaceMovement(onset, apex, offset, 0.01, "lip corners")


@pytest.mark.parametrize(
    ("one", "other", "expected"), [((1, 10), (1, 10), 1), ((1, 10), (11, 20), 0), ((1, 10), (6, 15), 1 / 3)]
)
def test_overlap_is_intersection_over_union(one, other, expected):
    assert overlap(one, other) == pytest.approx(expected)
    assert overlap(other, one) == pytest.approx(expected)


def test_courses_are_matched_by_hand():
    tally = Tally()
    hit, alarm = movement(11, 15, 20), movement(80, 83, 88)
    matches = match_courses([Course(10, 14, 20), Course(50, 54, 60)], [hit, alarm], 25.0, tally)
    assert matches == [hit, None]
    assert (tally.truths, tally.detections, tally.hits) == (2, 2, 1)
    assert (tally.recall, tally.precision, tally.f1) == (0.5, 0.5, 0.5)
    assert tally.apex_seconds == [1 / 25]


def test_one_detection_counts_for_one_course_only():
    tally = Tally()
    spotted = movement(10, 14, 20)
    assert match_courses([Course(10, 14, 20)] * 2, [spotted], 25.0, tally) == [spotted, None]
    assert (tally.truths, tally.hits) == (2, 1)


def test_classes_of_unambiguous_units_are_counted_separately():
    smile, *_ = plan_injections(3000, 100.0, 0.01)
    dimple = replace(smile, emotion="negative", certainty=0.61)
    smile = replace(smile, emotion="positive", certainty=0.97)
    counted = ClassesRight()
    for injection, answer in ((smile, "positive"), (smile, "negative"), (dimple, "negative"), (dimple, None)):
        counted.add(injection, answer)
    assert str(counted) == "1 of 2 with unambiguous units, 2 of 4"


def test_a_video_too_short_for_a_movement_is_not_a_failure():
    assert injected_detail(Tally()).startswith("nothing measured, no movement was shown: give a video of")
    assert "apex error unknown" in injected_detail(Tally(truths=3))
    one = Tally(truths=2, detections=1, hits=1, apex_seconds=[0.04])
    assert injected_detail(one).startswith("recall 0.50, precision 1.00 of 2 movements; apex error 40 ms (median);")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("amplitudes=[0.5]", "shares of the face"),
        ("rates=[2]", "frames a sec"),
        ("repeats=0", "a number from 1"),
        ("quality=60", "x264's rate factor"),
    ],
)
def test_impossible_settings_are_refused(change, words):
    with pytest.raises(ConfigError, match=rf"cannot be .*\n  fix: give {words}"):
        measure(changes=[change])


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


def timeline(candidates):
    numbers = np.arange(1800)
    motion, skin = np.zeros((1800, len(GROUPS)), np.float32), np.zeros((1800, len(REGIONS)), np.float32)
    squares = (Crop(100.0, 100.0, 120.0),) * 1800
    return Timeline(30.0, numbers, numbers / 30, motion, skin, motion[:, 0], squares, candidates=tuple(candidates))


def candidate(injection, kind, probability):
    course = injection.course
    return FaceMovement(course.onset, course.apex, course.offset, 0.01, "brows", kind, probability=probability)


def test_known_movements_have_their_place_in_the_ranking():
    first, second, third, *_ = plan_injections(1800, 30.0, 0.02)
    chosen = [
        candidate(first, "head", 0.9),
        candidate(second, "micro-expression", 0.6),
        candidate(first, "unclear", 0.1),
    ]
    shown = [(each.course, each.amplitude) for each in (first, second, third)]
    known = known_movements("a.mp4", shown, [timeline(chosen)], 1800, 30.0)
    assert [(each.place, each.is_reported) for each in known] == [(1.5, False), (0.0, True), (None, False)]
    assert {each.conditions for each in known} == {(STILL,)}
    (line,) = ranked_lines("videos", known)
    assert line.value == pytest.approx(2 / 3)
    assert line.detail.startswith("0.67 among 2, 0.67 among 5, ")
    assert line.detail.endswith("reported 0.33, any candidate 0.67; 3 movements")


@pytest.mark.parametrize("minutes", [0.2, 1.0, 1.5, 3.0])
@pytest.mark.parametrize("per_minute", [2, 5, 10, 20])
def test_recall_per_minute_agrees_with_a_review(per_minute, minutes):
    """The oracle is `most_probable`, which selects the candidates of a review."""
    frames = round(1800 * minutes)
    shown = plan_injections(36_000, 30.0, 0.02)[:70]
    candidates = [candidate(each, "unclear", 0.9 - 0.01 * place) for place, each in enumerate(shown)]
    reviewed = most_probable(candidates, per_minute, 60 * minutes)
    known = known_movements("a.mp4", [(each.course, 0.02) for each in shown], [timeline(candidates)], frames, 30.0)
    assert sum(each.is_among(per_minute) for each in known) == len(reviewed)


def test_sizes_and_the_table_count_reported_movements():
    one = KnownMovement("a", 0.01, (STILL,), True, 0.0)
    lost, larger = replace(one, is_reported=False), replace(one, size=0.02)
    elsewhere = replace(lost, video="b", conditions=(MOVING,))
    both = replace(one, conditions=(MOVING, STILL))
    known = [one, lost, lost, larger, elsewhere]
    a, b = size_lines(known)
    assert (a.value, a.detail) == (2.0, "1 %: 1 of 3, 2 %: 1 of 1")
    assert (b.value, b.detail) == (0.0, "1 %: 0 of 1")
    header, *rows = visibility_table([*known, both], ["seconds=60", "table=/somewhere/v.csv"]).splitlines()
    assert header.endswith("VIDEO ... PICTURE ... --set table=visibility.csv --set seconds=60")
    assert rows == [
        "condition,size,movements,reported,recall",
        "still,0.01,3,1,0.333",
        "still,0.02,1,1,1.000",
        "speech or head motion,0.01,1,0,0.000",
    ]
