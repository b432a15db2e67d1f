"""Action units in answers: from torch and from ONNX, mirrored, calibrated, and absent if a model has no head."""

import json

import numpy as np
import pytest
import torch

from epir.core.facs import UNITS
from epir.evaluation.fold import ClipRecord, FoldRecord, unit_records
from epir.final.calibration import calibrate_units_by_folds
from epir.final.export import export
from epir.final.train import train
from epir.maps.mapset import load_maps
from epir.models.folder import read_config
from epir.models.predict import MapPredictions, OnnxBackend, TorchBackend, mirrored, predict_maps
from epir.models.units import LEFT, PRESENT, RIGHT, UnitCalibration
from epir.recognition.recognizer import Recognizer


def test_an_answer_lists_every_unit_most_probable_first(with_units, smile):
    answer = Recognizer.from_pretrained(with_units).predict((smile[12], smile[20]))
    assert sorted(unit.number for unit in answer.units) == list(UNITS)
    probabilities = [unit.probability for unit in answer.units]
    assert probabilities == sorted(probabilities, reverse=True) and 0 < probabilities[-1] <= probabilities[0] < 1
    assert answer.active_units == tuple(unit for unit in answer.units if unit.probability >= 0.5)
    assert json.loads(json.dumps(answer.to_dict()))["units"][0] == {
        "number": answer.units[0].number, "side": answer.units[0].side, "probability": probabilities[0],
        "visible": answer.units[0].visible,
    }  # fmt: skip
    turned = Recognizer.from_pretrained(with_units).predict((smile[12][:, ::-1], smile[20][:, ::-1]))
    assert {unit.number: unit.probability for unit in turned.units} == pytest.approx(
        {unit.number: unit.probability for unit in answer.units}, abs=0.15
    )  # the flow of mirrored pictures is nearly the mirrored flow


def test_the_units_of_a_mirrored_map_are_the_mirrored_units(with_units, maps):
    backend = TorchBackend(with_units)
    some = torch.from_numpy(np.array(load_maps(maps).maps[:6]))
    logits = backend.predict(some.numpy()).units
    other = backend.predict(mirrored(some).numpy()).units
    assert other == pytest.approx(logits[:, [PRESENT, RIGHT, LEFT]], abs=1e-5)


def test_a_unit_is_one_sided_if_the_sides_differ_by_more_than_the_margin(with_units, smile, monkeypatch):
    logits = np.full((1, 3, len(UNITS)), -3.0)
    logits[0, :, :3] = np.array([[2.0, 3.0, 0.0], [1.5, 0.3, 2.2], [4.0, 3.0, 3.0]]).T
    recognizer = Recognizer.from_pretrained(with_units)
    monkeypatch.setattr(recognizer.classifier, "unit_calibration", UnitCalibration(side_margin=1.0))
    monkeypatch.setattr(recognizer.backend, "predict", lambda maps: MapPredictions(np.full((1, 3), 1 / 3), logits))
    units = recognizer.predict((smile[12], smile[20])).units
    named = [(unit.number, unit.side) for unit in units[:3]]
    assert named == [(4, "both"), (1, "left"), (2, "right")] and units[0].probability == pytest.approx(0.982)


def test_a_model_without_a_head_answers_as_before(recognizer, smile):
    answer = recognizer.predict((smile[12], smile[20]))
    assert answer.units == () and answer.to_dict()["units"] == [] and answer.scores


def test_scores_are_the_same_with_units_and_without(with_units, maps):
    backend, some = TorchBackend(with_units), np.array(load_maps(maps).maps[:5])
    for mirror in (True, False):
        both = predict_maps(backend.network, some, mirror=mirror, shift=1)
        alone = predict_maps(backend.network, some, mirror=mirror, shift=1, units=False)
        assert alone.units is None and both.scores == pytest.approx(alone.scores, abs=1e-6)


def test_the_exported_graph_carries_units(with_units, maps, tmp_path, smile):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    some = np.array(load_maps(maps).maps[:5])
    exported = export(with_units, tmp_path / "model.onnx", maps=some)
    assert exported.difference < 1e-4
    graph, folder = OnnxBackend(exported.path), TorchBackend(with_units)
    assert graph.config.units == UNITS
    answered, expected = graph.predict(some), folder.predict(some)
    assert answered.scores == pytest.approx(expected.scores, abs=1e-4)
    assert answered.units == pytest.approx(expected.units, abs=1e-4)
    pair = (smile[12], smile[20])
    answers = [Recognizer.from_pretrained(each).predict(pair) for each in (exported.path, with_units)]
    first, second = ({unit.number: unit.probability for unit in answer.units} for answer in answers)
    assert first == pytest.approx(second, abs=1e-3)


def test_the_folder_holds_the_calibration_of_the_units(with_units):
    config = read_config(with_units)
    notes = config.notes["units"]
    assert config.units == UNITS and notes["clips"] == 96 and notes["error_after"] < 0.2
    assert UnitCalibration.of_notes(config.notes).present == tuple(notes["present"])


def test_folds_also_calibrate_units(maps, tmp_path):
    tiny = ["model.width=32", "model.feed_forward=48", "model.blocks=4", "model.heads=2"]
    changes = [*tiny, "training.epochs=3", "training.lr=2e-3", "training.action_units=1"]
    model = train(maps, protocol="sde", out=tmp_path / "model", folds=2, changes=changes, workers=1)
    assert read_config(model.folder).notes["units"]["clips"] == 120


def test_the_logits_of_fold_records_can_be_restored():
    """Records made under one calibration, of units that are there by sigma(x): the pair that is found undoes it."""
    random = np.random.default_rng(0)
    strength = random.normal(-1, 1.5, (400, len(UNITS)))
    there = random.random(strength.shape) < 1 / (1 + np.exp(-strength))
    annotations = ["+".join(str(unit) for unit, each in zip(UNITS, row, strict=True) if each) for row in there]
    logits = np.stack([strength, strength, strength], axis=1)
    before = UnitCalibration((0.5, 0.4), (2.0, 1.0), side_margin=0.7)
    units = unit_records(logits, before, annotations)
    clips = [
        ClipRecord("c", str(number // 5), str(number), "a", "a", "a", 0, "f", (1.0,), units=each)
        for number, each in enumerate(units)
    ]
    fitted = calibrate_units_by_folds([FoldRecord("f", 0, "", tuple(clips))], before)
    assert fitted.calibration.present == pytest.approx((1.0, 0.0), abs=0.08) and fitted.calibration.side == (2.0, 1.0)
    assert fitted.calibration.side_margin == 0.7
    assert calibrate_units_by_folds([], before) is None
