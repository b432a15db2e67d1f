import numpy as np
import pytest

from epir.synthetic.behaviour import BEHAVIOURS, BehavingFace, plan_scene, pulse
from epir.synthetic.drawing.canvas import Canvas
from epir.synthetic.drawing.portrait import draw_portrait
from epir.synthetic.identity import Geometry, draw_identity


@pytest.mark.parametrize("name", BEHAVIOURS)
def test_every_behaviour_can_be_planned_and_differs_from_rest(name):
    scene, still = (plan_scene(names, 4.0, 30.0, Geometry(), 2) for names in ([name], ["rest"]))
    assert all(len(way) == 120 for way in (*scene.amounts, *scene.head.values()))
    assert all(np.isfinite(way).all() for way in (*scene.amounts, *scene.head.values()))
    busy = bool(scene.movements) or scene.hand is not None or set(scene.head) != set(still.head)
    moved = any(np.abs(way).max() > 0.02 for name, way in scene.head.items() if name != "size")
    assert name == "rest" or busy or moved or scene.light is not None


def test_the_skin_never_folds():
    scene = plan_scene(list(BEHAVIOURS), 4.0, 30.0, Geometry(), 3, micro=0.5)
    for movement, amounts in zip(scene.movements, scene.amounts, strict=True):
        assert np.abs(amounts).max() * movement.steepness() < 1


def test_micro_expressions_come_last_and_are_zero_outside_their_key_frames():
    scene = plan_scene(["talk"], 9.0, 30.0, Geometry(), 4, micro=0.8)
    assert scene.shown
    for (_, course), amounts in zip(scene.shown, scene.amounts[-len(scene.shown) :], strict=True):
        assert amounts[: course.onset + 1].max() == amounts[course.offset :].max() == 0
        assert amounts.argmax() == course.apex


def test_a_pulse_rises_holds_and_falls():
    values = pulse(np.array([0.0, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0]), 1.0, 1.0, 1.0, 1.0)
    assert values == pytest.approx([0, 0, 0.5, 1, 1, 0, 0])


def test_a_hand_covers_the_face_and_a_seed_gives_the_same_frames():
    person = draw_identity(1, "a")
    scene = plan_scene(["scratch"], 3.0, 20.0, person.geometry, 5)
    portrait = draw_portrait(person, Canvas.crop(64, 8))
    face = BehavingFace(portrait, person.geometry, scene)
    near = int(np.abs(scene.hand[:, 0]).argmin())
    frames = [face.frame(place, 0.0, np.random.default_rng(0)) for place in (0, near)]
    again = BehavingFace(portrait, person.geometry, scene).frame(near, 0.0, np.random.default_rng(0))
    assert (frames[1] == again).all()
    assert np.abs(frames[0].astype(float) - frames[1]).mean() > 3
