import cv2
import numpy as np
import pytest

from epir.core.errors import FaceNotFound
from epir.faces.align import face_crop
from epir.faces.face import FaceSettings
from epir.faces.finder import (
    brightened,
    choose_face,
    colours,
    correlation,
    count_faces,
    find_crop,
    find_face,
    flatness,
    likeness,
    one_shot,
    shared_colours,
    widths,
)
from epir.faces.patch import small_face


@pytest.mark.parametrize("size", [230, 280, 350])  # a face 40, 49 or 62 px wide
def test_a_small_face(astronaut, assert_found, size):
    scale = size / 512
    small = cv2.resize(astronaut, (size, size), interpolation=cv2.INTER_AREA)
    shift = (scale - 1) / 2  # pixel centres
    assert_found(find_face(small), [[scale, 0, shift], [0, scale, shift]])


@pytest.mark.parametrize("degrees", [15, -15])
def test_a_turned_head(frame_of, assert_found, degrees):
    matrix = cv2.getRotationMatrix2D((224, 118), degrees, 1.0)
    assert_found(find_face(frame_of(matrix, 512, 512)), matrix, tolerance=5.0)


@pytest.mark.parametrize("share", [0.5, 0.2, 0.05])
def test_a_dark_frame(astronaut, assert_found, share):
    assert_found(find_face((astronaut * share).astype(np.uint8)), tolerance=8.0)


@pytest.mark.parametrize("scale", [0.6, 1.0, 2.0])
def test_a_large_frame(frame_of, assert_found, scale):
    matrix = [[scale, 0.0, 700.0], [0.0, scale, 100.0]]
    frame = frame_of(matrix, 1920, 1080)
    assert frame.shape == (1080, 1920, 3)
    assert_found(find_face(frame), matrix)


def test_a_frame_in_colour_and_in_grey(astronaut, assert_found):
    assert_found(find_face(astronaut))
    grey = cv2.cvtColor(cv2.cvtColor(astronaut, cv2.COLOR_RGB2GRAY), cv2.COLOR_GRAY2RGB)
    assert_found(find_face(grey))


def test_the_largest_or_the_most_central_face_is_chosen(frame_of):
    near = frame_of([[1.2, 0, 0], [0, 1.2, 0]], 1200, 600)
    far = frame_of([[0.7, 0, 440], [0, 0.7, 220]], 1200, 600)  # its face is in the middle
    both = near.copy()
    both[200:600, 500:900] = far[200:600, 500:900]
    largest, central = (find_face(both, FaceSettings(choice=choice, min_face=50)) for choice in ("largest", "central"))
    assert largest.centre[0] < 350
    assert 550 < central.centre[0] < 650
    assert choose_face([largest, central], both.shape[:2], "largest") is largest
    assert choose_face([largest, central], both.shape[:2], "central") is central


def test_no_face_is_an_error_that_says_so():
    with pytest.raises(FaceNotFound, match=r"no face was found in a frame of 300 x 200 px\n  fix: .*--detector none"):
        find_crop(np.full((200, 300, 3), 120, np.uint8))
    # Without a detector the whole frame is the face.
    crop = find_crop(np.zeros((342, 280, 3), np.uint8), FaceSettings(detector="none"))
    assert (crop.side, crop.angle) == (280, 0)
    assert crop.stretch == pytest.approx(342 / 280, rel=1e-5)


def test_large_faces_are_looked_for_first():
    assert widths((480, 640), FaceSettings(min_face=80)) == [80, 40, 20]
    assert widths((1080, 1920), FaceSettings(min_face=80)) == [180, 80, 40, 20]
    assert widths((1080, 1920), FaceSettings(min_face=80, choice="central")) == [80, 40, 20]
    assert widths((480, 640), FaceSettings(min_face=24)) == [80, 24]


def test_brightening_spreads_a_dark_frame(astronaut):
    assert brightened((astronaut * 0.05).astype(np.uint8)).std() > 40


def test_two_people_are_counted(astronaut):
    face = astronaut[20:220, 120:320]
    assert count_faces(face, 90) == 1
    assert count_faces(np.hstack([face, face]), 90) == 2
    assert count_faces(np.full_like(face, 128), 90) == 1


@pytest.fixture(scope="module")
def face(astronaut):
    return small_face(astronaut, face_crop(find_face(astronaut)), 84)


def test_shared_colours_know_neither_place_nor_order(astronaut):
    assert shared_colours(colours(astronaut), colours(np.rot90(astronaut))) > 0.85
    assert shared_colours(colours(astronaut), colours(astronaut)) == pytest.approx(1)
    assert shared_colours(colours(np.zeros((9, 9, 3), np.uint8)), colours(np.full((9, 9, 3), 255, np.uint8))) == 0


def test_light_and_a_small_shift_change_no_likeness(face):
    darker = (0.6 * face + 10).astype(np.uint8)
    moved = np.roll(face, (2, -3), axis=(0, 1))
    assert likeness(face, face) == pytest.approx(1, abs=1e-3)
    assert likeness(face, darker) > 0.95
    assert likeness(face, moved) > 0.9
    assert likeness(moved, face) == pytest.approx(likeness(face, moved))


def test_other_pictures_are_unlike(face):
    noise = np.random.default_rng(0).integers(0, 255, face.shape, dtype=np.uint8)
    assert likeness(face, noise) < 0.3
    assert likeness(face, face[::-1]) < 0.5


def test_correlation_is_that_of_numpy(face):
    moved = np.roll(face, 5, axis=1)
    assert correlation(face, moved) == pytest.approx(np.corrcoef(face.ravel(), moved.ravel())[0, 1], abs=1e-4)
    assert correlation(np.zeros_like(face), face) == 0.0
    assert correlation(np.zeros_like(face), np.full_like(face, 9)) == 1.0


@pytest.mark.parametrize(
    ("alike", "shared", "one"),
    [(0.95, 0.1, True), (0.5, 0.9, True), (0.5, 0.3, False), (0.2, 0.95, False), (0.85, 0.95, True)],
)
def test_one_shot_needs_a_like_face_or_the_same_place(alike, shared, one):
    assert one_shot(alike, shared) is one


def test_drawings_are_flat_and_skin_is_not(face):
    drawn = np.full((84, 84), 200, np.uint8)
    cv2.ellipse(drawn, (42, 42), (30, 36), 0, 0, 360, 120, -1)
    cv2.circle(drawn, (30, 35), 5, 20, -1)
    assert flatness(drawn) > 0.5
    assert flatness(face) < 0.1
    assert flatness((0.05 * face + 10).astype(np.uint8)) == 0.0  # too faint to tell
