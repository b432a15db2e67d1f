import csv
import io
from dataclasses import replace

import pytest

from epir.evaluation.comparison import Comparison, Training
from epir.evaluation.experiment import ZERO_SHOT
from epir.evaluation.published import comparisons, ladder
from epir.evaluation.store import open_run
from epir.evaluation.table import comparison_table, score_table
from epir.models.registry import model_settings


@pytest.fixture
def run(finished):
    return open_run(finished / "run")


def rows_of(table):
    return list(csv.DictReader(io.StringIO(table.csv())))


def test_both_columns_stand_above_the_published_scores(run):
    table = score_table([run], comparisons("cde"))
    assert table.caption == "cde: 24 clips of 4 people, 4 folds (leave one person out), 1 seed"
    rows = rows_of(table)
    assert [row["evaluation"] for row in rows[:2]] == ["strict", "best epoch (leaks)"]
    assert {row["evaluation"] for row in rows[2:]} == {
        f"published: {selection}" for selection in ("unknown", "last epoch", "best epoch (leaks)", "no epochs")
    }
    assert rows[0]["all clips UF1"] == f"{run.scores['strict']['uf1']:.4f}"
    low, high = run.scores["strict"]["uf1_interval"]
    assert rows[0]["all clips 95 % interval"] == f"{low:.3f} to {high:.3f}"
    assert rows[1]["SAMM UAR"] == f"{run.scores['best_epoch']['parts']['samm']['uar']:.4f}"
    assert table.rule_before == 2


def test_the_papers_own_method_comes_first_with_the_digits_of_the_paper(run):
    table = score_table([run], comparisons("cde"))
    paper_row = rows_of(table)[2]
    assert (paper_row["method"], paper_row["evaluation"]) == ("EPIR", "published: unknown")
    assert (paper_row["all clips UF1"], paper_row["all clips UAR"]) == ("0.8852", "0.8944")
    assert (paper_row["SAMM UF1"], paper_row["SAMM UAR"]) == ("0.8383", "0.8383")
    text = table.text()
    assert "Published scores (Table 1 of the paper)" in text and "best epoch or unknown" in text
    assert "STSTNet, published (last epoch): the UAR is macro precision" in text


def test_every_row_says_the_training_and_the_first_weights(run):
    recipe = run.experiment.training.name
    table = score_table([run], comparisons("cde"))
    rows = rows_of(table)
    assert [(row["training"], row["first weights"]) for row in rows[:3]] == [(f"{recipe} (changed)", "random")] * 2 + [
        ("", "")
    ]
    assert "Training (changed): settings differ from those of the recipe" in table.text()
    for text in (table.text(), table.markdown(), table.latex(), table.html()):
        assert text.count(f"{recipe} (changed)") == 2 and "first weights" in text


def test_a_zero_shot_run_has_no_best_epoch(run):
    experiment = replace(run.experiment, folds=ZERO_SHOT, weights="0123456789abcdef")
    table = score_table([replace(run, experiment=experiment)])
    (row,) = rows_of(table)
    assert (row["training"], row["first weights"], row["evaluation"]) == ("none", "sha256 01234567", "strict")
    assert "zero-shot: each predicted once, without training" in table.caption


def test_one_corpus_has_no_parts(run):
    parts = {"samm": run.main["parts"]["samm"]}
    columns = {name: {**run.scores[name], "parts": parts} for name in ("strict", "best_epoch")}
    table = score_table([replace(run, scores=run.scores | columns)], names=["mine"])
    assert len(table.columns) == 8 and table.rows[0].cells[0] == "mine"


def test_a_published_rung_stands_below_the_run_of_its_model(run):
    named = [replace(run.experiment, model=model_settings(name)) for name in ("vit", "epir")]
    rows = score_table([replace(run, experiment=experiment) for experiment in named], ladder("cde")).rows
    assert [row.cells[0] for row in rows] == ["vit", "vit", "Baseline", "epir", "epir", "+Token Integration"]


def test_a_comparison_has_difference_interval_p_and_both_trainings():
    trainings = Training("finetune", "shipped"), Training("scratch", "random")
    comparison = Comparison("runs/a", "runs/b", "strict", 0.0512, (-0.01, 0.11), 0.0312, False, (), *trainings)
    table = comparison_table([comparison, replace(comparison, p=0.0002)], names={"runs/b": "b"})
    assert table.caption == "Difference to runs/a (training finetune, first weights shipped)"
    cells = ("b", "scratch", "random", "strict", "+0.0512", "-0.0100 to +0.1100")
    assert [row.cells for row in table.rows] == [(*cells, "0.0312"), (*cells, "< 0.001")]
    assert table.notes == ("p: paired permutation test over people (10,000 random swaps). Only strict is a result.",)
    assert "(exact: all swaps)" in comparison_table([replace(comparison, is_exact=True)]).notes[0]
