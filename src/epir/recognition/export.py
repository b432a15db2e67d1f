"""A model folder -> one ONNX file, compared with the original before it is kept.

The file carries the model's `config.json`, so that a recognizer needs nothing else. Its output `scores` needs nothing
but ONNX Runtime: normalisation, the mean over the views of a map, temperature and highest score are part of the graph.
`logits` are those of one view, as they are. Its weights are those of the model, or rounded to eight bits, which a
processor reads and multiplies in half the time.

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
from epir.recognition.calibration import SMALLEST, with_temperature

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


def export(
    folder: str | Path,
    out: str | Path,
    *,
    maps: Sequence[np.ndarray] | np.ndarray = (),
    int8: bool = False,
    logits: bool = False,
    force: bool = False,
) -> Exported:
    """Write the model of a folder as ONNX: `epir.export("models/mine", "mine.onnx")`.

    The file is compared with the model on random maps, and on `maps` (n, 3, S, S) where they are given; one that
    differs is not kept.

    With `int8` the weights are rounded to eight bits: a quarter of the size and faster, with answers that differ a
    little. With `logits`, and with `int8`, the graph has no output `scores`, only raw logits of one view.
    """
    folder, out = Path(folder), Path(out)
    if out.suffix != ".onnx":
        name = out / "model.onnx" if out.is_dir() else out.with_suffix(".onnx")
        raise CheckpointError(f"{out} does not end in .onnx", fix=f"name it {name}")
    with claimed_file(out, force=force, inputs=[folder]):
        return _export(folder, out, maps=maps, int8=int8, logits=logits or int8)


def _export(folder: Path, out: Path, *, maps: Sequence[np.ndarray] | np.ndarray, int8: bool, logits: bool) -> Exported:
    import torch

    original = TorchBackend(folder)
    shape = original.network.map_shape
    noise = np.random.default_rng(0).standard_normal((sum(BATCHES), *shape)).astype(np.float32)
    real = np.array(maps, np.float32) if len(maps) else noise[:0]  # a copy: torch wants arrays that it may write to
    original.network.check(torch.from_numpy(real))
    with whole_file(out) as temporary:
        _write(original, temporary, int8=int8, logits=logits)
        copy = OnnxBackend(temporary)
        expected, given = (np.concatenate(each) for each in zip(*_both(original, copy, noise, real), strict=True))
        off = np.abs(expected - given).max(axis=1)  # (n,)
        expected, given = (each[:, : original.network.settings.classes] for each in (expected, given))
        scores = float(np.abs(softmax(expected, axis=1) - softmax(given, axis=1)).max(axis=1).mean())
        _refuse_misfit(off, scores, int8=int8)
        if not logits:
            _refuse_other_scores(original, copy, np.concatenate([noise, real]))
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


def _refuse_other_scores(original: TorchBackend, copy: OnnxBackend, maps: np.ndarray) -> None:
    """Refuse a file whose own scores are not those that a recognizer makes of the original's."""
    notes = original.config.notes
    temperature, highest = float(notes.get("temperature", 1.0)), float(notes.get("highest", 1.0))
    expected = with_temperature(original.scores(maps), temperature, highest)
    off = float(np.abs(copy.calibrated_scores(maps) - expected).max())
    if not off <= LARGEST_DIFFERENCE:
        raise CheckpointError(
            f"the scores in the graph differ from the original's by {off:.2g}, so the file was not kept",
            fix="export with --logits, and use it through epir",
        )


def _write(original: TorchBackend, path: Path, *, int8: bool, logits: bool = False) -> None:
    import torch

    onnx = _onnx()
    batch = torch.export.Dim("batch", min=1)
    names = [*([] if logits else ["scores"]), "logits", *(["units"] if original.network.unit_head is not None else [])]
    with _quiet(), torch.no_grad():
        program = torch.onnx.export(
            _graph(original.network, original.config, scores=not logits),
            (torch.zeros(2, *original.network.map_shape),),
            dynamo=True,
            input_names=["maps"],
            output_names=names,
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


def _graph(network: Any, config: ModelConfig, *, scores: bool) -> Any:
    """A module with everything that the file gives: calibrated scores, logits, and those of the action units."""
    import torch
    from torch import Tensor, nn

    from epir.training.augment import mirrored

    shift, mirror = config.views["shift"], config.views["mirror"]
    temperature, highest = float(config.notes.get("temperature", 1.0)), float(config.notes.get("highest", 1.0))
    steps = [(0, 0)] + [(0, shift), (0, -shift), (shift, 0), (-shift, 0)] * bool(shift)  # as `training.augment.views`

    class Graph(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = network
            places = torch.arange(network.settings.map_size)
            for number, (down, right) in enumerate(steps):
                self.register_buffer(f"rows{number}", (places - down).clamp(0, len(places) - 1))
                self.register_buffer(f"columns{number}", (places - right).clamp(0, len(places) - 1))

        def forward(self, maps: Tensor) -> tuple[Tensor, ...]:
            if network.unit_head is None:
                plain: tuple[Tensor, ...] = (self.network(maps),)
            else:
                plain = self.network.forward_with_units(maps)
            return (self.scores(maps), *plain) if scores else plain

        def scores(self, maps: Tensor) -> Tensor:
            moved = [maps]
            for number in range(1, len(steps)):
                rows, columns = getattr(self, f"rows{number}"), getattr(self, f"columns{number}")
                moved.append(maps.index_select(-2, rows).index_select(-1, columns))
            seen = moved + [mirrored(each) for each in moved] * mirror
            answers = self.network(torch.cat(seen)).softmax(-1)  # (VB, C)
            mean = answers.reshape(len(seen), -1, answers.shape[-1]).mean(0)  # (B, C)
            made = (mean.clamp(min=SMALLEST).log() / temperature).softmax(-1)
            if highest >= 1:
                return made
            best = made.amax(-1, keepdim=True)
            others = torch.where(made == best, 0.0, made + torch.finfo(made.dtype).tiny)
            lowered = torch.where(made == best, highest, others / others.sum(-1, keepdim=True) * (1 - highest))
            return torch.where(best > highest, lowered, made)

    return Graph().eval()


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
