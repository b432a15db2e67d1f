"""The base class of all networks: maps in, logits out, a loss, and input normalisation.

Axes: B clips, S map size, F features, C classes
"""

import inspect
import math
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.nn import functional

from epir.core.errors import CheckpointError, ShapeError
from epir.models import folder as model_folder
from epir.models.registry import Source
from epir.models.seen import Seen
from epir.models.settings import Normalisation
from epir.models.units import UnitHead

AuxiliaryLoss = Callable[[Tensor], Tensor]  # of features (B, F)
SMALLEST_DEVIATION = 1e-6  # a channel that does not vary stays at zero


class Network(nn.Module):
    """A network that classifies maps; subclasses implement `forward_features` and `forward_head`.

    `settings` is a frozen dataclass with at least `name`, `map_size`, `classes` and `normalise`. Training with
    annotated action units adds a `unit_head` on the same features.
    """

    unit_head: UnitHead | None

    def __init__(self, settings: Any) -> None:
        super().__init__()
        self.settings = settings
        self.unit_head = None
        self.seen: Seen | None = None  # the people and maps the weights were trained on, if known
        self.source: Source | None = None  # where the code comes from; None for epir's own
        self.normalise = InputNormalisation(settings.normalise)

    def forward_features(self, maps: Tensor) -> Tensor:
        """Normalised maps (B, 3, S, S) -> features (B, F)."""
        raise NotImplementedError

    def forward_head(self, features: Tensor) -> Tensor:
        """Features (B, F) -> logits (B, C)."""
        raise NotImplementedError

    def forward(self, maps: Tensor) -> Tensor:
        """Maps (B, 3, S, S) -> logits (B, C)."""
        return self.forward_head(self._features(maps))

    def forward_with_units(self, maps: Tensor) -> tuple[Tensor, Tensor]:
        """Maps (B, 3, S, S) -> logits (B, C) of classes and (B, 2, U) of action units; needs a `unit_head`."""
        assert self.unit_head is not None, "a network without a head for action units"
        features = self._features(maps)
        return self.forward_head(features), self.unit_head(features)

    def loss(
        self,
        maps: Tensor,
        labels: Tensor,
        *,
        smoothing: float = 0.0,
        weights: Tensor | None = None,
        auxiliary: AuxiliaryLoss | None = None,
    ) -> Tensor:
        """Return the training loss of maps (B, 3, S, S), given their classes (B,) or probabilities (B, C).

        Probabilities, as in distillation, give their plain cross-entropy, without smoothing or class weights.
        """
        features = self._features(maps)
        if labels.is_floating_point():
            loss = functional.cross_entropy(self.forward_head(features), labels)
        else:
            loss = self.loss_of_features(features, labels, smoothing, weights)
        return loss if auxiliary is None else loss + auxiliary(features)

    def _features(self, maps: Tensor) -> Tensor:
        """Check and normalise maps (B, 3, S, S), and return their features (B, F)."""
        self.check(maps)
        return self.forward_features(self.normalise(maps))

    def loss_of_features(self, features: Tensor, labels: Tensor, smoothing: float, weights: Tensor | None) -> Tensor:
        """Return the cross-entropy of features (B, F); networks whose paper has another loss override this."""
        return functional.cross_entropy(self.forward_head(features), labels, weight=weights, label_smoothing=smoothing)

    def no_weight_decay(self) -> set[str]:
        """Name the parameters with two or more axes that weight decay must leave alone."""
        return set()

    def check(self, maps: Tensor) -> None:
        """Raise an error for maps that this model was not built for; exported graphs skip this."""
        size = self.settings.map_size
        if maps.ndim != 4 or maps.shape[1] != 3:
            raise ShapeError(
                f"the model takes maps (B, 3, {size}, {size}) but got {tuple(maps.shape)}",
                fix="stack u, v and strain on the second axis; for one map add a first axis: maps[None]",
            )
        if maps.shape[-2] != maps.shape[-1]:
            raise ShapeError(
                f"maps must be square but are {maps.shape[-2]} x {maps.shape[-1]}", fix="crop the face square"
            )
        if maps.shape[-1] != size:
            raise ShapeError(
                f"the model was built for {size} px maps but got {maps.shape[-1]} px",
                fix=f"prepare the maps with --size {size}, or build the model with map_size={maps.shape[-1]}",
            )
        if not torch.compiler.is_compiling() and not math.isfinite(maps.sum().item()):
            raise ShapeError("a map holds NaN or infinity", fix="look at the frames of that clip, and prepare it again")

    save_pretrained = model_folder.save_model

    @classmethod
    def from_pretrained(cls, folder: str | Path | None = None) -> Self:
        """Load a model folder or `owner/name` from the hub, ready to predict; the shipped model by default."""
        home = model_folder.find_folder(folder)
        network = model_folder.load_network(home)
        if not isinstance(network, cls):
            kind = type(network).__name__
            raise CheckpointError(
                f"{home} holds a model of class {kind}, not {cls.__name__}", fix=f"use {kind}.from_pretrained"
            )
        return network

    def push_to_hub(self, repository: str, **options: Any) -> None:
        """Upload the model folder to `owner/name` on the Hugging Face hub; `options` go to `save_pretrained`."""
        from huggingface_hub import HfApi

        hub = HfApi()
        hub.create_repo(repository, exist_ok=True)
        with TemporaryDirectory() as temporary:
            folder = self.save_pretrained(Path(temporary) / "model", **options)
            hub.upload_folder(repo_id=repository, folder_path=folder)


class WithFeatures(nn.Module):
    """A plain module split into features and head, so that a head for action units can share the features."""

    def forward_features(self, maps: Tensor) -> Tensor:
        """Normalised maps (B, 3, S, S) -> features (B, F)."""
        raise NotImplementedError

    def forward_head(self, features: Tensor) -> Tensor:
        """Features (B, F) -> logits (B, C), with the module's `head`."""
        logits: Tensor = self.head(features)  # type: ignore[operator]
        return logits

    def forward(self, maps: Tensor) -> Tensor:
        """Maps (B, 3, S, S) -> logits (B, C)."""
        return self.forward_head(self.forward_features(maps))


class ModuleNetwork(Network):
    """Wraps a plain torch module, the user's or a baseline, as a `Network`.

    Without `forward_features`, its logits count as its features. If the module has `loss(maps, labels)`,
    `explain(maps)` or `no_weight_decay()`, they are used.
    """

    def __init__(self, settings: Any, module: nn.Module) -> None:
        super().__init__(settings)
        self.module = module
        if hasattr(module, "explain"):
            self.explain = module.explain

    @property
    def has_features(self) -> bool:
        """Whether the module exposes the features before its last layer, which action units need."""
        return hasattr(self.module, "forward_features") and hasattr(self.module, "forward_head")

    def forward_features(self, maps: Tensor) -> Tensor:
        """Normalised maps (B, 3, S, S) -> features (B, F), or logits if the module exposes no features."""
        features: Tensor = self.module.forward_features(maps) if self.has_features else self.module(maps)  # type: ignore[operator]
        return features

    def forward_head(self, features: Tensor) -> Tensor:
        """Features (B, F) -> logits (B, C)."""
        logits: Tensor = self.module.forward_head(features) if self.has_features else features  # type: ignore[operator]
        return logits

    def loss(self, maps: Tensor, labels: Tensor, *, auxiliary: AuxiliaryLoss | None = None, **options: Any) -> Tensor:
        """Use the module's `loss(maps, labels)` if it has one; it may also take `smoothing` and `weights` by name."""
        if not hasattr(self.module, "loss") or labels.is_floating_point():
            return super().loss(maps, labels, auxiliary=auxiliary, **options)
        self.check(maps)
        normalised = self.normalise(maps)
        parameters = inspect.signature(self.module.loss).parameters  # type: ignore[arg-type]
        optional = {"smoothing": 0.0, "weights": None, **options}
        accepted = {name: value for name, value in optional.items() if name in parameters}
        loss: Tensor = self.module.loss(normalised, labels, **accepted)  # type: ignore[operator]
        return loss if auxiliary is None else loss + auxiliary(self.forward_features(normalised))

    def loss_of_features(self, features: Tensor, labels: Tensor, smoothing: float, weights: Tensor | None) -> Tensor:
        """Use the module's loss if it has one, else cross-entropy."""
        if hasattr(self.module, "loss_of_features"):
            loss: Tensor = self.module.loss_of_features(features, labels, smoothing, weights)  # type: ignore[operator]
            return loss
        return super().loss_of_features(features, labels, smoothing, weights)

    def no_weight_decay(self) -> set[str]:
        """Name the module's parameters by their full names."""
        names = self.module.no_weight_decay() if hasattr(self.module, "no_weight_decay") else ()  # type: ignore[operator]
        return {f"module.{name}" for name in names}


class InputNormalisation(nn.Module):
    """Shifts and scales each channel of a map.

    `map`: standardise each channel of each map, so that raw flow and maps stretched to 0..1 look the same to the
    network. `squash`: standardise, take the hyperbolic tangent and standardise again, so that a few strong pixels
    (lids, edges, flow errors) do not shrink everything else. `none`: leave the map unchanged.
    """

    def __init__(self, mode: Normalisation) -> None:
        super().__init__()
        self.mode = mode

    def forward(self, maps: Tensor) -> Tensor:
        """Return normalised maps of the same shape, (B, 3, S, S)."""
        if self.mode == "none":
            return maps
        maps = standardised(maps)
        return standardised(maps.tanh()) if self.mode == "squash" else maps

    def extra_repr(self) -> str:
        """Show the mode when the model is printed."""
        return self.mode


def standardised(maps: Tensor) -> Tensor:
    """Scale each channel of each map (..., 3, S, S) to mean 0 and standard deviation 1."""
    centred = maps - maps.mean(dim=(-2, -1), keepdim=True)
    length = torch.linalg.vector_norm(centred, dim=(-2, -1), keepdim=True)  # (..., 3, 1, 1): S times the deviation
    return centred / (length / maps.shape[-1]).clamp(min=SMALLEST_DEVIATION)
