import numpy as np
import pytest
from skimage.data import astronaut

from epir.faces.settings import FaceSettings
from epir.frames.reader import Frame
from epir.spotting.settings import SpottingSettings
from epir.spotting.track import FaceTracker, count_faces

FPS = 10.0


@pytest.fixture(scope="module")
def face():
    return astronaut()[20:220, 120:320]


def tracked(frames, **settings):
    tracker = FaceTracker(SpottingSettings(**settings), FPS)
    return tracker, list(tracker.follow(Frame(n, n / FPS, frame) for n, frame in enumerate(frames)))


def test_a_head_at_rest_keeps_its_crop(face):
    tracker, seen = tracked([face] * 25)
    assert len(seen) == 25
    assert len(tracker.crops) == 1
    assert {each.stretch for each in seen} == {0}
    assert seen[0].face.shape == (84, 84)


def test_a_head_that_goes_elsewhere_gets_a_new_crop(face):
    away = np.roll(face, 40, axis=1)
    tracker, seen = tracked([face] * 12 + [away] * 12)
    assert [each.stretch for each in seen] == [0] * 20 + [1] * 4
    assert tracker.crops[1].x - tracker.crops[0].x == pytest.approx(40, abs=4)


def test_frames_without_a_face_are_left_out_and_counted(face):
    empty = np.full_like(face, 128)
    tracker, seen = tracked([empty] * 5 + [face] * 4)
    assert [each.number for each in seen] == [6, 7, 8]  # the face is looked for every quarter of a second
    assert tracker.without == 6


def test_a_face_that_is_hidden_for_a_moment_keeps_its_crop(face):
    empty = np.full_like(face, 128)
    tracker, seen = tracked([face] * 10 + [empty] * 2 + [face] * 6)  # looked for at 10 and again at 12
    assert (len(seen), len(tracker.crops), tracker.without) == (18, 1, 0)
    tracker, seen = tracked([face] * 10 + [empty] * 6 + [face] * 6)  # missed at 10 and at 12
    assert [each.stretch for each in seen] == [0] * 12 + [1] * 6
    assert tracker.without == 4


def test_frames_that_are_cropped_already_are_taken_whole(face):
    tracker, _ = tracked([face], face=FaceSettings(detector="none"))
    assert tracker.crops[0].side == face.shape[1]


def test_two_people_are_counted(face):
    assert count_faces(face, 90) == 1
    assert count_faces(np.hstack([face, face]), 90) == 2
    assert count_faces(np.full_like(face, 128), 90) == 1
