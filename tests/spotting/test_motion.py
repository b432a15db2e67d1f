import cv2
import numpy as np
import pytest

from epir.spotting.motion import displacement, lid_motion, region_motion, shared_motion
from epir.spotting.regions import GRID, NAMES, region_cells


def field(right, down):
    return np.broadcast_to(np.array([right, down], float), (GRID, GRID, 2))


def test_what_comes_and_goes_is_shared():
    assert shared_motion(field(0.02, 0.0), field(0.02, 0.0)) == pytest.approx(field(0.02, 0.0))


def test_the_shorter_of_two_displacements_counts():
    assert shared_motion(field(0.03, 0.0), field(0.01, 0.0)) == pytest.approx(field(0.01, 0.0))


@pytest.mark.parametrize("other", [(-0.02, 0.0), (0.0, 0.02), (0.0, 0.0)])
def test_a_displacement_that_stays_or_goes_on_is_not_shared(other):
    assert np.abs(shared_motion(field(0.02, 0.0), field(*other))).max() < 1e-9


def test_a_region_moves_as_the_quarter_of_it_that_moves_most():
    motion = np.zeros((GRID, GRID, 2))
    cells = np.argwhere(region_cells("mouth"))
    for row, column in cells[: round(len(cells) / 4)]:
        motion[row, column] = (0.03, 0.04)
    regions = dict(zip(NAMES, region_motion(motion), strict=True))
    assert regions.pop("mouth") == pytest.approx(0.05)
    assert not any(regions.values())


@pytest.mark.parametrize(("down", "expected"), [(0.03, 0.03), (-0.02, -0.02)])
def test_lids_have_a_direction(down, expected):
    motion = np.zeros((GRID, GRID, 2))
    motion[region_cells("eyes")] = (0.0, down)
    assert lid_motion(motion) == pytest.approx(expected)


def test_a_shift_of_the_head_is_the_heads_and_not_the_skins():
    texture = np.random.default_rng(3).uniform(0, 255, (100, 100)).astype(np.float32)
    texture = cv2.GaussianBlur(texture, (0, 0), 2.0)
    texture = ((texture - texture.min()) / np.ptp(texture) * 255).astype(np.uint8)
    found = displacement(texture[8:92, 8:92], texture[8:92, 6:90])  # the content goes 2 px to the right
    assert found.head == pytest.approx(2 / 84, rel=0.1)
    assert np.hypot(*np.moveaxis(found.skin, -1, 0)).mean() < 0.1 * found.head
