from dataclasses import replace
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binom

from epir.core.errors import RunError
from epir.core.records import Prediction
from epir.evaluation.comparison import (
    CONSTANT,
    FREQUENCY,
    HEAVY,
    Training,
    chance_counts,
    compare,
    compare_all,
    default_models,
    mean_ranks,
    permutation_test,
    scores_with_training,
    training_of,
)
from epir.evaluation.experiment import ZERO_SHOT, Experiment
from epir.evaluation.fold import ClipRecord, FoldRecord
from epir.evaluation.scores import all_scores, uf1
from epir.evaluation.store import Run
from epir.models.folder import shipped_folder, weights_digest
from epir.models.registry import model_settings
from epir.models.settings import SHIPPED
from epir.training.recipe import RECIPES, TrainingSettings

CLASSES = ("negative", "positive", "surprise")
TWO = ("calm", "moved")


def run_of(name, guesses, *, protocol="cde"):
    """A run of these pairs of truth and guess: a list of seeds, of people, of clips."""
    experiment = Experiment(protocol, CLASSES, model_settings("ststnet"), seeds=len(guesses))
    folds = []
    for seed, people in enumerate(guesses):
        for person, pairs in enumerate(people):
            subject, fold = f"{person:03d}", f"smic/{person:03d}"
            clips = tuple(
                ClipRecord("smic", subject, str(clip), truth, guess, guess, seed, fold, (0, 0, 1))
                for clip, (truth, guess) in enumerate(pairs)
            )
            folds.append(FoldRecord(fold, seed, "", clips))
    run = Run(Path(name), experiment, tuple(folds), {}, {})
    run.scores.update(all_scores(run.predictions, CLASSES))
    return run


def random_run(name, right, *, people=16, each=3, seeds=1, protocol="cde", seed=0):
    """A run that is right about a share of its clips."""
    random = np.random.default_rng(seed)

    def pair(number):
        return CLASSES[number % 3], CLASSES[(number + (random.random() >= right)) % 3]

    guesses = [[[pair(person + clip) for clip in range(each)] for person in range(people)] for _ in range(seeds)]
    return run_of(name, guesses, protocol=protocol)


def decided(name, right):
    """A run of one person per entry of `right`, who is wholly right or wholly wrong: UF1 is the share of the right."""
    wrong = (*CLASSES[1:], CLASSES[0])
    return run_of(name, [[list(zip(CLASSES, CLASSES if each else wrong, strict=True)) for each in right]])


def test_the_difference_is_that_of_the_scores():
    first, second = random_run("a", 0.5), random_run("b", 0.8, seed=1)
    comparison = compare(first, second)
    assert comparison.difference == pytest.approx(second.main["uf1"] - first.main["uf1"], abs=1e-6)
    assert comparison.interval[0] < comparison.difference < comparison.interval[1]
    back = compare(second, first)
    assert back.difference == pytest.approx(-comparison.difference) and back.p == pytest.approx(comparison.p, abs=0.01)


def test_a_large_difference_has_a_small_p_value_and_none_has_1():
    assert compare(random_run("a", 0.4), random_run("b", 0.95, seed=1)).p < 0.005
    same = random_run("a", 0.6)
    comparison = compare(same, replace(same, folder=Path("b")))
    assert comparison.difference == 0 and comparison.p == 1 and comparison.interval == (0, 0)


def test_runs_that_are_alike_seldom_look_different():
    chances = [compare(random_run("a", 0.6, seed=n), random_run("b", 0.6, seed=100 + n)).p for n in range(60)]
    assert np.mean(np.array(chances) < 0.1) < 0.25 and np.mean(chances) == pytest.approx(0.5, abs=0.15)


def test_the_interval_of_the_difference_holds_95_percent():
    """Of 100 people the second run alone is right about 50: the difference is the share of them that is drawn."""
    comparison = compare(decided("a", [False] * 100), decided("b", [True] * 50 + [False] * 50))
    low, high = binom.ppf([0.025, 0.975], 100, 0.5) / 100  # 0.40 and 0.60; at 90 % it would be 0.42 and 0.58
    assert comparison.difference == pytest.approx(0.5)
    assert comparison.interval == pytest.approx((low, high), abs=0.011)


def test_the_observed_difference_counts_among_the_random_swaps():
    """Only two of 2**40 swaps give a difference of 1 again, so none of 10,000 random ones does: p is 1 / 10,001."""
    comparison = compare(decided("a", [False] * 40), decided("b", [True] * 40))
    assert comparison.difference == 1 and not comparison.is_exact
    assert comparison.p == pytest.approx(1 / 10_001, rel=1e-9)


def test_every_way_of_swapping_by_hand():
    random = np.random.default_rng(0)
    counts = random.integers(0, 3, size=(2, 1, 6, 3, 3))
    seen = abs(uf1(counts[1, 0].sum(0)) - uf1(counts[0, 0].sum(0)))
    as_large = 0
    for ways in product((0, 1), repeat=6):
        first = sum(counts[way, 0, person] for person, way in enumerate(ways))
        second = sum(counts[1 - way, 0, person] for person, way in enumerate(ways))
        as_large += abs(uf1(second) - uf1(first)) >= seen - 1e-12
    assert permutation_test(counts) == (as_large / 64, True)


def test_random_swaps_come_near_the_exact_p_value():
    random = np.random.default_rng(2)
    counts = random.integers(0, 3, size=(2, 2, 13, 3, 3))
    exact, is_exact = permutation_test(counts)
    nobody = np.zeros((2, 2, 1, 3, 3), dtype=int)  # a person without clips changes nothing, but makes it 14
    sampled, was_exact = permutation_test(np.concatenate([counts, nobody], axis=2))
    assert is_exact and not was_exact and sampled == pytest.approx(exact, abs=0.02)


def test_runs_may_differ_in_their_seeds():
    first, second = random_run("a", 0.5, seeds=2), random_run("b", 0.8, seeds=3, seed=1)
    comparison = compare(first, second)
    assert comparison.difference == pytest.approx(second.main["uf1"] - first.main["uf1"], abs=1e-6)
    assert "seeds: 2 -> 3" in comparison.settings


def test_all_runs_are_compared_with_the_first():
    comparisons = compare_all([random_run("a", 0.5), random_run("b", 0.6, seed=1), random_run("c", 0.7, seed=2)])
    pairs = [(each.second, each.column) for each in comparisons]
    assert pairs == [("b", "strict"), ("b", "best_epoch"), ("c", "strict"), ("c", "best_epoch")]


def test_runs_of_other_clips_or_protocols_are_refused():
    with pytest.raises(
        RunError, match="a and b cannot be compared: they differ in their clips, for example smic/015/0"
    ):
        compare(random_run("a", 0.5), random_run("b", 0.5, people=15))
    words = r"their protocols are cde \(negative, positive, surprise\) and sde-smic .*\n  fix: compare runs of the same"
    with pytest.raises(RunError, match=words):
        compare(random_run("a", 0.5), random_run("b", 0.5, protocol="sde-smic"))


def test_a_zero_shot_run_is_compared_in_strict_alone():
    first, second = random_run("a", 0.5), random_run("b", 0.6, seed=1)
    zero_shot = replace(second, experiment=replace(second.experiment, folds=ZERO_SHOT))
    assert [each.column for each in compare_all([first, zero_shot])] == ["strict"]
    assert [each.column for each in compare_all([zero_shot, first])] == ["strict"]


def experiment_of(model="ststnet", **changes):
    return Experiment("cde", CLASSES, model_settings(model), **changes)


def test_the_training_of_a_run_is_its_recipe_and_its_first_weights(tmp_path):
    scratch = RECIPES["scratch"]
    cases = {
        scratch: Training("scratch", "random"),
        replace(scratch, device="cpu"): Training("scratch", "random"),
        replace(scratch, epochs=3): Training("scratch (changed)", "random"),
        replace(scratch, start=SHIPPED): Training("scratch", "shipped"),
        replace(scratch, start=tmp_path / "mine"): Training("scratch", "mine"),
        TrainingSettings(name="of another version"): Training("of another version", "random"),
        RECIPES["finetune"]: Training("finetune", "shipped"),
    }
    for settings, expected in cases.items():
        assert training_of(experiment_of(training=settings)) == expected


def test_an_estimator_has_no_recipe_and_a_zero_shot_run_names_its_weights():
    assert training_of(experiment_of("bi-woof")) == Training(None, None)
    shipped = weights_digest(shipped_folder())
    assert training_of(experiment_of(folds=ZERO_SHOT, weights=shipped)) == Training("none", "shipped")
    assert training_of(experiment_of(folds=ZERO_SHOT, weights="ab" * 32)) == Training("none", "sha256 abababab")


def test_scores_for_json_say_their_training():
    run = random_run("a", 0.5)
    assert scores_with_training(run) == {"training": "scratch", "first_weights": "random", **run.scores}
    comparison = compare(run, replace(run, folder=Path("b")))
    assert comparison.first_training == comparison.second_training == Training("scratch", "random")


def run_of_truths(truths):
    """A run of folds of one person each: a letter of `truths` for each clip, a word for each person."""
    predictions = [
        Prediction("smic", str(person), f"c{number}", TWO["cm".index(letter)], "calm", "calm", 0, str(person), (1, 0))
        for person, letters in enumerate(truths)
        for number, letter in enumerate(letters)
    ]
    return SimpleNamespace(predictions=predictions, experiment=SimpleNamespace(classes=TWO))


def test_the_default_methods_need_maps_only_and_are_quick():
    assert default_models()[:2] == ("epir", "ststnet") and "lbp-top" not in default_models(heavy=True)
    assert set(default_models(heavy=True)) - set(default_models()) == set(HEAVY)


def test_the_most_frequent_class_is_that_of_the_other_people():
    counts = chance_counts(run_of_truths(["cc", "ccc", "mmmmm"]), CONSTANT)
    np.testing.assert_array_equal(counts[0], [[0, 2], [0, 0]])  # of the others 3 are calm, 5 moved
    np.testing.assert_array_equal(counts[2], [[0, 0], [5, 0]])  # all of the others are calm


def test_guesses_by_frequency_are_expected_counts():
    counts = chance_counts(run_of_truths(["cm", "cccm"]), FREQUENCY)
    np.testing.assert_allclose(counts[0], [[0.75, 0.25], [0.75, 0.25]])
    np.testing.assert_allclose(counts[1], [[1.5, 1.5], [0.5, 0.5]])
    assert counts.sum() == pytest.approx(6)


def test_equal_methods_share_their_ranks():
    assert mean_ranks(np.array([[0.5, 0.9], [0.5, 0.1], [0.5, 0.5]])) == [1.5, 2.5, 2.0]
