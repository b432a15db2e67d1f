"""The state of a training on disk: a long one can be stopped, and resumes as if it had never been.

One safetensors file holds the weights, their average, the state of the optimiser and of the random numbers; its
metadata hold the epoch, the losses, and a digest of what is trained on what, so that it is never continued as another.
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from epir.core.config import digest, to_dict
from epir.core.errors import CheckpointError
from epir.core.files import utf8_name, write_bytes
from epir.core.reading import check_regular
from epir.models.folder import find_folder, weights_digest
from epir.models.network import Network
from epir.training.data import LabelledMaps
from epir.training.optimiser import AveragedModel
from epir.training.recipe import TrainingSettings

FORMAT = "epir-training/2"


@dataclass
class Checkpoint:
    """The parts of a training that change from step to step."""

    model: Network
    optimiser: torch.optim.Optimizer
    delivered: AveragedModel
    generator: torch.Generator  # of batches and augmentation
    losses: list[float]  # one per finished epoch
    step: int = 0

    def save(self, path: Path, name: str) -> None:
        """Write it to `path` in one step; `name` is the digest of what is trained."""
        from safetensors.torch import save

        tensors = {key: tensor.detach().cpu().contiguous().clone() for key, tensor in self._tensors().items()}
        about = {"format": FORMAT, "training": name, "step": str(self.step), "losses": json.dumps(self.losses)}
        write_bytes(path, save(tensors, metadata=about))

    def restore(self, path: Path, name: str) -> None:
        """Go back to what `path` holds; nothing happens where there is no such file."""
        from safetensors import SafetensorError, safe_open

        try:
            check_regular(path, error=CheckpointError, fix="give another name for the checkpoint")
        except FileNotFoundError:
            return
        try:
            with utf8_name(path) as readable, safe_open(readable, framework="pt") as file:
                about = file.metadata() or {}
                saved = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 (no mapping)
        except (SafetensorError, OSError) as error:
            raise CheckpointError(f"{path} cannot be read: {error}", fix="delete it to train from the start") from None
        if about.get("format") != FORMAT or about.get("training") != name:
            raise CheckpointError(
                f"{path} is the checkpoint of another training",
                fix="give another name, or delete it to train from the start",
            )
        try:
            self.step, self.losses[:] = int(about["step"]), json.loads(about["losses"])
            self._fill(saved)
        except (KeyError, ValueError, TypeError, RuntimeError) as error:
            raise CheckpointError(f"{path} is damaged: {error}", fix="delete it to train from the start") from None

    def _tensors(self) -> dict[str, Tensor]:
        state = self.optimiser.state_dict()["state"]
        tensors = {f"model.{key}": tensor for key, tensor in self.model.state_dict().items()}
        if self.delivered.network is not self.model:
            tensors |= {f"average.{key}": tensor for key, tensor in self.delivered.network.state_dict().items()}
        for number, parts in state.items():
            tensors |= {f"optimiser.{number}.{key}": tensor for key, tensor in parts.items()}
        tensors |= {"random.batches": self.generator.get_state(), "random.dropout": torch.get_rng_state()}
        if self.generator.device.type == "cuda":
            tensors["random.device"] = torch.cuda.get_rng_state(self.generator.device)
        return tensors

    def _fill(self, saved: dict[str, Tensor]) -> None:
        self.model.load_state_dict(_under(saved, "model."))
        if self.delivered.network is not self.model:
            self.delivered.network.load_state_dict(_under(saved, "average."))
        self.delivered.steps = self.step
        parts: dict[int, dict[str, Tensor]] = {}
        for key, tensor in _under(saved, "optimiser.").items():
            number, _, part = key.partition(".")
            parts.setdefault(int(number), {})[part] = tensor
        state: dict[str, Any] = self.optimiser.state_dict()
        self.optimiser.load_state_dict({**state, "state": parts})
        self.generator.set_state(saved["random.batches"])
        torch.set_rng_state(saved["random.dropout"])
        if "random.device" in saved:
            torch.cuda.set_rng_state(saved["random.device"], self.generator.device)


def _under(saved: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {key.removeprefix(prefix): tensor for key, tensor in saved.items() if key.startswith(prefix)}


def training_digest(model: Network, clips: LabelledMaps, settings: TrainingSettings, seed: int) -> str:
    """A name for this training: the network, its recipe (how it predicts later is no part of it), seed and clips."""
    recipe = {name: value for name, value in to_dict(settings).items() if not name.endswith("_at_prediction")}
    if settings.start is not None:  # the weights count, not where they lie
        recipe["start"] = weights_digest(find_folder(settings.start))
    content = hashlib.sha256(clips.labels.numpy().tobytes())
    content.update(clips.maps.numpy().tobytes())
    content.update(b"" if clips.units is None else clips.units.numpy().tobytes())
    return digest(
        {
            "model": to_dict(model.settings),
            "training": recipe,
            "seed": seed,
            "classes": list(clips.classes),
            "clips": content.hexdigest(),
        }
    )
