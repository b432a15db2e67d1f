import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from epir.core.errors import ConfigError
from epir.core.seeds import generator
from epir.synthetic.course import LONGEST, SHORTEST, Course, draw_course


@given(st.integers(0, 10_000), st.sampled_from([8, 25, 30, 60, 100, 200, 500]))
def test_nothing_at_the_onset_all_at_the_apex_nothing_at_the_offset(number, fps):
    course = draw_course(fps, 7, generator(0, "course", number))
    assert course.onset == 7
    assert course.apex - course.onset >= 2 and course.offset - course.apex >= 2
    shown = np.array([course.intensity(frame) for frame in range(course.onset - 3, course.offset + 4)])
    rise = shown[3 : 3 + course.apex - course.onset + 1]
    fall = shown[3 + course.apex - course.onset : 3 + course.offset - course.onset + 1]
    assert shown[:4].max() == 0 and shown[-4:].max() == 0
    assert rise[-1] == pytest.approx(1)
    assert (np.diff(rise) > 0).all() and (np.diff(fall) < 0).all()


def test_durations_are_those_of_micro_expressions_and_the_rise_is_usually_quicker():
    courses = [draw_course(200, 1, generator(0, "many", number)) for number in range(400)]
    seconds = np.array([course.offset - course.onset for course in courses]) / 200
    assert seconds.min() >= SHORTEST - 0.003 and seconds.max() <= LONGEST + 0.003
    assert 0.2 < np.median(seconds) < 0.4
    quicker = np.mean([course.apex - course.onset < course.offset - course.apex for course in courses])
    assert quicker > 0.7


def test_halfway_up_half_of_it_shows():
    assert Course(0, 10, 30).intensity(5) == pytest.approx(0.5)
    assert Course(0, 10, 30).intensity(20) == pytest.approx(0.5)


@pytest.mark.parametrize("fps", [0, -1, 7.9, float("nan")])
def test_too_few_frames_a_second_are_refused(fps):
    with pytest.raises(ConfigError, match=r"no frame between onset, apex and offset\n  fix: give --fps 8 or more"):
        draw_course(fps, 1, generator(0))
