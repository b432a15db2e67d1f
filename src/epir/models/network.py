"""What every learned model has in common: maps in, logits out, and its own loss.

Axes: B clips, S map size, F features, C classes
"""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn
from torch.nn import functional

from epir.core.config import from_dict
from epir.core.errors import ConfigError, ShapeError
from epir.models import folder as model_folder
from epir.models.normalise import InputNormalisation

Aside = Callable[[Tensor], Tensor]
HEAD = "head"  # what every network calls the weights that tell its classes apart


class Network(nn.Module):
    """A model that classifies maps; children give `represent` and `classify`.

    `settings` is a frozen dataclass with at least `name`, `map_size`, `classes` and `normalise`; its class is
    `settings_class`.
    """

    settings_class: ClassVar[type]

    def __init__(self, settings: Any) -> None:
        super().__init__()
        self.settings = settings
        self.normalise = InputNormalisation(settings.normalise)

    def represent(self, maps: Tensor) -> Tensor:
        """Features (B, F) of normalised maps (B, 3, S, S)."""
        raise NotImplementedError

    def represent_to_learn(self, maps: Tensor) -> Tensor:
        """What `represent` gives; children may leave out here what neither the features nor their gradient need."""
        return self.represent(maps)

    def classify(self, features: Tensor) -> Tensor:
        """Logits (B, C) of features (B, F)."""
        raise NotImplementedError

    def forward(self, maps: Tensor) -> Tensor:
        """Logits (B, C) of maps (B, 3, S, S)."""
        self.check(maps)
        return self.classify(self.represent(self.normalise(maps)))

    def loss(
        self,
        maps: Tensor,
        labels: Tensor,
        *,
        smoothing: float = 0.0,
        weights: Tensor | None = None,
        aside: Aside | None = None,
    ) -> Tensor:
        """What training minimises, for maps (B, 3, S, S) of these classes (B,), or of these probabilities (B, C).

        Given probabilities, as a tutor does, it is the cross-entropy with them, and neither smoothed nor weighted.
        `aside` is a further loss of the features (B, F), such as of an auxiliary target.
        """
        self.check(maps)
        features = self.represent_to_learn(self.normalise(maps))
        if labels.is_floating_point():
            loss = functional.cross_entropy(self.classify(features), labels)
        else:
            loss = self.feature_loss(features, labels, smoothing, weights)
        return loss if aside is None else loss + aside(features)

    def feature_loss(self, features: Tensor, labels: Tensor, smoothing: float, weights: Tensor | None) -> Tensor:
        """Cross-entropy, unless the method's paper has more, of features (B, F)."""
        return functional.cross_entropy(self.classify(features), labels, weight=weights, label_smoothing=smoothing)

    def check(self, maps: Tensor) -> None:
        """Refuse maps that this model was not built for; left out of exported graphs."""
        size = self.settings.map_size
        if maps.ndim != 4 or maps.shape[1] != 3:
            raise ShapeError(
                f"the model takes maps (B, 3, {size}, {size}) but got {tuple(maps.shape)}",
                fix="stack u, v and strain on the second axis; for one map add a first axis: maps[None]",
            )
        if maps.shape[2] != maps.shape[3]:
            raise ShapeError(
                f"maps must be square but are {maps.shape[2]} x {maps.shape[3]}", fix="crop the face square"
            )
        if maps.shape[2] != size:
            raise ShapeError(
                f"the model was built for {size} px maps but got {maps.shape[2]} px",
                fix=f"prepare the maps with --size {size}, or build the model with map_size={maps.shape[2]}",
            )
        if not torch.compiler.is_compiling() and not math.isfinite(maps.sum().item()):
            raise ShapeError("a map holds NaN or infinity", fix="look at the frames of that clip, and prepare it again")

    def save_pretrained(
        self,
        folder: str | Path,
        *,
        labels: Sequence[str] = (),
        notes: Mapping[str, Any] | None = None,
        card: str = "",
        half: bool = False,
        force: bool = False,
    ) -> Path:
        """Write a model folder: settings, weights and a model card."""
        return model_folder.save_model(
            self, self.settings, folder, labels=labels, notes=notes, card=card, half=half, force=force
        )

    @classmethod
    def from_pretrained(cls, folder: str | Path) -> Self:
        """The model of a model folder, ready to predict."""
        config = model_folder.read_config(folder)
        try:
            settings: Any = from_dict(cls.settings_class, config.settings, section="model")
        except ConfigError as error:
            raise model_folder.unusable(error, folder) from None
        network = cls(settings)
        model_folder.load_weights(network, folder)
        return network.eval()

    def push_to_hub(self, repository: str, **options: Any) -> None:
        """Upload the model folder to `owner/name` on the Hugging Face hub; `options` go to `save_pretrained`."""
        from huggingface_hub import HfApi

        hub = HfApi()
        hub.create_repo(repository, exist_ok=True)
        with TemporaryDirectory() as temporary:
            folder = self.save_pretrained(Path(temporary) / "model", **options)
            hub.upload_folder(repo_id=repository, folder_path=folder)
