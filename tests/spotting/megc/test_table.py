import pytest

from epir.datasets.intervals import Interval
from epir.spotting.megc.scores import SpottedVideo, score_spotting
from epir.spotting.megc.table import load, published_table, spotting_tables


def scores(*corpora):
    label = Interval("v", "s", "micro", 1, None, 10, "disgust")
    twin = Interval("v", "s", "micro", 2, None, 11, "fear")
    prediction = Interval("v", "s", "micro", 1, None, 11, "negative")
    return score_spotting([SpottedVideo(corpus, "s", "v", (label, twin), (prediction,)) for corpus in corpora])


def test_every_corpus_and_kind_has_a_row_with_both_rules():
    table = spotting_tables(scores("synthetic"))[0]
    assert [row.cells[:2] for row in table.rows] == [("synthetic", kind) for kind in ("micro", "macro", "all")]
    micro = table.rows[0].cells
    assert micro[2:8] == ("2", "1", "2", "2.0000", "1.0000", "1.3333")  # a prediction that finds two labels
    assert micro[9:] == ("1", "0.6667")
    assert table.rows[1].cells[2:] == ("0", "0", "0", "–", "–", "–", "–", "0", "–")  # nothing to score
    assert table.caption == "Spotting: 1 video of 1 person"
    assert "a prediction may find two" in table.notes[0]


def test_several_corpora_are_pooled_and_compared_with_published_scores():
    counts, strs, published = spotting_tables(scores("casme-sq", "samm-lv"), notes=["One video failed."])
    assert [row.cells[0] for row in counts.rows[::3]] == ["CAS(ME)²", "SAMM-LV", "pooled"]
    assert counts.notes[-1] == "One video failed." and counts.caption == "Spotting: 2 videos of 2 people"
    ours = [row for row in strs.rows if row.cells[0] == "ours"]
    assert [row.kind for row in ours] == ["strict"] * 3 and ours[0].cells[-1] == "strict (shipped weights)"
    assert ("MEAN", "CAS(ME)²", ".1214") in [row.cells[:3] for row in strs.rows]
    assert ("MDMD", "CAS(ME)²", ".0082", ".1196", ".0376", "organisers' rule") in [row.cells for row in published.rows]
    leaking = [row.cells for row in published.rows if row.cells[0] == "AUW-GCN"]
    assert len(leaking) == 3 and all("leaks" in cells[-1] for cells in leaking)
    assert any("not comparable" in note for note in published.notes)
    assert any(note.startswith("Published numbers from: MEGC 2020") for note in published.notes)


def test_other_weights_are_named_and_not_called_strict():
    strs = spotting_tables(scores("casme-sq"), weights=["shipped", "sha256 0123abcd"])[1]
    assert strs.rows[0].cells[-1] == "weights shipped, sha256 0123abcd" and strs.rows[0].kind == ""
    assert any("strict only if" in note for note in strs.notes)


def test_without_published_scores_there_is_no_third_table():
    assert len(spotting_tables(scores("synthetic"))) == 2
    assert {row.cells[1] for row in published_table(["casme-sq"]).rows} == {"CAS(ME)²"}


def test_published_numbers_are_consistent():
    for each in load("published_strs.csv"):
        spotting, analysis, strs = (float(each[name]) for name in ("f1_spotting", "f1_analysis", "strs"))
        assert spotting * analysis == pytest.approx(strs, abs=1e-4)
    for each in load("published_spotting.csv"):
        assert each["obtained"] and each["source"] and each["corpus"] in ("casme-sq", "samm-lv", "casme3-lv", "pooled")
        values = [float(each[name]) for name in ("micro", "macro", "overall") if each[name]]
        assert values and all(0 <= value < 1 for value in values)
        if len(values) == 3:
            assert min(values[:2]) <= values[2] <= max(values[:2])
