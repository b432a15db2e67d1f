from dataclasses import replace

import pytest

from epir.core.config import to_dict, write_toml
from epir.core.errors import ConfigError
from epir.evaluation.settings import Experiment, experiment_from, read_experiment
from epir.models.registry import list_models, model_settings
from epir.training.recipe import TrainingSettings

EXPERIMENT = Experiment(
    "sde", ("a", "b"), model_settings("epir", classes=2), TrainingSettings(lr=3e-5), maps=("d1", "d2")
)


@pytest.mark.parametrize("model", list_models())
def test_an_experiment_survives_its_file(tmp_path, model):
    experiment = replace(EXPERIMENT, model=model_settings(model, classes=2))
    write_toml(experiment, tmp_path / "config.toml")
    assert read_experiment(tmp_path / "config.toml") == experiment


@pytest.mark.parametrize("folds", ["loso", "loco", "2", "10", "zero-shot"])
def test_folds_that_exist(folds):
    assert replace(EXPERIMENT, folds=folds).is_zero_shot == (folds == "zero-shot")


@pytest.mark.parametrize("folds", ["0", "1", "-3", "ten", ""])
def test_folds_that_do_not_exist(folds):
    with pytest.raises(ConfigError, match=r"folds cannot be .*\n  fix: use loso, loco or a number of 2 or more"):
        replace(EXPERIMENT, folds=folds)


def test_unknown_names_in_a_file_are_refused():
    values = to_dict(EXPERIMENT)
    with pytest.raises(ConfigError, match="there is no setting 'protocoll'\n  fix: did you mean 'protocol'"):
        experiment_from(values | {"protocoll": "cde"})
    with pytest.raises(ConfigError, match=r"\[training\] has no setting 'epoch'"):
        experiment_from(values | {"training": {"epoch": 3}})
    with pytest.raises(ConfigError, match=r"\[model\] has no name\n  fix: write name"):
        experiment_from(values | {"model": {"width": 3}})
