import pytest

from epir.bench.onnx import measure

pytest.importorskip("onnxscript")
pytest.importorskip("onnxruntime")


@pytest.mark.slow
def test_the_exported_model_is_measured_against_eager_torch():
    plain, int8 = measure(quick=True)
    assert (plain.name, int8.name) == ("eager / onnx, one map", "eager / onnx int8, one map")
    for ratio in (plain, int8):
        assert ratio.value > 0
        assert ratio.target == 2.0
        assert "ms against" in ratio.detail
