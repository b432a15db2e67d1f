import pytest

from epir.bench.onnx import measure

pytest.importorskip("onnxscript")
pytest.importorskip("onnxruntime")


@pytest.mark.slow
def test_the_exported_model_is_measured_against_eager_torch():
    plain, int8 = measure(quick=True)
    assert (plain.name, int8.name) == ("eager / onnx, one answer of 10 views", "eager / onnx int8, one answer of 10 views")
    for ratio in (plain, int8):
        assert ratio.value > 0
        assert "ms against" in ratio.detail
    assert plain.target is None and int8.target == 2.0
