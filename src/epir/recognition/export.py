"""A model folder -> one ONNX file, compared with the original before it is kept.

The file carries the model's `config.json`, so that a recognizer needs nothing else.

Axes: n maps, S map size, C classes
"""

import contextlib
import io
import json
import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from epir.core.errors import CheckpointError, MissingExtra
from epir.core.files import refuse_overwrite, whole_file
from epir.model.folder import ModelConfig
from epir.recognition.engine import OnnxEngine, TorchEngine

METADATA = "epir"
LARGEST_DIFFERENCE = 1e-4  # of a logit: rounding of float32 stays well below
BATCHES = (1, 2, 7)  # the batch is free, so several are tried
OPSET = 20  # the first with GELU as one operation


@dataclass(frozen=True)
class Exported:
    """An ONNX file and how far its logits are from the original's."""

    path: Path
    difference: float  # the largest, on all maps tried
    random: float  # on random maps alone
    real: float | None  # on given maps alone; None where none were given
    maps: int  # tried
    megabytes: float


def export_onnx(
    folder: str | Path, out: str | Path, *, maps: Sequence[np.ndarray] | np.ndarray = (), force: bool = False
) -> Exported:
    """Write the model of a folder as ONNX; `maps` (n, 3, S, S) are compared besides random ones."""
    folder, out = Path(folder), Path(out)
    if out.suffix != ".onnx":
        raise CheckpointError(f"{out} does not end in .onnx", fix=f"name it {out.with_suffix('.onnx')}")
    refuse_overwrite(out, force=force)
    original = TorchEngine(folder)
    size = original.map_size
    noise = np.random.default_rng(0).standard_normal((sum(BATCHES), 3, size, size)).astype(np.float32)
    real = (
        np.asarray(maps, np.float32).reshape(-1, 3, size, size)
        if len(maps)
        else np.zeros((0, 3, size, size), np.float32)
    )
    with whole_file(out) as temporary:
        _write(original, temporary)
        copy = OnnxEngine(temporary)
        differences = [_difference(original, copy, noise), _difference(original, copy, real)]
        if max(differences) > LARGEST_DIFFERENCE:
            raise CheckpointError(
                f"the exported model differs from the original by {max(differences):.2g}, so it was not kept",
                fix="install the versions of torch, onnx and onnxruntime in constraints.txt, and export again",
            )
    return Exported(
        path=out,
        difference=max(differences),
        random=differences[0],
        real=differences[1] if len(real) else None,
        maps=len(noise) + len(real),
        megabytes=round(out.stat().st_size / 1e6, 2),
    )


def read_metadata(metadata: Mapping[str, str], path: Path) -> ModelConfig:
    """The config of the model in an ONNX file."""
    try:
        config = json.loads(metadata[METADATA])
        return ModelConfig(config["model"], tuple(config["labels"]), config["notes"])
    except (KeyError, ValueError, TypeError):
        raise CheckpointError(
            f"{path} does not say which model it is", fix="write it with epir export MODEL --out FILE.onnx"
        ) from None


def _write(original: TorchEngine, path: Path) -> None:
    import torch

    onnx = _onnx()
    size = original.map_size
    batch = torch.export.Dim("batch", min=1)
    with _quiet(), torch.no_grad():
        program = torch.onnx.export(
            original.network,
            (torch.zeros(2, 3, size, size),),
            dynamo=True,
            input_names=["maps"],
            output_names=["logits"],
            dynamic_shapes={"maps": {0: batch}},
            opset_version=OPSET,
            verbose=False,
        )
    assert program is not None, "torch.onnx.export(dynamo=True) gives a program"
    model = program.model_proto
    config = {
        "model": dict(original.config.settings),
        "labels": list(original.config.labels),
        "notes": dict(original.config.notes),
    }
    onnx.helper.set_model_props(model, {METADATA: json.dumps(config)})
    onnx.save_model(model, str(path))


def _difference(original: TorchEngine, copy: OnnxEngine, maps: np.ndarray) -> float:
    """The largest difference of a logit over batches of several sizes."""
    import torch

    largest, start = 0.0, 0
    while start < len(maps):
        for count in BATCHES:
            part = maps[start : start + count]
            if len(part):
                with torch.no_grad():
                    expected = original.network(torch.from_numpy(np.array(part))).numpy()
                largest = max(largest, float(np.abs(expected - copy.logits(part)).max()))
            start += count
    return largest


def _onnx() -> Any:
    """The module onnx, with what torch's exporter needs, or an error that says how to install it."""
    try:
        import onnx
        import onnxscript  # noqa: F401
    except ImportError:
        raise MissingExtra.named("ONNX", "onnx") from None
    return onnx


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Exporting is chatty on stdout and in warnings; nothing it says concerns the user of a finished, checked file."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with (
            warnings.catch_warnings(),
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
