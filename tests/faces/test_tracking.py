import cv2
import numpy as np
import pytest
from skimage.data import astronaut

from epir.core.errors import ConfigError
from epir.faces.align import face_crop
from epir.faces.face import FaceSettings, TrackingSettings
from epir.faces.finder import find_face
from epir.faces.tracking import (
    NO_FACE,
    TOO_SMALL,
    FaceTracker,
)
from epir.frames.reader import Frame

FPS = 10.0


@pytest.fixture(scope="module")
def face():
    return np.ascontiguousarray(astronaut()[20:220, 120:320])


@pytest.fixture(scope="module")
def stranger():
    """A synthetic face of the same size."""
    from epir.core.seeds import generator
    from epir.synthetic.clip import expose
    from epir.synthetic.corpus import portrait_of
    from epir.synthetic.expressions import ActiveUnit
    from epir.synthetic.identity import draw_identity
    from epir.synthetic.movement import draw_movement
    from epir.synthetic.moving import MovingFace, State

    identity, portrait, random = draw_identity(4, "b"), portrait_of(4, "b", 200), generator(4, "b")
    movement = draw_movement((ActiveUnit(12, 1.0, 1.0),), identity.geometry, random)
    drawn = MovingFace(portrait, identity.geometry, movement).render(State(intensity=0.0))
    return expose(drawn, np.zeros(3, np.float32), 1.0, portrait.canvas, random)


def tracked(frames, fps=FPS, **settings):
    tracker = FaceTracker(TrackingSettings(**settings), fps)
    return tracker, list(tracker.follow(Frame(n, n / fps, frame) for n, frame in enumerate(frames)))


def test_a_head_at_rest_keeps_its_crop(face):
    tracker, seen = tracked([face] * 25)
    assert [each.number for each in seen] == list(range(25))
    assert [each.seconds for each in seen] == pytest.approx(np.arange(25) / FPS)
    assert {(each.track, each.segment) for each in seen} == {(0, 0)}
    assert (len(tracker.crops), tracker.without, tracker.gaps) == (1, 0, [])
    assert seen[0].face.shape == (84, 84)


def test_landmarks_are_given_in_pixels_of_the_small_face(face):
    _, seen = tracked([face] * 3)
    detected = find_face(face)
    assert seen[0].landmarks == pytest.approx(face_crop(detected).to_crop(np.array(detected.landmarks), 84), abs=4)
    left, right, _, mouth_left, mouth_right = seen[0].landmarks
    assert left[0] < 42 < right[0]
    assert max(left[1], right[1]) < 42 < min(mouth_left[1], mouth_right[1])


def test_a_head_that_goes_elsewhere_gets_a_new_crop(face):
    frames = [np.roll(face, 2 * max(0, min(n - 10, 20)), axis=1) for n in range(45)]  # 40 px in two seconds
    tracker, seen = tracked(frames)
    assert len(seen) == 45
    assert {each.track for each in seen} == {0}
    assert [each.segment for each in seen] == sorted(each.segment for each in seen)
    assert tracker.crops[-1].x - tracker.crops[0].x == pytest.approx(40, abs=8)
    assert {each.shot for each in seen} == {0}


def test_frames_without_a_face_are_left_out_counted_and_placed(face):
    empty = np.full_like(face, 128)
    tracker, seen = tracked([empty] * 12 + [face] * 12 + [empty] * 6)
    assert [each.number for each in seen] == list(range(12, 24))
    assert (tracker.frames, tracker.without, dict(tracker.reasons)) == (30, 18, {NO_FACE: 18})
    assert [(gap.first, gap.last, gap.reason) for gap in tracker.gaps] == [(0, 11, NO_FACE), (24, 29, NO_FACE)]


def test_a_face_that_is_hidden_for_a_moment_begins_a_new_segment_of_the_same_person(face):
    hidden = face.copy()
    hidden[60:160, 60:150] = 90
    _, seen = tracked([face] * 10 + [hidden] * 3 + [face] * 8)
    assert {each.number for each in seen} <= {*range(10), *range(13, 21)}
    assert {each.segment for each in seen if each.number < 10} == {0}
    assert {each.segment for each in seen if each.number >= 13} == {1}
    assert [each.shot for each in seen] == [each.segment for each in seen]
    assert {each.track for each in seen} == {0}


def test_a_face_that_comes_back_to_its_place_keeps_its_number_with_less_likeness(face):
    """Mirrored, the face is as much like itself as somebody who has turned the head: 0.73."""
    hidden, turned = face.copy(), face[:, ::-1]
    hidden[40:160, 50:150] = hidden[5, 5]
    elsewhere = np.roll(turned, 70, axis=1)
    for last, people in ((turned, {0}), (elsewhere, {0, 1})):
        _, seen = tracked([*[face] * 10, *[hidden] * 12, *[last] * 12], same_person=0.8)
        assert {each.track for each in seen} == people
        assert len({each.shot for each in seen}) == 2  # and nothing is compared across the time without it


def test_a_cut_to_another_person_ends_segment_and_track(face, stranger):
    tracker, seen = tracked([face] * 12 + [stranger] * 12 + [face] * 12, fps=25)
    assert [each.number for each in seen] == list(range(36))
    assert {each.segment for each in seen if each.number < 12} == {0}
    assert {each.segment for each in seen if 12 <= each.number < 24} == {1}
    assert [each.track for each in seen] == [0] * 12 + [1] * 12 + [0] * 12  # the first one comes back
    assert tracker.cuts == 2


def test_a_flash_is_no_cut(face):
    bright = np.clip(face.astype(int) + 50, 0, 255).astype(np.uint8)
    _, seen = tracked([face] * 8 + [bright] * 2 + [face] * 8, fps=25)
    assert {each.segment for each in seen} == {0}
    assert len(seen) == 18


def test_a_face_that_is_too_small_is_named_with_its_size(face):
    frame = np.full((120, 160, 3), 90, np.uint8)
    frame[20:100, 40:120] = cv2.resize(face, (80, 80), interpolation=cv2.INTER_AREA)  # about 34 px wide
    tracker, seen = tracked([frame] * 6)
    assert seen == []
    assert dict(tracker.reasons) == {TOO_SMALL: 6}
    assert tracker.gaps[0].width == pytest.approx(0.4 * 84, abs=5)


def test_a_cartoon_has_no_face_though_the_detector_sees_one(cartoon):
    assert find_face(cartoon).confidence > 0.9
    for frame in (cartoon, cv2.GaussianBlur(cartoon, (0, 0), 2)):
        tracker, seen = tracked([frame] * 8)
        assert seen == []
        assert dict(tracker.reasons) == {NO_FACE: 8}


def test_a_face_that_is_there_for_one_frame_only_is_not_believed(face):
    empty = np.full_like(face, 128)
    tracker, seen = tracked([empty] * 10 + [face] + [empty] * 10, fps=50)
    assert seen == []
    assert tracker.without == 21


def test_a_face_that_fades_before_it_is_confirmed_is_not_believed_when_the_frames_end(face):
    faded = (128 + 0.02 * (face.astype(np.float32) - 128)).astype(np.uint8)  # still alike, but nothing is detected
    tracker, seen = tracked([face, faded], fps=50)
    assert seen == []
    assert tracker.without == 2


def test_all_faces_are_followed_and_the_largest_alone_otherwise(face, stranger):
    large = cv2.resize(stranger, (300, 300), interpolation=cv2.INTER_CUBIC)
    frame = np.full((300, 520, 3), 90, np.uint8)
    frame[:, :300], frame[50:250, 310:510] = large, face
    tracker, seen = tracked([frame] * 6)
    assert {each.track for each in seen} == {0}
    assert seen[0].crop.x < 300
    assert tracker.faces == 2
    tracker, seen = tracked([frame] * 6, faces="all")
    assert sorted((each.track, each.number) for each in seen) == [(t, n) for t in (0, 1) for n in range(6)]
    assert len({each.segment for each in seen}) == 2
    assert {each.crop.x < 300 for each in seen if each.track == 0} != {each.crop.x < 300 for each in seen if each.track}


def test_frames_that_are_cropped_already_are_taken_whole(face):
    tracker, seen = tracked([face] * 4, face=FaceSettings(detector="none"))
    assert tracker.crops[0].side == face.shape[1]
    assert len(seen) == 4
    other = np.random.default_rng(0).integers(0, 255, face.shape, dtype=np.uint8)
    _, seen = tracked([face] * 4 + [other] * 4, face=FaceSettings(detector="none"))
    assert [each.segment for each in seen] == [0] * 4 + [1] * 4
    assert [each.shot for each in seen] == [0] * 4 + [1] * 4


def test_nothing_of_a_frame_is_kept_but_the_face(face):
    """A tracker that follows a face holds its small pictures, and one frame: the latest."""
    frame = np.zeros((900, 1600, 3), np.uint8)
    frame[300:500, 300:500] = face
    tracker, seen = tracked([frame] * 4)
    assert all(each.face.base is None or each.face.base.size <= 84 * 84 * 16 for each in seen)
    assert tracker._latest.number == 3


def test_settings_that_cannot_be_are_refused():
    with pytest.raises(ConfigError, match=r"tracking.least_face cannot be 0\n  fix: give a number above 0"):
        TrackingSettings(least_face=0)
    with pytest.raises(ConfigError, match=r"tracking\.faces"):
        TrackingSettings(faces="some")
