import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from epir.core.config import to_dict, write_toml
from epir.core.engines import Engine
from epir.core.errors import ConfigError, EpirWarning
from epir.evaluation.experiment import (
    ELSEWHERE,
    Experiment,
    ForeignModel,
    experiment_from,
    first_weights,
    inner_scores,
    read_experiment,
    resolve_settings,
    setting_differences,
    with_choice,
)
from epir.evaluation.run import evaluate
from epir.evaluation.samples import gather
from epir.maps.mapset import load_maps
from epir.models.folder import read_config, shipped_folder
from epir.models.registry import create_model, list_models, model_settings
from epir.models.settings import SHIPPED
from epir.training.recipe import BASELINE, FINETUNE, SCRATCH, TrainingSettings, training_recipe

EXPERIMENT = Experiment(
    "sde", ("a", "b"), model_settings("epir", classes=2), TrainingSettings(lr=3e-5), maps=("d1", "d2")
)


@pytest.mark.parametrize("model", list_models())
def test_an_experiment_survives_its_file(tmp_path, model):
    experiment = replace(EXPERIMENT, model=model_settings(model, classes=2))
    write_toml(experiment, tmp_path / "config.toml")
    assert read_experiment(tmp_path / "config.toml") == experiment


def test_settings_of_one_model_alone_stand_in_one_line():
    other = replace(EXPERIMENT, model=model_settings("ststnet", classes=2), training=TrainingSettings(epochs=7))
    lines = setting_differences(EXPERIMENT, other)
    assert "model.name: epir -> ststnet" in lines and any(line.startswith("training.epochs:") for line in lines)
    alone = [line for line in lines if "only" in line]
    assert alone[0].startswith("settings only epir has: ") and "blocks" in alone[0] and len(alone) <= 2
    assert not any("unset" in line for line in lines)
    assert setting_differences(EXPERIMENT, EXPERIMENT) == []


def test_methods_without_training_of_ours_differ_in_no_training_setting():
    """An estimator, imported predictions and zero-shot keep a record of training settings that decide nothing."""
    training = TrainingSettings(epochs=7, shift_at_prediction=3)
    estimator = replace(EXPERIMENT, model=model_settings("bi-woof", classes=2), training=training)
    imported = replace(EXPERIMENT, model=ForeignModel("theirs"), folds=ELSEWHERE, training=training)
    zero_shot = replace(EXPERIMENT, folds="zero-shot", training=training)
    for other in (estimator, imported):
        for pair in ((EXPERIMENT, other), (other, EXPERIMENT)):
            assert not any(line.startswith("training.") for line in setting_differences(*pair))
    assert setting_differences(EXPERIMENT, zero_shot) == [
        "folds: loso -> zero-shot",
        "training.shift_at_prediction: 0 -> 3",
    ]


@pytest.mark.parametrize("folds", ["loso", "loco", "2", "10", "zero-shot"])
def test_folds_that_exist(folds):
    assert replace(EXPERIMENT, folds=folds).is_zero_shot == (folds == "zero-shot")


@pytest.mark.parametrize("folds", ["0", "1", "-3", "ten", ""])
def test_folds_that_do_not_exist(folds):
    with pytest.raises(ConfigError, match=r"--folds cannot be .*\n  fix: use loso, loco, split or a number from 2"):
        replace(EXPERIMENT, folds=folds)


def test_unknown_names_in_a_file_are_refused():
    values = to_dict(EXPERIMENT)
    with pytest.raises(ConfigError, match="there is no setting 'protocoll'\n  fix: did you mean 'protocol'"):
        experiment_from(values | {"protocoll": "cde"})
    with pytest.raises(ConfigError, match=r"\[training\] has no setting 'epoch'"):
        experiment_from(values | {"training": {"epoch": 3}})
    with pytest.raises(ConfigError, match=r"\[model\] has no name\n  fix: write name"):
        experiment_from(values | {"model": {"width": 3}})


def resolved(name="epir", *, training=None, changes=(), classes=3, map_size=28):
    return resolve_settings(name, training=training, changes=changes, classes=classes, map_size=map_size)


def test_classes_and_size_come_from_the_clips():
    _, model, training, *_ = resolved(classes=5, map_size=56)
    assert (model.name, model.classes, model.map_size, training.name) == ("epir", 5, 56, SCRATCH)


def test_every_kind_of_model_has_a_default_recipe():
    assert resolved("ststnet").training.name == BASELINE
    assert resolved("ststnet", training="paper").training.name == "paper"
    assert resolved("vit+dtsm").training.name == resolved("htnet").training.name == SCRATCH


def test_the_paper_model_starts_from_the_shipped_weights_where_they_fit():
    _, model, training, start, notes = resolved()
    assert (training.name, training.start, notes) == (FINETUNE, SHIPPED, ()) and start == shipped_folder()
    assert model.normalise == read_config(shipped_folder()).settings["normalise"]  # as those weights saw their maps
    assert resolved(classes=5).training.name == FINETUNE  # only the head is new
    assert resolved(changes=["model.normalise=map"]).model.normalise == "map"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("model.rollout=extractor", r"model\.rollout=extractor \(not full\)"),
        ("model.blocks=7", r"model\.blocks=7 \(not 13\)"),
        ("model.integration=0.6", r"model\.integration=0\.6 \(not 0\.375\)"),
    ],
)
def test_a_change_that_rules_out_the_shipped_weights_is_announced(change, reason):
    scratch = training_recipe(SCRATCH)
    words = (
        rf"the shipped weights do not fit epir with {reason}: training uses the recipe {SCRATCH} "
        rf"\(training\.epochs {scratch.epochs}, random weights, model\.normalise map\) instead of the default "
        rf"{FINETUNE}\. The scores are not comparable with those of {FINETUNE}\."
    )
    with pytest.warns(EpirWarning, match=words):
        _, model, training, _, notes = resolved(changes=[change, "model.dropout=0.1"])
    assert (training.name, training.start, model.normalise) == (SCRATCH, None, "map")
    assert len(notes) == 1 and "dropout" not in notes[0]  # which the weights do not mind


def test_another_map_size_is_announced_too():
    with pytest.warns(EpirWarning, match=r"model\.map_size=56 \(not 28\)"):
        resolved(map_size=56)


@pytest.mark.parametrize(
    "call",
    [
        {"name": "vit", "changes": ["model.blocks=7"]},
        {"name": "ststnet", "changes": ["model.dropout=0.1"]},
        {"name": "bi-woof"},
        {"changes": ["model.blocks=7"], "training": SCRATCH},
        {"changes": ["training.epochs=3"]},
    ],
)
def test_nothing_is_announced_where_the_default_stands_or_the_user_chose(call):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert resolved(**call).notes == ()


def test_the_shipped_weights_are_refused_where_they_do_not_fit():
    words = f"the shipped weights do not fit 'vit' with these settings\n  fix: use --training {SCRATCH}"
    with pytest.raises(ConfigError, match=words):
        resolved("vit", training=FINETUNE)
    with pytest.raises(ConfigError, match="do not fit 'epir'"):
        resolved(training=FINETUNE, changes=["model.width=128"])


def test_other_weights_bring_their_normalisation(tmp_path):
    create_model("vit", width=32, heads=2, feed_forward=32, normalise="none").save_pretrained(tmp_path / "mine")
    _, model, training, start, _ = resolved("vit", changes=["model.width=32", f"training.start={tmp_path / 'mine'}"])
    assert model.normalise == "none" and start == tmp_path / "mine"
    assert (
        training.start == Path("mine") and first_weights(training) == "the weights in mine"
    )  # no path of this machine


def test_changes_are_applied_together():
    """A 60 px map needs another patch: neither change is possible without the other."""
    changes = ["model.patch=15", "training.epochs=3", "training.lr=1e-3"]
    _, model, training, *_ = resolved(map_size=60, changes=changes)
    assert (model.patch, model.map_size, training.epochs, training.lr) == (15, 60, 3, 1e-3)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("epochs=3", "there is no setting 'epochs'\n  fix: did you mean training.epochs?"),
        ("width=3", "there is no setting 'width'\n  fix: did you mean model.width?"),
        ("nonsense=3", "there is no setting 'nonsense'\n  fix: start the name with model. or training."),
        ("training.epoch=3", r"\[training\] has no setting 'epoch'\n  fix: did you mean 'epochs'"),
        ("model.with=3", r"\[model\] has no setting 'with'\n  fix: did you mean 'width'"),
        ("model.classes=3", "model.classes is determined by --protocol\n  fix: leave out --set model.classes=3"),
        ("model.name=vit", "model.name is determined by --model"),
        ("training.epochs=many", "training.epochs cannot be 'many'\n  fix: give a whole number"),
        ("training.epochs", "--set training.epochs has no value\n  fix: write name=value"),
    ],
)
def test_settings_that_do_not_exist_are_refused(change, words):
    with pytest.raises(ConfigError, match=words):
        resolved(changes=[change])


@pytest.fixture
def experiment():
    choices = ("default", "training.lr=0.5 training.epochs=7")
    return Experiment("cde", ("negative", "positive", "surprise"), model_settings("ststnet"), choices=choices)


def test_a_choice_changes_its_settings_alone(experiment):
    changed = with_choice(experiment, experiment.choices[1])
    assert (changed.training.lr, changed.training.epochs, changed.choices) == (0.5, 7, ())
    assert with_choice(experiment, "default").training == experiment.training


def test_choices_are_scored_in_inner_folds_that_keep_people_apart(experiment, make_maps):
    clips = gather([load_maps(make_maps(people=6))], "cde")
    train, tested = clips.samples[:30], []  # the last person is held out

    def predict(changed, name, inside, outside):
        assert not {each.clip.person for each in inside} & {each.clip.person for each in outside}
        assert {each.clip.key for each in (*inside, *outside)} == {each.clip.key for each in train}
        assert len(inside) > len(outside)  # it trains on the larger part
        tested.extend(each.clip.key for each in outside)
        right = [clips.classes.index(each.label) for each in outside]
        return np.array(right) if changed.training.lr == 0.5 else np.zeros(len(outside), int)

    scores = inner_scores(experiment, train, predict)
    assert scores[experiment.choices[1]] == 1.0
    assert scores["default"] == pytest.approx(1 / 6, abs=0.01)  # F1 of one class in three is 1/2
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
