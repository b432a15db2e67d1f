import numpy as np
import pytest

from epir.core.records import Prediction
from epir.recognition.calibration import (
    calibrate,
    calibration_error,
    cross_fitted,
    fit_temperature,
    negative_log_likelihood,
    with_temperature,
)


def drawn(count=4000, temperature=1.0, seed=0):
    """Scores whose truth is drawn from them, then sharpened by `temperature`."""
    random = np.random.default_rng(seed)
    honest = with_temperature(random.dirichlet([1.2, 1.2, 1.2], count), 1.0)
    truth = np.array([random.choice(3, p=row) for row in honest])
    return with_temperature(honest, 1 / temperature), truth


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.5])
def test_the_temperature_that_was_put_in_is_found(temperature):
    scores, truth = drawn(temperature=temperature)
    assert fit_temperature(scores, truth) == pytest.approx(temperature, rel=0.08)


def test_the_fitted_temperature_is_the_best_of_all():
    scores, truth = drawn(500, temperature=2.0, seed=3)
    best = negative_log_likelihood(scores, truth, fit_temperature(scores, truth))
    assert all(best <= negative_log_likelihood(scores, truth, t) + 1e-9 for t in np.geomspace(0.1, 10, 60))


def test_a_temperature_keeps_the_order_and_the_sum():
    scores = np.array([[0.7, 0.2, 0.1], [0.0, 0.5, 0.5]])
    soft = with_temperature(scores, 3.0)
    assert soft.sum(axis=1) == pytest.approx([1, 1])
    assert soft[0].tolist() == sorted(soft[0], reverse=True)
    assert soft[0, 0] < 0.7
    assert with_temperature(scores, 1.0)[0] == pytest.approx(scores[0])


def test_the_calibration_error_worked_by_hand():
    scores = np.array([[0.95, 0.05]] * 4 + [[0.65, 0.35]] * 4)
    truth = np.array([0, 0, 0, 1, 0, 0, 1, 1])
    assert calibration_error(scores, truth) == pytest.approx(0.5 * abs(0.75 - 0.95) + 0.5 * abs(0.5 - 0.65))


def test_scores_that_mean_what_they_say_have_no_error():
    assert calibration_error(*drawn()) < 0.03
    assert calibration_error(*drawn(temperature=3.0)) > 0.1


def test_no_fold_is_calibrated_by_itself():
    scores, truth = drawn(60, temperature=2.0)
    fold = np.array(["a"] * 30 + ["b"] * 30)
    other = truth.copy()
    other[:30] = (other[:30] + 1) % 3  # another truth in fold a changes what b gets, and not what a gets
    before, after = cross_fitted(scores, truth, fold), cross_fitted(scores, other, fold)
    assert (before[:30] == after[:30]).all()
    assert not (before[30:] == after[30:]).all()


def test_calibrating_predictions_lowers_their_error():
    scores, truth = drawn(600, temperature=3.0)
    names = ("a", "b", "c")
    predictions = [
        Prediction("x", "1", str(n), names[t], "a", "a", 0, f"fold {n % 4}", tuple(row))
        for n, (row, t) in enumerate(zip(scores, truth, strict=True))
    ]
    found = calibrate(predictions, names)
    assert found.temperature == pytest.approx(3.0, rel=0.2)
    assert found.error_after < 0.5 * found.error_before
    assert 0 < found.answered < 1
    assert found.right > (scores.argmax(1) == truth).mean()
