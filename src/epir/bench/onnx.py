"""One map through ONNX Runtime against eager torch, one thread each."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch

from epir.bench.model import predicting
from epir.bench.ratio import Ratio, seconds_each
from epir.models.epir import Epir
from epir.recognition.backend import OnnxBackend
from epir.recognition.export import export_onnx


def measure(*, quick: bool = False) -> list[Ratio]:
    """How many times faster the exported model answers for one map, with its own weights and with eight bits."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with TemporaryDirectory(prefix="epir-bench-") as folder:
            return _one_map(Path(folder), rounds=8 if quick else 40)
    finally:
        torch.set_num_threads(before)


def _one_map(folder: Path, *, rounds: int) -> list[Ratio]:
    model = Epir().eval()
    model.save_pretrained(folder / "model")
    map_ = torch.randn(1, 3, 28, 28)
    work: dict[str, Callable[[], object]] = {"eager": predicting(model, map_)}
    for name, int8 in (("onnx", False), ("onnx int8", True)):
        exported = export_onnx(folder / "model", folder / f"{name}.onnx", int8=int8)
        work[name] = partial(OnnxBackend(exported.path).logits, np.ascontiguousarray(map_.numpy()))
    seconds = seconds_each(work, rounds=rounds, calls=3)
    eager = seconds.pop("eager")
    return [
        Ratio(f"eager / {name}, one map", eager / each, 2.0, f"{1000 * each:.2f} ms against {1000 * eager:.2f} ms")
        for name, each in seconds.items()
    ]
