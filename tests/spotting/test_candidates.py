import numpy as np
import pytest

from epir.spotting.candidates import (
    bump,
    courses,
    find_candidates,
    find_edges,
    fit_bumps,
    foot,
    key_times,
    separate_peaks,
)
from epir.spotting.measure import HEAD, Motion
from epir.spotting.regions import REGIONS, named

RATE = 50.0


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
    """Skin (n, R, 2) of a head that keeps still."""
    count = len(skin)
    return Motion(skin, np.zeros((count, len(HEAD))), np.ones(count), np.zeros(count))


def test_a_bump_on_a_slope_has_its_amplitude_and_leaves_nothing():
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


def test_what_stays_looks_more_like_a_step_than_like_a_bump():
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


def test_a_dip_between_two_peaks_parts_them():
    """Without the valley rule the flank of the first peak would go on to the foot of the second."""
    course = rise_and_fall(100, 20, 30, 44) + rise_and_fall(100, 34, 50, 60, 0.9)
    valley = 30 + int(course[30:50].argmin())
    assert 0.2 < course[valley] < 0.6 * 0.9
    assert foot(course, 30, 1) == valley
    onset, apex, offset = find_edges(course, 30, 3)
    assert (onset < apex < offset, apex) == (True, 30)
    assert offset < 50


def test_the_apex_comes_two_places_after_the_onset_or_there_is_no_movement():
    assert find_edges(np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0]), 3, 1) == (1, 3, 4)
    assert find_edges(np.array([1.0, 0.9, 0.0, 0.0]), 0, 1) is None


def test_peaks_keep_their_distance_and_the_highest_is_first():
    assert separate_peaks(np.array([0, 3, 2.9, 0, 0, 0, 5, 1.0]), 2.5, 2) == [6, 1]
    assert separate_peaks(np.zeros(0), 1.0, 2) == []


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_too_few_frames_have_no_candidates(count):
    assert find_candidates(motion_of(np.zeros((count, len(REGIONS), 2))), RATE) == []


def course(count, rate, *key_times):
    """The same with key times in seconds."""
    return rise_and_fall(count, *(each * rate for each in key_times))


@pytest.mark.parametrize("rate", [25.0, 30.0, 60.0, 100.0])
@pytest.mark.parametrize(("rise", "fall"), [(0.11, 0.18), (0.18, 0.28), (0.22, 0.14)])
def test_a_clear_course_gives_its_key_times(rate, rise, fall):
    values = course(round(3 * rate), rate, 1.5 - rise, 1.5, 1.5 + fall)
    times = np.array(key_times(values, round(1.53 * rate), rate)) / rate
    assert times == pytest.approx([1.5 - rise, 1.5, 1.5 + fall], abs=0.02 + 1 / rate)


def test_a_slow_drift_below_does_not_matter():
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
