import pytest

from epir.reports.scoretables import (
    class_table,
    comparison_table,
    data_table,
    printed_beside,
    score_table,
    seed_table,
)

CLASSES = ("negative", "positive", "surprise")


def rows_of(table, kind):
    return [row.cells for row in table.rows if row.kind == kind]


def test_both_columns_of_a_run_stand_above_the_printed_scores(small):
    run = small()
    table = score_table([run])
    assert [row.kind for row in table.rows[:3]] == ["strict", "best_epoch", "printed"]
    assert {row.kind for row in table.rows[2:]} == {"printed"}
    strict = rows_of(table, "strict")[0]
    assert strict[:3] == ("epir", "strict", f"{run.scores['strict']['uf1']:.4f}")
    assert strict[-1] == f"{run.scores['strict']['parts']['smic']['uar']:.4f}"
    assert rows_of(table, "best_epoch")[0][1] == "best epoch (leaks)"


def test_the_papers_own_row_comes_first_with_its_digits_and_says_what_it_is(small):
    own = rows_of(score_table([small()]), "printed")[0]
    assert own[:3] == ("EPIR", "printed: unknown", "0.8852")
    assert "0.8383" in own


def test_every_printed_row_says_how_its_epoch_was_chosen(small):
    labels = {cells[1] for cells in rows_of(score_table([small()]), "printed")}
    known = {"unknown", "last epoch", "best epoch (leaks)", "no epochs"}
    assert labels <= {f"printed: {selection}" for selection in known}
    assert len(labels) > 1


def test_a_corpus_that_the_paper_does_not_know_has_no_printed_scores(small):
    run = small(corpora={"synthetic": 4})
    assert printed_beside([run]) == ()
    table = score_table([run])
    assert rows_of(table, "printed") == []
    assert len(table.columns) == 6  # no parts
    assert len(table.notes) == 1


def test_a_protocol_of_one_corpus_takes_its_printed_part(small):
    table = score_table([small(corpora={"smic": 5}, protocol="sde-smic")])
    assert rows_of(table, "printed")[0][2] == "0.8025"


def test_each_rung_of_a_ladder_stands_above_its_printed_row(small):
    runs = [small("a", model="vit", epochs=1), small("b", model="vit+dtsm", epochs=1)]
    rows = score_table(runs).rows
    assert [row.cells[0] for row in rows] == ["vit", "vit", "Baseline", "vit+dtsm", "vit+dtsm", "+DTSM"]
    assert rows[2].cells[2] == "0.7325"


def test_the_comparison_is_against_the_first_run(small):
    runs = [small("a", epochs=2), small("b", epochs=2, skill=0.98, seed=3)]
    table = comparison_table(runs)
    difference = runs[1].scores["strict"]["uf1"] - runs[0].scores["strict"]["uf1"]
    assert table.rows[0].cells[:2] == ("epir (b) − epir (a)", "strict")
    assert float(table.rows[0].cells[2].replace("−", "-")) == pytest.approx(difference, abs=1e-4)


def test_the_mean_of_the_classes_f1_is_uf1(small):
    run = small()
    table = class_table(run)
    for column in ("strict", "best_epoch"):
        f1 = [float(cells[-1]) for cells in rows_of(table, column)]
        assert sum(f1) / 3 == pytest.approx(run.scores[column]["uf1"], abs=1e-4)
    assert table.notes == ()


def test_a_class_without_clips_is_a_dash(small, invented_clips):
    clips = [clip for clip in invented_clips if clip.emotion != "surprise"]
    table = class_table(small(clips=clips, skill=1.5))
    strict = {cells[0]: cells for cells in rows_of(table, "strict")}
    assert strict["surprise"][2:] == ("0", "–", "–", "–")
    assert strict["negative"][4] == "1.0000"


def test_seeds_are_told_apart_only_if_there_are_several(small):
    assert seed_table(small()) is None
    run = small("more", seeds=2, epochs=2)
    table = seed_table(run)
    assert [cells[0] for cells in rows_of(table, "strict")] == ["0", "1"]
    mean = sum(float(cells[2]) for cells in rows_of(table, "strict")) / 2
    assert mean == pytest.approx(run.scores["strict"]["uf1"], abs=1e-4)


def test_the_data_add_up_to_the_clips_and_people_of_the_run(small):
    run = small()
    *parts, whole = [row.cells for row in data_table(run).rows]
    assert int(whole[-2]) == run.scores["clips"] == sum(int(cells[-2]) for cells in parts)
    assert int(whole[-1]) == run.scores["people"]
    assert [sum(int(cells[n]) for cells in parts) for n in (1, 2, 3)] == [int(whole[n]) for n in (1, 2, 3)]
