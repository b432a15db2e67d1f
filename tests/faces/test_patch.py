import cv2
import numpy as np
import pytest
from skimage.data import astronaut

from epir.faces.align import Crop, face_crop
from epir.faces.finder import find_face
from epir.faces.patch import cut_patch, face_near, small_face


@pytest.fixture(scope="module")
def face():
    return np.ascontiguousarray(astronaut()[20:220, 120:320])


def test_a_small_face_is_that_of_the_whole_grey_frame(face):
    crop = Crop(100.3, 95.6, 90.0, 12.0)
    whole = crop.apply(cv2.cvtColor(face, cv2.COLOR_RGB2GRAY), 84)
    assert np.abs(small_face(face, crop, 84).astype(int) - whole).mean() < 0.8
    beyond = Crop(5.0, 8.0, 90.0, 12.0)  # partly outside the frame
    whole = beyond.apply(cv2.cvtColor(face, cv2.COLOR_RGB2GRAY), 84)
    assert np.abs(small_face(face, beyond, 84).astype(int) - whole).mean() < 0.8


@pytest.mark.parametrize("times", [1, 3, 7])
def test_a_small_face_of_a_large_frame_lies_where_the_crop_says(face, times):
    """To a hundredth of a pixel: whatever is halved on the way is not shifted."""
    large = cv2.resize(face, None, fx=times, fy=times, interpolation=cv2.INTER_CUBIC)
    crop = Crop((100.3 + 0.5) * times - 0.5, (95.6 + 0.5) * times - 0.5, 90.0 * times, 12.0)
    grey = cv2.cvtColor(large, cv2.COLOR_RGB2GRAY)
    shift, _ = cv2.phaseCorrelate(crop.apply(grey, 84).astype(float), small_face(large, crop, 84).astype(float))
    assert np.hypot(*shift) < 0.02


@pytest.mark.parametrize("most", [0, 320, 100])
def test_a_patch_shows_the_face_where_it_says(face, most):
    crop = Crop(100.3, 95.6, 90.0, 12.0)
    patch = cut_patch(face, crop, most)
    assert max(patch.pixels.shape[:2]) <= (most or 10_000)
    placed = patch.place(crop)
    difference = np.abs(placed.apply(patch.pixels, 60).astype(int) - crop.apply(face, 60)).mean()
    assert difference < (0.2 if patch.scale == 1 else 4.0)
    back = (placed.x + 0.5) / patch.scale - 0.5 + patch.left
    assert back == pytest.approx(crop.x)


@pytest.mark.parametrize("most", [320, 100])
def test_a_patch_aligned_to_another_shows_the_same_part_of_the_frame(face, most):
    here, there = (cut_patch(face, Crop(x, 95.0, side), most) for x, side in ((96.0, 70.0), (104.0, 80.0)))
    aligned = there.aligned_to(here)
    assert (aligned.left, aligned.top, aligned.scale) == (here.left, here.top, here.scale)
    assert aligned.pixels.shape == here.pixels.shape
    inner = slice(8, -8)  # the other patch ends within a few pixels of the border
    difference = np.abs(aligned.pixels[inner, inner].astype(int) - here.pixels[inner, inner]).mean()
    assert difference < (0.01 if here.scale == there.scale == 1 else 4.0)


def test_a_face_is_found_near_where_it_was(face):
    crop = face_crop(find_face(face))
    frame = np.zeros((600, 800, 3), np.uint8)
    frame[350:550, 500:700] = face
    moved = Crop(crop.x + 500 + 10, crop.y + 350 - 8, crop.side, crop.angle)
    again = face_crop(face_near(frame, moved))
    assert (again.x, again.y) == (pytest.approx(crop.x + 500, abs=4), pytest.approx(crop.y + 350, abs=4))
    assert face_near(frame, Crop(100, 100, 90)) is None
