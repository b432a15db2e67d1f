from dataclasses import replace

import numpy as np
import pytest

from epir.bench.injection import plan_injections
from epir.bench.visibility import KnownMovement, known_movements, ranked_lines, size_lines, visibility_table
from epir.spotting.regions import GROUPS
from epir.spotting.timeline import FaceMovement, Timeline
from epir.spotting.visibility import MOVING, STILL


def timeline(candidates):
    count = 1800
    none = np.zeros(count, np.float32)
    motion = np.zeros((count, len(GROUPS)), np.float32)
    return Timeline(30.0, np.arange(count), motion, none, none, none, (), (), tuple(candidates), frames=count)


def candidate(injection, kind, probability):
    course = injection.course
    return FaceMovement(course.onset, course.apex, course.offset, 0.01, "brows", kind, probability=probability)


def test_known_movements_have_their_place_among_the_candidates_of_a_minute():
    first, second, third, *_ = plan_injections(1800, 30.0, 0.02)
    found = [
        candidate(first, "head", 0.9),
        candidate(second, "micro-expression", 0.6),
        candidate(first, "unclear", 0.1),
    ]
    shown = [(each.course, each.amplitude) for each in (first, second, third)]
    known = known_movements("a.mp4", shown, [timeline(found)], 1800, 30.0)
    assert [(each.place, each.is_reported) for each in known] == [(1.0, False), (0.0, True), (None, False)]
    assert {each.conditions for each in known} == {(STILL,)}
    (line,) = ranked_lines("videos", known)
    assert line.value == pytest.approx(2 / 3)
    assert line.detail.startswith("0.67 among 2, 0.67 among 5, ")
    assert line.detail.endswith("reported 0.33, any candidate 0.67; 3 movements")


def test_sizes_and_the_table_count_what_is_reported():
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
