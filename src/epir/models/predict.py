"""Maps -> probabilities, with torch or ONNX: test-time copies, temperature, action units, and what tokens show.

The scores of a map are the mean over its `views`: copies that are shifted by a pixel or mirrored.

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

from epir.core.errors import CheckpointError, ConfigError, MissingExtra, RunError, TrainingError
from epir.models.folder import ModelConfig, check_sealed, load_network, read_config
from epir.models.network import Network
from epir.models.schema import check_config
from epir.models.units import over_views

PREDICTION_BATCH = 256
SMALLEST = 1e-7  # lower limit of a score, so that its logarithm is finite

Run = Callable[[Tensor], tuple[Tensor, Tensor | None]]  # maps -> logits (B, C), and those of action units (B, 2, U)
SCORES = "scores"  # the ONNX output that needs nothing but ONNX Runtime
METADATA = "epir"  # the metadata key of the model's config in an ONNX file


@dataclass(frozen=True, eq=False)
class MapPredictions:
    """Scores and action units of n maps."""

    scores: np.ndarray  # (n, C): uncalibrated probabilities
    units: np.ndarray | None = None  # (n, 3, U): logits of present, left and right; None without a unit head


@torch.no_grad()
def predict_maps(
    model: Network, maps: Tensor | np.ndarray, *, mirror: bool = True, shift: int = 0, units: bool = True
) -> MapPredictions:
    """Predict probabilities and action units of maps (n, 3, S, S), averaged over the `views` of each map.

    For example, `predict_maps(create_model("epir", pretrained=True), maps.maps).scores`. For a video use
    `epir.predict`. `units=False` skips the action units, which always need the mirror images.

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
    """Predict maps (n, 3, S, S) with the function `run`; `sizes` are the numbers of classes and action units."""
    classes, units = sizes
    tensor = maps if isinstance(maps, Tensor) else torch.from_numpy(np.array(maps, dtype=np.float32))
    scores, unit_logits = [np.zeros((0, classes), np.float32)], [np.zeros((0, 3, units), np.float32)]
    for batch in tensor.split(PREDICTION_BATCH) if len(tensor) else ():
        copies = views(batch, mirror=mirror or units > 0, shift=shift)  # the right side is read from the mirror image
        logits, sides = run(torch.cat(copies))  # (VB, C), (VB, 2, U)
        by_view = logits.softmax(-1).unflatten(0, (len(copies), -1))  # (V, B, C)
        averaged = by_view if mirror or not units else by_view[: len(copies) // 2]
        scores.append(averaged.mean(0).numpy())
        if sides is not None:
            unit_logits.append(over_views(sides.unflatten(0, (len(copies), -1)).numpy()))
    return MapPredictions(check_finite(np.concatenate(scores)), np.concatenate(unit_logits) if units else None)


def views(maps: Tensor, *, mirror: bool, shift: int) -> list[Tensor]:
    """Return the test-time copies of maps (B, 3, S, S), mirror images last.

    `shift` adds copies moved by that many pixels right, left, down and up; `mirror` adds the mirror image of each.
    """
    places = torch.arange(maps.shape[-1], device=maps.device)
    last = maps.shape[-1] - 1
    moved = [maps]
    for down, right in [(0, shift), (0, -shift), (shift, 0), (-shift, 0)] * bool(shift):
        rows, columns = (places - down).clamp(0, last), (places - right).clamp(0, last)
        moved.append(maps.index_select(-2, rows).index_select(-1, columns))
    return moved + [mirrored(copy) for copy in moved] * mirror


def mirrored(maps: Tensor) -> Tensor:
    """Mirror maps (..., 3, S, S): left and right swap, and u changes sign.

    In a map stretched to 0..1 the mirror image of u is 1 - u. So u is reflected about 0 if it has negative values, else
    about the middle of its range; both are exact.
    """
    flipped = maps.flip(-1)
    u = flipped[..., :1, :, :]  # (..., 1, S, S)
    low, high = u.amin(dim=(-2, -1), keepdim=True), u.amax(dim=(-2, -1), keepdim=True)
    return torch.cat([torch.where(low < 0, 0, low + high) - u, flipped[..., 1:, :, :]], dim=-3)


def with_temperature(scores: np.ndarray, temperature: float, highest: float = 1.0) -> np.ndarray:
    """Soften (above 1) or sharpen (below 1) scores (n, C), and cap them at `highest`; each row still sums to 1."""
    softened = softmax(np.log(np.maximum(scores, SMALLEST)) / temperature, axis=-1)
    if highest >= 1:
        return softened
    is_best = np.arange(softened.shape[-1]) == softened.argmax(axis=-1)[:, None]  # (n, C): one per row
    others = np.where(is_best, 0.0, softened + np.finfo(float).tiny)  # share the rest of the row
    lowered = np.where(is_best, highest, others / others.sum(axis=-1, keepdims=True) * (1 - highest))
    return np.where(softened.max(axis=-1, keepdims=True) > highest, lowered, softened)


def tensor_with_temperature(scores: Tensor, temperature: float, highest: float) -> Tensor:
    """Apply `with_temperature` in torch, for an exported graph."""
    softened = (scores.clamp(min=SMALLEST).log() / temperature).softmax(-1)
    if highest >= 1:
        return softened
    best = softened.amax(-1, keepdim=True)
    others = torch.where(softened == best, 0.0, softened + torch.finfo(softened.dtype).tiny)
    lowered = torch.where(softened == best, highest, others / others.sum(-1, keepdim=True) * (1 - highest))
    return torch.where(best > highest, lowered, softened)


def check_finite(scores: np.ndarray) -> np.ndarray:
    """Return the scores, or raise an error if one is NaN or infinite: their argmax would always be class 0."""
    if not np.isfinite(scores).all():
        raise TrainingError(
            "the model gives scores that are not finite",
            fix="its training diverged: train again with a lower rate (--set training.lr=...)",
        )
    return scores


def find_device(name: str) -> torch.device:
    """Return the device `name`; `auto` is a GPU if the machine has one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return torch.empty(0, device=name).device
    except (RuntimeError, AssertionError):
        raise ConfigError(f"there is no device {name!r} here", fix="use --set training.device=cpu, or auto") from None


# ------------------------------------------------------------------------------------------------------- tokens


@dataclass(frozen=True)
class Tokens:
    """The merged groups, the selected tokens and the attention of one map."""

    groups: tuple[tuple[int, ...], ...]  # the patches that each token holds
    selected: tuple[int, ...]  # per head: an index into `groups`
    rollout: tuple[tuple[float, ...], ...]  # per head: attention on each patch

    @property
    def patches(self) -> int:
        """The number of patches of the map."""
        return sum(map(len, self.groups))

    @property
    def grid(self) -> int:
        """Patches per side."""
        return round(self.patches**0.5)

    @property
    def merged(self) -> tuple[tuple[int, ...], ...]:
        """The tokens that hold more than one patch."""
        return tuple(group for group in self.groups if len(group) > 1)

    @property
    def rate(self) -> float:
        """The share of the patch tokens that integration removed."""
        return 1 - len(self.groups) / self.patches

    @property
    def attention(self) -> tuple[float, ...]:
        """Attention on each patch, averaged over the heads."""
        return tuple(sum(weights) / len(weights) for weights in zip(*self.rollout, strict=True))


def token_records(model: Any, maps: np.ndarray) -> list[dict[str, Any]]:
    """Return the tokens of each map (n, 3, S, S) as JSON values; an empty list if the model has no `explain`."""
    if not hasattr(model, "explain"):
        return []
    device = next(model.parameters()).device
    _, record = model.explain(torch.from_numpy(np.array(maps, dtype=np.float32)).to(device))
    rollout = np.round(record.rollout.cpu().numpy().astype(float), 4)
    return [
        {
            "groups": record.groups(number),
            "selected": record.selected[number].tolist(),
            "rollout": rollout[number].tolist(),
        }
        for number in range(len(maps))
    ]


def read_tokens(record: Any, where: str) -> Tokens:
    """Read one record of `token_records`; `where` names the file for the error."""
    try:
        tokens = Tokens(
            groups=tuple(tuple(map(int, group)) for group in record["groups"]),
            selected=tuple(map(int, record["selected"])),
            rollout=tuple(tuple(map(float, head)) for head in record["rollout"]),
        )
        is_partition = sorted(patch for group in tokens.groups for patch in group) == list(range(tokens.grid**2))
        if is_partition and all(0 <= token < len(tokens.groups) for token in tokens.selected):
            return tokens
    except (KeyError, TypeError, ValueError):
        pass  # raised below
    raise RunError(f"{where} has damaged token records", fix="remove that file and run the same epir evaluate again")


# ----------------------------------------------------------------------------------------------------- backends


class Backend(Protocol):
    """Runs a model for the recognizer."""

    config: ModelConfig
    name: str  # the software and the device

    def predict(self, maps: np.ndarray) -> MapPredictions:
        """Return uncalibrated scores (n, C) of maps (n, 3, S, S), and the logits of their action units."""

    def plain_scores(self, maps: np.ndarray) -> np.ndarray:
        """Return scores (n, C) without test-time copies: faster, for many occluded maps."""

    def tokens(self, maps: np.ndarray) -> list[dict[str, Any]]:
        """Return the tokens of each map; empty if the model has none to show."""


class TorchBackend:
    """Runs a model folder with torch."""

    def __init__(self, folder: Path, device: str = "cpu") -> None:
        self.config = read_config(folder)
        try:
            chosen = find_device(device)
        except ConfigError as error:
            raise ConfigError(error.problem, fix="use device='cpu', or 'auto' for a GPU if there is one") from None
        self.network = load_network(folder).to(chosen)
        self.name = f"torch on {chosen}"

    def predict(self, maps: np.ndarray) -> MapPredictions:
        """Return uncalibrated scores (n, C) of maps (n, 3, S, S), and the logits of their action units."""
        return predict_maps(self.network, maps, **self.config.views)

    def plain_scores(self, maps: np.ndarray) -> np.ndarray:
        """Return uncalibrated scores (n, C) of maps (n, 3, S, S), without test-time copies."""
        return predict_maps(self.network, maps, mirror=False, shift=0, units=False).scores

    def tokens(self, maps: np.ndarray) -> list[dict[str, Any]]:
        """Return the tokens of each map; empty for models without tokens."""
        return token_records(self.network, maps)


class OnnxBackend:
    """Runs a file written by `epir export` with ONNX Runtime; it shows no tokens."""

    name = "ONNX Runtime on cpu"

    def __init__(self, path: Path, *, threads: int = 1) -> None:
        self._path, self._threads = path, threads
        self.session = self._open(str(path))
        self.config = _read_metadata(self.session.get_modelmeta().custom_metadata_map, path)
        outputs = [output.name for output in self.session.get_outputs()]
        if SCORES in outputs:  # ONNX Runtime computes every output, needed or not
            self.session = self._open(_subgraph(path, [name for name in outputs if name != SCORES]))

    def run(self, maps: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Return logits (n, C) of maps (n, 3, S, S), and of their action units (n, 2, U) if the graph has them."""
        names = ["logits", "units"] if self.config.units else ["logits"]
        logits, *units = self.session.run(names, {"maps": np.ascontiguousarray(maps, np.float32)})
        return logits, units[0] if units else None

    def calibrated_scores(self, maps: np.ndarray) -> np.ndarray:
        """Return the scores (n, C) that the graph itself computes; a file exported with raw logits has none."""
        whole = self._open(str(self._path))
        return np.asarray(whole.run([SCORES], {"maps": np.ascontiguousarray(maps, np.float32)})[0])

    def _open(self, model: str | bytes) -> Any:
        """Open a session on a file, or on its bytes."""
        runtime = onnx_runtime()
        options = runtime.SessionOptions()
        options.intra_op_num_threads = self._threads
        options.log_severity_level = 3
        try:
            return runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # the exceptions of ONNX Runtime share no base class
            raise CheckpointError(
                f"{self._path} cannot be opened: {error}", fix="write it again with epir export MODEL --out FILE.onnx"
            ) from None

    def predict(self, maps: np.ndarray) -> MapPredictions:
        """Return uncalibrated scores (n, C) of maps (n, 3, S, S), and the logits of their action units."""

        def run(batch: Tensor) -> tuple[Tensor, Tensor | None]:
            logits, units = self.run(batch.numpy())
            return torch.from_numpy(logits), None if units is None else torch.from_numpy(units)

        sizes = (len(self.config.classes), len(self.config.units))
        return mean_over_views(run, maps, sizes, **self.config.views)

    def plain_scores(self, maps: np.ndarray) -> np.ndarray:
        """Return uncalibrated scores (n, C) of maps (n, 3, S, S), without test-time copies."""
        return softmax(self.run(maps)[0], axis=-1)

    def tokens(self, maps: np.ndarray) -> list[dict[str, Any]]:
        """Return nothing: the exported graph has no tokens."""
        return []


def onnx_runtime() -> Any:
    """Import onnxruntime, or raise an error that says how to install it."""
    try:
        import onnxruntime
    except ImportError:
        raise MissingExtra.named("ONNX Runtime", "onnx") from None
    return onnxruntime


def _subgraph(path: Path, outputs: list[str]) -> bytes | str:
    """Cut the graph down to these outputs; without the package onnx return the whole file, which is only slower."""
    try:
        from onnx import load
        from onnx.utils import Extractor
    except ImportError:
        return str(path)
    return bytes(Extractor(load(str(path))).extract_model(["maps"], outputs).SerializeToString())


def _read_metadata(metadata: Mapping[str, str], path: Path) -> ModelConfig:
    """Read the model's config from the metadata of an ONNX file."""
    try:
        config = json.loads(metadata[METADATA])
        check_config(config, path)
        check_sealed(config, path)
        units = tuple(config.get("units", ()))
        return ModelConfig(config["model"], tuple(config["labels"]), config["notes"], units=units)
    except (KeyError, ValueError, TypeError, AttributeError, RecursionError):
        raise CheckpointError(
            f"{path} was not written by epir export", fix="write it with epir export MODEL --out FILE.onnx"
        ) from None


def open_backend(path: Path, backend: str | None = None, device: str = "cpu") -> Backend:
    """Open a model with ONNX Runtime if it is an ONNX file or `backend` says so, else with torch."""
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
    opened = OnnxBackend(exported)
    if opened.config.notes != read_config(path).notes:
        raise CheckpointError(
            f"{exported} was exported before {path.name} was calibrated or trained again",
            fix=f"export it again: epir export {path} --out {exported} --force",
        )
    return opened
