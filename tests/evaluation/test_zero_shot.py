import numpy as np
import pytest

from epir.core.errors import CheckpointError
from epir.evaluation import zero_shot
from epir.evaluation.engines import Engine
from epir.evaluation.run import evaluate
from epir.maps.mapset import load_maps
from epir.models.registry import create_model
from epir.training.fit import predict

CLASSES = ("negative", "positive", "surprise")


@pytest.fixture
def weights(tmp_path):
    """The folder of a network with random weights."""
    return create_model("ststnet", map_size=12).save_pretrained(tmp_path / "model", labels=CLASSES)


def test_every_clip_is_predicted_once_by_the_given_weights(make_maps, tmp_path, weights):
    folder = make_maps()
    run = evaluate(
        folder, protocol="cde", zero_shot=True, weights=weights, out=tmp_path / "run", engine=Engine(workers=1)
    )
    maps = load_maps(folder)
    expected = predict(zero_shot.load_network(weights), np.array(maps.maps))
    by_key = {each.key: each for each in run.predictions}
    assert len(by_key) == len(run.predictions) == 24
    for clip, scores in zip(maps.clips, expected, strict=True):
        assert by_key[clip.key].scores == pytest.approx(scores, abs=1e-5)
        assert by_key[clip.key].strict == by_key[clip.key].best_epoch == CLASSES[scores.argmax()]
    assert run.experiment.is_zero_shot and run.scores["folds"] == 1 and run.name == "ststnet (zero-shot)"
    assert (run.folder / "predictions.csv").exists() and len(run.scores["strict"]["uf1_interval"]) == 2


def test_without_shipped_weights_a_folder_must_be_named(monkeypatch, tmp_path):
    monkeypatch.setattr(zero_shot, "shipped_weights", lambda: tmp_path)
    with pytest.raises(
        CheckpointError, match=r"come with epir are missing\n  fix: install epir again, or name .* --weights"
    ):
        zero_shot.find_weights(None)


def test_weights_for_other_classes_are_refused(weights):
    words = "tell negative, positive, surprise apart, but the protocol tells a, b, c apart\n  fix: choose the protocol"
    with pytest.raises(CheckpointError, match=words):
        zero_shot.check_weights(weights, classes=("a", "b", "c"), map_size=12)


def test_weights_without_names_need_the_right_number_of_classes(tmp_path):
    folder = create_model("ststnet", map_size=12).save_pretrained(tmp_path / "unnamed")
    zero_shot.check_weights(folder, classes=("a", "b", "c"), map_size=12)
    with pytest.raises(CheckpointError, match="tell 3 classes apart, but the protocol tells a, b apart"):
        zero_shot.check_weights(folder, classes=("a", "b"), map_size=12)


def test_weights_for_another_size_are_refused(weights):
    with pytest.raises(CheckpointError, match=r"are for 12 px maps, but the map set has 28 px\n  fix: .*--size 12"):
        zero_shot.check_weights(weights, classes=CLASSES, map_size=28)


def test_other_weights_with_an_existing_run_are_refused(make_maps, tmp_path, weights):
    maps, other = make_maps(), create_model("ststnet", map_size=12)
    call = dict(protocol="cde", zero_shot=True, out=tmp_path / "run", engine=Engine(workers=1))
    evaluate(maps, weights=weights, **call)
    folder = other.save_pretrained(tmp_path / "other", labels=CLASSES)
    with pytest.raises(Exception, match=r"other settings or maps \(weights: \w+ -> \w+\)"):
        evaluate(maps, weights=folder, **call)


def test_training_may_start_from_weights_and_remembers_them(make_maps, tmp_path, weights, quick):
    maps = make_maps()
    call = dict(protocol="cde", model="ststnet", folds=2, engine=Engine(workers=1))
    begun = evaluate(maps, out=tmp_path / "begun", changes=(*quick, f'training.start="{weights}"'), **call)
    fresh = evaluate(maps, out=tmp_path / "fresh", changes=quick, **call)
    assert begun.experiment.weights == zero_shot.weights_digest(weights) and fresh.experiment.weights == ""
    assert begun.folds[0].loss != fresh.folds[0].loss


def test_missing_weights_are_told(tmp_path):
    with pytest.raises(CheckpointError, match=r"there are no weights .*\n  fix: give a model folder"):
        zero_shot.weights_digest(tmp_path)


def test_a_start_that_is_no_model_folder_is_told_before_a_run_is_begun(make_maps, tmp_path, weights, quick):
    (weights / "config.json").unlink()
    with pytest.raises(CheckpointError, match=r"is not a model folder: it has no config.json\n  fix: make one"):
        evaluate(
            make_maps(),
            protocol="cde",
            model="ststnet",
            folds=2,
            out=tmp_path / "run",
            changes=(*quick, f'training.start="{weights}"'),
        )
    assert not (tmp_path / "run").exists()
