import numpy as np

from epir.models.baselines.bi_woof import weighted_histograms
from epir.models.registry import build, model_settings


def field(size, u, v):
    return np.stack([np.full((size, size), u), np.full((size, size), v)])[None].astype(float)  # (1, 2, S, S)


def test_a_constant_field_falls_into_one_direction():
    for number, (u, v) in enumerate([(2, 0), (2, 2), (0, 2), (-2, 2), (-2, 0), (-2, -2), (0, -2), (2, -2)]):
        histogram = weighted_histograms(field(10, u, v), np.ones((1, 10, 10)), grid=5, bins=8).reshape(5, 5, 8)
        expected = np.zeros(8)
        expected[number] = 4 * np.hypot(u, v)  # 2 x 2 places in each block, each by its magnitude
        np.testing.assert_allclose(histogram, np.broadcast_to(expected, (5, 5, 8)), atol=1e-12)


def test_faster_places_count_more():
    flow = field(2, 1.0, 0.0)
    flow[0, :, 0, 0] = [0.0, 3.0]
    histogram = weighted_histograms(flow, np.ones((1, 2, 2)), grid=1, bins=4)[0]
    np.testing.assert_allclose(histogram, [3, 3, 0, 0])  # three to the right at 1, one down at 3


def test_blocks_with_more_strain_count_more():
    strain = np.zeros((1, 4, 4))
    strain[0, :2, :2] = [[1, 2], [3, 4]]
    histogram = weighted_histograms(field(4, 1.0, 0.0), strain, grid=2, bins=4).reshape(2, 2, 4)
    assert histogram[0, 0, 0] == 4 * 2.5  # four places of magnitude 1, by the block's mean strain
    assert histogram.sum() == histogram[0, 0, 0]


def test_features_have_the_length_of_blocks_times_directions():
    maps = np.random.default_rng(0).random((3, 3, 28, 28)).astype(np.float32)
    method = build(model_settings("bi-woof", grid=6, bins=8)).estimator
    assert method.features(maps, ()).shape == (3, 6 * 6 * 8)
