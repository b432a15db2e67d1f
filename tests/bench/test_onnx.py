import pytest

from epir.bench import onnx
from epir.models.epir import Epir
from epir.models.settings import ModelSettings

pytest.importorskip("onnxscript")
pytest.importorskip("onnxruntime")


@pytest.mark.slow
def test_the_exported_model_is_measured_against_eager_torch(monkeypatch):
    small = ModelSettings(width=12, heads=2, feed_forward=12, blocks=3, integration=0.125)
    monkeypatch.setattr(onnx, "Epir", lambda: Epir(small))
    plain, int8 = onnx.measure(quick=True)
    assert (plain.name, int8.name) == ("eager / onnx, one map", "eager / onnx int8, one map")
    for ratio in (plain, int8):
        assert ratio.value > 0
        assert ratio.target == 2.0
        assert "ms against" in ratio.detail
