import pytest

from epir.core.config import from_dict, to_dict
from epir.core.errors import ConfigError
from epir.models.settings import SHIPPED
from epir.training.recipe import RECIPES, TrainingSettings, training_recipe


def test_the_paper_recipe_is_what_the_paper_prints():
    paper = training_recipe("paper")
    assert (paper.optimiser, paper.lr, paper.batch, paper.epochs) == ("adam", 5e-5, 256, 300)
    assert not (paper.mirror or paper.shift or paper.noise or paper.smoothing or paper.weight_decay or paper.warmup)
    assert paper.averaging == "none" and paper.schedule == "constant" and not paper.mirror_at_prediction


def test_finetune_starts_from_the_shipped_weights_and_scratch_from_random_ones():
    assert training_recipe("finetune").start == SHIPPED
    assert training_recipe("scratch") == TrainingSettings() and TrainingSettings().start is None


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_survives_its_file(name):
    assert RECIPES[name].name == name
    assert from_dict(TrainingSettings, to_dict(RECIPES[name])) == RECIPES[name]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"epochs": 0}, r"training.epochs is 0\n  fix: give 1 or more"),
        ({"lr": 0.0}, r"training.lr is 0\n  fix: give a number above 0"),
        ({"noise": -0.1}, r"training.noise is -0.1\n  fix: give 0 or more"),
        ({"interpolate": 0.5}, r"training.interpolate needs weights to interpolate with\n  fix: set training.start"),
        ({"teachers": -1}, r"training.teachers is -1\n  fix: give 0 or more"),
        ({"mirror": 1.5}, r"training.mirror is 1.5\n  fix: give a share between 0 and 1"),
    ],
)
def test_impossible_recipes_are_refused(change, words):
    with pytest.raises(ConfigError, match=words):
        TrainingSettings(**change)


def test_an_unknown_recipe_is_refused_with_the_nearest():
    with pytest.raises(ConfigError, match=r"no training recipe 'papr'\n  fix: did you mean 'paper'"):
        training_recipe("papr")
