import pytest

from epir.faces.tracking import NO_FACE, TOO_SMALL, Gap
from epir.frames.pace import Pace
from epir.recognition import caution
from epir.recognition.settings import RecognitionSettings

USUAL = RecognitionSettings()


def test_rates():
    assert caution.about_rate(200.0, USUAL) == []
    assert caution.about_rate(50.0, USUAL) == []
    assert "at 29.9 frames a second" in caution.about_rate(29.9, USUAL)[0]
    assert "on a face at rest none of 25 was missed for it" in caution.about_rate(25.0, USUAL)[0]
    assert "below 25 was not measured" in caution.about_rate(15.0, USUAL)[0]
    assert "100 frames a second were assumed" in caution.about_rate(None, USUAL)[0]


def test_pace():
    assert caution.about_pace(Pace(30, 30), None) == []
    assert "of 200 frames a second the camera took 30" in caution.about_pace(Pace(30, 200, 6.67, 0.2), None)[0]
    assert "varies, from 24 to 60 frames" in caution.about_pace(Pace(30, 30), (24.0, 60.0))[0]


@pytest.mark.parametrize(("side", "faces", "words"), [(200, 1, 0), (60, 1, 1), (200, 3, 1), (60, 2, 2)])
def test_faces(side, faces, words):
    assert len(caution.about_face(side, faces, USUAL)) == words


def test_gaps():
    short = Gap(3, 4, 0.10, 0.13, NO_FACE)
    empty = Gap(30, 90, 1.0, 3.0, NO_FACE)
    small = Gap(100, 200, 4.0, 8.0, TOO_SMALL, 41.6)
    assert caution.about_gaps([short, empty, small], 60, USUAL) == [
        "no face from 1.0 to 3.0 s (frames 30 to 90)",
        "face too small: 42 px between the temples, where 60 px or more are needed, "
        "from 4.0 to 8.0 s (frames 100 to 200)",
    ]
    assert caution.about_gaps([empty] * 5, 60, USUAL)[-1] == "there are 2 more parts without a face that could be used"


def test_motion():
    assert caution.about_motion(0.01, 0.02, USUAL) == []
    assert "by 8 % of the face" in caution.about_motion(0.08, 0.02, USUAL)[0]
    assert "hardly moves" in caution.about_motion(0.0, 0.0001, USUAL)[0]
