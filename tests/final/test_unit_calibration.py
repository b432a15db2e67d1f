import numpy as np
import pytest
from scipy.special import expit

from epir.core.facs import UNITS
from epir.final.calibration import binned_error
from epir.final.unit_calibration import (
    best_margin,
    best_threshold,
    calibrate_units,
    fit_platt,
)
from epir.models.units import LEFT, PRESENT, RIGHT, UnitCalibration


def test_factor_and_addend_are_found_again():
    """Truth drawn from sigma(0.5 x - 1) of logits x: the fit is that pair, and a likelihood around it is lower."""
    random = np.random.default_rng(0)
    logits = random.normal(0, 3, 40_000)
    truth = (random.random(len(logits)) < expit(0.5 * logits - 1)).astype(float)
    truth[::5] = np.nan  # unknown
    assert fit_platt(logits, truth) == pytest.approx((0.5, -1.0), abs=0.03)


def test_where_all_are_alike_nothing_is_fitted():
    assert fit_platt(np.array([1.0, 2.0]), np.array([1.0, 1.0])) == (1.0, 0.0)
    assert fit_platt(np.array([1.0]), np.array([np.nan])) == (1.0, 0.0)


def test_the_threshold_is_that_of_the_best_f1():
    probabilities = np.array([0.9, 0.62, 0.4, 0.3, 0.2])
    there = np.array([True, True, False, True, False])
    assert 0.2 < best_threshold(probabilities, there) <= 0.3  # three of four right, all found: F1 6/7
    assert 0.4 < best_threshold(probabilities, np.array([True, True, False, False, False])) <= 0.62


def test_the_margin_tells_sides_best():
    """Both sides within 0.5 of each other, one-sided ones 2 or more apart: any margin between is perfect."""
    random = np.random.default_rng(3)
    side = random.choice([-1, 0, 0, 0, 1], (200, 1))
    difference = np.where(side == 0, random.uniform(-0.5, 0.5, side.shape), side * random.uniform(2, 3, side.shape))
    truth = np.stack([np.ones_like(side), side >= 0, side <= 0], axis=-1).astype(float)
    assert 0.4 < best_margin(difference, truth) < 2
    truth[..., 1:] = np.nan
    assert best_margin(difference, truth) == UnitCalibration.side_margin


def test_the_calibration_error_by_hand():
    probabilities, there = np.array([0.95, 0.95, 0.15, 0.15]), np.array([True, False, False, False])
    assert binned_error(probabilities, there) == pytest.approx(0.5 * 0.45 + 0.5 * 0.15)


def test_a_side_is_never_more_probable_than_the_unit():
    logits = np.random.default_rng(1).normal(0, 2, (50, 3, len(UNITS)))
    made = UnitCalibration((0.7, -0.2), (2.0, 0.1)).probabilities(logits)
    assert (made[:, LEFT] <= made[:, PRESENT]).all() and (made[:, RIGHT] <= made[:, PRESENT]).all()
    assert made[0, PRESENT, 0] == pytest.approx(expit(0.7 * logits[0, PRESENT, 0] - 0.2))
    assert made[0, LEFT, 0] == pytest.approx(made[0, PRESENT, 0] * expit(2 * logits[0, LEFT, 0] + 0.1))


def test_the_notes_of_a_folder_give_the_calibration_again():
    calibration = UnitCalibration((0.7, -0.2), (2.0, 0.1), {4: 0.4, 12: 0.31}, 0.9)
    assert UnitCalibration.of_notes({"units": calibration.to_dict()}) == calibration
    plain = UnitCalibration.of_notes({})
    assert plain == UnitCalibration() and plain.threshold(12) == 0.5 and calibration.threshold(12) == 0.31


def test_sharp_logits_are_softened_and_the_error_falls():
    random = np.random.default_rng(2)
    strength = random.normal(-2, 1.5, (600, len(UNITS)))
    there = random.random(strength.shape) < expit(strength)
    logits = np.stack([4 * strength, 4 * strength, 4 * strength], axis=1)
    annotations = ["+".join(f"L{unit}" for unit, each in zip(UNITS, row, strict=True) if each) for row in there]
    found = calibrate_units(logits, annotations, [f"person {number // 6}" for number in range(600)])
    assert found.clips == sum(map(bool, annotations)) and found.error_after < 0.02 < found.error_before
    assert found.calibration.present[0] == pytest.approx(0.25, abs=0.03)
    assert set(found.calibration.thresholds) == set(UNITS)
    assert UnitCalibration.of_notes({"units": found.to_notes()}) == found.calibration
    assert calibrate_units(logits[:2], ["", ""], ["a", "b"]) is None
