import numpy as np
import pytest

from epir.core.seeds import generator
from epir.synthetic.clip import FIRST, NO_EXPRESSION, draw_frame, plan_clip
from epir.synthetic.moving import MovingFace
from epir.synthetic.nuisance import Nuisances


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


def test_a_plan_depends_on_seed_and_names_alone(person):
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
