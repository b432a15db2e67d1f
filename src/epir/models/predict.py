"""Maps -> probabilities, for torch and ONNX, folds and videos: test-time copies, their mean, temperature, action units.

The answer for a map is the mean over its `views`: copies that are moved by a pixel or mirrored.

Axes: n maps, B maps of a batch, S map size, C classes, U action units, V views of a map
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from scipy.special import softmax
from torch import Tensor

from epir.core.errors import CheckpointError, ConfigError, MissingExtra, TrainingError
from epir.models.folder import ModelConfig, check_sealed, load_network, read_config
from epir.models.network import Network
from epir.models.schema import check_config
from epir.models.tokens import token_records
from epir.models.units import over_views

PREDICTION_BATCH = 256
SMALLEST = 1e-7  # a score is never quite 0

Run = Callable[[Tensor], tuple[Tensor, Tensor | None]]  # maps -> logits (B, C), and those of action units (B, 2, U)
SCORES = "scores"  # the output of an ONNX file that needs nothing but ONNX Runtime
METADATA = "epir"  # under this name an ONNX file carries the model's config


@dataclass(frozen=True, eq=False)
class MapPredictions:
    """What a model says about maps."""

    scores: np.ndarray  # (n, C): probabilities, not calibrated
    units: np.ndarray | None = None  # (n, 3, U): logits of present, left and right; None without a head for them


@torch.no_grad()
def predict_maps(
    model: Network, maps: Tensor | np.ndarray, *, mirror: bool = True, shift: int = 0, units: bool = True
) -> MapPredictions:
    """Probabilities and action units of maps (n, 3, S, S) by a network, the mean over the `views` of each.

    For a network: `predict_maps(create_model("epir", pretrained=True), maps.maps).scores`. A video goes to
    `epir.predict`. `units=False` leaves out the action units, which need the mirror images in any case.

    >>> from epir import create_model
    >>> predict_maps(create_model("ststnet"), np.zeros((2, 3, 28, 28), np.float32)).scores.shape
    (2, 3)
    """
    device = next(model.parameters()).device
    model.eval()
    head = model.unit_head if units else None

    def run(batch: Tensor) -> tuple[Tensor, Tensor | None]:
        if head is None:
            return model(batch.to(device)).cpu(), None
        logits, sides = model.forward_with_units(batch.to(device))
        return logits.cpu(), sides.cpu()

    sizes = (model.settings.classes, 0 if head is None else len(head.units))
    return mean_over_views(run, maps, sizes, mirror=mirror, shift=shift)


def mean_over_views(
    run: Run, maps: Tensor | np.ndarray, sizes: tuple[int, int], *, mirror: bool, shift: int
) -> MapPredictions:
    """The predictions of maps (n, 3, S, S) by whatever runs the model; `sizes` are the numbers of classes and units."""
    classes, units = sizes
    tensor = maps if isinstance(maps, Tensor) else torch.from_numpy(np.array(maps, dtype=np.float32))
    scores, unit_logits = [np.zeros((0, classes), np.float32)], [np.zeros((0, 3, units), np.float32)]
    for batch in tensor.split(PREDICTION_BATCH) if len(tensor) else ():
        copies = views(batch, mirror=mirror or units > 0, shift=shift)  # the sides need the mirror in any case
        logits, sides = run(torch.cat(copies))  # (VB, C), (VB, 2, U)
        answers = logits.softmax(-1).unflatten(0, (len(copies), -1))  # (V, B, C)
        counted = answers if mirror or not units else answers[: len(copies) // 2]
        scores.append(counted.mean(0).numpy())
        if sides is not None:
            unit_logits.append(over_views(sides.unflatten(0, (len(copies), -1)).numpy()))
    return MapPredictions(check_finite(np.concatenate(scores)), np.concatenate(unit_logits) if units else None)


def views(maps: Tensor, *, mirror: bool, shift: int) -> list[Tensor]:
    """The test-time copies of maps (B, 3, S, S); mirror images come last.

    `shift` adds copies moved by so many pixels right, left, down and up; `mirror` adds the mirror image of each.
    """
    places = torch.arange(maps.shape[-1], device=maps.device)
    last = maps.shape[-1] - 1
    moved = [maps]
    for down, right in [(0, shift), (0, -shift), (shift, 0), (-shift, 0)] * bool(shift):
        rows, columns = (places - down).clamp(0, last), (places - right).clamp(0, last)
        moved.append(maps.index_select(-2, rows).index_select(-1, columns))
    return moved + [mirrored(each) for each in moved] * mirror


def mirrored(maps: Tensor) -> Tensor:
    """The maps (..., 3, S, S) of the same faces in a mirror: left and right change places, and u its sign.

    In a map that was stretched to 0..1 the sign is hidden in the stretching: the mirror image of u is then 1 - u. So u
    is reflected about 0 where it has a sign, and about the middle of its range where it has none; both are exact.
    """
    flipped = maps.flip(-1)
    u = flipped[..., :1, :, :]  # (..., 1, S, S)
    low, high = u.amin(dim=(-2, -1), keepdim=True), u.amax(dim=(-2, -1), keepdim=True)
    return torch.cat([torch.where(low < 0, 0, low + high) - u, flipped[..., 1:, :, :]], dim=-3)


def with_temperature(scores: np.ndarray, temperature: float, highest: float = 1.0) -> np.ndarray:
    """Scores (n, C) softened (above 1) or sharpened (below 1), none above `highest`; each row still sums to 1."""
    softened = softmax(np.log(np.maximum(scores, SMALLEST)) / temperature, axis=-1)
    if highest >= 1:
        return softened
    is_best = np.arange(softened.shape[-1]) == softened.argmax(axis=-1)[:, None]  # (n, C): one of each row
    others = np.where(is_best, 0.0, softened + np.finfo(float).tiny)  # of a row they share what is left
    lowered = np.where(is_best, highest, others / others.sum(axis=-1, keepdims=True) * (1 - highest))
    return np.where(softened.max(axis=-1, keepdims=True) > highest, lowered, softened)


def tensor_with_temperature(scores: Tensor, temperature: float, highest: float) -> Tensor:
    """`with_temperature` as operations that a graph can hold."""
    softened = (scores.clamp(min=SMALLEST).log() / temperature).softmax(-1)
    if highest >= 1:
        return softened
    best = softened.amax(-1, keepdim=True)
    others = torch.where(softened == best, 0.0, softened + torch.finfo(softened.dtype).tiny)
    lowered = torch.where(softened == best, highest, others / others.sum(-1, keepdim=True) * (1 - highest))
    return torch.where(best > highest, lowered, softened)


def check_finite(scores: np.ndarray) -> np.ndarray:
    """The scores; an error where one is not a number, since the largest of such scores is always class 0."""
    if not np.isfinite(scores).all():
        raise TrainingError(
            "the model gives scores that are not numbers",
            fix="its training diverged: train again with a lower rate (--set training.lr=...)",
        )
    return scores


def find_device(name: str) -> torch.device:
    """The device called `name`; `auto` is a GPU where there is one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return torch.empty(0, device=name).device
    except (RuntimeError, AssertionError):
        raise ConfigError(f"there is no device {name!r} here", fix="use --set training.device=cpu, or auto") from None


class Backend(Protocol):
    """What a recognizer asks of a model."""

    config: ModelConfig
    name: str  # what runs it, and where

    def predict(self, maps: np.ndarray) -> MapPredictions:
        """Uncalibrated scores (n, C) of maps (n, 3, S, S), and the logits of their action units."""

    def plain_scores(self, maps: np.ndarray) -> np.ndarray:
        """Scores (n, C) from each map as it is, without test-time copies: quicker, for many occluded copies."""

    def tokens(self, maps: np.ndarray) -> list[dict[str, Any]]:
        """What was merged and selected in each map; empty where the model cannot tell."""


class TorchBackend:
    """A model folder, run by torch."""

    def __init__(self, folder: Path, device: str = "cpu") -> None:
        self.config = read_config(folder)
        try:
            chosen = find_device(device)
        except ConfigError as error:
            raise ConfigError(error.problem, fix="use device='cpu', or 'auto' for a GPU where there is one") from None
        self.network = load_network(folder).to(chosen)
        self.name = f"torch on {chosen}"

    def predict(self, maps: np.ndarray) -> MapPredictions:
        """Uncalibrated scores (n, C) of maps (n, 3, S, S), and the logits of their action units."""
        return predict_maps(self.network, maps, **self.config.views)

    def plain_scores(self, maps: np.ndarray) -> np.ndarray:
        """Uncalibrated scores (n, C) of maps (n, 3, S, S) as they are."""
        return predict_maps(self.network, maps, mirror=False, shift=0, units=False).scores

    def tokens(self, maps: np.ndarray) -> list[dict[str, Any]]:
        """What was merged and selected in each map; empty for models without tokens."""
        return token_records(self.network, maps)


class OnnxBackend:
    """A file that `epir export` wrote, run by ONNX Runtime; it keeps no record of tokens."""

    name = "ONNX Runtime on cpu"

    def __init__(self, path: Path, *, threads: int = 1) -> None:
        self._path, self._threads = path, threads
        self.session = self._open(str(path))
        self.config = _read_metadata(self.session.get_modelmeta().custom_metadata_map, path)
        outputs = [each.name for each in self.session.get_outputs()]
        if SCORES in outputs:  # ONNX Runtime computes all of the graph, also what nobody asks for
            self.session = self._open(_only(path, [name for name in outputs if name != SCORES]))

    def run(self, maps: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Logits (n, C) of maps (n, 3, S, S), and those of their action units (n, 2, U) where the graph has them."""
        names = ["logits", "units"] if self.config.units else ["logits"]
        logits, *units = self.session.run(names, {"maps": np.ascontiguousarray(maps, np.float32)})
        return logits, units[0] if units else None

    def calibrated_scores(self, maps: np.ndarray) -> np.ndarray:
        """The scores (n, C) that the graph gives by itself; a file with raw logits has none."""
        whole = self._open(str(self._path))
        return np.asarray(whole.run([SCORES], {"maps": np.ascontiguousarray(maps, np.float32)})[0])

    def _open(self, model: str | bytes) -> Any:
        """A session of a file, or of the bytes of one."""
        runtime = onnx_runtime()
        options = runtime.SessionOptions()
        options.intra_op_num_threads = self._threads
        options.log_severity_level = 3
        try:
            return runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # ONNX Runtime has a family of its own, without a common name
            raise CheckpointError(
                f"{self._path} cannot be opened: {error}", fix="write it again with epir export MODEL --out FILE.onnx"
            ) from None

    def predict(self, maps: np.ndarray) -> MapPredictions:
        """Uncalibrated scores (n, C) of maps (n, 3, S, S), and the logits of their action units."""

        def run(batch: Tensor) -> tuple[Tensor, Tensor | None]:
            logits, units = self.run(batch.numpy())
            return torch.from_numpy(logits), None if units is None else torch.from_numpy(units)

        sizes = (len(self.config.classes), len(self.config.units))
        return mean_over_views(run, maps, sizes, **self.config.views)

    def plain_scores(self, maps: np.ndarray) -> np.ndarray:
        """Uncalibrated scores (n, C) of maps (n, 3, S, S) as they are."""
        return softmax(self.run(maps)[0], axis=-1)

    def tokens(self, maps: np.ndarray) -> list[dict[str, Any]]:
        """Nothing: the exported graph gives logits alone."""
        return []


def onnx_runtime() -> Any:
    """The module onnxruntime, or an error that says how to install it."""
    try:
        import onnxruntime
    except ImportError:
        raise MissingExtra.named("ONNX Runtime", "onnx") from None
    return onnxruntime


def _only(path: Path, outputs: list[str]) -> bytes | str:
    """The part of a graph that gives these outputs; the whole file where the package onnx is missing: slower, the same.

    So logits of a map need no copies of it, as the scores do.
    """
    try:
        from onnx import load
        from onnx.utils import Extractor
    except ImportError:
        return str(path)
    return bytes(Extractor(load(str(path))).extract_model(["maps"], outputs).SerializeToString())


def _read_metadata(metadata: Mapping[str, str], path: Path) -> ModelConfig:
    """The config of the model in an ONNX file."""
    try:
        config = json.loads(metadata[METADATA])
        check_config(config, path)
        check_sealed(config, path)
        units = tuple(config.get("units", ()))
        return ModelConfig(config["model"], tuple(config["labels"]), config["notes"], units=units)
    except (KeyError, ValueError, TypeError, AttributeError, RecursionError):
        raise CheckpointError(
            f"{path} does not say which model it is", fix="write it with epir export MODEL --out FILE.onnx"
        ) from None


def open_backend(path: Path, backend: str | None = None, device: str = "cpu") -> Backend:
    """The backend for a model: ONNX Runtime for an ONNX file or where it is asked for, else torch."""
    if device != "cpu" and (path.suffix == ".onnx" or backend == "onnx"):
        raise ConfigError(f"ONNX Runtime runs on the CPU here, not on {device!r}", fix="leave out device, or use torch")
    if path.suffix == ".onnx":
        if backend == "torch":
            raise ConfigError(f"torch cannot run {path}", fix="give the model folder, or leave out the backend")
        if not path.is_file():
            raise CheckpointError(f"there is no file {path}", fix="write it with epir export MODEL --out FILE.onnx")
        return OnnxBackend(path)
    if backend != "onnx":
        return TorchBackend(path, device)
    exported = path / "model.onnx"
    if not exported.is_file():
        raise CheckpointError(f"{path} has no model.onnx", fix=f"write it with epir export {path} --out {exported}")
    return OnnxBackend(exported)
