"""Counts behind printed scores: the paper's own rows, and every printed pair that a real table would give."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epir.core.errors import ConfigError
from epir.evaluation.printed import CLIPS, FULL, Printed, explain, explanation_table, read_printed
from epir.evaluation.scores import uar, uf1


def explained(row, tolerance=None):
    return explain(read_printed([row], tolerance))


def test_the_clips_are_those_of_the_composite():
    assert {name: sum(counts) for name, counts in CLIPS.items()} == {"casme2": 145, "samm": 133, "smic": 164}
    assert Printed(FULL, 0, 0).clips == (250, 109, 83)


def test_the_row_of_epir_in_table_1_fits_exactly_one_set_of_hits():
    explanation = explained("1:EPIR")
    assert explanation.together == ({"casme2": (88, 31, 25), "samm": (87, 20, 12), "smic": (55, 44, 37)},)
    assert explanation.alone["smic"] == ((52, 45, 38), (55, 44, 37))  # the composite tells them apart
    assert "Exactly one set of hits" in explanation_table(explanation).text()


def test_samm_in_table_4_is_impossible():
    explanation = explained("4:+Token Integration")
    assert explanation.alone["samm"] == () and len(explanation.alone["casme2"]) == 1 and explanation.together == ()
    words = "No single run pooled over these clips gives the printed scores for SAMM."
    assert words in explanation_table(explanation).text()


@pytest.mark.parametrize("rung", ["Baseline", "+DTSM", "+ITALS", "+SPT"])
@pytest.mark.parametrize("tolerance", [None, 1e-4])
def test_four_rungs_of_table_4_fit_no_single_run(rung, tolerance):
    assert explained(f"4:{rung}", tolerance).together == ()


def test_the_rung_dnspt_fits_with_twice_the_tolerance_alone():
    assert explained("4:+DNSPT").together == ()
    assert explained("4:+DNSPT", 1e-4).together == (
        {"casme2": (88, 30, 25), "samm": (88, 18, 11), "smic": (56, 41, 37)},
    )


@settings(max_examples=25)
@given(st.randoms(use_true_random=False), st.sampled_from([*CLIPS, "5,4,3"]))
def test_the_scores_of_a_real_table_are_always_explained(random, part):
    clips = Printed(part, 0, 0).clips
    confusion = np.zeros((3, 3), dtype=int)
    for truth, count in enumerate(clips):
        for _ in range(count):
            confusion[truth, truth if random.random() < 0.9 else random.randrange(3)] += 1
    explanation = explain([Printed(part, round(float(uf1(confusion)), 4), round(float(uar(confusion)), 4))])
    assert tuple(np.diagonal(confusion).tolist()) in explanation.alone[part]


def test_false_alarms_must_be_possible():
    """Two clips of the first class missed, none of the others: the first class has no false alarm."""
    explanation = explain([Printed("4,2,2", *_scores([[2, 1, 1], [0, 2, 0], [0, 0, 2]]))])
    assert explanation.alone["4,2,2"] == ((2, 2, 2),)
    wrong = np.mean([2 * 2 / (4 + 3), 2 * 2 / (2 + 3), 1])  # as if one of the missed were answered with their own class
    assert explain([Printed("4,2,2", float(wrong), 5 / 6)]).alone["4,2,2"] == ()


def _scores(rows):
    return float(uf1(np.array(rows))), float(uar(np.array(rows)))


def test_one_part_alone_makes_no_claim_about_all():
    explanation = explain(read_printed(["0.8852 0.8944"]))
    assert explanation.together is None and len(explanation.alone[FULL]) == 21
    assert "Each pair can be the score of one pooled run." in explanation_table(explanation).text()


def test_the_tolerance_follows_the_printed_digits():
    assert [each.tolerance for each in read_printed(["smic 0.743/0.749", "samm 0.7720 0.7580"])] == [5e-4, 5e-5]
    assert read_printed(["0.743 0.749"], 1e-3)[0].tolerance == 1e-3


def test_too_few_digits_are_refused_instead_of_searched_for_hours():
    texts = ["full 0.74 0.73", "casme2 0.87 0.87", "samm 0.71 0.71", "smic 0.77 0.78"]
    with pytest.raises(ConfigError, match=r"[\d,]{9,} combinations .* too many to search\n  fix: give more digits"):
        explain(read_printed(texts))


@pytest.mark.parametrize(
    ("texts", "problem", "fix"),
    [
        (["0.8"], "'0.8' is not a pair of scores", '"PART UF1 UAR"'),
        (["ck 0.8 0.8"], "'ck' is not a part of the composite", "use full, casme2, samm, smic or the clips"),
        (["88.5 89.4"], "88.5 89.4 are not between 0 and 1", "as fractions"),
        (["x y"], "x y are not scores", "as printed"),
        (["9:EPIR"], "no printed row 9:EPIR", "1:EPIR"),
        (["900,1,1 0.5 0.5"], "900,1,1 are too many clips", "at most 800"),
        (["0.8 0.8", "full 0.7 0.7"], "two pairs are given for full", "one printed row at a time"),
    ],
)
def test_what_cannot_be_read(texts, problem, fix):
    with pytest.raises(ConfigError) as error:
        read_printed(texts)
    assert problem in error.value.problem and fix in error.value.fix


def test_the_page_on_the_paper_s_tables_has_the_computed_numbers():
    page = (Path(__file__).parents[2] / "docs" / "reading-the-paper.md").read_text(encoding="utf-8")
    for rung in ("Baseline", "+DTSM", "+ITALS", "+SPT", "+DNSPT", "+Token Integration"):
        alone = explained(f"4:{rung}").alone
        cells = " | ".join(str(len(alone[part])) for part in ("samm", "casme2", "smic", FULL))
        assert f"| {rung} | {cells} | none |" in page
    for part, hits in explained("1:EPIR").together[0].items():
        assert f"{'/'.join(map(str, hits))}" in page, part
