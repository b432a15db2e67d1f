import numpy as np
import pytest

from epir.spotting.evidence import NOISE, SHRINK, patterns, robust_covariance, weigh
from epir.spotting.regions import REGIONS, members

BROWS, MOUTH = members("brows"), members("lip corners", "lips and chin")


def moving(*places, size=1.0):
    """A pattern (R, 2) in which these regions go up."""
    pattern = np.zeros((len(REGIONS), 2))
    pattern[list(places), 1] = -size / np.sqrt(len(places))
    return pattern


def talking(count, seed=0):
    """Amplitudes (n, C) of a face whose mouth is loud and moves as one, and whose brows are quiet."""
    random = np.random.default_rng(seed)
    values = random.normal(0, 0.0005, (count, len(REGIONS), 2))
    values[:, MOUTH] += random.normal(0, 0.006, (count, 1, 2))
    return values.reshape(count, -1)


def test_the_covariance_is_that_of_most_instants():
    random = np.random.default_rng(0)
    values = random.normal(0, [0.001, 0.004], (4000, 2)) @ np.array([[1.0, 0.5], [0.0, 1.0]])
    plain = robust_covariance(values)
    values[::50] *= 40  # blinks
    spoilt = robust_covariance(values)
    assert np.diag(spoilt) == pytest.approx(np.diag(plain), rel=0.35)
    assert np.diag(np.cov(values.T)) == pytest.approx(33 * np.diag(plain), rel=0.9)
    correlated = plain[0, 1] / np.sqrt(plain[0, 0] * plain[1, 1])
    truth = 0.0005 / np.sqrt(0.001**2 * (0.25 * 0.001**2 + 0.004**2)) * 0.001
    assert correlated == pytest.approx((1 - SHRINK) * truth / 0.001 * 0.001, abs=0.05)


def test_a_face_without_motion_has_the_noise_of_the_camera():
    assert robust_covariance(np.zeros((50, 4))) == pytest.approx(NOISE**2 * np.eye(4))


def test_quiet_brows_count_for_more_than_a_mouth_that_talks():
    known = np.array([moving(*BROWS), moving(*MOUTH)])
    values = talking(400)
    values[100] += 0.008 * known[0].ravel()
    values[300] += 0.008 * known[1].ravel()
    evidence = weigh(values, known, 25.0)
    assert evidence.pattern[100] == 0
    assert evidence.score[100] > 6
    assert evidence.score[300] < 4
    assert (evidence.score > evidence.score[100] - 1e-9).sum() == 1


def test_scores_are_in_deviations_of_what_the_face_does():
    values = talking(3000)
    scores = values @ weigh(values, patterns(), 25.0).filters.T  # (n, P)
    assert scores.std(axis=0).max() < 1.4
    assert np.median(scores.std(axis=0)) == pytest.approx(1.0, abs=0.25)


def test_the_share_is_whole_for_motion_along_a_pattern_and_small_for_others():
    known = moving(*BROWS)[None]
    values = talking(400)
    values[10], values[20] = 0.02 * known.ravel(), 0.02 * moving(members("nose and cheeks")[0]).ravel()
    evidence = weigh(values, known, 25.0)
    assert evidence.share[10] > 0.95
    assert evidence.share[20] < 0.05


def test_a_short_clip_does_not_hide_its_own_expression():
    """A second in which the brows rise and return and nothing else happens."""
    pattern = moving(*BROWS)
    rise = np.sin(np.pi * np.clip(np.arange(60) / 30 - 0.5, 0, 1)) ** 2
    values = np.random.default_rng(0).normal(0, 0.0002, (60, 2 * len(REGIONS))) + 0.01 * rise[:, None] * pattern.ravel()
    assert weigh(values, pattern[None], 60.0).score.max() > 5
    assert weigh(values, pattern[None], 15.0).score.max() < 3  # the same over four seconds is what the face does
