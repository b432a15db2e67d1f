import pytest

from epir.bench import onnx
from epir.models.epir import Epir
from epir.models.settings import ModelSettings
from epir.recognition import export

pytest.importorskip("onnxscript")
pytest.importorskip("onnxruntime")


@pytest.mark.slow
def test_the_exported_model_is_measured_against_eager_torch(monkeypatch):
    small = ModelSettings(width=16, heads=2, feed_forward=16, blocks=3)
    monkeypatch.setattr(onnx, "Epir", lambda: Epir(small))
    monkeypatch.setattr(export, "LARGEST_MEAN_DIFFERENCE", 1.0)  # eight bits are coarse for random weights
    plain, int8 = onnx.measure(quick=True)
    assert [plain.name, int8.name] == [f"eager / {name}, one answer of 10 views" for name in ("onnx", "onnx int8")]
    for ratio in (plain, int8):
        assert ratio.value > 0
        assert "ms against" in ratio.detail
    assert plain.target is None and int8.target == 2.0
