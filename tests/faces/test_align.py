import math

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from epir.core.errors import FrameError
from epir.faces.align import Crop, face_crop, whole_frame
from epir.faces.face import Face, FaceSettings
from epir.faces.finder import find_crop


def face_at(eyes, mouth, nose=(0.0, 0.0)):
    (left, right), (corner_left, corner_right) = eyes, mouth
    return Face((0.0, 0.0, 1.0, 1.0), left, right, nose, corner_left, corner_right, 1.0)


UPRIGHT = face_at(((80.0, 100.0), (120.0, 100.0)), ((84.0, 140.0), (116.0, 140.0)))


def test_an_upright_face_worked_by_hand():
    crop = face_crop(UPRIGHT, FaceSettings(margin=0.5))
    # Eyes 40 px apart, mouth 40 px below: a square of 40, and half of that on each side.
    assert (crop.x, crop.y, crop.side, crop.angle) == (100.0, 120.0, 80.0, 0.0)


def test_eyes_and_mouth_lie_a_quarter_from_the_edges():
    crop = face_crop(UPRIGHT)
    points = crop.to_crop(np.array([*UPRIGHT.landmarks[:2], *UPRIGHT.landmarks[3:]]), 280)
    assert points[:2, 1] == pytest.approx(72, abs=1)  # a quarter of 280 is 70
    assert points[:2, 0] == pytest.approx([72, 207], abs=1)
    assert points[2:, 1] == pytest.approx(207, abs=1)


def test_a_tilted_head_is_set_upright():
    turn = math.radians(20)
    matrix = np.array([[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]])
    left, right, _, low_left, low_right = (tuple(matrix @ point) for point in UPRIGHT.landmarks)
    tilted = face_crop(face_at((left, right), (low_left, low_right)))
    assert tilted.angle == pytest.approx(20, abs=1e-4)
    assert tilted.side == pytest.approx(face_crop(UPRIGHT).side, rel=1e-5)
    level = tilted.to_crop(np.array([left, right]), 100)
    assert level[0, 1] == pytest.approx(level[1, 1], abs=1e-3)
    assert face_crop(face_at((left, right), (low_left, low_right)), FaceSettings(align=False)).angle == 0


def test_the_astronauts_eyes_come_to_the_same_place_however_she_is_turned(astronaut, frame_of, landmarks):
    for degrees, scale in ((0, 1.0), (15, 1.0), (-15, 1.5)):
        matrix = cv2.getRotationMatrix2D((224, 118), degrees, scale)
        crop = find_crop(frame_of(matrix, 512, 512))
        eyes = landmarks[:2] @ matrix[:, :2].T + matrix[:, 2]
        places = crop.to_crop(eyes, 28)
        assert np.abs(places - [(6.7, 6.7), (20.3, 6.7)]).max() < 1.2, degrees  # cells of a 28 px map


def test_a_crop_of_whole_pixels_is_a_slice():
    frame = np.random.default_rng(0).integers(0, 256, (50, 60, 3), dtype=np.uint8)
    crop = Crop(x=29.5, y=24.5, side=20)  # pixels 20..39 and 15..34
    assert np.array_equal(crop.apply(frame, 20), frame[15:35, 20:40])


def test_a_large_crop_is_averaged_not_sampled():
    frame = np.random.default_rng(0).integers(0, 256, (80, 80, 3), dtype=np.uint8)
    small = Crop(x=39.5, y=39.5, side=80).apply(frame, 20)
    expected = frame.reshape(20, 4, 20, 4, 3).mean(axis=(1, 3))
    assert np.abs(small - expected).max() <= 1


def test_beyond_the_frame_its_border_is_repeated():
    frame = np.full((10, 10, 3), 77, np.uint8)
    assert (Crop(x=0, y=0, side=30, angle=30).apply(frame, 15) == 77).all()


def test_a_turned_crop_sees_a_turned_picture_upright():
    frame = np.zeros((101, 101, 3), np.uint8)
    cv2.line(frame, (50, 50), (80, 80), (255, 255, 255), 3)  # falls to the right by 45 degrees
    level = Crop(x=50, y=50, side=80, angle=45).apply(frame, 80)[..., 0]
    assert level[38:42, 45:75].mean() > 200
    assert level[:34].max() < 30


def test_the_whole_frame_is_stretched_to_a_square():
    frame = np.zeros((40, 20, 3), np.uint8)
    frame[:20] = 200
    face = whole_frame(frame).apply(frame, 20)
    assert face.shape == (20, 20, 3)
    assert face[:9].min() == 200
    assert face[11:].max() == 0


@given(
    x=st.floats(-1e4, 1e4),
    y=st.floats(-1e4, 1e4),
    side=st.floats(1, 1e4),
    angle=st.floats(-180, 180),
    stretch=st.floats(0.1, 10),
)
def test_a_crop_survives_being_written(x, y, side, angle, stretch):
    crop = Crop(x, y, side, angle, stretch).rounded()
    assert Crop.from_text(crop.to_text()) == crop


@given(side=st.floats(1, 1000), angle=st.floats(-180, 180), stretch=st.floats(0.5, 2), size=st.integers(1, 300))
def test_points_go_to_the_crop_and_back(side, angle, stretch, size):
    crop = Crop(100, 50, side, angle, stretch)
    points = np.array([(0.0, 0.0), (100.0, 50.0), (33.0, -8.0)])
    np.testing.assert_allclose(crop.to_frame(crop.to_crop(points, size), size), points, atol=1e-6)
    middle = (size - 1) / 2
    np.testing.assert_allclose(crop.to_crop(np.array([(100.0, 50.0)]), size), [(middle, middle)], atol=1e-6)


def test_widening_keeps_centre_and_angle():
    assert Crop(1, 2, 10, 3, 1.5).widen(1.25) == Crop(1, 2, 12.5, 3, 1.5)


@pytest.mark.parametrize("text", ["", "here", "x=1 y=2", "x=1 y=2 side=a", "x=1 y=2 side=3 w=4"])
def test_what_is_no_crop_is_refused(text):
    with pytest.raises(FrameError, match=r"is not a crop\n  fix: write it as: x="):
        Crop.from_text(text)
