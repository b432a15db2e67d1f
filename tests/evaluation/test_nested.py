import numpy as np
import pytest

from epir.core.engines import Engine
from epir.core.errors import ConfigError, EpirWarning
from epir.evaluation.experiment import Experiment
from epir.evaluation.nested import choose, with_choice
from epir.evaluation.run import evaluate
from epir.evaluation.samples import gather
from epir.maps.mapset import load_maps
from epir.models.registry import model_settings


@pytest.fixture
def experiment():
    choices = ("default", "training.lr=0.5 training.epochs=7")
    return Experiment("cde", ("negative", "positive", "surprise"), model_settings("ststnet"), choices=choices)


def test_a_choice_changes_its_settings_alone(experiment):
    changed = with_choice(experiment, experiment.choices[1])
    assert (changed.training.lr, changed.training.epochs, changed.choices) == (0.5, 7, ())
    assert with_choice(experiment, "default").training == experiment.training


def test_the_better_choice_in_the_inner_folds_is_taken_and_people_are_kept_apart(experiment, make_maps):
    clips = gather([load_maps(make_maps(people=6))], "cde")
    train, tested = clips.samples[:30], []  # the last person is held out

    def predict(changed, name, inside, outside):
        assert not {each.clip.person for each in inside} & {each.clip.person for each in outside}
        assert {each.clip.key for each in (*inside, *outside)} == {each.clip.key for each in train}
        assert len(inside) > len(outside)  # it trains on the larger part
        tested.extend(each.clip.key for each in outside)
        right = [clips.classes.index(each.label) for each in outside]
        return np.array(right) if changed.training.lr == 0.5 else np.zeros(len(outside), int)

    chosen = choose(experiment, train, predict)
    assert chosen.choice == experiment.choices[1] and chosen.scores[chosen.choice] == 1.0
    assert chosen.scores["default"] == pytest.approx(1 / 6, abs=0.01)  # F1 of one class in three is 1/2
    assert sorted(tested) == sorted(2 * [each.clip.key for each in train])  # each once for each choice


def test_a_nested_run_says_what_each_fold_chose_and_what_it_cost(make_maps, quick, tmp_path):
    call = dict(protocol="cde", model="ststnet", folds=2, changes=quick, engine=Engine(workers=1))
    with pytest.warns(EpirWarning, match=r"every fold trains 5 models \(2 choices x 2 inner folds \+ 1\)"):
        run = evaluate(
            make_maps(), out=tmp_path / "run", nested=["default", "training.epochs=1"], inner_folds=2, **call
        )
    for fold in run.folds:
        assert fold.chosen in ("default", "training.epochs=1") and set(fold.inner) == {"default", "training.epochs=1"}
        assert fold.inner[fold.chosen] == max(fold.inner.values())
    assert run.experiment.choices == ("default", "training.epochs=1")


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        (["default"], "two different choices"),
        (["default", "default"], "two different choices"),
        (["default", "lr=1"], "no setting 'lr=1' to choose"),
        (["default", "training.start=shipped"], "cannot be chosen inside a fold"),
        (["default", "training.lrr=1"], "lrr"),
    ],
)
def test_choices_that_cannot_be_used_are_refused_at_once(make_maps, tmp_path, choices, words):
    with pytest.raises(ConfigError, match=words):
        evaluate(make_maps(), protocol="cde", model="ststnet", folds=2, out=tmp_path / "run", nested=choices)
    assert not (tmp_path / "run").exists()
