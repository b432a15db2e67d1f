"""What runs a network: torch for a model folder, ONNX Runtime for a file that `epir export` wrote.

Axes: n maps, S map size, C classes, U action units
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from scipy.special import softmax
from torch import Tensor

from epir.core.errors import CheckpointError, ConfigError, MissingExtra
from epir.models.folder import ModelConfig, check_sealed, load_network, read_config
from epir.models.predict import MapPredictions, find_device, mean_over_views, predict_maps
from epir.models.schema import check_config
from epir.models.tokens import token_records

SCORES = "scores"  # the output of an ONNX file that needs nothing but ONNX Runtime
METADATA = "epir"  # under this name an ONNX file carries the model's config


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
