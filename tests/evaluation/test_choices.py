import pytest

from epir.core.errors import ConfigError
from epir.evaluation.choices import choose
from epir.models.folder import read_config, shipped_folder
from epir.models.registry import create_model
from epir.training.recipe import SHIPPED


def chosen(name="epir", *, training=None, changes=(), classes=3, map_size=28):
    return choose(name, training=training, changes=changes, classes=classes, map_size=map_size)


def test_classes_and_size_come_from_the_clips():
    model, training = chosen(classes=5, map_size=56)
    assert (model.name, model.classes, model.map_size, training.name) == ("epir", 5, 56, "scratch")


def test_peers_have_a_recipe_of_their_own_unless_told():
    assert chosen("ststnet")[1].name == "peer"
    assert chosen("ststnet", training="paper")[1].name == "paper"
    assert chosen("vit+dtsm")[1].name == chosen("htnet")[1].name == "scratch"


def test_the_paper_model_starts_from_the_shipped_folder_where_they_fit():
    model, training = chosen()
    assert (training.name, training.start) == ("strict", SHIPPED)
    assert model.normalise == read_config(shipped_folder()).settings["normalise"]  # as those weights saw their maps
    assert chosen(classes=5)[1].name == "strict"  # only the head is new
    assert chosen(changes=["model.normalise=map"])[0].normalise == "map"
    for change in ("model.width=128", "model.blocks=7", "model.integration=0.6"):
        model, training = chosen(changes=[change])
        assert (training.name, training.start, model.normalise) == ("scratch", None, "map")


def test_the_shipped_folder_are_refused_where_they_do_not_fit():
    words = "the weights that come with epir do not fit 'vit' with these settings\n  fix: use --training scratch"
    with pytest.raises(ConfigError, match=words):
        chosen("vit", training="strict")
    with pytest.raises(ConfigError, match="do not fit 'epir'"):
        chosen(training="strict", changes=["model.width=128"])


def test_other_weights_bring_their_normalisation(tmp_path):
    create_model("vit", width=32, heads=2, feed_forward=32, normalise="fold").save_pretrained(tmp_path / "mine")
    model, training = chosen("vit", changes=["model.width=32", f"training.start={tmp_path / 'mine'}"])
    assert model.normalise == "fold" and training.start == tmp_path / "mine"


def test_changes_are_applied_together():
    """A 60 px map needs another patch: neither change is possible without the other."""
    model, training = chosen(map_size=60, changes=["model.patch=15", "training.epochs=3", "training.lr=1e-3"])
    assert (model.patch, model.map_size, training.epochs, training.lr) == (15, 60, 3, 1e-3)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("epochs=3", "there is no setting 'epochs'\n  fix: did you mean training.epochs?"),
        ("width=3", "there is no setting 'width'\n  fix: did you mean model.width?"),
        ("nonsense=3", "there is no setting 'nonsense'\n  fix: begin it with model. or training."),
        ("training.epoch=3", r"\[training\] has no setting 'epoch'\n  fix: did you mean 'epochs'"),
        ("model.with=3", r"\[model\] has no setting 'with'\n  fix: did you mean 'width'"),
        ("model.classes=3", "model.classes follows from the protocol\n  fix: leave out --set model.classes=3"),
        ("model.name=vit", "model.name follows from --model"),
        ("training.epochs=many", "training.epochs cannot be 'many'\n  fix: give a whole number"),
        ("training.epochs", "cannot read the setting 'training.epochs'\n  fix: write it as name=value"),
    ],
)
def test_settings_that_do_not_exist_are_refused(change, words):
    with pytest.raises(ConfigError, match=words):
        chosen(changes=[change])
