"""One map through ONNX Runtime against eager torch, one thread each."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch

from epir.bench.model import predicting
from epir.bench.ratio import Ratio, seconds_each
from epir.model.transformer import Epir
from epir.recognition.engine import OnnxEngine
from epir.recognition.export import export_onnx


def measure(*, quick: bool = False) -> list[Ratio]:
    """How many times faster the exported model answers for one map."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with TemporaryDirectory(prefix="epir-bench-") as folder:
            return [_one_map(Path(folder), rounds=8 if quick else 40)]
    finally:
        torch.set_num_threads(before)


def _one_map(folder: Path, *, rounds: int) -> Ratio:
    model = Epir().eval()
    model.save_pretrained(folder / "model")
    export_onnx(folder / "model", folder / "model.onnx")
    engine = OnnxEngine(folder / "model.onnx")
    map_ = torch.randn(1, 3, 28, 28)
    given = np.ascontiguousarray(map_.numpy())
    seconds = seconds_each(
        {"eager": predicting(model, map_), "onnx": lambda: engine.logits(given)}, rounds=rounds, calls=3
    )
    detail = f"{1000 * seconds['onnx']:.2f} ms against {1000 * seconds['eager']:.2f} ms"
    return Ratio("eager / onnx, one map", seconds["eager"] / seconds["onnx"], 2.0, detail)
