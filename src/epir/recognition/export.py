"""A model folder -> one ONNX file, compared with the original before it is kept.

The file carries the model's `config.json`, so that a recognizer needs nothing else. Its weights are those of the
model, or rounded to eight bits, which a processor reads and multiplies in half the time.

Axes: n maps, S map size, C classes
"""

import contextlib
import io
import json
import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import softmax

from epir.core.errors import CheckpointError, MissingExtra
from epir.core.files import whole_file
from epir.core.output import claimed_file
from epir.models.folder import ModelConfig
from epir.models.schema import check_config
from epir.recognition.backend import OnnxBackend, TorchBackend, onnx_runtime

METADATA = "epir"
LARGEST_DIFFERENCE = 1e-4  # of a logit: rounding of float32 stays well below
LARGEST_MEAN_DIFFERENCE = 0.05  # of a score, with weights of eight bits: those that ship with epir have 0.006
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
    same: int  # of them: those with the same answer
    scores: float  # how far the scores are apart, as the mean over all maps
    megabytes: float


def export_onnx(
    folder: str | Path,
    out: str | Path,
    *,
    maps: Sequence[np.ndarray] | np.ndarray = (),
    int8: bool = False,
    force: bool = False,
) -> Exported:
    """Write the model of a folder as ONNX; `maps` (n, 3, S, S) are compared besides random ones.

    With `int8` the weights are rounded to eight bits: a quarter of the size and faster, with answers that differ a
    little.
    """
    folder, out = Path(folder), Path(out)
    if out.suffix != ".onnx":
        raise CheckpointError(f"{out} does not end in .onnx", fix=f"name it {out.with_suffix('.onnx')}")
    with claimed_file(out, force=force, inputs=[folder]):
        return _export(folder, out, maps=maps, int8=int8)


def _export(folder: Path, out: Path, *, maps: Sequence[np.ndarray] | np.ndarray, int8: bool) -> Exported:
    import torch

    original = TorchBackend(folder)
    size = original.map_size
    noise = np.random.default_rng(0).standard_normal((sum(BATCHES), 3, size, size)).astype(np.float32)
    real = np.array(maps, np.float32) if len(maps) else noise[:0]  # a copy: torch wants arrays that it may write to
    original.network.check(torch.from_numpy(real))
    with whole_file(out) as temporary:
        _write(original, temporary, int8=int8)
        copy = OnnxBackend(temporary)
        expected, given = (np.concatenate(each) for each in zip(*_both(original, copy, noise, real), strict=True))
        off = np.abs(expected - given).max(axis=1)  # (n,)
        expected, given = (each[:, : original.network.settings.classes] for each in (expected, given))
        scores = float(np.abs(softmax(expected, axis=1) - softmax(given, axis=1)).max(axis=1).mean())
        _refuse_misfit(off, scores, int8=int8)
    return Exported(
        path=out,
        difference=float(off.max()),
        random=float(off[: len(noise)].max()),
        real=float(off[len(noise) :].max()) if len(real) else None,
        maps=len(off),
        same=int((expected.argmax(axis=1) == given.argmax(axis=1)).sum()),
        scores=scores,
        megabytes=round(out.stat().st_size / 1e6, 2),
    )


def read_metadata(metadata: Mapping[str, str], path: Path) -> ModelConfig:
    """The config of the model in an ONNX file."""
    try:
        config = json.loads(metadata[METADATA])
        check_config(config, path)
        units = tuple(config.get("units", ()))
        return ModelConfig(config["model"], tuple(config["labels"]), config["notes"], units=units)
    except (KeyError, ValueError, TypeError, AttributeError, RecursionError):
        raise CheckpointError(
            f"{path} does not say which model it is", fix="write it with epir export MODEL --out FILE.onnx"
        ) from None


def _refuse_misfit(off: np.ndarray, scores: float, *, int8: bool) -> None:
    """Refuse a file whose logits, or with eight bits whose scores, are too far from the original's."""
    if int8 and not scores <= LARGEST_MEAN_DIFFERENCE:
        raise CheckpointError(
            f"with weights of eight bits the scores differ from the original's by {scores:.2g} on average, "
            "so the file was not kept",
            fix="export without --int8",
        )
    if not int8 and not off.max() <= LARGEST_DIFFERENCE:
        raise CheckpointError(
            f"the exported model differs from the original by {off.max():.2g}, so it was not kept",
            fix="install the versions of torch, onnx and onnxruntime in constraints.txt, and export again",
        )


def _write(original: TorchBackend, path: Path, *, int8: bool) -> None:
    import torch

    onnx = _onnx()
    size = original.map_size
    batch = torch.export.Dim("batch", min=1)
    has_units = original.network.unit_head is not None
    with _quiet(), torch.no_grad():
        program = torch.onnx.export(
            _with_units(original.network) if has_units else original.network,
            (torch.zeros(2, 3, size, size),),
            dynamo=True,
            input_names=["maps"],
            output_names=["logits", "units"] if has_units else ["logits"],
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
        "units": list(original.config.units),
    }
    onnx.helper.set_model_props(model, {METADATA: json.dumps(config)})
    if int8:
        _save_int8(model, path)
    else:
        onnx.save_model(model, str(path))


def _with_units(network: Any) -> Any:
    """A network that gives the logits of its action units besides those of the classes."""
    from torch import Tensor, nn

    class WithUnits(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def forward(self, maps: Tensor) -> tuple[Tensor, Tensor]:
            logits, units = self.network.forward_with_units(maps)
            return logits, units

    return WithUnits().eval()


def _save_int8(model: Any, path: Path) -> None:
    """Save with weights of eight bits, each column with a scale of its own; activations are scaled as they come.

    The range is one bit short, for the sums of older processors, without VNNI, would overflow.
    """
    onnx_runtime()
    from onnxruntime.quantization import QuantType, quantize_dynamic

    del model.graph.value_info[:]  # the quantiser turns weights round, and would trip over the shapes written there
    with _quiet():
        quantize_dynamic(
            model,
            path,
            op_types_to_quantize=["MatMul", "Gemm"],
            per_channel=True,
            reduce_range=True,
            weight_type=QuantType.QInt8,
        )


def _both(original: TorchBackend, copy: OnnxBackend, *sets: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Logits by the original and by its copy, those of action units beside them, over batches of several sizes."""
    import torch

    def joined(logits: np.ndarray, units: np.ndarray | None) -> np.ndarray:
        return logits if units is None else np.concatenate([logits, units.reshape(len(units), -1)], axis=1)

    for maps in sets:
        start = 0
        for count in cycle(BATCHES):
            part = maps[start : start + count]
            if not len(part):
                break
            with torch.no_grad():
                yield joined(*_run(original.network, torch.from_numpy(np.array(part)))), joined(*copy.run(part))
            start += count


def _run(network: Any, maps: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """Logits (n, C) by torch, and those of the action units (n, 2, U) where the network has a head for them."""
    if network.unit_head is None:
        return network(maps).numpy(), None
    logits, units = network.forward_with_units(maps)
    return logits.numpy(), units.numpy()


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
    """Exporting is chatty on stdout, in warnings and in logs; nothing it says concerns the user of a checked file."""
    logger, root, deaf = logging.getLogger("torch.onnx"), logging.getLogger(), logging.NullHandler()
    level = logger.level
    logger.setLevel(logging.ERROR)
    root.addHandler(deaf)  # without one, the first message to the root logger would set up logging for good
    try:
        with (
            warnings.catch_warnings(),
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        root.removeHandler(deaf)
        logger.setLevel(level)
