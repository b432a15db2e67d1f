"""Anything with fit and predict_proba: what it is given, and what its answers must be."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from epir.core.errors import ConfigError, ShapeError, TrainingError
from epir.core.records import Clip
from epir.models.estimator import Estimator, parameters

SETTINGS = SimpleNamespace(name="mine", classes=3, map_size=4)
MAPS = np.random.default_rng(0).normal(size=(12, 3, 4, 4)).astype(np.float32)
LABELS = np.arange(12) % 3
MAPS[np.arange(12), LABELS] += 5
CLIPS = [Clip("casme2", f"{number % 2}", f"c{number}", "joy") for number in range(12)]


class Recording:
    """Answers with the shares of the classes it saw, and remembers what it was given."""

    def fit(self, maps, labels, groups, clips, seed):
        self.seen = (maps.shape, labels.tolist(), list(groups), list(clips), seed)

    def predict_proba(self, maps):
        return np.tile(np.bincount(self.seen[1], minlength=3) / len(self.seen[1]), (len(maps), 1))


class Answering(Recording):
    def __init__(self, answer):
        self.answer = answer

    def predict_proba(self, maps):
        return self.answer(len(maps))


def fitted(estimator, seed=0, labels=LABELS):
    model = Estimator(estimator, SETTINGS)
    model.fit(MAPS, labels, seed=seed, clips=CLIPS)
    return model


def test_it_is_given_what_its_signature_asks_for():
    model = fitted(Recording(), seed=7)
    people = [clip.person for clip in CLIPS]
    assert model.estimator.seen == ((12, 3, 4, 4), LABELS.tolist(), people, CLIPS, 7)
    classes, scores = model.predict(MAPS)
    assert classes.shape == (12,) and scores.shape == (12, 3)


def test_every_fold_has_its_own_estimator():
    shared = Recording()
    fitted(shared)
    assert not hasattr(shared, "seen")


@pytest.mark.parametrize(
    "estimator", [make_pipeline(StandardScaler(), SVC()), RandomForestClassifier(n_estimators=20), SVC()]
)
def test_those_of_scikit_learn_see_rows_and_learn(estimator):
    model = fitted(estimator)
    classes, scores = model.predict(MAPS)
    np.testing.assert_array_equal(classes, LABELS)
    np.testing.assert_allclose(scores.sum(axis=1), 1)


def test_the_seed_reaches_every_step():
    forest = make_pipeline(StandardScaler(), RandomForestClassifier(n_estimators=3, max_depth=1))
    one, same, other = (fitted(forest, seed).predict(MAPS)[1] for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)
    fitted(forest, seed=2**40 + 1)  # scikit-learn takes 32 bits


def test_a_class_that_fit_never_saw_has_no_score():
    classes, scores = fitted(make_pipeline(StandardScaler(), SVC()), labels=LABELS % 2 * 2).predict(MAPS)
    assert set(classes) == {0, 2} and (scores[:, 1] == 0).all()


def test_no_maps_have_no_answers():
    classes, scores = fitted(Recording()).predict(MAPS[:0])
    assert classes.shape == (0,) and scores.shape == (0, 3)


def test_simple_parameters_of_all_steps_are_settings():
    names = parameters(make_pipeline(StandardScaler(), SVC(C=2.0)))
    assert names["svc__C"] == 2.0 and names["svc__kernel"] == "rbf" and "svc" not in names
    assert parameters(Recording()) == {}


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (
            lambda count: np.zeros((count, 2)),
            r"scores of the shape \(12, 2\) for 12 maps and 3 classes\n  fix: let",
        ),
        (lambda count: np.zeros(count), r"scores of the shape \(12,\) for 12 maps"),
        (lambda count: np.full((count, 3), np.nan), "scores that are not finite\n  fix: check the settings"),
        (lambda count: "yes", "predict_proba failed: could not convert.*\n  fix: call predict_proba on some maps"),
    ],
)
def test_answers_of_another_shape_are_refused(answer, words):
    with pytest.raises((ShapeError, TrainingError), match=words):
        fitted(Answering(answer)).predict(MAPS)


def test_what_fit_raises_becomes_two_lines():
    class Failing(Recording):
        def fit(self, maps, labels):
            raise ValueError("the matrix is singular\nand more")

    with pytest.raises(TrainingError, match=r"^mine: fit failed: the matrix is singular\n  fix: call fit on some maps"):
        fitted(Failing())


def test_without_predict_proba_or_fit_it_is_no_estimator():
    class OnlyFit:
        def fit(self, maps, labels):
            return self

    with pytest.raises(ConfigError, match="mine has no predict_proba\n  fix: give it predict_proba"):
        Estimator(OnlyFit(), SETTINGS)
    with pytest.raises(ConfigError, match="mine has no fit\n  fix: give a torch module, or an object"):
        Estimator(object(), SETTINGS)


def test_maps_of_another_size_or_with_gaps_and_one_class_are_refused():
    model = Estimator(Recording(), SETTINGS)
    with pytest.raises(ShapeError, match=r"mine takes maps \(n, 3, 4, 4\) but got \(12, 3, 2, 4\)\n  fix: .*--size 4"):
        model.fit(MAPS[:, :, :2], LABELS)
    with pytest.raises(ShapeError, match="NaN or infinity"):
        model.fit(np.full_like(MAPS, np.nan), LABELS)
    with pytest.raises(TrainingError, match="clips of one class only\n  fix: train on clips of two or more classes"):
        model.fit(MAPS, LABELS * 0)
