"""Maps -> scores, by torch or by ONNX Runtime; both give the same answers.

Axes: n maps, S map size, C classes
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from epir.core.errors import CheckpointError, ConfigError, MissingExtra
from epir.evaluation.zero_shot import view_choices
from epir.models.folder import ModelConfig, load_weights, read_config, unusable
from epir.reports.tokens import Tokens


class Engine(Protocol):
    """What a recognizer asks of a model."""

    config: ModelConfig

    @property
    def map_size(self) -> int:
        """The size of its maps."""

    def scores(self, maps: np.ndarray) -> np.ndarray:
        """Uncalibrated scores (n, C) of maps (n, 3, S, S)."""

    def tokens(self, maps: np.ndarray) -> Sequence[Tokens | None]:
        """What was merged and selected in each map, where the model can tell."""


class TorchEngine:
    """A model folder, run by torch."""

    def __init__(self, folder: Path) -> None:
        from epir.models.network import Network
        from epir.models.registry import build, settings_from_dict

        self.config = read_config(folder)
        try:
            network = build(settings_from_dict(self.config.settings))
        except ConfigError as error:
            raise unusable(error, folder) from None
        assert isinstance(network, Network), "pipelines have no model folder"
        load_weights(network, folder)
        self.network = network.eval()

    @property
    def map_size(self) -> int:
        """The size of its maps."""
        return int(self.network.settings.map_size)

    def scores(self, maps: np.ndarray) -> np.ndarray:
        """Uncalibrated scores (n, C) of maps (n, 3, S, S)."""
        from epir.training.fit import predict

        return predict(self.network, maps, **view_choices(self.config.notes))

    def tokens(self, maps: np.ndarray) -> Sequence[Tokens | None]:
        """What was merged and selected in each map; None for models without tokens."""
        from epir.evaluation.fold import token_records
        from epir.reports.tokens import read_tokens

        records = token_records(self.network, maps)
        return [read_tokens(record, "the model") for record in records] if records else [None] * len(maps)


class OnnxEngine:
    """A file that `epir export` wrote, run by ONNX Runtime; it keeps no record of tokens."""

    def __init__(self, path: Path, *, threads: int = 1) -> None:
        from epir.recognition.export import read_metadata

        runtime = onnx_runtime()
        options = runtime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        try:
            self.session = runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # ONNX Runtime has a family of its own, without a common name
            raise CheckpointError(
                f"{path} cannot be opened: {error}", fix="write it again with epir export MODEL --out FILE.onnx"
            ) from None
        self.config = read_metadata(self.session.get_modelmeta().custom_metadata_map, path)

    @property
    def map_size(self) -> int:
        """The size of its maps."""
        return int(self.config.settings["map_size"])

    def logits(self, maps: np.ndarray) -> np.ndarray:
        """Logits (n, C) of maps (n, 3, S, S)."""
        return self.session.run(None, {"maps": np.ascontiguousarray(maps, np.float32)})[0]

    def scores(self, maps: np.ndarray) -> np.ndarray:
        """Uncalibrated scores (n, C) of maps (n, 3, S, S)."""
        import torch

        from epir.training.augment import views

        seen = views(torch.from_numpy(np.array(maps, np.float32)), **view_choices(self.config.notes))
        return np.mean([softmax(self.logits(each.numpy())) for each in seen], axis=0)

    def tokens(self, maps: np.ndarray) -> Sequence[Tokens | None]:
        """Nothing: the exported graph gives logits alone."""
        return [None] * len(maps)


def onnx_runtime() -> Any:
    """The module onnxruntime, or an error that says how to install it."""
    try:
        import onnxruntime
    except ImportError:
        raise MissingExtra.named("ONNX Runtime", "onnx") from None
    return onnxruntime


def softmax(logits: np.ndarray) -> np.ndarray:
    """Scores (n, C) of logits (n, C)."""
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def class_names(config: ModelConfig) -> tuple[str, ...]:
    """The classes of a model; numbered where its folder does not name them."""
    return config.labels or tuple(f"class {number}" for number in range(int(config.settings.get("classes", 0))))


def recipe_values(notes: Mapping[str, Any]) -> Mapping[str, Any]:
    """The flow recipe in a model's notes; of a mixture `epir`, or else the first that makes maps from pictures."""
    recipe = notes.get("recipe") or {}
    several = {each.get("name"): each for each in reversed(recipe.get("recipes", ())) if each.get("name") != "direct"}
    return several.get("epir", next(reversed(several.values()))) if several else recipe
