import cv2
import numpy as np
import pytest

from epir.core.errors import ShapeError
from epir.faces.mtcnn import cut_windows, find_faces, shift_edges, squared, suppress


def test_the_astronaut_is_found_where_she_is(astronaut, assert_found):
    faces = find_faces(astronaut, min_face=60)
    assert len(faces) == 1
    assert_found(faces[0])


def test_left_and_right_are_those_of_the_viewer(astronaut):
    (face,) = find_faces(astronaut, min_face=60)
    assert face.left_eye[0] < face.nose[0] < face.right_eye[0]
    assert face.mouth_left[0] < face.mouth_right[0]
    assert face.left_eye[1] < face.nose[1] < face.mouth_left[1]
    assert face.landmarks == (face.left_eye, face.right_eye, face.nose, face.mouth_left, face.mouth_right)


def test_the_same_frame_gives_the_same_faces(astronaut):
    assert find_faces(astronaut) == find_faces(astronaut.copy())


def test_threads_do_not_change_the_faces(astronaut):
    threads = cv2.getNumThreads()
    try:
        cv2.setNumThreads(1)
        alone = find_faces(astronaut)
        cv2.setNumThreads(2)
        assert find_faces(astronaut) == alone
    finally:
        cv2.setNumThreads(threads)


def test_a_mirrored_face_has_mirrored_landmarks(astronaut, assert_found):
    (face,) = find_faces(np.ascontiguousarray(astronaut[:, ::-1]), min_face=60)
    (plain,) = find_faces(astronaut, min_face=60)
    mirrored = [
        (511 - x, y) for x, y in (plain.right_eye, plain.left_eye, plain.nose, plain.mouth_right, plain.mouth_left)
    ]
    assert np.abs(np.array(mirrored) - np.array(face.landmarks)).max() < 4


def test_two_people_are_two_faces(astronaut):
    faces = find_faces(np.concatenate([astronaut, astronaut[:, ::-1]], axis=1), min_face=60)
    assert len(faces) == 2
    assert sorted(round(face.centre[0] / 100) for face in faces) == [2, 8]


def test_a_frame_without_a_face_gives_none():
    assert find_faces(np.full((200, 300, 3), 128, np.uint8)) == []
    assert find_faces(np.zeros((8, 8, 3), np.uint8)) == []  # smaller than any window


def test_the_wrong_kind_of_frame_is_refused(astronaut):
    for frame in (astronaut[..., 0], astronaut.astype(np.float32)):
        with pytest.raises(ShapeError, match=r"\(H, W, 3\) uint8 RGB frames, not .*\n  fix: read the frame with"):
            find_faces(frame)


def test_suppression_worked_by_hand():
    windows = np.array([[0, 0, 10, 10], [1, 0, 11, 10], [20, 20, 30, 30], [2, 2, 6, 6]], dtype=float)
    scores = np.array([0.8, 0.9, 0.7, 0.6])
    # The second covers 9 x 10 = 90 of a union of 110 with the first: 0.82. The small one lies in both: 16 of 100.
    assert list(suppress(windows, scores, 0.7)) == [1, 2, 3]
    assert list(suppress(windows, scores, 0.85)) == [1, 0, 2, 3]
    assert list(suppress(windows, scores, 0.7, of_smaller=True)) == [1, 2]
    assert list(suppress(np.zeros((0, 4)), np.zeros(0), 0.5)) == []


def test_windows_are_shifted_and_squared_about_their_centres():
    window = np.array([[10.0, 20.0, 30.0, 60.0]])
    assert shift_edges(window, np.array([[0.1, 0.1, -0.1, 0.0]])).tolist() == [[12.0, 24.0, 28.0, 60.0]]
    assert squared(window).tolist() == [[0.0, 20.0, 40.0, 60.0]]


def test_windows_reach_beyond_the_frame_into_black():
    frame = np.full((10, 10, 3), 200, np.uint8)
    cut = cut_windows(frame, np.array([[-10.0, 0.0, 10.0, 20.0], [50.0, 50.0, 60.0, 60.0]]), 20)
    assert cut.shape == (2, 20, 20, 3)
    assert (cut[0, :10, 10:] == 200).all()
    assert not cut[0, :, :10].any() and not cut[0, 10:].any()
    assert not cut[1].any()
