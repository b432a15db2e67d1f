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
    check_onnx(out)
    with claimed_file(out, force=force, inputs=[folder]):
        return _export(folder, out, maps=maps, int8=int8, logits=logits or int8)


def _export(folder: Path, out: Path, *, maps: Sequence[np.ndarray] | np.ndarray, int8: bool, logits: bool) -> Exported:
    import torch

    original = TorchBackend(folder)
    shape = (sum(BATCHES), 3, original.config.map_size, original.config.map_size)
    noise = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    real = np.array(maps, np.float32) if len(maps) else noise[:0]  # a copy: torch wants arrays that it may write to
    original.network.check(torch.from_numpy(real))
    with atomic_write(out) as temporary:
        _write(original, temporary, int8=int8, logits=logits)
        copy = OnnxBackend(temporary)
        expected, actual = (np.concatenate(each) for each in zip(*_both(original, copy, noise, real), strict=True))
        off = np.abs(expected - actual).max(axis=1)  # (n,)
        expected, actual = (each[:, : original.network.settings.classes] for each in (expected, actual))
        scores = float(np.abs(softmax(expected, axis=1) - softmax(actual, axis=1)).max(axis=1).mean())
        _check_difference(off, scores, int8=int8)
        if not logits:
            _check_scores(original, copy, np.concatenate([noise, real]))
    return Exported(
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
    """Raise where logits, or with eight bits scores, are too far from the original's."""
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


def _check_scores(original: TorchBackend, copy: OnnxBackend, maps: np.ndarray) -> None:
    """Raise where the scores of the graph are not those that a recognizer computes from the original's."""
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
    """The graph with its weights, an onnx.ModelProto.

    Turning the network into a graph takes nearly all the time, so it is done once: for the scores its nodes are copied.
    """
    network = _network_graph(original)
    return network if logits else _with_scores(network, _scores_graph(original.config, len(original.config.classes)))


def _network_graph(original: TorchBackend) -> Any:
    """Maps -> logits, and those of the action units where the network has a head for them."""
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
    """Maps -> their views as one batch, and the logits of these -> calibrated scores: what lies around the network."""
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
    """The graph of a module; the batch is free, and an input has `rows` rows for each map of it."""
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
    """The network's graph with a further output: a copy of its nodes, on the same weights, within the graph of scores.

    Whoever wants the logits alone can still cut the copy off.
    """
    import onnx

    weights = {each.name for each in network.graph.initializer}
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
    """Copies of nodes with a prefix on every name but those to keep; `names` have others."""
    names, copies = names or {}, []
    for node in nodes:
        assert not any(each.HasField("g") for each in node.attribute), "a node with a graph inside"
        copy = type(node)()
        copy.CopyFrom(node)
        copy.name = prefix + node.name
        for ends in (copy.input, copy.output):
            ends[:] = [name if name in keep else names.get(name, prefix + name) for name in ends]
        copies.append(copy)
    return copies


def _needed_for(output: str, nodes: Sequence[Any]) -> list[Any]:
    """The nodes of a sorted graph that an output depends on, in their order."""
    wanted, needed = {output}, []
    for node in reversed(nodes):
        if wanted & set(node.output):
            wanted |= set(node.input) - {""}
            needed.append(node)
    return needed[::-1]


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
