"""Several maps per clip, through folds, finetuning and zero-shot."""

import numpy as np
import pytest

from epir.core.engines import Engine
from epir.core.errors import CheckpointError, ConfigError
from epir.evaluation.run import evaluate
from epir.maps.mapset import save_maps
from epir.models.registry import create_model

TINY = ("model.width=16", "model.feed_forward=16", "model.blocks=3", "model.heads=2")
SIZES = {"width": 16, "feed_forward": 16, "blocks": 3, "heads": 2, "map_size": 14}
QUICK = ("training.epochs=6", "training.lr=0.01")


@pytest.fixture
def views(tmp_path, make_maps):
    """Two maps per clip: noise, and the map that shows the class."""
    from epir.maps.mapset import load_maps

    shown = load_maps(make_maps(people=4, each=6, size=14))
    noise = np.random.default_rng(1).normal(size=shown.maps.shape).astype(np.float32)
    maps = np.stack([noise, shown.maps], axis=1)
    return save_maps(tmp_path / "views", maps, shown.clips, recipe={"name": "noise"}, views=("rise1", "rise2")).folder


@pytest.mark.parametrize(
    ("fusion", "changes"),
    [("tokens", ()), ("channels", ()), ("mean", ()), ("tokens", ("training.teachers=1", "training.action_units=1"))],
)
def test_folds_learn_from_the_map_that_shows_it(views, tmp_path, fusion, changes):
    run = evaluate(
        views,
        protocol="sde",
        model="epir-seq",
        folds=2,
        training="scratch",
        changes=(*TINY, *QUICK, f"model.fusion={fusion}", *changes),
        out=tmp_path / "run",
        engine=Engine(workers=1),
    )
    assert (run.experiment.model.views, run.experiment.model.fusion) == (2, fusion)
    assert run.scores["strict"]["uf1"] > 0.5
    assert run.environment["maps"][0]["views"] == ["rise1", "rise2"]


def test_weights_of_one_map_predict_and_start_models_of_several(views, tmp_path):
    weights = tmp_path / "weights"
    classes = ("negative", "positive", "surprise")
    create_model("epir", **SIZES).save_pretrained(weights, labels=classes)
    with pytest.warns(match="not known whom"):
        run = evaluate(views, protocol="sde", zero_shot=True, weights=weights, out=tmp_path / "zero")
    assert run.experiment.model.views == 2 and len(run.predictions) == 24
    with pytest.warns(match="not known whom"):
        started = evaluate(
            views,
            protocol="sde",
            model="epir-seq",
            folds=2,
            training="scratch",
            changes=(*TINY, f"training.start={weights}", "training.interpolate=0.5", "training.epochs=1"),
            out=tmp_path / "run",
            engine=Engine(workers=1),
        )
    assert len(started.predictions) == 24


def test_weights_of_other_numbers_of_maps_are_refused(views, tmp_path):
    create_model("epir-seq", **SIZES).save_pretrained(tmp_path / "weights", labels=("negative", "positive", "surprise"))
    with pytest.raises(CheckpointError, match=r"are for 4 maps per clip, not for 2\n  fix: .*same --views"):
        evaluate(views, protocol="sde", zero_shot=True, weights=tmp_path / "weights", out=tmp_path / "zero")


def test_models_of_one_map_are_refused(views, tmp_path):
    with pytest.raises(
        ConfigError, match=r"'ststnet' takes one map per clip, and the map set has 2\n  fix: use --model"
    ):
        evaluate(views, protocol="sde", model="ststnet", out=tmp_path / "run")
    with pytest.raises(ConfigError, match=r"model.views follows from the map set"):
        evaluate(views, protocol="sde", changes=("model.views=3",), out=tmp_path / "run")
    with pytest.raises(ConfigError, match=r"model.unit_path leads .*\n  fix: add --set training.action_units=1"):
        evaluate(views, protocol="sde", changes=("model.unit_path=true",), out=tmp_path / "run")
