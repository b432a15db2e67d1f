import copy
import json
import logging
import shutil
import sys

import numpy as np
import pytest

from epir.core.errors import CheckpointError, EpirError, MissingExtra, ShapeError
from epir.final import export as module
from epir.maps.mapset import load_maps
from epir.models.folder import write_config
from epir.models.predict import OnnxBackend, TorchBackend
from epir.recognition.recognizer import Recognizer

pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")


@pytest.fixture(scope="module", autouse=True)
def networks_traced():
    """Turning the network into a graph takes long, and every kind of file begins with the same one."""
    graphs, build = [], module._network_graph

    def shared(original):
        if not graphs:
            graphs.append(build(original))
        return copy.deepcopy(graphs[0])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_network_graph", shared)
        yield


@pytest.fixture(scope="module")
def exported(trained, maps, tmp_path_factory):
    out = tmp_path_factory.mktemp("onnx") / "tiny.onnx"
    return module.export(trained.folder, out, maps=load_maps(maps).maps[:12])


@pytest.fixture(scope="module")
def int8(trained, maps, tmp_path_factory):
    """Exporting also leaves the logging of the program alone."""
    out, handlers = tmp_path_factory.mktemp("onnx") / "tiny8.onnx", list(logging.getLogger().handlers)
    done = module.export(trained.folder, out, maps=load_maps(maps).maps[:12], int8=True)
    assert logging.getLogger().handlers == handlers
    return done


def test_the_file_gives_what_the_original_gives(exported):
    assert exported.difference == max(exported.random, exported.real) < 1e-4
    assert exported.maps == 10 + 12


def test_the_network_is_traced_once_and_its_weights_are_stored_once(trained, tmp_path, monkeypatch):
    """Logits and scores come from two copies of the nodes: each trace takes as long as all the rest."""
    import onnx

    traced, trace = [], module._trace
    monkeypatch.setattr(module, "_trace", lambda net, *rest: traced.append(type(net).__name__) or trace(net, *rest))
    done = module.export(trained.folder, tmp_path / "m.onnx")
    assert traced == ["Scores"]  # the network's graph is that of the other tests
    small, weights = onnx.load(done.path).graph, TorchBackend(trained.folder).network.state_dict()
    stored = sum(int(np.prod(each.dims)) for each in small.initializer)
    assert stored < 1.5 * sum(each.numel() for each in weights.values())


@pytest.mark.parametrize("batch", [1, 3, 64])
def test_the_batch_is_free_and_scores_agree(exported, trained, batch):
    maps = np.random.default_rng(batch).standard_normal((batch, 3, 28, 28)).astype(np.float32)
    engine = OnnxBackend(exported.path)
    assert engine.run(maps)[0].shape == (batch, 3)
    assert engine.predict(maps).scores == pytest.approx(TorchBackend(trained.folder).predict(maps).scores, abs=1e-5)


def test_logits_need_no_copies_of_a_map(exported):
    """ONNX Runtime computes the whole graph: what gives the scores, ten times the work, is left out of the session."""
    import onnxruntime

    engine, whole = OnnxBackend(exported.path), onnxruntime.InferenceSession(str(exported.path))
    assert [each.name for each in engine.session.get_outputs()] == ["logits"]
    assert [each.name for each in whole.get_outputs()] == ["scores", "logits"]
    maps = np.random.default_rng(0).standard_normal((2, 3, 28, 28)).astype(np.float32)
    np.testing.assert_allclose(engine.run(maps)[0], whole.run(["logits"], {"maps": maps})[0], atol=1e-5)


def test_a_recognizer_runs_on_the_file_alone(exported, recognizer, smile):
    fast = Recognizer.from_pretrained(exported.path)
    expected = recognizer.predict((smile[12], smile[20]))
    answer = fast.predict((smile[12], smile[20]))
    assert answer.scores == pytest.approx(expected.scores, abs=1e-4)
    assert answer.label == expected.label
    assert (fast.classifier.temperature, fast.threshold, fast.recipe) == (
        recognizer.classifier.temperature,
        recognizer.threshold,
        recognizer.recipe,
    )
    assert answer.tokens is None
    assert answer.attribution.patches == pytest.approx(expected.attribution.patches, abs=1e-3)
    assert answer.attribution.regions == pytest.approx(expected.attribution.regions, abs=1e-3)
    answer.plot()


def test_a_model_folder_with_its_export_runs_by_onnx(exported, trained, tmp_path, smile):
    shutil.copytree(trained.folder, tmp_path / "model")
    shutil.copy(exported.path, tmp_path / "model" / "model.onnx")
    fast = Recognizer.from_pretrained(tmp_path / "model", backend="onnx")
    assert fast.predict((smile[12], smile[20])).scores


def test_an_export_from_before_a_calibration_is_refused(exported, trained, tmp_path):
    shutil.copytree(trained.folder, tmp_path / "model")
    shutil.copy(exported.path, tmp_path / "model" / "model.onnx")
    values = json.loads((tmp_path / "model" / "config.json").read_text())
    values["notes"]["temperature"] = 2.5
    write_config(tmp_path / "model", values)
    with pytest.raises(
        CheckpointError, match=r"exported before model was calibrated.*\n  fix: .*epir export .*--force"
    ):
        Recognizer.from_pretrained(tmp_path / "model", backend="onnx")


def test_eight_bits_are_smaller_and_answer_nearly_the_same(int8, exported, trained, recognizer, smile):
    assert int8.megabytes < exported.megabytes  # of a tiny model the graph is the most
    assert 1e-4 < int8.scores < 0.05  # rounding shows
    assert int8.maps - int8.same <= 2
    fast = Recognizer.from_pretrained(int8.path)
    answer, expected = (each.predict((smile[12], smile[20])) for each in (fast, recognizer))
    assert answer.scores == pytest.approx(expected.scores, abs=0.1)


@pytest.mark.parametrize(
    ("int8", "words"),
    [
        (False, r"differs from the original by 1, so it was not kept\n  fix: install"),
        (
            True,
            r"eight-bit weights the scores differ .* by 0.\d+ on average.*\n  fix: export without --int8",
        ),
    ],
)
def test_an_export_that_differs_is_not_kept(trained, exported, tmp_path, monkeypatch, int8, words):
    monkeypatch.setattr(module, "_write", lambda _, path, **__: path.write_bytes(exported.path.read_bytes()))
    right = OnnxBackend.run
    monkeypatch.setattr(OnnxBackend, "run", lambda self, maps: (right(self, maps)[0] + np.float32([1, 0, 0]), None))
    with pytest.raises(CheckpointError, match=words):
        module.export(trained.folder, tmp_path / "bad.onnx", int8=int8)
    assert list(tmp_path.iterdir()) == []


def test_names_and_existing_files_are_minded(trained, exported, tmp_path):
    with pytest.raises(CheckpointError, match=r"/ does not end in .onnx\n  fix: name it /model.onnx"):
        module.export(trained.folder, "/")
    with pytest.raises(CheckpointError, match=r"m.bin does not end in .onnx\n  fix: name it .*m.onnx"):
        module.export(trained.folder, tmp_path / "m.bin")
    with pytest.raises(EpirError, match="exists already"):
        module.export(trained.folder, exported.path)


def test_maps_of_another_size_are_refused_before_anything_is_written(trained, tmp_path):
    maps = np.zeros((4, 3, 56, 56), np.float32)
    with pytest.raises(ShapeError, match=r"built for 28 px maps but got 56 px\n  fix: prepare the maps with --size 28"):
        module.export(trained.folder, tmp_path / "m.onnx", maps=maps)
    assert list(tmp_path.iterdir()) == []


def test_a_foreign_file_is_refused(tmp_path):
    (tmp_path / "m.onnx").write_bytes(b"nothing")
    with pytest.raises(CheckpointError, match=r"m.onnx cannot be opened: .*\n  fix: write it again"):
        OnnxBackend(tmp_path / "m.onnx")


def test_without_onnx_the_error_names_the_extra(trained, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingExtra, match=r'ONNX is not installed\n  fix: pip install -c constraints.txt ".\[onnx\]"'):
        module.export(trained.folder, tmp_path / "m.onnx")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtra, match="ONNX Runtime is not installed"):
        OnnxBackend(tmp_path / "m.onnx")


def test_the_scores_of_the_graph_are_those_of_a_recognizer(exported, trained):
    """Views, normalisation, temperature and highest score are inside: ONNX Runtime and NumPy are enough."""
    import onnxruntime

    maps = np.random.default_rng(5).standard_normal((7, 3, 28, 28)).astype(np.float32)
    session = onnxruntime.InferenceSession(str(exported.path))
    scores = session.run(["scores"], {"maps": maps})[0]
    original = Recognizer.from_pretrained(trained.folder)
    expected = original.classifier.calibrated(original.backend.predict(maps).scores)
    assert scores == pytest.approx(expected, abs=1e-5)
    assert scores.sum(axis=1) == pytest.approx(np.ones(7), abs=1e-5)


def test_raw_logits_on_request(trained, tmp_path):
    done = module.export(trained.folder, tmp_path / "raw.onnx", logits=True)
    raw = OnnxBackend(done.path)
    assert "scores" not in [each.name for each in raw.session.get_outputs()]
    maps = np.random.default_rng(6).standard_normal((3, 3, 28, 28)).astype(np.float32)
    assert raw.predict(maps).scores == pytest.approx(TorchBackend(trained.folder).predict(maps).scores, abs=1e-5)
