import numpy as np
import pytest

from epir.spotting.candidates import (
    NOISE,
    SHRINKAGE,
    bump,
    courses,
    expression_patterns,
    find_candidates,
    find_edges,
    fit_bumps,
    foot,
    key_times,
    robust_covariance,
    separate_peaks,
    weigh,
)
from epir.spotting.measure import HEAD, Motion
from epir.spotting.regions import REGIONS, members, named

RATE = 50.0
BROWS, MOUTH = members("brows"), members("lip corners", "lips and chin")


def rise_and_fall(count, onset, apex, offset, height=1.0):
    places = np.arange(count)
    up, down = (places - onset) / (apex - onset), (offset - places) / (offset - apex)
    return height * np.sin(np.pi / 2 * np.clip(np.minimum(up, down), 0, 1)) ** 2


def candidates_of(region, values):
    count = len(values)
    skin = np.zeros((count, len(REGIONS), 2))
    skin[:, named(region)[0], 1] = values
    skin += np.random.default_rng(0).normal(0, 2e-5, skin.shape)
    return find_candidates(motion_of(skin), RATE)


def motion_of(skin):
    """The motion of skin (n, R, 2) on a still head."""
    count = len(skin)
    return Motion(skin, np.zeros((count, len(HEAD))), np.ones(count), np.zeros(count))


def test_a_bump_on_a_slope_has_its_amplitude_and_no_residual():
    times = (np.arange(200) - 100) / RATE
    values = 0.3 + 0.2 * times + 0.05 * bump(times, 0.32)
    amplitude, rest = fit_bumps(values[:, None], RATE, 0.32)
    assert amplitude[100, 0] == pytest.approx(0.05)
    assert rest[100, 0] < 1e-6


def test_a_straight_line_has_no_amplitude():
    amplitude, _ = fit_bumps(np.linspace(0, 1, 100)[:, None], RATE, 0.32)
    assert np.abs(amplitude[40:60]).max() < 1e-9


def test_a_movement_is_found_where_it_is_with_onset_apex_and_offset():
    (candidate,) = [c for c in candidates_of("inner brow", rise_and_fall(200, 90, 97, 108, 0.008)) if c.stands_out > 6]
    assert abs(candidate.onset - 90) <= 2
    assert abs(candidate.apex - 97) <= 1
    assert abs(candidate.offset - 108) <= 2
    assert candidate.group == "brows"
    assert candidate.lengths.max() == pytest.approx(0.008, rel=0.15)
    assert candidate.step < -1


def test_a_lasting_change_looks_like_a_step():
    values = 0.008 / (1 + np.exp(-(np.arange(200) - 100) / 2.0))
    assert all(c.step > 0 or c.stands_out < 4 for c in candidates_of("inner brow", values))


def test_a_rhythm_is_less_isolated_than_a_single_movement():
    single = max(candidates_of("lower lip", rise_and_fall(300, 140, 146, 154, 0.008)), key=lambda c: c.isolated)
    rhythm = 0.004 * (1 - np.cos(2 * np.pi * 4 * np.arange(300) / RATE))
    assert max(c.isolated for c in candidates_of("lower lip", rhythm)) < 0.3 * single.isolated


def test_a_lively_chin_does_not_hide_a_brow():
    count = 300
    skin = np.zeros((count, len(REGIONS), 2))
    skin[:, named("chin")[0], 1] = 0.03 * np.sin(2 * np.pi * 5 * np.arange(count) / RATE)
    skin[:, named("inner brow")[0], 1] = -rise_and_fall(count, 140, 147, 158, 0.006)
    candidates = find_candidates(motion_of(skin), RATE)
    best = max((c for c in candidates if c.group == "brows"), key=lambda c: c.stands_out)
    assert abs(best.apex - 147) <= 1
    assert best.stands_out > 8


def test_a_dip_between_two_peaks_separates_them():
    """Without the valley rule, the flank of the first peak would extend to the foot of the second."""
    course = rise_and_fall(100, 20, 30, 44) + rise_and_fall(100, 34, 50, 60, 0.9)
    valley = 30 + int(course[30:50].argmin())
    assert 0.2 < course[valley] < 0.6 * 0.9
    assert foot(course, 30, 1) == valley
    onset, apex, offset = find_edges(course, 30, 3)
    assert (onset < apex < offset, apex) == (True, 30)
    assert offset < 50


def test_the_apex_comes_at_least_two_instants_after_the_onset():
    assert find_edges(np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0]), 3, 1) == (1, 3, 4)
    assert find_edges(np.array([1.0, 0.9, 0.0, 0.0]), 0, 1) is None


def test_peaks_are_apart_and_the_highest_is_first():
    assert separate_peaks(np.array([0, 3, 2.9, 0, 0, 0, 5, 1.0]), 2.5, 2) == [6, 1]
    assert separate_peaks(np.zeros(0), 1.0, 2) == []


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_too_few_frames_have_no_candidates(count):
    assert find_candidates(motion_of(np.zeros((count, len(REGIONS), 2))), RATE) == []


def course(count, rate, *key_times):
    """`rise_and_fall` with key times in seconds."""
    return rise_and_fall(count, *(each * rate for each in key_times))


@pytest.mark.parametrize("rate", [25.0, 30.0, 60.0, 100.0])
@pytest.mark.parametrize(("rise", "fall"), [(0.11, 0.18), (0.18, 0.28), (0.22, 0.14)])
def test_a_clear_course_gives_its_key_times(rate, rise, fall):
    values = course(round(3 * rate), rate, 1.5 - rise, 1.5, 1.5 + fall)
    times = np.array(key_times(values, round(1.53 * rate), rate)) / rate
    assert times == pytest.approx([1.5 - rise, 1.5, 1.5 + fall], abs=0.02 + 1 / rate)


def test_a_slow_drift_does_not_matter():
    values = course(90, 30.0, 1.35, 1.5, 1.7)
    assert key_times(values, 45, 30.0) == key_times(values + 5 - 0.07 * np.arange(90), 45, 30.0)


def test_noise_moves_onset_and_offset_little():
    random = np.random.default_rng(0)
    values = course(180, 60.0, 1.36, 1.5, 1.72)
    times = [key_times(values + random.normal(0, 0.3, 180), 90, 60.0) for _ in range(40)]
    assert np.abs(np.array(times) / 60.0 - [1.36, 1.5, 1.72]).mean(axis=0) == pytest.approx([0, 0, 0], abs=0.05)


def test_key_times_stay_within_the_video():
    values = course(60, 30.0, -0.1, 0.03, 0.2)
    onset, apex, offset = key_times(values, 1, 30.0)
    assert 0 <= onset < apex < offset < 60


@pytest.mark.parametrize("rate", [15.0, 24.0, 100.0])
def test_courses_are_brief_and_free_of_lines(rate):
    keys, prior, shapes, line = courses(rate)
    assert (keys[:, 2] - keys[:, 0]).max() / rate <= 0.55
    assert prior.sum() == pytest.approx(1.0)
    assert shapes @ line == pytest.approx(np.zeros((len(keys), 2)), abs=1e-9)


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


def test_outliers_hardly_change_the_covariance():
    random = np.random.default_rng(0)
    values = random.normal(0, [0.001, 0.004], (4000, 2)) @ np.array([[1.0, 0.5], [0.0, 1.0]])
    plain = robust_covariance(values)
    values[::50] *= 40  # blinks
    spoilt = robust_covariance(values)
    assert np.diag(spoilt) == pytest.approx(np.diag(plain), rel=0.35)
    assert np.diag(np.cov(values.T)) == pytest.approx(33 * np.diag(plain), rel=0.9)
    correlated = plain[0, 1] / np.sqrt(plain[0, 0] * plain[1, 1])
    truth = 0.0005 / np.sqrt(0.001**2 * (0.25 * 0.001**2 + 0.004**2)) * 0.001
    assert correlated == pytest.approx((1 - SHRINKAGE) * truth / 0.001 * 0.001, abs=0.05)


def test_a_still_face_has_the_noise_of_the_camera():
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


def test_scores_are_in_standard_deviations_of_usual_motion():
    values = talking(3000)
    scores = values @ weigh(values, expression_patterns(), 25.0).filters.T  # (n, P)
    assert scores.std(axis=0).max() < 1.4
    assert np.median(scores.std(axis=0)) == pytest.approx(1.0, abs=0.25)


def test_the_share_is_large_along_a_pattern_and_small_otherwise():
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
