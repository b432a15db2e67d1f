from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from epir.core.errors import EpirWarning
from epir.core.facs import UNITS
from epir.core.records import Prediction
from epir.evaluation.samples import gather
from epir.final.calibration import (
    best_margin,
    best_threshold,
    calibrate,
    calibrate_on_others,
    calibrate_units,
    calibration_error,
    cross_fitted,
    fit_platt,
    fit_temperature,
    highest_score,
    negative_log_likelihood,
    with_temperature,
)
from epir.maps.mapset import save_maps
from epir.models.folder import load_network
from epir.models.units import LEFT, PRESENT, UnitCalibration
from epir.synthetic.maps import synthetic_maps


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
        Prediction("x", str(n % 200), str(n), names[t], "a", "a", 0, f"fold {n % 4}", tuple(row))
        for n, (row, t) in enumerate(zip(scores, truth, strict=True))
    ]
    calibration = calibrate(predictions, names)
    assert calibration.temperature == pytest.approx(3.0, rel=0.2)
    assert calibration.error_after < 0.5 * calibration.error_before
    assert 0 < calibration.answered < 1
    assert calibration.right > (scores.argmax(1) == truth).mean()


def all_right(people=4, each=6, best=0.8):
    """Predictions of a small corpus of which every one is right."""
    rest = (1 - best) / 2
    return [
        Prediction(
            "x", str(person), str(n), "abc"[n % 3], "a", "a", 0, str(person), tuple(np.roll([best, rest, rest], n))
        )
        for person in range(people)
        for n in range(each)
    ]


@pytest.mark.filterwarnings("ignore::epir.core.errors.EpirWarning")
@pytest.mark.parametrize("best", [0.5, 0.8, 0.95, 0.9999])
@pytest.mark.parametrize("people", [1, 2, 4, 9])
def test_a_few_people_who_were_all_right_make_nobody_sure(people, best):
    calibration = calibrate(all_right(people, best=best), ("a", "b", "c"))
    assert calibration.temperature > 0.2
    assert calibration.highest == pytest.approx((people + 1) / (people + 2), abs=1e-6)
    scores = np.array([each.scores for each in all_right(people, best=best)])
    after = with_temperature(scores, calibration.temperature, calibration.highest)
    assert after.max() <= calibration.highest + 1e-9
    assert after.max(axis=1).mean() <= (people + 1) / (people + 2) + 1e-4


@pytest.mark.filterwarnings("ignore::epir.core.errors.EpirWarning")
def test_more_people_who_were_all_right_make_surer():
    calibrations = [calibrate(all_right(people), ("a", "b", "c")) for people in (2, 4, 16, 64, 256)]
    temperatures = [each.temperature for each in calibrations]
    assert temperatures == sorted(temperatures, reverse=True) and len(set(temperatures)) == 5
    assert [each.highest for each in calibrations] == sorted(each.highest for each in calibrations)


def test_more_clips_of_the_same_people_support_no_more():
    def arrays(rows):
        truth = ["abc".index(each.truth) for each in rows]
        return np.array([each.scores for each in rows]), np.array(truth), np.array([each.subject for each in rows])

    few, many = arrays(all_right(4, 6)), arrays(all_right(4, 60))
    assert fit_temperature(*few) == pytest.approx(fit_temperature(*many), rel=1e-3)


def test_with_many_people_the_prior_vanishes():
    scores, truth = drawn(4000, temperature=0.5)
    everyone = np.arange(4000).astype(str)
    assert fit_temperature(scores, truth, everyone) == pytest.approx(fit_temperature(scores, truth), rel=0.02)
    assert highest_score(everyone) > 0.9997


def test_few_people_and_the_end_of_the_range_are_told_of():
    with pytest.warns(EpirWarning, match=r"calibrated on 4 people only, so none is above 0.83; calibrate on more"):
        calibrate(all_right(4), ("a", "b", "c"))
    wrong = [Prediction("x", str(n), "c", "b", "a", "a", 0, str(n), (0.9, 0.05, 0.05)) for n in range(40)]
    with pytest.warns(EpirWarning, match="the temperature 20 is at the end of its range, 0.05 to 20"):
        calibrate(wrong, ("a", "b", "c"))


def test_a_highest_score_keeps_the_order_and_the_sum():
    scores = np.array([[0.98, 0.015, 0.005], [0.6, 0.3, 0.1], [1.0, 0.0, 0.0]])
    for temperature in (0.05, 1.0):
        lowered = with_temperature(scores, temperature, 0.9)
        assert lowered.sum(axis=1) == pytest.approx([1, 1, 1]) and lowered.max() == pytest.approx(0.9)
        assert (lowered.argsort(axis=1)[:2] == scores.argsort(axis=1)[:2]).all()
    assert with_temperature(scores, 1.0, 0.9)[1] == pytest.approx(scores[1])


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


def test_a_side_is_never_more_probable_than_the_unit():
    logits = np.random.default_rng(1).normal(0, 2, (50, 3, len(UNITS)))
    present, left, right = np.moveaxis(UnitCalibration((0.7, -0.2), (2.0, 0.1)).probabilities(logits), 1, 0)
    assert (left <= present).all() and (right <= present).all()
    assert present[0, 0] == pytest.approx(expit(0.7 * logits[0, PRESENT, 0] - 0.2))
    assert left[0, 0] == pytest.approx(present[0, 0] * expit(2 * logits[0, LEFT, 0] + 0.1))


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
    fitted = calibrate_units(logits, annotations, [f"person {number // 6}" for number in range(600)])
    assert fitted.clips == sum(map(bool, annotations)) and fitted.error_after < 0.02 < fitted.error_before
    assert fitted.calibration.present[0] == pytest.approx(0.25, abs=0.03)
    assert set(fitted.calibration.thresholds) == set(UNITS)
    assert UnitCalibration.of_notes({"units": fitted.to_notes()}) == fitted.calibration
    assert calibrate_units(logits[:2], ["", ""], ["a", "b"]) is None


def test_one_person_under_two_names_counts_once(trained, tmp_path):
    """No score is above (people + 1) / (people + 2)."""
    whole = synthetic_maps(24, "direct", seed=5)  # of three people
    named = [replace(clip, extra={**clip.extra, "person": "mine/a"}) for clip in whole.clips]
    network = load_network(trained.folder)
    for clips, people in ((whole.clips, 3), (named, 1)):
        others = gather([save_maps(tmp_path / str(people), whole.maps, clips, recipe={})], "sde")
        with pytest.warns(EpirWarning, match="only, so none is above"):
            held_out = calibrate_on_others(network, others, mirror=False, shift=0)
        assert held_out.people == people
        assert held_out.calibration.highest == pytest.approx((people + 1) / (people + 2), abs=1e-6)
