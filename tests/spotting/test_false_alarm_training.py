import numpy as np
import pytest

from epir.core.errors import ConfigError
from epir.spotting.candidates import CLASSIFIER
from epir.spotting.false_alarm_training import collect, draw_patterns, examples, fit_weights, probabilities, train
from epir.spotting.measure import HEAD
from epir.spotting.regions import REGIONS, named


def test_a_logistic_regression_finds_the_side_that_matters():
    random = np.random.default_rng(0)
    measures = random.normal(size=(600, 3))
    truth = (random.uniform(size=600) < 1 / (1 + np.exp(-(3 * measures[:, 0] - 1)))).astype(int)
    classifier = fit_weights(measures, truth)
    assert classifier[0] > 10 * max(abs(classifier[1]), abs(classifier[2]))
    assert classifier[3] < 0
    assert probabilities(measures, classifier).mean() == pytest.approx(truth.mean(), abs=0.01)


def test_a_stored_scene_is_not_drawn_again(tmp_path):
    count, skin = 200, np.random.default_rng(0).normal(0, 2e-5, (200, len(REGIONS), 2))
    rise = 0.006 * np.exp(-(((np.arange(count) - 100) / 4) ** 2))
    skin[:, named("inner brow")[0], 1] -= rise
    moved = np.zeros((1, len(REGIONS)))
    moved[0, named("inner brow")[0]] = 0.006
    path = tmp_path / "scene.npz"
    np.savez(
        path,
        rate=50.0,
        skin=skin,
        head=np.zeros((count, len(HEAD))),
        mismatch=np.ones(count),
        spans=np.array([[92, 109]]),
        moved=moved,
    )
    labels = [truth for _, truth in examples(collect(path, 0))]
    assert labels.count(1) == 1


def test_a_folder_of_the_user_is_left_alone(tmp_path):
    (tmp_path / CLASSIFIER).write_text("mine")
    with pytest.raises(ConfigError, match=r"holds something other than scenes\n  fix: name a new folder"):
        train(tmp_path)
    assert (tmp_path / CLASSIFIER).read_text() == "mine"


def test_patterns_have_length_one_and_differ():
    patterns = draw_patterns(6)
    assert patterns.shape == (6, len(REGIONS), 2)
    assert (patterns**2).sum(axis=(1, 2)) == pytest.approx(np.ones(6))
    flat = patterns.reshape(6, -1)
    assert (flat @ flat.T - np.eye(6)).max() < 0.999
