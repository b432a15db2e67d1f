from types import SimpleNamespace

import numpy as np
import pytest

from epir.core.records import Prediction
from epir.evaluation.benchmark import CONSTANT, FREQUENCY, HEAVY, chance_counts, default_models, mean_ranks

CLASSES = ("calm", "moved")


def run_of(truths):
    """A run of folds of one person each: a letter of `truths` for each clip, a word for each person."""
    predictions = [
        Prediction(
            "smic", str(person), f"c{number}", CLASSES["cm".index(letter)], "calm", "calm", 0, str(person), (1, 0)
        )
        for person, letters in enumerate(truths)
        for number, letter in enumerate(letters)
    ]
    return SimpleNamespace(predictions=predictions, experiment=SimpleNamespace(classes=CLASSES))


def test_the_default_methods_need_maps_only_and_are_quick():
    assert default_models()[:2] == ("epir", "ststnet") and "lbp-top" not in default_models(heavy=True)
    assert set(default_models(heavy=True)) - set(default_models()) == set(HEAVY)


def test_the_most_frequent_class_is_that_of_the_other_people():
    counts = chance_counts(run_of(["cc", "ccc", "mmmmm"]), CONSTANT)
    np.testing.assert_array_equal(counts[0], [[0, 2], [0, 0]])  # of the others 3 are calm, 5 moved
    np.testing.assert_array_equal(counts[2], [[0, 0], [5, 0]])  # all of the others are calm


def test_guesses_by_frequency_are_expected_counts():
    counts = chance_counts(run_of(["cm", "cccm"]), FREQUENCY)
    np.testing.assert_allclose(counts[0], [[0.75, 0.25], [0.75, 0.25]])
    np.testing.assert_allclose(counts[1], [[1.5, 1.5], [0.5, 0.5]])
    assert counts.sum() == pytest.approx(6)


def test_equal_methods_share_their_ranks():
    assert mean_ranks(np.array([[0.5, 0.9], [0.5, 0.1], [0.5, 0.5]])) == [1.5, 2.5, 2.0]
