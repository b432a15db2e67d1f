import math
from dataclasses import replace

import numpy as np
import pytest

from epir.core.errors import ConfigError
from epir.faces.face import Face, FaceSettings

UPRIGHT = Face((0.0, 0.0, 90.0, 110.0), (25.0, 40.0), (65.0, 40.0), (45.0, 60.0), (30.0, 82.0), (60.0, 82.0), 0.99)


def turned(face, degrees):
    turn = math.radians(degrees)
    matrix = np.array([[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]])
    points = [tuple((matrix @ (np.array(p) - 45) + 45).tolist()) for p in face.landmarks]
    return Face(face.box, *points, face.confidence)


def test_lengths_are_those_of_the_landmarks():
    assert UPRIGHT.span == pytest.approx((40 + 42) / 2)
    assert UPRIGHT.temples == pytest.approx(2.06 * 41)
    assert turned(UPRIGHT, 25).span == pytest.approx(UPRIGHT.span)


@pytest.mark.parametrize("degrees", [-30, 0, 20])
def test_a_face_on_a_tilted_head_is_plausible(degrees):
    assert turned(UPRIGHT, degrees).is_plausible


@pytest.mark.parametrize(
    "changes",
    [
        {"mouth_left": (30.0, 20.0), "mouth_right": (60.0, 20.0)},  # above the eyes
        {"nose": (45.0, 95.0)},  # below the mouth
        {"nose": (100.0, 60.0)},  # beside the face
        {"right_eye": (25.0, 40.0)},  # one eye
        {"mouth_left": (60.0, 82.0), "mouth_right": (30.0, 82.0)},  # left and right exchanged
        {"left_eye": (40.0, 40.0), "right_eye": (50.0, 40.0)},  # too close
        {"box": (30.0, 0.0, 60.0, 110.0)},  # eyes outside the box
    ],
)
def test_landmarks_that_lie_as_in_no_face_are_not_plausible(changes):
    assert not replace(UPRIGHT, **changes).is_plausible


def test_wrong_choices_are_refused_with_the_nearest():
    with pytest.raises(ConfigError, match=r"\[face.detector\] has no choice 'mtcn'\n  fix: did you mean 'mtcnn'"):
        FaceSettings(detector="mtcn")
    with pytest.raises(
        ConfigError, match=r"\[face.choice\] has no choice 'first'\n  fix: use one of: central, largest"
    ):
        FaceSettings(choice="first")
    with pytest.raises(ConfigError, match=r"face.min_face cannot be 5\n  fix: give a width in pixels from 20"):
        FaceSettings(min_face=5)
    with pytest.raises(ConfigError, match=r"face.margin cannot be -1"):
        FaceSettings(margin=-1)
