import numpy as np

from epir.models.baselines.mdmo import main_direction_means
from epir.models.registry import build, model_settings


def test_the_main_direction_is_that_of_most_places_not_of_the_fastest():
    flow = np.zeros((1, 2, 4, 4))
    flow[0, 0, :3] = 1.0  # twelve places to the right
    flow[0, 1, 3] = 9.0  # four places down, faster
    flow[0, 0, 0, 0] = 3.0
    mean = main_direction_means(flow, grid=1, bins=8)
    np.testing.assert_allclose(mean, [[[(11 * 1 + 3) / 12, 0.0]]])


def test_each_region_has_its_own_main_direction():
    flow = np.zeros((1, 2, 4, 4))
    flow[0, 0, :2, :2], flow[0, 0, :2, 2:] = 1.0, -2.0
    flow[0, 1, 2:, :2], flow[0, 1, 2:, 2:] = 3.0, -4.0
    np.testing.assert_allclose(main_direction_means(flow, grid=2, bins=8)[0], [[1, 0], [-2, 0], [0, 3], [0, -4]])


def test_features_by_hand():
    maps = np.zeros((1, 3, 28, 28), dtype=np.float32)
    maps[0, 0, :14, :14] = 2.0  # to the right
    maps[0, 1, 14:, 14:] = 1.0  # down
    method = build(model_settings("mdmo", grid=2, normalise="none")).estimator
    magnitude, angle = np.split(method.features(maps, ())[0], 2)
    np.testing.assert_allclose(magnitude, [0.9 * 1.0, 0, 0, 0.9 * 0.5])
    np.testing.assert_allclose(angle, [0, 0, 0, 0.1 * np.pi / 2], atol=1e-7)


def test_thirty_six_regions_give_seventy_two_features_as_in_the_paper():
    maps = np.random.default_rng(0).standard_normal((2, 3, 28, 28)).astype(np.float32)
    assert build(model_settings("mdmo")).estimator.features(maps, ()).shape == (2, 72)


def test_a_still_face_has_no_features():
    assert not build(model_settings("mdmo")).estimator.features(np.zeros((1, 3, 28, 28), dtype=np.float32), ()).any()
