from dataclasses import replace

import numpy as np
import pytest

from epir.core.errors import ConfigError
from epir.spotting.candidates import Candidate, expression_patterns
from epir.spotting.decision import (
    SpottingSettings,
    features,
    is_blink,
    is_macro,
    judge,
    match_pattern,
    probability,
    weights,
    where,
)
from epir.spotting.measure import HEAD
from epir.spotting.regions import REGIONS, members, named
from epir.spotting.timeline import REASONS

RATE = 50.0
RESTLESS = np.full(len(REGIONS), 0.003)
WEAK = {"stands_out": 2.6, "evidence": 2.0, "share": 0.1, "unusual": 0.8}


def candidate(region="inner brow", amplitude=0.006, down=-1.0, others=None, **changes):
    """A clean movement of one region on both sides, unless told otherwise."""
    amplitudes = np.zeros((len(REGIONS), 2))
    for name, size in {region: amplitude * down, **(others or {})}.items():
        amplitudes[named(name), 1] = size
    bump = Candidate(
        onset=100,
        apex=107,
        offset=117,
        group=REGIONS[named(region)[0]].group,
        strongest=int(named(region)[0]),
        stands_out=12.0,
        isolated=12.0,
        amplitudes=amplitudes,
        residual=np.full(len(REGIONS), 0.0003),
        head=np.zeros(len(HEAD)),
        head_residual=np.zeros(len(HEAD)),
        mismatch=1.0,
        step=-2.0,
        evidence=9.0,
        share=0.8,
        unusual=4.0,
    )
    return replace(bump, **changes)


def verdict(movement, blinks=()):
    return judge(movement, blinks, RATE, SpottingSettings())


@pytest.mark.parametrize("region", ["inner brow", "outer brow", "cheek", "lip corner"])
def test_a_clear_small_brief_movement_is_a_micro_expression(region):
    assert verdict(candidate(region)).reason == ""
    assert verdict(candidate(region)).probability > 0.5


@pytest.mark.parametrize(
    ("movement", "reason"),
    [
        (candidate(amplitude=0.03), "too large"),
        (candidate("cheek", others={"lip corner": -0.03}), "too large"),
        (candidate(offset=140, foot=0.9), "too long"),
        (candidate(head=np.full(len(HEAD), 0.05)), "head"),
        (candidate(head_residual=np.full(len(HEAD), 0.05)), "head"),
        (candidate(mismatch=8.0), "occlusion"),
        (candidate(mismatch=8.0, light=0.1), "light"),
        (candidate(head=np.full(len(HEAD), 0.05), light=0.1), "light"),
        (candidate(head=np.full(len(HEAD), 0.05), light=0.02), "head"),
        (candidate("lower lip", isolated=1.5), "speech"),
        (candidate("lip corner", residual=RESTLESS, stands_out=4.0, isolated=2.2, unreturned=0.6), "speech"),
        (candidate("upper lid", 0.006, down=1.0), "gaze"),
        (candidate("upper lid", 0.03, down=1.0), "blink"),
        (candidate(step=3.0, isolated=1.0, unreturned=1.0, residual=RESTLESS, **WEAK), "return of an expression"),
        (candidate(isolated=0.5, foot=0.55, residual=RESTLESS, **WEAK), "unclear"),
    ],
)
def test_everything_else_is_rejected_with_its_reason(movement, reason):
    assert verdict(movement).reason == reason
    assert reason in REASONS


def test_a_very_brief_movement_is_too_short():
    assert judge(candidate(onset=105, offset=108), (), 200.0, SpottingSettings()).reason == "too short"


def test_lids_that_move_far_down_are_a_blink_unless_they_follow_the_brows():
    assert is_blink(candidate("upper lid", 0.03, down=1.0))
    assert not is_blink(candidate("upper lid", 0.03, down=-1.0))
    assert not is_blink(candidate("upper lid", 0.012, down=1.0, others={"inner brow": 0.02, "outer brow": 0.02}))


@pytest.mark.parametrize("size", [-0.006, -0.012, 0.012])  # below zero is up
def test_a_blink_vetoes_brows_at_the_same_frames_however_far_they_go(size):
    blink = candidate("upper lid", 0.03, down=1.0)
    assert verdict(candidate("lip corner"), [blink]).reason == "", "the mouth does not go along"
    brows = candidate("inner brow", abs(size), np.sign(size), others={"outer brow": size})
    assert verdict(brows).reason == ""
    assert verdict(brows, [blink]).reason == "blink"
    assert verdict(replace(brows, onset=104, apex=120, offset=126), [blink]).reason == "blink"  # the blink is inside
    assert verdict(replace(brows, onset=119, apex=126, offset=136), [blink]).reason == ""


def test_a_blink_vetoes_a_movement_of_the_whole_face_that_is_farthest_in_the_brows():
    blink = candidate("upper lid", 0.03, down=1.0)
    face = candidate("lip corner", 0.004, others={"inner brow": -0.008})
    assert REGIONS[where(face)].group == "brows"
    assert verdict(face, [blink]).reason == "blink"


@pytest.mark.parametrize(
    "movement",
    [
        candidate(head=np.full(len(HEAD), 0.05)),
        candidate(mismatch=8.0),
        candidate("lower lip", isolated=1.5),
        candidate("upper lid", 0.03, down=1.0),
    ],
)
def test_a_rule_does_not_change_the_probability(movement):
    judged = verdict(movement)
    assert judged.by_rule and judged.reason
    assert judged.probability == probability(features(movement, RATE)) > 0


def test_a_brow_movement_is_not_speech():
    talking = candidate("lip corner", 0.004, others={"inner brow": -0.008}, isolated=1.5)
    assert verdict(talking).reason == "unclear" and verdict(talking).by_rule
    assert verdict(candidate("lip corner", 0.004, isolated=1.5)).reason == "speech"


def test_every_measure_has_a_weight():
    assert set(weights()) == {*features(candidate(), RATE), "constant"}


def test_evidence_against_a_candidate_lowers_its_probability():
    worse = {
        "stands_out": 4.0,
        "isolated": 3.0,
        "step": 2.0,
        "head": np.full(len(HEAD), 0.02),
        "foot": 0.6,
        "unreturned": 1.0,
    }
    for name, value in worse.items():
        lower = probability(features(candidate(**{name: value}), RATE))
        assert lower < probability(features(candidate(), RATE)), name


def test_motion_like_an_expression_is_more_probable():
    pattern = 0.006 * expression_patterns()[0] / np.hypot(*np.moveaxis(expression_patterns()[0], -1, 0)).max()
    turned = np.stack([-pattern[:, 1], pattern[:, 0]], axis=1)
    strongest = int(np.hypot(pattern[:, 0], pattern[:, 1]).argmax())
    chosen = [candidate(amplitudes=each, strongest=strongest) for each in (pattern, turned)]
    assert match_pattern(chosen[0], expression_patterns())[1] == pytest.approx(1, abs=0.02)
    assert match_pattern(chosen[1], expression_patterns())[1] < 0.9
    assert probability(features(chosen[0], RATE)) > probability(features(chosen[1], RATE))


def test_a_restless_region_hardly_counts_in_the_match():
    pattern = expression_patterns()[:1]
    rest = np.full(len(REGIONS), 0.0003)
    rest[members("lips and chin")] = 0.03
    amplitudes = 0.006 * pattern[0]
    amplitudes[members("lips and chin")] = 0.01
    assert match_pattern(candidate(amplitudes=amplitudes, residual=rest), pattern)[1] > 0.95


@pytest.mark.parametrize("changes", [{}, {"unreturned": 0.8}, {"stands_out": 3.0}, {"offset": 120}, {"offset": 400}])
def test_a_macro_expression_lasts_stands_out_and_returns(changes):
    chosen = candidate(**{"offset": 170, "stands_out": 8.0, **changes})
    assert is_macro(chosen, RATE, SpottingSettings()) is (not changes)


def test_a_brow_is_judged_whatever_the_chin_does():
    rest = np.full(len(REGIONS), 0.0003)
    rest[members("lips and chin")] = 0.004
    assert verdict(candidate(residual=rest, others={"chin": 0.03})).reason in ("", "unclear")


def test_a_micro_expression_lasts_from_a_25th_to_half_a_second():
    assert (SpottingSettings().shortest, SpottingSettings().longest) == (0.04, 0.5)


def test_a_higher_sensitivity_lowers_the_threshold():
    low, normal, high = (SpottingSettings(sensitivity=each).threshold for each in ("low", "normal", "high"))
    assert low > normal > high


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"size": 3}, r"spotting.size cannot be 3\n  fix: give a size in pixels from 24 to 512"),
        ({"shortest": 1.0}, r"cannot last from 1 to 0.5 seconds\n  fix: give shortest below longest"),
        ({"sensitivity": "hihg"}, r"'hihg'(.|\n)*did you mean 'high'"),
    ],
)
def test_impossible_settings_are_refused(changes, words):
    with pytest.raises(ConfigError, match=words):
        SpottingSettings(**changes)
