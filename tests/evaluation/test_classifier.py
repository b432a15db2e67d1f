import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import LeaveOneGroupOut, cross_val_predict
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import check_is_fitted, validate_data

from epir.evaluation.classifier import EpirClassifier

QUICK = ["training.epochs=6", "training.lr=3e-3", "training.batch=8"]


@pytest.fixture(scope="module")
def moving():
    """Maps whose upper or lower half moves, of four people, with their labels and people."""
    random = np.random.default_rng(0)
    labels = np.array(["lower", "upper"] * 12)
    maps = random.normal(0, 0.1, (24, 3, 28, 28)).astype(np.float32)
    for row, label in enumerate(labels):
        maps[row, :, slice(0, 14) if label == "upper" else slice(14, 28)] += 1
    return maps, labels, np.repeat(np.arange(4), 6)


@pytest.mark.parametrize("model", ["ststnet", "bi-woof"])
def test_held_out_people_are_classified_in_cross_val_predict_with_groups(moving, model):
    maps, labels, people = moving
    classifier = EpirClassifier(model, changes=QUICK if model == "ststnet" else ())
    answers = cross_val_predict(classifier, maps, labels, groups=people, cv=LeaveOneGroupOut())
    assert (answers == labels).mean() > 0.9


def test_probabilities_are_in_the_order_of_the_classes_and_repeatable(moving):
    maps, labels, _ = moving
    first = EpirClassifier("ststnet", changes=QUICK).fit(maps, labels)
    second = clone(first).fit(maps, labels)
    scores = first.predict_proba(maps)
    assert first.classes_.tolist() == ["lower", "upper"]
    assert scores.shape == (24, 2)
    np.testing.assert_allclose(scores.sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_array_equal(scores, second.predict_proba(maps))
    assert first.score(maps, labels) > 0.9
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(first)).predict(maps), first.predict(maps))


def test_labels_may_be_numbers(moving):
    maps, labels, _ = moving
    numbers = np.where(labels == "upper", 7, 3)
    answers = EpirClassifier("ststnet", changes=QUICK).fit(maps, numbers).predict(maps)
    assert set(answers) == {3, 7}


class Rows(EpirClassifier):
    """The classifier with rows of features in place of maps, as the checks of scikit-learn give them."""

    def _drawn(self, rows, *, reset):
        rows = validate_data(self, rows, dtype=np.float32, reset=reset)
        maps = np.repeat(rows, 20, axis=1)[:, : 3 * 28 * 28]
        return np.pad(maps, ((0, 0), (0, 3 * 28 * 28 - maps.shape[1]))).reshape(-1, 3, 28, 28)

    def fit(self, X, y):
        return super().fit(self._drawn(X, reset=True), y)

    def predict_proba(self, X):
        check_is_fitted(self)
        return super().predict_proba(self._drawn(X, reset=False))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = tags.classifier_tags.poor_score = True
        return tags


def test_the_checks_of_scikit_learn_pass():
    results = check_estimator(Rows("bi-woof"), on_skip=None)
    assert {result["check_name"] for result in results if result["status"] != "passed"} <= {"check_array_api_input"}
    assert len(results) > 40


def test_parameters_can_be_read_and_set():
    classifier = EpirClassifier().set_params(model="htnet", random_state=3)
    assert classifier.get_params() == {"model": "htnet", "recipe": None, "changes": (), "random_state": 3}


def test_wrong_input_says_what_to_do(moving):
    maps, labels, _ = moving
    with pytest.raises(NotFittedError):
        EpirClassifier().predict(maps)
    with pytest.raises(ValueError, match=r"give maps of the shape \(n, 3, S, S\)"):
        EpirClassifier().fit(maps.reshape(24, -1), labels)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        EpirClassifier().fit(maps, labels[:-1])
    with pytest.raises(ValueError, match="maps are of one class"):
        EpirClassifier().fit(maps, ["upper"] * 24)
    fitted = EpirClassifier("bi-woof").fit(maps, labels)
    with pytest.raises(ValueError, match="14 px wide, but those of fit were 28 px"):
        fitted.predict(maps[..., :14, :14])
