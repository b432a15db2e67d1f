import numpy as np
import pytest

from epir.spotting.candidates import bump, find_candidates, find_edges, fit_bumps, foot, separate_peaks
from epir.spotting.measure import HEAD
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
    return find_candidates(skin, np.zeros((count, len(HEAD))), np.ones(count), RATE)


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
    (found,) = [c for c in candidates_of("inner brow", rise_and_fall(200, 90, 97, 108, 0.008)) if c.stands_out > 6]
    assert abs(found.onset - 90) <= 2
    assert abs(found.apex - 97) <= 1
    assert abs(found.offset - 108) <= 2
    assert found.group == "brows"
    assert found.lengths.max() == pytest.approx(0.008, rel=0.15)
    assert found.step < -1


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
    found = find_candidates(skin, np.zeros((count, len(HEAD))), np.ones(count), RATE)
    best = max((c for c in found if c.group == "brows"), key=lambda c: c.stands_out)
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
    skin = np.zeros((count, len(REGIONS), 2))
    assert find_candidates(skin, np.zeros((count, len(HEAD))), np.ones(count), RATE) == []
