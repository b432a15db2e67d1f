import cv2
import numpy as np
import pytest

from epir.faces.align import face_crop
from epir.faces.finder import find_face
from epir.faces.likeness import colours, correlation, flatness, likeness, one_shot, shared_colours
from epir.faces.patch import small_face


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
