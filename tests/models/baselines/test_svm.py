import numpy as np

from epir.models.baselines.svm import block_sums, directions_of, flow_of, scale_of
from epir.models.estimator import softmax


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


def test_softmax_sums_to_one_and_leaves_out_what_was_never_seen():
    scores = softmax(np.array([[1000.0, 1000.0, -np.inf], [0.0, np.log(3), -np.inf]]))
    np.testing.assert_allclose(scores, [[0.5, 0.5, 0], [0.25, 0.75, 0]])


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
