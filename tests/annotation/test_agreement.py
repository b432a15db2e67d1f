"""Matching is tested against every assignment, the numbers of a pair against a study worked by hand."""

import sys
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))
from coded_studies import FPS, accept, new_study

from epir.annotation.agreement import Coding, agreement, groups, match_movements
from epir.annotation.agreement_page import pairs_table
from epir.annotation.records import Decision, UnitCode
from epir.annotation.schema import StudyError
from epir.spotting.timeline import overlap


def coding(onset, offset, coder="a", face=0, apex=None, **fields):
    apex = (onset + offset) // 2 if apex is None else apex
    return Coding(Decision(1, coder, "accept", onset, apex, offset, **fields), 1, face, "p", FPS)


spans = st.lists(st.tuples(st.integers(0, 40), st.integers(2, 20)), max_size=5)


@given(spans, spans)
def test_no_other_assignment_matches_more_or_better(ones, others):
    first, second = ([coding(start, start + length) for start, length in each] for each in (ones, others))

    def worth(pairs):
        shared = [overlap(first[a].span, second[b].span) for a, b in pairs]
        kept = [each for each in shared if each >= 0.5]
        return len(kept), sum(kept)

    turned = len(first) > len(second)
    few, many = (second, first) if turned else (first, second)
    every = (list(enumerate(order)) for order in permutations(range(len(many)), len(few)))
    best = max(worth([(b, a) for a, b in pairs] if turned else pairs) for pairs in every)
    matched = match_movements(first, second)
    assert worth(matched) == (best[0], pytest.approx(best[1]))
    assert len(matched) == best[0]  # and nothing below half


def test_equal_overlaps_match_the_nearer_apex():
    one, far, near = coding(10, 29, apex=20), coding(10, 29, apex=28), coding(10, 29, apex=21)
    assert match_movements([one], [far, near]) == [(0, 1)]


def test_faces_are_apart_and_more_matches_come_before_better_ones():
    assert match_movements([coding(0, 9)], [coding(0, 9, face=1)]) == []
    chain = [coding(0, 19), coding(5, 24)], [coding(5, 24), coding(10, 29)]  # the best pair would leave two alone
    assert match_movements(*chain) == [(0, 0), (1, 1)]


def test_groups_match_any_number_of_coders():
    by_coder = {name: [coding(10 + shift, 29 + shift, name)] for name, shift in (("a", 0), ("b", 2), ("c", 1))}
    by_coder["c"].append(coding(100, 120, "c"))
    assert [sorted(group) for group in groups(by_coder)] == [["a", "b", "c"], ["c"]]
    assert groups({}) == []


def test_a_pair_worked_by_hand(tmp_path):
    with new_study(tmp_path / "study", people=("p1", "p2")) as study:
        a, b, c, d, e, f, *_ = [each.id for each in study.movements()]  # four of p1, then of p2
        accept(study, "anna", a, emotion="fear", units=[UnitCode(1, "", "B"), UnitCode(2)])
        accept(study, "ben", a, emotion="fear", units=[UnitCode(1, "", "C")], onset=110, apex=124)  # 30 of 40 frames
        accept(study, "anna", b, emotion="fear")
        study.decide("ben", b, state="reject")
        accept(study, "anna", c, emotion="fear")  # ben has not seen it
        study.decide("anna", d, state="reject")
        study.decide("ben", d, state="reject")
        accept(study, "anna", e, emotion="anger", units=[UnitCode(4, "left", "A")])
        accept(study, "ben", e, emotion="disgust", units=[UnitCode(4, "right", "D"), UnitCode(9)])
        accept(study, "anna", f, emotion="anger")
        accept(study, "ben", f, kind="macro")  # no word for it
        study.mark("ben", 2, 1500, 1510, 1530, emotion="fear", units=[UnitCode(12)])
        result = agreement(study)
    (pair,) = result.pairs
    assert (pair.first, pair.second, pair.recordings, pair.people) == ("anna", "ben", 2, 2)
    assert (pair.matched, pair.accepted, pair.unseen) == (3, (4, 4), (1, 0))
    assert pair.f1 == pytest.approx(6 / 8)
    assert pair.iou == pytest.approx((0.75 + 1 + 1) / 3)
    assert pair.apart_frames == {"onset": 0, "apex": 0, "offset": 0}
    assert (pair.emotion.compared, pair.emotion.same) == (2, 1)
    assert pair.emotion.kappa == pytest.approx((1 / 2 - 1 / 4) / (3 / 4))
    assert pair.emotion.words == ("anger", "disgust", "fear")
    assert pair.emotion.confusion == ((0, 1, 0), (0, 0, 0), (0, 0, 1))
    assert (pair.candidates.compared, pair.candidates.same) == (5, 4)
    assert (pair.kind.compared, pair.kind.same) == (3, 2)
    assert pair.unit_reliability == pytest.approx(2 * 2 / (3 + 3))  # 1 and 4 of {1, 2, 4} and {1, 4, 9}
    assert pair.unit_reliability_of_all == pytest.approx(2 * 2 / (3 + 3 + 1))  # and 12, where ben was alone
    units = {each.unit: each for each in pair.units}
    assert sorted(units) == [1, 2, 4, 9]
    assert (units[1].both, units[1].same_side, units[1].same_intensity, units[1].near_intensity) == (1, 1, 0, 1)
    assert (units[4].both, units[4].same_side, units[4].graded, units[4].near_intensity) == (1, 0, 1, 0)
    assert (units[9].first, units[9].second, units[9].reliability) == (0, 1, 0)
    assert result.decisions["ben"] == {"accept": 4, "reject": 2, "unsure": 0}
    assert result.alpha["candidates"].compared == 5


def test_kappa_of_emotions_has_an_interval_over_people(tmp_path):
    with new_study(tmp_path / "study", people=[f"p{n}" for n in range(8)]) as study:
        for number, movement in enumerate(study.movements()):
            word = ("fear", "anger")[number % 2]
            accept(study, "anna", movement.id, emotion=word)
            accept(study, "ben", movement.id, emotion="fear" if number % 8 == 1 else word)
        (pair,) = agreement(study).pairs
    low, high = pair.emotion.interval
    assert low < 0.75 < high <= 1
    assert pair.emotion.kappa == pytest.approx(0.75)  # 28 of 32; chance (16 * 20 + 16 * 12) / 32 ** 2 = 1 / 2


def test_recordings_without_both_coders_do_not_count(tmp_path):
    with new_study(tmp_path / "study", people=("p1", "p2")) as study:
        ids = [each.id for each in study.movements()]
        for each in ids:
            accept(study, "anna", each)
        for each in ids[:4]:
            accept(study, "ben", each)
        (pair,) = agreement(study).pairs
    assert (pair.recordings, pair.accepted, pair.unseen, pair.f1) == (1, (4, 4), (0, 0), 1.0)
    assert np.isnan(pair.emotion.kappa) and np.isnan(pair.unit_reliability)
    assert pair.units == ()


def test_coders_without_a_recording_in_common_keep_their_names(tmp_path):
    with new_study(tmp_path / "study", people=("p1", "p2")) as study:
        accept(study, "anna", 1)
        accept(study, "ben", 5)
        study.decide("carl", 5, onset=90)  # a draft
        result = agreement(study)
    assert [(pair.first, pair.second) for pair in result.pairs] == [("anna", "ben"), ("anna", "carl"), ("ben", "carl")]
    assert [row.cells[:2] for row in pairs_table(result).rows] == [
        ("anna, ben", "0"),
        ("anna, carl", "0"),
        ("ben, carl", "0"),
    ]


def test_three_coders_have_an_alpha_and_three_pairs_and_json_has_no_nan(tmp_path):
    with new_study(tmp_path / "study") as study:
        for coder in ("anna", "ben", "carl"):
            for number, movement in enumerate(study.movements()):
                word = "fear" if number % 2 else "anger"
                accept(study, coder, movement.id, emotion="contempt" if (coder, number) == ("carl", 0) else word)
        study.decide("agreed", 1, state="reject")
        result = agreement(study)
    assert result.coders == ("anna", "ben", "carl")
    assert len(result.pairs) == 3
    assert 0.8 < result.alpha["emotion"].alpha < 1
    plain = result.to_dict()
    assert plain["alpha"]["candidates"] == {"compared": 12, "alpha": None}  # all accept all
    assert plain["pairs"][0]["emotion"]["kappa"] == 1.0


def test_comparing_needs_two_coders_and_a_valid_overlap(tmp_path):
    with new_study(tmp_path / "study") as study:
        with pytest.raises(StudyError, match="nobody has coded"):
            agreement(study)
        accept(study, "anna", 1)
        with pytest.raises(StudyError, match=r"only anna has coded.*\n.*--coder NAME"):
            agreement(study)
        accept(study, "ben", 1)
        with pytest.raises(StudyError, match=r"carl has decided nothing.*\n.*anna, ben"):
            agreement(study, ["anna", "carl"])
        with pytest.raises(StudyError, match="--overlap cannot be 0"):
            agreement(study, least=0.0)
