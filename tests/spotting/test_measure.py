import cv2
import numpy as np
import pytest

from epir.faces.align import Crop
from epir.spotting.measure import BASIS, STABLE, FaceMeasure, between_crops, fit_head, head_flow, similarity_matrix
from epir.spotting.regions import members, named

SIZE = 84
CROP = Crop(200.0, 200.0, 168.0)


@pytest.fixture(scope="module")
def texture():
    """A picture (400, 400) with structure at every size, of which crops are taken."""
    random = np.random.default_rng(3)
    layers = [cv2.GaussianBlur(random.normal(size=(400, 400)), (0, 0), sigma) * sigma for sigma in (2.0, 4.0, 8.0)]
    face = sum(layers)
    return ((face - face.min()) / np.ptp(face) * 255).astype(np.uint8)


def face(picture, crop=CROP):
    return crop.apply(cv2.merge([picture] * 3), SIZE)[..., 0]


def moved(picture, right, down, centre=None, radius=12.0):
    """The picture moved by pixels: as a whole, or only around a centre."""
    rows, columns = np.mgrid[0:400, 0:400].astype(np.float32)
    near = 1.0
    if centre is not None:
        near = np.exp(-((columns - centre[0]) ** 2 + (rows - centre[1]) ** 2) / (2 * radius**2))
    return cv2.remap(picture, (columns - right * near).astype(np.float32), (rows - down * near).astype(np.float32), 1)


def test_a_known_head_motion_is_fitted_while_the_mouth_moves():
    motion = np.array([0.01, -0.02, 0.005, 0.01, 0.004, -0.003])
    cells = head_flow(motion)
    cells[STABLE < 0.1] += (0.0, 0.03)
    assert fit_head(cells, STABLE) == pytest.approx(motion, abs=2e-4)


def test_a_head_motion_without_turn_is_a_similarity():
    motion = np.array([0.1, 0.0, 0.0, 0.0, 0.0, 0.0])
    middle = np.array([(SIZE - 1) / 2, (SIZE - 1) / 2, 1.0])
    assert similarity_matrix(motion, SIZE) @ middle == pytest.approx(np.add(middle, (0.1 * SIZE, 0, 0)))
    assert len(BASIS) == 6


def test_a_shift_of_the_whole_face_moves_the_head_and_not_the_skin(texture):
    measure = FaceMeasure(SIZE)
    samples = [measure.push(n, n / 30, face(moved(texture, 2.0 * n, 0.0)), CROP) for n in range(5)]
    assert samples[-1].head[0] == pytest.approx(8 / 168, rel=0.1)
    assert np.abs(samples[-1].skin).max() < 0.003


def test_the_light_is_measured_through_new_crops_and_a_shift_does_not_change_it(texture):
    measure, other = FaceMeasure(SIZE), Crop(203.0, 198.0, 168.0)
    for number, (gain, right, crop) in enumerate([(1.0, 0, CROP), (1.0, 3, CROP), (0.8, 3, other), (0.8, 0, other)]):
        picture = (gain * moved(texture, right, 0.0)).astype(np.uint8)
        assert measure.push(number, number / 30, face(picture, crop), crop).light == pytest.approx(
            np.log(gain), abs=0.02
        )


def test_a_patch_of_skin_moves_its_region_and_no_other_side(texture):
    x, y = CROP.to_frame(np.array([[0.7 * SIZE, 0.7 * SIZE]]), SIZE)[0]  # the right corner of the mouth
    measure = FaceMeasure(SIZE)
    measure.push(0, 0.0, face(texture), CROP)
    skin = measure.push(1, 0.03, face(moved(texture, 0.0, -3.0, centre=(x, y))), CROP).skin
    lengths = np.hypot(skin[:, 0], skin[:, 1])
    right = named("lip corner")[1]
    assert lengths.argmax() == right
    assert -0.02 < skin[right, 1] < -0.005
    assert lengths[members("brows")].max() < 0.2 * lengths[right]


def test_displacements_continue_under_a_new_crop(texture):
    """The same still picture under another crop: nothing moves, neither skin nor head."""
    other = Crop(206.0, 197.0, 176.0)
    measure = FaceMeasure(SIZE)
    for number, crop in enumerate([CROP, CROP, other, other]):
        sample = measure.push(number, number / 30, face(texture, crop), crop)
    assert np.abs(sample.skin).max() < 0.003
    assert np.abs(sample.head[:2]).max() < 0.004


def test_the_matrix_between_two_crops_maps_points():
    other = Crop(190.0, 210.0, 150.0, angle=5.0)
    point = np.array([[20.0, 30.0]])
    there = other.to_crop(CROP.to_frame(point, SIZE), SIZE)[0]
    assert (between_crops(CROP, other, SIZE) @ (20.0, 30.0, 1.0))[:2] == pytest.approx(there)
