from dataclasses import replace

import pytest

from epir.evaluation.fold import ClipRecord, FoldRecord
from epir.models.registry import model_settings
from epir.reports.tables import (
    all_tables,
    choices_table,
    class_table,
    cost_table,
    data_table,
    hardest_table,
    model_cost,
    paired_table,
    published_beside,
    scores_table,
    seed_table,
)


def rows_of(table, kind):
    return [row.cells for row in table.rows if row.kind == kind]


def test_a_corpus_that_the_paper_does_not_know_has_no_published_scores(small):
    run = small(corpora={"synthetic": 4})
    assert published_beside([run]) == ()
    table = scores_table([run])
    assert rows_of(table, "published") == []
    assert len(table.columns) == 8  # no parts


def test_a_protocol_of_one_corpus_takes_its_published_part(small):
    table = scores_table([small(corpora={"smic": 5}, protocol="sde-smic")])
    assert rows_of(table, "published")[0][4] == "0.8025"


def test_each_rung_of_a_ladder_stands_above_its_published_row(small):
    runs = [small("a", model="vit", epochs=1, pictures=False), small("b", model="vit+dtsm", epochs=1, pictures=False)]
    rows = scores_table(runs).rows
    assert [row.cells[0] for row in rows] == ["vit", "vit", "Baseline", "vit+dtsm", "vit+dtsm", "+DTSM"]
    assert rows[2].cells[4] == "0.7325"


def test_the_comparison_is_against_the_first_run(small):
    runs = [small("a", epochs=2), small("b", epochs=2, skill=0.98, seed=3)]
    table = paired_table(runs)
    difference = runs[1].scores["strict"]["uf1"] - runs[0].scores["strict"]["uf1"]
    assert table.caption == "Difference to epir (a) (training scratch (changed), first weights random)"
    assert table.rows[0].cells[:4] == ("epir (b)", "scratch (changed)", "random", "strict")
    assert float(table.rows[0].cells[4]) == pytest.approx(difference, abs=1e-4)


def test_the_mean_of_the_classes_f1_is_uf1(small):
    run = small()
    table = class_table(run)
    for column in ("strict", "best_epoch"):
        f1 = [float(cells[-1]) for cells in rows_of(table, column)]
        assert sum(f1) / 3 == pytest.approx(run.scores[column]["uf1"], abs=1e-4)
    assert table.notes == ()


def test_a_class_without_clips_is_a_dash(small, some_clips):
    clips = [clip for clip in some_clips if clip.emotion != "surprise"]
    table = class_table(small(clips=clips, skill=1.5))
    strict = {cells[0]: cells for cells in rows_of(table, "strict")}
    assert strict["surprise"][4:] == ("0", "–", "–", "–")
    assert strict["negative"][6] == "1.0000"


def test_seeds_are_listed_only_if_there_are_several(small):
    assert seed_table(small()) is None
    run = small("more", seeds=2, epochs=2)
    table = seed_table(run)
    assert [cells[0] for cells in rows_of(table, "strict")] == ["0", "1"]
    mean = sum(float(cells[4]) for cells in rows_of(table, "strict")) / 2
    assert mean == pytest.approx(run.scores["strict"]["uf1"], abs=1e-4)


def test_the_data_add_up_to_the_clips_and_people_of_the_run(small):
    run = small()
    *parts, whole = [row.cells for row in data_table(run).rows]
    assert int(whole[-2]) == run.scores["clips"] == sum(int(cells[-2]) for cells in parts)
    assert int(whole[-1]) == run.scores["people"]
    assert [sum(int(cells[n]) for cells in parts) for n in (1, 2, 3)] == [int(whole[n]) for n in (1, 2, 3)]


def test_the_hardest_clips_come_first_whatever_the_number_of_seeds(plain):
    """A clip counts once; of the wrong ones that whose true class got the lowest score is first."""
    answers = (
        ("easy", "negative", "negative", (0.9, 0.1, 0.0), 0),
        ("hard", "surprise", "negative", (0.9, 0.1, 0.0), 0),
        ("hard", "surprise", "surprise", (0.1, 0.1, 0.8), 1),
        ("between", "positive", "negative", (0.5, 0.45, 0.05), 0),
    )
    records = tuple(
        ClipRecord("casme2", "1", clip, truth, strict, strict, seed, "casme2/1", scores)
        for clip, truth, strict, scores, seed in answers
    )
    run = replace(plain, folds=(FoldRecord("casme2/1", 0, "", records),))
    rows = [row.cells for row in hardest_table(run).rows]
    assert [(row[0], *row[4:]) for row in rows] == [
        ("hard", "negative", "0.400", "1 of 2"),
        ("between", "negative", "0.450", "1 of 1"),
    ]
    assert [row.cells for row in data_table(run).rows] == [("CASME II", "1", "1", "1", "3", "1")]


def test_the_papers_model_has_the_papers_size():
    cost = model_cost(model_settings("epir"))
    assert cost.parameters == 7_025_384
    assert 83.6e6 < cost.multiply_accumulates < 85.1e6  # the paper prints 84.03 M


def test_merging_saves_work_and_a_pipeline_has_no_size_to_tell():
    assert cost_of("epir") < cost_of("epir", integration=0.0)
    assert model_cost(model_settings("bi-woof")) is None


def cost_of(name, **changes):
    return model_cost(model_settings(name, **changes)).multiply_accumulates


def test_the_table_has_a_row_per_run_and_no_score(small):
    table = cost_table([small(epochs=1, pictures=False), small("other", model="ststnet", pictures=False, epochs=1)])
    assert [row.cells[:2] for row in table.rows] == [("epir", "7.03"), ("ststnet", "0.00")]
    assert table.rows[0].cells[-1] == "24 s"  # 6 folds of 4 seconds


def test_every_table_of_scores_says_training_and_first_weights(small):
    run = small(seeds=2, epochs=3)
    for table in (scores_table([run]), paired_table([run, small("b", epochs=20)]), class_table(run), seed_table(run)):
        assert [column.title for column in table.columns[1:3]] == ["training", "first weights"], table.name
        ours = [row.cells[1:3] for row in table.rows if row.kind != "published"]
        assert ours
        assert all(cells[0].startswith("scratch") and cells[1] == "random" for cells in ours)
    assert "training scratch (changed), first weights random" in hardest_table(run).caption


def test_a_zero_shot_run_has_no_best_epoch_in_any_table(zero_shot):
    for table in (scores_table([zero_shot]), class_table(zero_shot)):
        assert {row.kind for row in table.rows} <= {"strict", "published"}


def test_every_fold_of_a_nested_run_says_what_it_chose(plain):
    choices = ("default", "training.lr=1e-4")
    inner = {"default": 0.5, "training.lr=1e-4": 0.75}
    folds = tuple(replace(fold, chosen=choices[n], inner=inner) for n, fold in enumerate(plain.folds))
    run = replace(plain, folds=folds, experiment=replace(plain.experiment, choices=choices))
    table = choices_table(run)
    assert [row.cells[0] for row in table.rows] == [fold.fold for fold in folds]
    assert [row.cells[2:] for row in table.rows] == [(name, "0.5000", "0.7500") for name in choices]
    told = "default in 1 of 2 folds, training.lr=1e-4 in 1 of 2 folds"
    assert table.caption == f"What each fold chose: {told}"
    assert f"epir, nested: {told}." in scores_table([run]).notes
    assert table in all_tables([run])
    assert choices_table(plain) is None


def test_what_the_environment_notes_stands_below_the_scores(plain):
    run = replace(plain, environment={"notes": ["the training record of the weights is unknown"]})
    assert "epir: the training record of the weights is unknown." in scores_table([run]).notes
