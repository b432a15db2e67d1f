import numpy as np

from epir.models.baselines.svm import (
    block_sums,
    directions_of,
    flow_of,
    main_direction_means,
    scale_of,
    weighted_histograms,
)
from epir.models.registry import build, model_settings


def test_directions_are_centred_on_the_axes():
    angles = np.arange(8) * np.pi / 4
    for nudge in (-0.3, 0.0, 0.3):  # less than half of 45 degrees
        flow = np.stack([np.cos(angles + nudge), np.sin(angles + nudge)])[None, :, :, None]  # (1, 2, 8, 1)
        np.testing.assert_array_equal(directions_of(flow, 8)[0, :, 0], np.arange(8))


def test_block_sums_of_a_size_that_does_not_divide():
    values = np.arange(25.0).reshape(5, 5)
    sums = block_sums(values, 2)
    np.testing.assert_array_equal(
        sums, [[values[:3, :3].sum(), values[:3, 3:].sum()], [values[3:, :3].sum(), values[3:, 3:].sum()]]
    )
    assert sums.sum() == values.sum()


def test_the_median_of_a_still_face_is_taken_for_zero():
    maps = np.zeros((2, 3, 8, 8), dtype=np.float32)
    maps[:, 0, :3, :3] = 1.0
    moved = maps.copy()
    moved[1, 0] += 0.5  # the head moves as well, or the map was stretched
    np.testing.assert_allclose(flow_of(moved, "map"), maps[:, :2])
    np.testing.assert_array_equal(flow_of(moved, "none"), moved[:, :2])


def test_features_get_equal_weight_and_clips_about_unit_length():
    features = np.random.default_rng(0).standard_normal((500, 40)) * np.logspace(-3, 3, 40) + 7
    zero, unit = scale_of(features)
    scaled = (features - zero) / unit
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(scaled.std(axis=0), 1 / np.sqrt(40))
    np.testing.assert_allclose(np.square(scaled).sum(axis=1).mean(), 1)


def test_a_feature_that_does_not_vary_in_training_never_counts():
    training = np.column_stack([np.linspace(0, 1, 9), np.full(9, np.float32(0.1), dtype=np.float64), np.zeros(9)])
    zero, unit = scale_of(training)
    np.testing.assert_array_equal((np.array([[0.5, 9.0, 9.0]]) - zero) / unit, [[0, 0, 0]])


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
