import numpy as np
import pytest

from epir.bench.explanation import area_of_deletion, area_of_finds, known_map, measure, moving_patches
from epir.core.errors import ConfigError


def test_the_area_of_finds_counts_pairs():
    moving = np.array([True, True, False, False])
    assert area_of_finds(np.array([4, 3, 2, 1.0]), moving) == 1
    assert area_of_finds(np.array([1, 2, 3, 4.0]), moving) == 0
    assert area_of_finds(np.ones(4), moving) == 0.5
    assert area_of_finds(np.array([4, 1, 2, 0.0]), moving) == 0.75


def test_the_area_of_deletion_is_small_where_the_right_patch_goes_first():
    made = np.zeros((3, 28, 28), np.float32)
    made[0, :7, :7] = 1.0

    def predict(maps):
        seen = (maps[:, 0, :7, :7].mean(axis=(1, 2)) > 0.5).astype(float)
        return np.stack([1 - seen, seen], axis=1)

    first, last = np.zeros(16), np.zeros(16)
    first[0], last[0] = 1, -1
    assert area_of_deletion(predict, made, first) == pytest.approx(0.5 / 16)
    assert area_of_deletion(predict, made, last) == pytest.approx(15.5 / 16)


def test_the_patches_that_move_are_those_of_the_true_displacement():
    field = np.zeros((28, 28))
    field[:7, :7], field[:7, 7:14], field[21:, 21:] = 1.0, 0.6, 0.3
    assert moving_patches(field, 4).nonzero()[0].tolist() == [0, 1]


def test_a_known_map_moves_where_it_should():
    made, field = known_map(5, 1, 28)
    length = np.hypot(made[0] - np.median(made[0]), made[1] - np.median(made[1]))
    assert np.corrcoef(length.ravel(), field.ravel())[0, 1] > 0.7


def test_inputs_are_refused():
    with pytest.raises(ConfigError, match="faces that epir draws itself"):
        measure(inputs=["a.mp4"])
