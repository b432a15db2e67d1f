import numpy as np
import pytest

from epir.flow.head_motion import fit_similarity, similarity_motion, stable_points, weighted_median, without_head_motion


def places(size=84):
    y, x = (np.mgrid[0:size, 0:size] + 0.5) / size - 0.5
    return x, y


def similarity(shift_x, shift_y, scale, turn, size=84):
    x, y = places(size)
    return np.stack([shift_x + scale * x - turn * y, shift_y + turn * x + scale * y], axis=-1).astype(np.float32)


def smile(size=84, height=1.5):
    x, y = places(size)
    flow = np.zeros((size, size, 2), np.float32)
    for side in (-1, 1):
        shape = np.exp(-((x - side * 0.2) ** 2 + (y - 0.24) ** 2) / (2 * 0.07**2))
        flow[..., 0] += side * height * 0.7 * shape
        flow[..., 1] -= height * 0.7 * shape
    return flow


HEAD = (1.2, -0.7, 1.0, 0.8)  # px, px, px and px of turn over the width of the crop


@pytest.mark.parametrize("size", [20, 84, 168])
def test_a_pure_similarity_is_removed_whole(size):
    head = similarity(*HEAD, size=size)
    np.testing.assert_allclose(similarity_motion(head), head, atol=1e-4)
    np.testing.assert_allclose(without_head_motion(head, "similarity"), 0, atol=1e-4)
    assert not without_head_motion(0 * head, "similarity").any()
    assert without_head_motion(head, "keep") is head


def test_a_similarity_with_a_bump_leaves_the_bump():
    left = without_head_motion(similarity(*HEAD) + smile(), "similarity")
    assert np.abs(left - smile()).max() < 0.05
    assert np.abs(smile()).max() > 1.0


def test_noise_and_a_wild_border_do_not_disturb_the_fit():
    draw = np.random.default_rng(0)
    flow = similarity(*HEAD) + smile() + draw.normal(0, 0.1, (84, 84, 2)).astype(np.float32)
    flow[:, :6] += 4.0  # background on one side
    assert np.abs(similarity_motion(flow) - similarity(*HEAD)).mean() < 0.06


def test_the_median_removes_a_shift_only():
    shifted = similarity(1.0, 2.0, 0.0, 0.0) + smile()
    assert np.abs(without_head_motion(shifted, "median") - smile()).max() < 0.05
    turned = similarity(0.0, 0.0, 0.0, 1.0)
    assert np.abs(without_head_motion(turned, "median")).max() > 0.4


def test_the_fit_is_the_least_squares_fit():
    draw = np.random.default_rng(1)
    x, y, u, v = draw.normal(size=(4, 50))
    weights = draw.uniform(0.1, 1, 50)
    fitted = fit_similarity(x, y, u, v, weights)
    zero, one = np.zeros(50), np.ones(50)
    matrix = np.concatenate([np.stack([one, zero, x, -y], 1), np.stack([zero, one, y, x], 1)])
    root = np.sqrt(np.concatenate([weights, weights]))
    expected = np.linalg.lstsq(matrix * root[:, None], np.concatenate([u, v]) * root, rcond=None)[0]
    np.testing.assert_allclose(fitted, expected, atol=1e-9)


def test_brows_and_mouth_count_less_than_rim_and_nose():
    x, y = np.array([0.24, 0.0, 0.0, 0.48, -0.48]), np.array([-0.29, 0.24, -0.05, 0.0, 0.45])
    brow, mouth, nose, rim, corner = stable_points(x, y)
    assert max(brow, mouth) < 0.2 < 0.8 < min(nose, rim, corner)


def test_the_weighted_median_worked_by_hand():
    assert weighted_median(np.array([5.0, 1.0, 3.0]), np.array([1.0, 1.0, 1.0])) == 3.0
    assert weighted_median(np.array([5.0, 1.0, 3.0]), np.array([10.0, 1.0, 1.0])) == 5.0
