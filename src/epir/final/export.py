"""A model folder -> one ONNX file, which is compared with the original before it is kept.

The file carries the model's `config.json`, so a recognizer needs nothing else. Its output `scores` needs only ONNX
Runtime: normalisation, the mean over the views of a map, temperature and highest score are part of the graph. `logits`
are the raw logits of one view. Weights are those of the model, or rounded to eight bits, which takes half the time.

Axes: n maps, S map size, C classes
"""

import contextlib
import io
import json
import logging
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import softmax

from epir.core.errors import CheckpointError, MissingExtra
from epir.core.files import atomic_write
from epir.core.output import check_onnx, claimed_file
from epir.models.folder import ModelConfig, sealed
from epir.models.predict import (
    METADATA,
    OnnxBackend,
    TorchBackend,
    onnx_runtime,
    tensor_with_temperature,
    views,
    with_temperature,
)

LARGEST_DIFFERENCE = 1e-4  # of a logit; float32 rounding stays well below
LARGEST_MEAN_DIFFERENCE = 0.05  # of a score, with int8 weights; the shipped weights have 0.006
BATCHES = (1, 2, 7)  # batch sizes to compare: the batch dimension is dynamic
OPSET = 20  # the first with GELU as one operation


@dataclass(frozen=True)
class ExportedModel:
    """An ONNX file, and the largest differences between its logits and the original's."""

    path: Path
    difference: float  # on all maps
    random: float  # on random maps
    real: float | None  # on the user's maps, if any
    maps: int  # compared
    same: int  # maps with the same answer
    scores: float  # difference of the scores, averaged over all maps
    megabytes: float


def export(
    folder: str | Path,
    out: str | Path,
    *,
    maps: Sequence[np.ndarray] | np.ndarray = (),
    int8: bool = False,
    logits: bool = False,
    force: bool = False,
) -> ExportedModel:
    """Write the model of a folder as ONNX: `epir.export("models/mine", "mine.onnx")`.

    The file is compared with the model on random maps, and on `maps` (n, 3, S, S) if given; a file that differs is not
    kept.

    `int8` rounds the weights to eight bits: a quarter of the size and faster, with slightly different answers. With
    `logits` or `int8`, the graph has no output `scores`, only raw logits of one view.
    """
    folder, out = Path(folder), Path(out)
    check_onnx(out)
    with claimed_file(out, force=force, inputs=[folder]):
        return _export(folder, out, maps=maps, int8=int8, logits=logits or int8)


def _export(
    folder: Path, out: Path, *, maps: Sequence[np.ndarray] | np.ndarray, int8: bool, logits: bool
) -> ExportedModel:
    import torch

    original = TorchBackend(folder)
    shape = (sum(BATCHES), 3, original.config.map_size, original.config.map_size)
    noise = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    real = np.array(maps, np.float32) if len(maps) else noise[:0]  # a copy: torch needs writable arrays
    original.network.check(torch.from_numpy(real))
    with atomic_write(out) as temporary:
        _write(original, temporary, int8=int8, logits=logits)
        copy = OnnxBackend(temporary)
        expected, actual = (np.concatenate(parts) for parts in zip(*_both(original, copy, noise, real), strict=True))
        off = np.abs(expected - actual).max(axis=1)  # (n,)
        expected, actual = (logits[:, : original.network.settings.classes] for logits in (expected, actual))
        scores = float(np.abs(softmax(expected, axis=1) - softmax(actual, axis=1)).max(axis=1).mean())
        _check_difference(off, scores, int8=int8)
        if not logits:
            _check_scores(original, copy, np.concatenate([noise, real]))
    return ExportedModel(
        path=out,
        difference=float(off.max()),
        random=float(off[: len(noise)].max()),
        real=float(off[len(noise) :].max()) if len(real) else None,
        maps=len(off),
        same=int((expected.argmax(axis=1) == actual.argmax(axis=1)).sum()),
        scores=scores,
        megabytes=round(out.stat().st_size / 1e6, 2),
    )


def _check_difference(off: np.ndarray, scores: float, *, int8: bool) -> None:
    """Raise an error if the logits (or, with int8, the scores) are too far from the original's."""
    if int8 and not scores <= LARGEST_MEAN_DIFFERENCE:
        raise CheckpointError(
            f"with eight-bit weights the scores differ from the original's by {scores:.2g} on average, "
            "so the file was not kept",
            fix="export without --int8",
        )
    if not int8 and not off.max() <= LARGEST_DIFFERENCE:
        raise CheckpointError(
            f"the exported model differs from the original by {off.max():.2g}, so it was not kept",
            fix="install the versions of torch, onnx and onnxruntime in constraints.txt, and export again",
        )


def _check_scores(original: TorchBackend, copy: OnnxBackend, maps: np.ndarray) -> None:
    """Raise an error if the scores of the graph are not those that a recognizer computes with the original."""
    notes = original.config.notes
    temperature, highest = float(notes.get("temperature", 1.0)), float(notes.get("highest", 1.0))
    expected = with_temperature(original.predict(maps).scores, temperature, highest)
    off = float(np.abs(copy.calibrated_scores(maps) - expected).max())
    if not off <= LARGEST_DIFFERENCE:
        raise CheckpointError(
            f"the scores in the graph differ from the original's by {off:.2g}, so the file was not kept",
            fix="export with --logits, and use it through epir",
        )


def _write(original: TorchBackend, path: Path, *, int8: bool, logits: bool = False) -> None:
    onnx = _onnx()
    model = _to_onnx(original, logits=logits)
    config = {
        "model": dict(original.config.settings),
        "labels": list(original.config.labels),
        "notes": dict(original.config.notes),
        "units": list(original.config.units),
    }
    onnx.helper.set_model_props(model, {METADATA: json.dumps(sealed(config))})
    if int8:
        _save_int8(model, path)
    else:
        onnx.save_model(model, str(path))


def _to_onnx(original: TorchBackend, *, logits: bool) -> Any:
    """Return the graph with its weights as an onnx.ModelProto.

    Tracing the network takes nearly all the time, so it is traced once, and its nodes are copied for the scores.
    """
    network = _network_graph(original)
    return network if logits else _with_scores(network, _scores_graph(original.config, len(original.config.classes)))


def _network_graph(original: TorchBackend) -> Any:
    """Trace maps -> logits of classes and, if the network has a unit head, of action units."""
    import torch
    from torch import Tensor, nn

    network = original.network

    class Plain(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def forward(self, maps: Tensor) -> tuple[Tensor, ...]:
            return (self.network(maps),) if network.unit_head is None else self.network.forward_with_units(maps)

    outputs = ["logits", *(["units"] if network.unit_head is not None else [])]
    size = original.config.map_size
    return _trace(Plain(), {"maps": torch.zeros(2, 3, size, size)}, {"maps": 1}, outputs)


def _scores_graph(config: ModelConfig, classes: int) -> Any:
    """Trace what surrounds the network: maps -> their views as one batch, and logits of views -> calibrated scores."""
    import torch
    from torch import Tensor, nn

    temperature, highest = float(config.notes.get("temperature", 1.0)), float(config.notes.get("highest", 1.0))
    maps = torch.zeros(2, 3, config.map_size, config.map_size)
    count = len(views(maps, **config.views))

    class Scores(nn.Module):
        def forward(self, maps: Tensor, answers: Tensor) -> tuple[Tensor, Tensor]:
            mean = answers.softmax(-1).reshape(count, -1, classes).mean(0)  # (B, C)
            return torch.cat(views(maps, **config.views)), tensor_with_temperature(mean, temperature, highest)

    inputs = {"maps": maps, "answers": torch.zeros(2 * count, classes)}
    return _trace(Scores(), inputs, {"maps": 1, "answers": count}, ["views", "scores"])


def _trace(module: Any, inputs: dict[str, Any], rows: dict[str, int], outputs: list[str]) -> Any:
    """Return the graph of a module with a dynamic batch; an input has `rows` rows per map."""
    import torch

    batch = torch.export.Dim("batch", min=1)
    with _quiet(), torch.no_grad():
        program = torch.onnx.export(
            module.eval(),
            tuple(inputs.values()),
            dynamo=True,
            input_names=list(inputs),
            output_names=outputs,
            dynamic_shapes={name: {0: batch if count == 1 else count * batch} for name, count in rows.items()},
            opset_version=OPSET,
            verbose=False,
        )
    assert program is not None, "torch.onnx.export(dynamo=True) gives a program"
    return program.model_proto


def _with_scores(network: Any, scores: Any) -> Any:
    """Add the output `scores`: a copy of the network's nodes, on the same weights, inside the graph of scores.

    The copy can still be cut off to compute logits alone.
    """
    import onnx

    weights = {weight.name for weight in network.graph.initializer}
    around = _renamed(scores.graph.node, "scores/", keep={"", "maps", "scores"})
    for weight in scores.graph.initializer:
        weight.name = f"scores/{weight.name}"
    of_views = _needed_for("logits", network.graph.node)
    copied = _renamed(
        of_views, "views/", keep={"", *weights}, names={"maps": "scores/views", "logits": "scores/answers"}
    )
    later, reached = [], {"scores/answers"}
    for node in around:
        if reached & set(node.input):
            reached |= set(node.output)
            later.append(node)
    model = onnx.ModelProto()
    model.CopyFrom(network)
    model.graph.node.extend([*(node for node in around if node not in later), *copied, *later])
    model.graph.initializer.extend(scores.graph.initializer)
    del model.graph.output[:]
    model.graph.output.extend([scores.graph.output[1], *network.graph.output])
    onnx.checker.check_model(model)
    return model


def _renamed(nodes: Iterable[Any], prefix: str, keep: Set[str], names: Mapping[str, str] | None = None) -> list[Any]:
    """Copy nodes with a prefix on every name, except those in `keep` and those renamed by `names`."""
    names, copies = names or {}, []
    for node in nodes:
        assert not any(attribute.HasField("g") for attribute in node.attribute), "a node with a graph inside"
        copy = type(node)()
        copy.CopyFrom(node)
        copy.name = prefix + node.name
        for ends in (copy.input, copy.output):
            ends[:] = [name if name in keep else names.get(name, prefix + name) for name in ends]
        copies.append(copy)
    return copies


def _needed_for(output: str, nodes: Sequence[Any]) -> list[Any]:
    """Return the nodes of a sorted graph that an output depends on, in order."""
    names, needed = {output}, []
    for node in reversed(nodes):
        if names & set(node.output):
            names |= set(node.input) - {""}
            needed.append(node)
    return needed[::-1]


def _save_int8(model: Any, path: Path) -> None:
    """Save with eight-bit weights, one scale per column; activations are scaled dynamically.

    The range is reduced by one bit, because sums would overflow on older processors without VNNI.
    """
    onnx_runtime()
    from onnxruntime.quantization import QuantType, quantize_dynamic

    del model.graph.value_info[:]  # the quantiser transposes weights, and would fail on these shapes
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
    """Yield logits of the original and of its copy, action units appended, in batches of several sizes."""
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
    """Return torch logits (n, C), and those of action units (n, 2, U) if the network has a unit head."""
    if network.unit_head is None:
        return network(maps).numpy(), None
    logits, units = network.forward_with_units(maps)
    return logits.numpy(), units.numpy()


def _onnx() -> Any:
    """Import onnx and what torch's exporter needs, or raise an error that says how to install it."""
    try:
        import onnx
        import onnxscript  # noqa: F401
    except ImportError:
        raise MissingExtra.named("ONNX", "onnx") from None
    return onnx


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Silence stdout, warnings and logs of the exporter: the file is checked, so its messages do not matter."""
    logger, root, silent = logging.getLogger("torch.onnx"), logging.getLogger(), logging.NullHandler()
    level = logger.level
    logger.setLevel(logging.ERROR)
    root.addHandler(silent)  # without a handler, the first message would configure the root logger for good
    try:
        with (
            warnings.catch_warnings(),
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        root.removeHandler(silent)
        logger.setLevel(level)
