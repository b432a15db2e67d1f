import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from sklearn.metrics import accuracy_score, f1_score, precision_score, recall_score
from sklearn.metrics import confusion_matrix as oracle_matrix

from epir.core.records import Prediction
from epir.evaluation.scores import (
    accuracy,
    all_scores,
    confusion_matrix,
    counts_by_person,
    macro_precision,
    score_predictions,
    uar,
    uf1,
    uf1_interval,
)

CLASSES = ("negative", "positive", "surprise")
STSTNET = np.array([[219, 22, 9], [40, 62, 7], [21, 3, 59]])  # published log, rows are the truth

answers = st.lists(st.tuples(st.sampled_from(CLASSES), st.sampled_from(CLASSES)), min_size=1, max_size=40)


def prediction(truth, guess, *, person="casme2/1", clip=0, seed=0, best=None):
    corpus, subject = person.split("/")
    return Prediction(corpus, subject, str(clip), truth, guess, best or guess, seed, person, (0.0, 0.0, 1.0))


@given(answers)
def test_scores_agree_with_scikit_learn(pairs):
    truth, guess = zip(*pairs, strict=True)
    counts = confusion_matrix(truth, guess, CLASSES)
    same = {"labels": CLASSES, "average": "macro", "zero_division": 0}
    assert (counts == oracle_matrix(truth, guess, labels=CLASSES)).all()
    assert uf1(counts) == pytest.approx(f1_score(truth, guess, **same))
    assert uar(counts) == pytest.approx(recall_score(truth, guess, **same))
    assert macro_precision(counts) == pytest.approx(precision_score(truth, guess, **same))
    assert accuracy(counts) == pytest.approx(accuracy_score(truth, guess))


def test_the_published_counts_of_ststnet():
    assert uf1(STSTNET) == pytest.approx(0.7353, abs=5e-5)
    assert uar(STSTNET) == pytest.approx(0.7186, abs=5e-5)
    assert macro_precision(STSTNET) == pytest.approx(0.7605, abs=5e-5)  # printed as UAR in its paper


def test_always_negative_on_the_composite():
    counts = np.array([[250, 0, 0], [109, 0, 0], [83, 0, 0]])
    assert uf1(counts) == pytest.approx(0.2408, abs=5e-5)
    assert uar(counts) == pytest.approx(1 / 3)
    assert accuracy(counts) == pytest.approx(0.5656, abs=5e-5)


def test_a_case_worked_by_hand():
    counts = np.array([[2, 1], [1, 0]])  # F1: 4/6 and 0; recall: 2/3 and 0; precision the same
    assert uf1(counts) == pytest.approx(1 / 3)
    assert uar(counts) == pytest.approx(1 / 3)
    assert accuracy(counts) == pytest.approx(0.5)


def test_scores_work_on_stacks_of_matrices():
    stack = np.stack([STSTNET, STSTNET.T])
    assert uf1(stack) == pytest.approx([uf1(STSTNET), uf1(STSTNET.T)])


def test_scores_are_pooled_not_averaged_over_folds():
    predictions = [
        prediction("negative", "negative", clip=0),
        prediction("positive", "positive", person="casme2/2", clip=1),
        prediction("surprise", "negative", person="casme2/2", clip=2),
    ]
    scores = score_predictions(predictions, CLASSES, "strict")
    assert scores["uf1"] == pytest.approx((2 / 3 + 1 + 0) / 3, abs=1e-6)
    assert scores["confusion"] == [[1, 0, 0], [0, 1, 0], [1, 0, 0]]


def test_parts_are_the_same_predictions_restricted():
    predictions = [
        prediction("negative", "negative", clip=0),
        prediction("positive", "positive", clip=1),
        prediction("surprise", "surprise", clip=2),
        prediction("negative", "positive", person="samm/1", clip=3),
    ]
    parts = score_predictions(predictions, CLASSES, "strict")["parts"]
    assert parts == {"casme2": {"uf1": 1.0, "uar": 1.0}, "samm": {"uf1": 0.0, "uar": 0.0}}


def test_several_seeds_are_means_and_each_stands_alone():
    right = [prediction(name, name, clip=name, seed=0) for name in CLASSES]
    wrong = [prediction(name, "negative", clip=name, seed=1, best=name) for name in CLASSES]
    scores = all_scores(right + wrong, CLASSES)
    assert scores["by_seed"]["0"]["strict"]["uf1"] == 1
    assert scores["by_seed"]["1"]["strict"]["uf1"] == pytest.approx(1 / 6, abs=1e-6)
    assert scores["strict"]["uf1"] == pytest.approx((1 + 1 / 6) / 2, abs=1e-6)
    assert scores["strict"]["confusion"] == [[1, 0, 0], [0.5, 0.5, 0], [0.5, 0, 0.5]]
    assert scores["best_epoch"]["uf1"] == 1


def test_the_order_of_predictions_is_of_no_account():
    predictions = [prediction(CLASSES[n % 3], CLASSES[n % 2], person=f"smic/{n % 4}", clip=n) for n in range(20)]
    assert all_scores(predictions, CLASSES) == all_scores(predictions[::-1], CLASSES)


def test_the_interval_resamples_people():
    random = np.random.default_rng(0)
    counts = np.stack([np.stack([np.diag(random.integers(1, 5, 3)) for _ in range(12)])])
    assert uf1_interval(counts) == (1.0, 1.0)  # everyone is predicted right, whoever is drawn
    counts[0, :4] = np.roll(counts[0, :4], 1, axis=-1)  # four people all wrong
    low, high = uf1_interval(counts)
    assert low < uf1(counts.sum((0, 1))) < high and high - low > 0.2
    assert uf1_interval(counts) == (low, high)


def test_the_interval_holds_95_percent():
    """Of 400 people 280 are predicted right in both classes: UF1 is their share, which is drawn as a binomial."""
    right, wrong = np.eye(2, dtype=int), 1 - np.eye(2, dtype=int)
    counts = np.stack([right] * 280 + [wrong] * 120)[None]  # (1, P, 2, 2)
    low, high = uf1_interval(counts)
    assert low == pytest.approx(binom.ppf(0.025, 400, 0.7) / 400, abs=0.003)  # of 90 %: 0.007 higher
    assert high == pytest.approx(binom.ppf(0.975, 400, 0.7) / 400, abs=0.003)


def test_the_interval_agrees_with_a_plain_loop():
    random = np.random.default_rng(1)
    counts = random.integers(0, 4, size=(2, 9, 3, 3))
    low, high = uf1_interval(counts, resamplings=4000)
    drawn = [np.mean([uf1(counts[seed][random.integers(0, 9, 9)].sum(0)) for seed in range(2)]) for _ in range(2000)]
    assert (low, high) == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])), abs=0.03)


def test_counts_know_seed_and_person():
    predictions = [
        prediction("negative", "positive", person="samm/2", seed=3),
        prediction("surprise", "surprise", person="casme2/1", seed=1),
    ]
    counts = counts_by_person(predictions, CLASSES, "strict")
    assert counts.shape == (2, 2, 3, 3) and counts.sum() == 2
    assert counts[1, 1, 0, 1] == 1 and counts[0, 0, 2, 2] == 1


def test_a_fixed_split_is_scored_by_its_test_parts():
    def one(clip, fold, truth, guess):
        return Prediction("dfme", clip, clip, truth, guess, guess, 0, fold, (1.0, 0.0))

    predictions = [
        one("1", "test-a", "x", "x"),
        one("2", "test-a", "y", "y"),
        one("3", "test-b", "x", "y"),
        one("4", "test-b", "y", "y"),
    ]
    parts = score_predictions(predictions, ("x", "y"), "strict", by_fold=True)["parts"]
    assert parts["test-a"] == {"uf1": 1.0, "uar": 1.0}
    assert parts["test-b"] == {"uf1": pytest.approx(1 / 3, abs=1e-5), "uar": 0.5}
