import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from epir.annotation.reliability import (
    cohen_kappa,
    confusion_by_person,
    kappa_interval,
    krippendorff_alpha,
    unit_reliability,
)

WORDS = ("anger", "fear", "joy")
words = st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(WORDS)), min_size=1, max_size=30)


@given(words)
def test_kappa_is_scikit_learn_s(pairs):
    counts = confusion_by_person([("p", *pair) for pair in pairs], WORDS).sum(axis=0)
    ours, others = float(cohen_kappa(counts)), list(zip(*pairs, strict=True))
    if len({word for pair in pairs for word in pair}) == 1:
        assert np.isnan(ours)  # one word only: chance agrees as well
    else:
        assert ours == pytest.approx(cohen_kappa_score(*others), abs=1e-12)


def test_kappa_of_nothing_is_undefined():
    assert np.isnan(cohen_kappa(np.zeros((2, 2))))


def rows(*coders):
    """The ratings of each item, from one string per coder; a dot is no rating."""
    return [[word for word in column if word != "."] for column in zip(*coders, strict=True)]


@pytest.mark.parametrize(
    ("coders", "alpha"),
    [  # the examples A, B and C of Krippendorff 2011
        (("0100000010", "1110010000"), 0.095),
        (("aabbdcccedda", "babbbccceddd"), 0.692),
        (("123321412...", "1233224125.3", ".3332342251.", "12332441251."), 0.743),
    ],
)
def test_alpha_is_as_published(coders, alpha):
    assert krippendorff_alpha(rows(*coders)) == pytest.approx(alpha, abs=6e-4)


def test_alpha_is_undefined_for_a_single_word_or_no_ratings():
    assert np.isnan(krippendorff_alpha([("a", "a"), ("a", "a", "a")]))
    assert np.isnan(krippendorff_alpha([("a",), ()]))


@given(st.lists(st.lists(st.sampled_from(WORDS), max_size=4), max_size=12), st.randoms(use_true_random=False))
def test_alpha_does_not_depend_on_the_order_of_coders_and_is_at_most_one(ratings, random):
    shuffled = [random.sample(values, len(values)) for values in ratings]
    one, other = krippendorff_alpha(ratings), krippendorff_alpha(shuffled)
    assert one == pytest.approx(other, nan_ok=True)
    assert np.isnan(one) or one <= 1


def test_the_reliability_of_units_worked_by_hand():
    assert unit_reliability([({1, 2}, {1, 2}), ({4}, {7}), ((), ())]) == pytest.approx(4 / 6)
    assert np.isnan(unit_reliability([]))


def test_the_interval_resamples_people():
    agreeing, differing = np.array([[8, 0], [0, 8]]), np.array([[4, 4], [4, 4]])
    low, high = kappa_interval(np.array([agreeing, differing] * 3))
    assert float(cohen_kappa((agreeing + differing) * 3)) == pytest.approx(0.5)
    assert low < 0.5 < high
    assert kappa_interval(np.array([agreeing] * 4)) == (1.0, 1.0)
    assert kappa_interval(np.array([agreeing])) is None
