import numpy as np
import pytest

from epir.core.engines import Engine
from epir.core.errors import CheckpointError
from epir.evaluation.run import evaluate, evaluate_zero_shot
from epir.maps.mapset import load_maps
from epir.models.folder import load_network, weights_digest
from epir.models.predict import predict_maps
from epir.models.registry import create_model

CLASSES = ("negative", "positive", "surprise")


@pytest.fixture
def weights(tmp_path):
    """The folder of a network with random weights."""
    return create_model("ststnet", map_size=12).save_pretrained(tmp_path / "model", labels=CLASSES)


def test_every_clip_is_predicted_once_by_the_given_weights(make_maps, tmp_path, weights):
    folder = make_maps()
    run = evaluate_zero_shot(folder, protocol="cde", weights=weights, out=tmp_path / "run", engine=Engine(workers=1))
    maps = load_maps(folder)
    expected = predict_maps(load_network(weights), np.array(maps.maps)).scores
    by_key = {each.key: each for each in run.predictions}
    assert len(by_key) == len(run.predictions) == 24
    for clip, scores in zip(maps.clips, expected, strict=True):
        assert by_key[clip.key].scores == pytest.approx(scores, abs=1e-5)
        assert by_key[clip.key].strict == by_key[clip.key].best_epoch == CLASSES[scores.argmax()]
    assert run.experiment.is_zero_shot and run.scores["folds"] == 1 and run.name == "ststnet (zero-shot)"
    assert (run.folder / "predictions.csv").exists() and len(run.scores["strict"]["uf1_interval"]) == 2


def test_other_weights_with_an_existing_run_are_refused(make_maps, tmp_path, weights):
    maps, other = make_maps(), create_model("ststnet", map_size=12)
    call = dict(protocol="cde", out=tmp_path / "run", engine=Engine(workers=1))
    evaluate_zero_shot(maps, weights=weights, **call)
    folder = other.save_pretrained(tmp_path / "other", labels=CLASSES)
    with pytest.raises(Exception, match=r"other settings or maps \(weights: \w+ -> \w+\)"):
        evaluate_zero_shot(maps, weights=folder, **call)


def test_training_may_start_from_weights_and_remembers_them(make_maps, tmp_path, weights, quick):
    maps = make_maps()
    call = dict(protocol="cde", model="ststnet", folds=2, engine=Engine(workers=1))
    begun = evaluate(maps, out=tmp_path / "begun", changes=(*quick, f'training.start="{weights}"'), **call)
    fresh = evaluate(maps, out=tmp_path / "fresh", changes=quick, **call)
    assert begun.experiment.weights == weights_digest(weights) and fresh.experiment.weights == ""
    assert begun.folds[0].loss != fresh.folds[0].loss


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


def test_many_clips_are_predicted_in_parts_that_are_resumed(make_maps, tmp_path, weights, monkeypatch):
    from epir.evaluation import run as module
    from epir.models import predict

    folder = make_maps()  # 24 clips
    monkeypatch.setattr(predict, "PREDICTION_BATCH", 10)
    call = dict(protocol="cde", weights=weights, engine=Engine(workers=1))
    evaluate_zero_shot(folder, out=tmp_path / "whole", **call)
    monkeypatch.setattr(module, "PREDICTION_BATCH", 10)
    parts = evaluate_zero_shot(folder, out=tmp_path / "parts", **call)
    assert [record.fold for record in parts.folds] == ["part 1 of 3", "part 2 of 3", "part 3 of 3"]
    assert [len(record.clips) for record in parts.folds] == [10, 10, 4]
    table = tmp_path / "parts" / "predictions.csv"
    assert table.read_bytes() == (tmp_path / "whole" / "predictions.csv").read_bytes()
    before = table.read_bytes()
    (tmp_path / "parts" / "folds" / "part%202%20of%203__seed0.json").unlink()
    table.unlink()
    evaluate_zero_shot(folder, out=tmp_path / "parts", **call)
    assert table.read_bytes() == before
