import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from epir.core.errors import ConfigError
from epir.core.seeds import generator
from epir.synthetic.clip import (
    FIRST,
    LONGEST,
    NO_EXPRESSION,
    SHORTEST,
    Course,
    draw_course,
    draw_frame,
    expose,
    plan_clip,
)
from epir.synthetic.drawing.canvas import Canvas
from epir.synthetic.moving import MovingFace
from epir.synthetic.nuisance import Nuisances


@given(st.integers(0, 10_000), st.sampled_from([8, 25, 30, 60, 100, 200, 500]))
def test_an_expression_is_absent_at_the_onset_full_at_the_apex_and_absent_at_the_offset(number, fps):
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


def test_halfway_up_half_of_the_expression_shows():
    assert Course(0, 10, 30).intensity(5) == pytest.approx(0.5)
    assert Course(0, 10, 30).intensity(20) == pytest.approx(0.5)


@pytest.mark.parametrize("fps", [0, -1, 7.9, float("nan")])
def test_too_few_frames_a_second_are_refused(fps):
    with pytest.raises(ConfigError, match=r"no frame between onset, apex and offset\n  fix: give --fps 8 or more"):
        draw_course(fps, 1, generator(0))


CANVAS = Canvas.frame(96)
GREY = np.full((96, 96, 3), 0.5, np.float32)


def test_grey_levels_noise_and_light():
    assert (expose(GREY, np.zeros(3), 0, CANVAS, generator(0)) == 128).all()
    assert (expose(2 * GREY + 1, np.zeros(3), 0, CANVAS, generator(0)) == 255).all()
    noisy = expose(GREY, np.zeros(3), 2.0, CANVAS, generator(0)).astype(float)
    np.testing.assert_allclose(noisy.std(axis=(0, 1)), 2.0, rtol=0.1)
    assert abs(noisy.mean() - 127.5) < 0.3
    assert (expose(GREY, np.array([0.1, 0, 0]), 0, CANVAS, generator(0)) == 140).all()
    sloped = expose(GREY, np.array([0, 0.1, 0]), 0, CANVAS, generator(0)).astype(int)
    assert sloped[40, -1, 0] > 130 > 125 > sloped[40, 0, 0]


def plan(person, name="a", kind="expression", emotion="positive", fps=60.0, **settings):
    return plan_clip(
        0,
        "005",
        name,
        geometry=person.geometry,
        kind=kind,
        classes=3,
        emotion=emotion,
        fps=fps,
        nuisances=Nuisances(**settings),
    )


def test_a_plan_depends_only_on_seed_and_names(person):
    np.random.seed(0)
    first = plan(person)
    generator(0).random(100)
    assert repr(plan(person)) == repr(first)
    assert repr(plan(person, name="b")) != repr(first)


def test_the_expression_shows_between_onset_and_offset_only(person):
    one = plan(person)
    shown = {number: one.state(number).intensity for number in one.numbers}
    assert shown[one.course.onset] == 0 and shown[one.course.offset] == 0
    assert shown[one.course.apex] == pytest.approx(one.intensity) == pytest.approx(max(shown.values()))
    assert one.numbers[0] == FIRST < one.course.onset and one.course.offset < one.numbers[-1]
    assert one.intensity * one.movement.steepness() <= 0.6 + 1e-6


@pytest.mark.parametrize("kind", ["still", "blinking", "turning"])
def test_idle_clips_have_no_expression_and_last_half_a_second(person, kind):
    one = plan(person, kind=kind, emotion="")
    assert one.emotion == NO_EXPRESSION == "none" and one.course is None and one.movement is None
    assert max(one.state(number).intensity for number in one.numbers) == 0
    assert one.frames >= 0.5 * 60


def test_a_frame_is_the_same_whatever_was_drawn_before_it(person, portrait):
    one = plan(person)
    face = MovingFace(portrait, person.geometry, one.movement)
    apex = draw_frame(one, face, one.course.apex)
    draw_frame(one, face, one.course.onset)
    np.testing.assert_array_equal(draw_frame(one, face, one.course.apex), apex)
    assert apex.dtype == np.uint8 and apex.shape == (192, 192, 3)


def test_a_calm_face_changes_only_by_its_expression(person, portrait):
    calm = plan(person, drift=0, roll=0, turn=0, blink=0, gaze=0, flicker=0, noise=0)
    face = MovingFace(portrait, person.geometry, calm.movement)
    before, onset, apex = (draw_frame(calm, face, n).astype(int) for n in (FIRST, calm.course.onset, calm.course.apex))
    assert (before == onset).all()
    assert np.abs(apex - onset).max() > 10
