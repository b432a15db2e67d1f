import pytest

from epir.faces.align import Crop
from epir.recognition import caution


def test_rates():
    assert caution.about_rate(200.0, 100) == []
    assert caution.about_rate(50.0, 100) == []
    assert "at 29.9 frames a second" in caution.about_rate(29.9, 100)[0]
    assert "100 frames a second were assumed" in caution.about_rate(None, 100)[0]


@pytest.mark.parametrize(("side", "faces", "words"), [(200, 1, 0), (60, 1, 1), (200, 3, 1), (60, 2, 2)])
def test_faces(side, faces, words):
    assert len(caution.about_face(Crop(50, 50, side), faces)) == words


def test_motion():
    assert caution.about_motion(0.01, 0.02) == []
    assert "by 8 % of the face" in caution.about_motion(0.08, 0.02)[0]
    assert "hardly moves" in caution.about_motion(0.0, 0.0001)[0]
