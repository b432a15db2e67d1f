"""Maps -> scores, by torch or by ONNX Runtime; both give the same answers.

Axes: n maps, S map size, C classes, U action units
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from scipy.special import softmax

from epir.core.config import from_dict
from epir.core.errors import CheckpointError, ConfigError, MissingExtra
from epir.flow.recipe import FlowRecipe
from epir.maps.views import View, read_views
from epir.models.folder import ModelConfig, load_network, read_config
from epir.models.units import over_views
from epir.reports.tokens import Tokens


class Backend(Protocol):
    """What a recognizer asks of a model."""

    config: ModelConfig
    name: str  # what runs it, and where

    @property
    def map_size(self) -> int:
        """The size of its maps."""

    @property
    def views(self) -> int:
        """How many maps it takes of one clip; if several, all maps here are (n, V, 3, S, S)."""

    def scores(self, maps: np.ndarray) -> np.ndarray:
        """Uncalibrated scores (n, C) of maps (n, 3, S, S)."""

    def scores_and_units(self, maps: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Uncalibrated scores (n, C), and logits (n, 3, U) of the action units where the model has a head for them."""

    def plain_scores(self, maps: np.ndarray) -> np.ndarray:
        """The same from one view of each map, without averaging over several: quicker, for many occluded copies."""

    def tokens(self, maps: np.ndarray) -> Sequence[Tokens | None]:
        """What was merged and selected in each map, where the model can tell."""


class TorchBackend:
    """A model folder, run by torch."""

    def __init__(self, folder: Path, device: str = "cpu") -> None:
        from epir.training.fit import find_device

        self.config = read_config(folder)
        try:
            chosen = find_device(device)
        except ConfigError as error:
            raise ConfigError(error.problem, fix="use device='cpu', or 'auto' for a GPU where there is one") from None
        self.network = load_network(folder).to(chosen)
        self.name = f"torch on {chosen}"

    @property
    def map_size(self) -> int:
        """The size of its maps."""
        return int(self.network.settings.map_size)

    @property
    def views(self) -> int:
        """How many maps it takes of one clip."""
        return int(getattr(self.network.settings, "views", 1))

    def scores(self, maps: np.ndarray) -> np.ndarray:
        """Uncalibrated scores (n, C) of maps (n, 3, S, S)."""
        from epir.training.fit import predict

        return predict(self.network, maps, **self.config.views)

    def scores_and_units(self, maps: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Uncalibrated scores (n, C), and logits (n, 3, U) of the action units where the model has a head for them."""
        from epir.training.fit import predict_with_units

        return predict_with_units(self.network, maps, **self.config.views)

    def plain_scores(self, maps: np.ndarray) -> np.ndarray:
        """Uncalibrated scores (n, C) of maps (n, 3, S, S) as they are."""
        from epir.training.fit import predict

        return predict(self.network, maps, mirror=False, shift=0)

    def tokens(self, maps: np.ndarray) -> Sequence[Tokens | None]:
        """What was merged and selected in each map; None for models without tokens."""
        from epir.evaluation.fold import token_records
        from epir.reports.tokens import read_tokens

        records = token_records(self.network, maps)
        return [read_tokens(record, "the model") for record in records] if records else [None] * len(maps)


class OnnxBackend:
    """A file that `epir export` wrote, run by ONNX Runtime; it keeps no record of tokens."""

    name = "ONNX Runtime on cpu"

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

    @property
    def views(self) -> int:
        """How many maps it takes of one clip."""
        return int(self.config.settings.get("views", 1))

    def run(self, maps: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Logits (n, C) of maps (n, 3, S, S), and those of their action units (n, 2, U) where the graph has them."""
        names = ["logits", "units"] if self.config.units else ["logits"]
        logits, *units = self.session.run(names, {"maps": np.ascontiguousarray(maps, np.float32)})
        return logits, units[0] if units else None

    def calibrated_scores(self, maps: np.ndarray) -> np.ndarray:
        """The scores (n, C) that the graph gives by itself; files of version 0.1 and raw ones have none."""
        return np.asarray(self.session.run(["scores"], {"maps": np.ascontiguousarray(maps, np.float32)})[0])

    def logits(self, maps: np.ndarray) -> np.ndarray:
        """Logits (n, C) of maps (n, 3, S, S)."""
        return self.run(maps)[0]

    def scores(self, maps: np.ndarray) -> np.ndarray:
        """Uncalibrated scores (n, C) of maps (n, 3, S, S)."""
        from epir.training.fit import finite

        seen = _views(maps, **self.config.views)
        return finite(np.mean([softmax(self.logits(each), axis=-1) for each in seen], axis=0))

    def scores_and_units(self, maps: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Uncalibrated scores (n, C), and logits (n, 3, U) of the action units where the graph has them."""
        from epir.training.fit import finite

        if not self.config.units:
            return self.scores(maps), None
        wanted = self.config.views
        found = [self.run(each) for each in _views(maps, mirror=True, shift=wanted["shift"])]
        counted = found if wanted["mirror"] else found[: len(found) // 2]
        scores = np.mean([softmax(logits, axis=-1) for logits, _ in counted], axis=0)
        return finite(scores), over_views(np.stack([units for _, units in found if units is not None]))

    def plain_scores(self, maps: np.ndarray) -> np.ndarray:
        """Uncalibrated scores (n, C) of maps (n, 3, S, S) as they are."""
        return softmax(self.logits(maps), axis=-1)

    def tokens(self, maps: np.ndarray) -> Sequence[Tokens | None]:
        """Nothing: the exported graph gives logits alone."""
        return [None] * len(maps)


def _views(maps: np.ndarray, *, mirror: bool, shift: int) -> list[np.ndarray]:
    """The maps (n, 3, S, S) as one may also see them; mirror images come last."""
    import torch

    from epir.training.augment import views

    return [each.numpy() for each in views(torch.from_numpy(np.array(maps, np.float32)), mirror=mirror, shift=shift)]


def onnx_runtime() -> Any:
    """The module onnxruntime, or an error that says how to install it."""
    try:
        import onnxruntime
    except ImportError:
        raise MissingExtra.named("ONNX Runtime", "onnx") from None
    return onnxruntime


def read_recipe(notes: Mapping[str, Any]) -> FlowRecipe:
    """The flow recipe that a model's maps were made with; that of epir where its folder does not say."""
    known = {each.name for each in fields(FlowRecipe)}
    values = {name: value for name, value in _recipe_values(notes).items() if name in known}
    try:
        return from_dict(FlowRecipe, values, section="recipe") if "flow" in values else FlowRecipe()
    except ConfigError as error:
        raise CheckpointError(
            f"the flow recipe of this model cannot be used: {error.problem}",
            fix="install the version of epir that wrote the model, or correct notes.recipe in its config.json",
        ) from None


def model_views(backend: Backend) -> tuple[View, ...]:
    """From which frames a model's several maps of a clip are made, by its flow recipe; none for a model of one map."""
    if backend.views == 1:
        return ()
    written = _recipe_values(backend.config.notes).get("views")
    views = read_views(written) if isinstance(written, str) else ()
    if len(views) != backend.views:
        raise CheckpointError(
            f"this model takes {backend.views} maps of a clip, and its folder does not say from which frames",
            fix="train it on maps of epir prepare --views; those of epir join can be evaluated, not filmed",
        )
    return views


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


def _recipe_values(notes: Mapping[str, Any]) -> Mapping[str, Any]:
    """The flow recipe in a model's notes; of a mixture `epir`, or else the first that makes maps from pictures."""
    recipe = notes.get("recipe") or {}
    several = {each.get("name"): each for each in reversed(recipe.get("recipes", ())) if each.get("name") != "direct"}
    return several.get("epir", next(reversed(several.values()))) if several else recipe
