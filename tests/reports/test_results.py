from collections import Counter

import numpy as np

from epir.core.records import Prediction
from epir.evaluation.fold import ClipRecord, FoldRecord
from epir.reports.results import (
    Confusion,
    choose_examples,
    clip_tokens,
    confusions,
    epoch_chart,
    is_ladder,
    loss_chart,
    person_scores,
    rate_tokens,
    run_titles,
    series_title,
    sort_runs,
    sweep_charts,
    sweep_of,
)

CLASSES = ("negative", "positive", "surprise")


def said(person, clip, truth, strict, best=None, *, corpus="casme2", seed=0, scores=(0.6, 0.3, 0.1)):
    return Prediction(corpus, person, clip, truth, strict, best or strict, seed, f"{corpus}/{person}", scores)


def test_rows_of_rates_sum_to_one_and_a_class_without_clips_is_nan():
    matrix = Confusion("full", "strict", CLASSES, np.array([[3.0, 1, 0], [0, 2, 0], [0, 0, 0]]))
    assert np.allclose(matrix.rates[:2].sum(axis=1), 1)
    assert matrix.rates[0, 0] == 0.75
    assert np.isnan(matrix.rates[2]).all()


def test_matrices_are_pooled_then_by_corpus_and_add_up(small):
    run = small(seeds=2)
    for column in ("strict", "best_epoch"):
        whole, *parts = confusions(run.predictions, CLASSES, column)
        assert [part.part for part in parts] == ["casme2", "samm", "smic"]
        assert np.allclose(sum(part.counts for part in parts), whole.counts)
        assert np.allclose(whole.counts, run.scores[column]["confusion"], atol=1e-4)
    assert [each.part for each in confusions([said("1", "a", "negative", "negative")], CLASSES, "strict")] == ["full"]


def test_people_are_scored_over_seeds_and_sorted():
    predictions = [
        said("1", "a", "negative", "negative"),
        said("1", "b", "negative", "positive", "negative"),
        said("1", "a", "negative", "negative", seed=1),
        said("1", "b", "negative", "negative", seed=1),
        said("2", "a", "positive", "positive"),
        said("2", "a", "positive", "positive", seed=1),
    ]
    first, second = person_scores(predictions)
    assert (first.person, first.clips, first.strict) == ("casme2/2", 1, 1.0)
    assert (second.person, second.clips, second.strict, second.best_epoch) == ("casme2/1", 2, 0.75, 1.0)
    assert person_scores(predictions, ("strict",))[0].best_epoch is None  # without epochs


def fold(loss, by_epoch, truth="negative", best="negative"):
    strict = CLASSES[by_epoch[-1]] if by_epoch else "negative"
    clip = ClipRecord("c", "1", "a", truth, strict, best, 0, "c/1", (1, 0, 0), by_epoch=tuple(by_epoch))
    return FoldRecord("c/1", 0, "d", (clip,), tuple(loss))


def test_the_loss_curve_is_the_mean_and_its_band_holds_it():
    chart = loss_chart([fold((1.0, 0.5), (0, 0)), fold((3.0, 1.5), (0, 0))])
    line = chart.lines[0]
    assert line.y == (2.0, 1.0)
    assert all(low <= y <= high for low, y, high in zip(line.low, line.y, line.high, strict=True))
    assert line.x == (1, 2)


def test_accuracy_per_epoch_is_pooled_and_says_that_it_leaks():
    chart = epoch_chart([fold((1, 1), (1, 0)), fold((1, 1), (0, 0))], CLASSES)
    assert chart.lines[0].y == (0.5, 1.0)
    assert "leaks" in chart.title
    assert "leaks" in chart.lines[0].name
    assert [line.kind for line in chart.lines[1:]] == ["strict", "best_epoch"]


def test_a_model_without_epochs_has_no_curves():
    assert loss_chart([fold((), ())]) is None
    assert epoch_chart([fold((), ())], CLASSES) is None


def test_right_examples_come_first_and_every_class_takes_its_turn(small):
    run = small(corpora={"casme2": 12}, epochs=2)
    examples = choose_examples(run)
    rights = [example.is_right for example in examples]
    assert rights == sorted(rights, reverse=True)
    assert sum(rights) == 6
    counts = Counter(example.prediction.truth for example in examples if example.is_right)
    assert set(counts.values()) == {2}


def test_examples_are_the_most_confident_of_the_first_seed(small):
    run = small(seeds=2, epochs=2)
    example = choose_examples(run, right=1, wrong=0)[0]
    rivals = [
        each for each in run.predictions if each.seed == 0 and each.strict == each.truth == example.prediction.truth
    ]
    assert example.prediction.seed == 0
    assert max(example.prediction.scores) == max(max(each.scores) for each in rivals)
    assert example.tokens is not None


def test_a_model_that_keeps_no_tokens_still_has_examples(small):
    assert all(example.tokens is None for example in choose_examples(small(tokens=False, epochs=1)))


def test_a_model_without_selection_has_selected_nothing(small):
    run = small(model="vit", epochs=1)
    keys = {each.key for each in run.predictions}
    tokens = clip_tokens(run, keys, 0)
    assert tokens.keys() == keys
    assert all(each.selected == () for each in tokens.values())


def test_runs_that_differ_in_blocks_alone_are_a_sweep_in_the_order_of_their_blocks(small):
    runs = [small(f"r{blocks}", blocks=blocks, epochs=1, pictures=False) for blocks in (13, 7, 9)]
    assert sweep_of(runs) == "blocks"
    ordered = sort_runs(runs)
    assert [run.experiment.model.blocks for run in ordered] == [7, 9, 13]
    assert run_titles(ordered) == ["blocks 7", "blocks 9", "blocks 13"]
    assert series_title(ordered) == "epir, sweep over the number of blocks,"


def test_runs_that_differ_in_two_settings_are_no_sweep_and_have_no_charts(small):
    runs = [small("a", epochs=1, pictures=False), small("b", blocks=7, integration=0.0, epochs=1, pictures=False)]
    assert sweep_of(runs) is None and sweep_charts(runs) == []
    assert run_titles(runs) == ["epir (a)", "epir (b)"]
    assert series_title(runs) == "2 runs"


def test_rungs_are_a_ladder_from_the_lowest(small):
    runs = [small("a", model="epir", epochs=1, pictures=False), small("b", model="vit", epochs=1, pictures=False)]
    assert is_ladder(runs)
    assert [run.name for run in sort_runs(runs)] == ["vit", "epir"]
    assert not is_ladder(runs[:1])
    assert not is_ladder([runs[0], runs[0]])


def test_scores_are_drawn_against_the_setting_in_both_columns(rates):
    uf1, uar = sweep_charts(rates)
    assert (uf1.name, uar.name) == ("sweep-integration-uf1", "sweep-integration-uar")
    strict, best = uf1.lines
    assert strict.x == (0.0, 30.0)
    assert strict.y == tuple(run.scores["strict"]["uf1"] for run in rates)
    assert strict.low == tuple(run.scores["strict"]["uf1_interval"][0] for run in rates)
    assert (best.name, best.kind) == ("best epoch (leaks)", "best_epoch")
    assert best.y == tuple(run.scores["best_epoch"]["uf1"] for run in rates)


def test_a_clip_of_a_sweep_has_its_tokens_at_every_rate_in_per_cent(rates):
    assert sweep_of(rates) == "integration" and run_titles(rates) == ["integration 0 %", "integration 30 %"]
    rows = rate_tokens(rates, clips=2)
    assert len(rows) == 2
    assert [round(tokens.rate, 2) for tokens in rows[0][1]] == [0.0, 0.31]
