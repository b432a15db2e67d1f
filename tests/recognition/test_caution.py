import pytest

from epir.faces.align import face_crop
from epir.faces.face import Face, TrackingSettings
from epir.faces.tracking import NO_FACE, TOO_SMALL, Gap
from epir.frames.pace import Pace
from epir.recognition import caution


def test_rates():
    assert caution.frame_rate_warnings(200.0) == []
    assert caution.frame_rate_warnings(50.0) == []
    assert "at 29.9 frames a second" in caution.frame_rate_warnings(29.9)[0]
    assert all(len(each) < 100 for each in caution.frame_rate_warnings(23.976))  # one line
    assert "100 frames a second assumed" in caution.frame_rate_warnings(None)[0]


def test_pace():
    assert caution.pace_warnings(Pace(30, 30), None) == []
    assert "of 200 frames a second the camera took 30" in caution.pace_warnings(Pace(30, 200, 6.67, 0.2), None)[0]
    assert "varies from 24 to 60 frames" in caution.pace_warnings(Pace(30, 30), (24.0, 60.0))[0]


def test_the_warning_about_a_small_face_and_the_limit_use_one_measure():
    assert caution.face_warnings(61, 1) == [
        "the face is small: 61 px between the temples; answers are less reliable below 100 px "
        "and impossible below 60 px"
    ]
    assert caution.face_warnings(100, 1) == []
    assert len(caution.face_warnings(200, 3)) == 1 and len(caution.face_warnings(60, 2)) == 2
    limit = TrackingSettings().least_face
    assert caution.too_small_warning(59, limit) == (
        "face too small: 59 px between the temples; at least 60 px are needed"
    )


def test_the_crop_of_a_face_is_as_wide_as_its_temples_are_apart():
    """The warning measures the crop, the limit measures the landmarks."""
    eyes, mouth = ((100.0, 100.0), (140.0, 100.0)), ((105.0, 144.0), (135.0, 144.0))
    face = Face((80, 70, 160, 170), *eyes, (120.0, 120.0), *mouth, 1.0)
    assert face_crop(face).side == pytest.approx(face.temples, abs=0.1)


def test_gaps():
    short = Gap(3, 4, 0.10, 0.13, NO_FACE)
    empty = Gap(30, 90, 1.0, 3.0, NO_FACE)
    small = Gap(100, 200, 4.0, 8.0, TOO_SMALL, 41.6)
    assert caution.gap_warnings([short, empty, small], 60) == [
        "no face from 1.0 to 3.0 s (frames 30 to 90)",
        "face too small from 4.0 to 8.0 s (frames 100 to 200): 42 px between the temples; at least 60 px are needed",
    ]
    assert caution.gap_warnings([empty] * 5, 60)[-1] == "2 more parts of the video have no usable face"


def test_motion():
    assert caution.motion_warnings(0.01, 0.02) == []
    assert "by 8 % of the face" in caution.motion_warnings(0.08, 0.02)[0]
    assert "hardly moves" in caution.motion_warnings(0.0, 0.0001)[0]
