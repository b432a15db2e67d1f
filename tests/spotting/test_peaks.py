import numpy as np
import pytest

from epir.spotting.peaks import bumps, find_blinks, find_peaks, motion_level, smoothed, without_blinks
from epir.spotting.regions import NAMES
from epir.spotting.settings import SpottingSettings

SETTINGS = SpottingSettings()
FPS = 100.0


def rise_and_fall(count, onset, apex, offset, height=0.01):
    numbers = np.arange(count)
    up, down = (numbers - onset) / (apex - onset), (offset - numbers) / (offset - apex)
    return height * np.sin(np.pi / 2 * np.clip(np.minimum(up, down), 0, 1)) ** 2


def motion_of(count, **regions):
    motion = np.full((count, len(NAMES)), 0.0004)
    for name, values in regions.items():
        motion[:, NAMES.index(name)] += values
    return motion


def peaks_of(motion, lids=None, head=None):
    lids = np.zeros(len(motion)) if lids is None else lids
    head = np.zeros(len(motion)) if head is None else head
    blinks = find_blinks(motion, lids, FPS, SETTINGS)
    cleaned = without_blinks(motion, lids, blinks, FPS, SETTINGS)
    return blinks, find_peaks(cleaned, head, FPS, motion_level(cleaned.max(axis=1), SETTINGS), SETTINGS)


def test_onset_apex_and_offset_of_a_movement_like_the_sine_are_found_to_a_few_frames():
    _, (peak,) = peaks_of(motion_of(100, mouth=rise_and_fall(100, 30, 45, 70)))
    assert abs(peak.onset - 30) <= 3
    assert abs(peak.apex - 45) <= 1
    assert abs(peak.offset - 70) <= 4
    assert (peak.region, peak.kind) == ("mouth", "micro-expression")


def test_two_movements_are_two():
    values = rise_and_fall(200, 30, 45, 70) + rise_and_fall(200, 90, 105, 120, 0.006)
    _, found = peaks_of(motion_of(200, brows=values))
    assert [abs(peak.apex - apex) <= 1 for peak, apex in zip(found, (45, 105), strict=True)] == [True, True]


@pytest.mark.parametrize(("length", "kind"), [(30, "micro-expression"), (49, "micro-expression"), (80, "long")])
def test_the_length_decides(length, kind):
    _, (peak,) = peaks_of(motion_of(200, mouth=rise_and_fall(200, 60, 60 + length // 2, 60 + length)))
    assert peak.kind == kind


def test_noise_is_no_movement():
    noise = np.abs(np.random.default_rng(1).normal(0, 0.0008, 600))
    assert peaks_of(motion_of(600, mouth=noise)) == ([], [])


def test_a_noisy_video_asks_for_stronger_movements():
    assert motion_level(np.full(100, 0.002), SETTINGS) == pytest.approx(4 * 0.002)
    assert motion_level(np.full(100, 0.0001), SETTINGS) == SETTINGS.least_motion
    assert motion_level(np.zeros(0), SETTINGS) == SETTINGS.least_motion


def test_a_blink_is_no_movement_though_brows_and_cheeks_follow_it():
    lids = rise_and_fall(100, 40, 48, 60, 0.03)
    blinks, found = peaks_of(motion_of(100, eyes=lids, brows=0.45 * lids, cheeks=0.25 * lids), lids)
    assert [peak.kind for peak in blinks] == ["blink"]
    assert abs(blinks[0].apex - 48) <= 1
    assert found == []


def test_two_blinks_in_a_row_are_bridged_as_one():
    lids = rise_and_fall(100, 30, 38, 46, 0.03) + rise_and_fall(100, 48, 55, 64, 0.03)
    blinks, found = peaks_of(motion_of(100, eyes=lids, brows=0.5 * lids), lids)
    assert len(blinks) == 2
    assert found == []


def test_lowered_brows_drag_the_lids_and_are_no_blink():
    brows = rise_and_fall(100, 30, 45, 70, 0.011)
    blinks, (peak,) = peaks_of(motion_of(100, brows=brows, eyes=0.6 * brows), 0.6 * brows)
    assert blinks == []
    assert peak.region == "brows"


def test_a_smile_during_a_blink_is_found():
    lids = rise_and_fall(100, 40, 48, 60, 0.03)
    blinks, (peak,) = peaks_of(motion_of(100, eyes=lids, mouth=rise_and_fall(100, 35, 50, 75)), lids)
    assert len(blinks) == 1
    assert peak.region == "mouth"


def test_eyes_that_open_wide_are_a_movement_and_a_glance_is_none():
    eyes = rise_and_fall(100, 40, 50, 65, 0.012)
    _, (peak,) = peaks_of(motion_of(100, eyes=eyes), -eyes)
    assert peak.region == "eyes"
    assert peaks_of(motion_of(100, eyes=eyes), 0 * eyes) == ([], [])


def test_a_weak_movement_while_the_head_goes_far_is_the_heads():
    _, (peak,) = peaks_of(motion_of(100, chin=rise_and_fall(100, 30, 45, 70, 0.005)), head=np.full(100, 0.06))
    assert peak.kind == "head"


def test_bumps_of_nothing_are_none():
    assert list(bumps(np.zeros(0), 0.1)) == []
    assert list(bumps(np.zeros(10), 0.1)) == []


def test_smoothing_keeps_constants_and_lengths():
    assert smoothed(np.full(30, 0.5), 2.0) == pytest.approx(np.full(30, 0.5))
    assert len(smoothed(np.arange(3.0), 5.0)) == 3
    assert smoothed(np.array([1.0]), 5.0) == pytest.approx([1.0])
