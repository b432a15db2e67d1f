import pytest

from epir.bench.onnx import measure

pytest.importorskip("onnxscript")
pytest.importorskip("onnxruntime")


@pytest.mark.slow
def test_the_exported_model_is_measured_against_eager_torch():
    (ratio,) = measure(quick=True)
    assert ratio.name == "eager / onnx, one map"
    assert ratio.value > 0
    assert ratio.target == 2.0
    assert "ms against" in ratio.detail
