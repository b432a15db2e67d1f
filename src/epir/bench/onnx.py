"""One answer, the ten views of one map, through ONNX Runtime against eager torch, one thread each."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch

from epir.bench.model import VIEWS, predicting
from epir.bench.ratio import Ratio, seconds_each
from epir.models.epir import Epir
from epir.recognition.backend import OnnxBackend
from epir.recognition.export import export


def measure(*, quick: bool = False) -> list[Ratio]:
    """How many times faster the exported model is, with its own weights and with eight bits."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with TemporaryDirectory(prefix="epir-bench-") as folder:
            return _one_answer(Path(folder), rounds=8 if quick else 40)
    finally:
        torch.set_num_threads(before)


def _one_answer(folder: Path, *, rounds: int) -> list[Ratio]:
    model = Epir().eval()
    model.save_pretrained(folder / "model")
    views = torch.randn(VIEWS, 3, 28, 28)
    work: dict[str, Callable[[], object]] = {"eager": predicting(model, views)}
    for name, int8 in (("onnx", False), ("onnx int8", True)):
        exported = export(folder / "model", folder / f"{name}.onnx", int8=int8)
        work[name] = partial(OnnxBackend(exported.path).logits, np.ascontiguousarray(views.numpy()))
    seconds = seconds_each(work, rounds=rounds, calls=3)
    eager = seconds.pop("eager")
    return [
        Ratio(
            f"eager / {name}, one answer of {VIEWS} views",
            eager / each,
            2.0 if "int8" in name else None,
            f"{1000 * each:.1f} ms against {1000 * eager:.1f} ms",
        )
        for name, each in seconds.items()
    ]
