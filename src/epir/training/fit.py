"""The training loop, and its checkpoints on disk.

Axes: n clips, B clips of a batch, S map size, C classes, U action units
"""

import hashlib
import json
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from epir.core.config import digest, to_dict
from epir.core.engines import Progress, Silent
from epir.core.errors import CheckpointError, TrainingError
from epir.core.files import check_regular, utf8_name, write_bytes
from epir.core.seeds import stream_seed
from epir.models.folder import UNIT_HEAD, find_folder, weights_digest
from epir.models.network import AuxiliaryLoss, Network
from epir.models.predict import find_device
from epir.models.units import PRESENT, UnitHead
from epir.training.data import (
    LabelledMaps,
    augment,
    draw_mirrored,
    in_mirror,
    mixtures,
    shuffled,
    steps_per_epoch,
)
from epir.training.optimiser import AveragedModel, learning_rate, make_optimiser, take_step
from epir.training.recipe import TrainingSettings

AfterEpoch = Callable[[int, Network], None]
SoftLabels = Callable[[Tensor], Tensor]  # maps (B, 3, S, S) -> probabilities (B, C)
FORMAT = "epir-training/2"


@dataclass(frozen=True)
class Trained:
    """A trained model in evaluation mode, and its training losses."""

    model: Network
    losses: tuple[float, ...]  # mean over the clips, per epoch


def run_epochs(
    model: Network,
    clips: LabelledMaps,
    settings: TrainingSettings,
    *,
    seed: int,
    teacher: SoftLabels | None = None,
    interpolate: float = 0.0,
    after_epoch: AfterEpoch | None = None,
    checkpoint: Path | None = None,
    progress: Progress | None = None,
) -> Trained:
    """Train the model in place; it ends in evaluation mode with the weights that the recipe delivers.

    Only `epir.training.train` calls this. The soft labels of a `teacher` replace the labels; `interpolate` moves the
    delivered weights back towards the initial ones. `after_epoch` is called with the epoch (from 1) and, in evaluation
    mode, the network that training would deliver now; random numbers it draws do not affect training. With
    `checkpoint`, every finished epoch is saved in that file, and a second call resumes to the same weights.
    """
    progress = progress or Silent()
    device = find_device(settings.device)
    model.to(device)
    on_device = replace(clips, maps=clips.maps.to(device), labels=clips.labels.to(device))
    weights = clips.class_weights().to(device) if settings.class_weights else None
    new_head = _prepare_unit_head(model, clips, settings, seed)
    requires_grad = {name: parameter.requires_grad for name, parameter in model.named_parameters()}
    if settings.freeze:
        for name, parameter in model.named_parameters():
            parameter.requires_grad_(name.startswith(UNIT_HEAD))
    optimiser = make_optimiser(model, settings)
    delivered = AveragedModel(model, settings, interpolate=interpolate, new=UNIT_HEAD if new_head else None)
    steps = settings.epochs * steps_per_epoch(len(clips), settings.batch)
    losses: list[float] = []
    began = time.perf_counter()
    progress.start("training", settings.epochs)
    with repeatable(seed, device) as generator:
        state = Checkpoint(model, optimiser, delivered, generator, losses)
        name = training_digest(model, clips, settings, seed) if checkpoint is not None else ""
        if checkpoint is not None:
            state.restore(checkpoint, name)
            progress.advance(len(losses))
        good, done = _snapshot(model), len(losses)
        for epoch in range(done + 1, settings.epochs + 1):
            model.train()
            total = 0.0
            for number, rows in enumerate(shuffled(len(clips), settings.batch, generator)):
                loss = _batch_loss(model, on_device, rows, settings, generator, teacher, weights)
                value = float(loss.detach())
                if not math.isfinite(value):
                    model.load_state_dict(good)
                    raise _diverged(epoch, settings)
                if number == 0:
                    good = _snapshot(model)  # these weights have just given a finite loss
                take_step(model, optimiser, loss, learning_rate(state.step, steps, settings), settings.gradient_limit)
                delivered.after_step(model)
                state.step += 1
                total += value * len(rows)
            if not _is_finite(model):  # no loss has tested the weights after the last step
                model.load_state_dict(good)
                raise _diverged(epoch, settings)
            losses.append(total / len(clips))
            if after_epoch is not None:
                _call(after_epoch, epoch, delivered.current(), device)
            if checkpoint is not None:
                state.save(checkpoint, name)
            speed = len(clips) * (epoch - done) / (time.perf_counter() - began)
            progress.advance(note=f"loss {losses[-1]:.3f}, {speed:.0f} clips a second")
    if (network := delivered.current()) is not model:
        model.load_state_dict(network.state_dict())
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(requires_grad[name])
    model.eval()
    if not _is_finite(model):  # the averaged weights
        model.load_state_dict(good)
        raise _diverged(settings.epochs, settings)
    progress.finish()
    return Trained(model, tuple(losses))


def _batch_loss(
    model: Network,
    clips: LabelledMaps,
    rows: Tensor,
    settings: TrainingSettings,
    generator: torch.Generator,
    teacher: SoftLabels | None,
    weights: Tensor | None,
) -> Tensor:
    """Return the loss of these rows (B,) of the clips, augmented; a teacher adds B mixtures of two clips."""
    truth = clips.labels[rows]  # (B,)
    mirrored = draw_mirrored(len(rows), settings, generator)
    seen = augment(clips.maps[rows], settings, generator, mirror=mirrored)  # (B, 3, S, S)
    if teacher is not None:
        pairs = torch.randint(len(clips), (2, len(rows)), generator=generator, device=generator.device)
        first, second = (augment(clips.maps[pair], settings, generator) for pair in pairs)
        seen = torch.cat([seen, mixtures(first, second, generator)])  # (2B, 3, S, S)
        truth = teacher(seen)  # (2B, C)
    units = None if clips.units is None else clips.units[rows.cpu()].to(rows.device)
    auxiliary = _unit_loss(model.unit_head, units, mirrored, settings.action_units)
    return model.loss(seen, truth, smoothing=settings.smoothing, weights=weights, auxiliary=auxiliary)


@torch.no_grad()
def _prepare_unit_head(model: Network, clips: LabelledMaps, settings: TrainingSettings, seed: int) -> bool:
    """Give the model a head for action units if the recipe and the clips have units; return whether it is new.

    An existing head is trained further. Without units the model loses its head, which would no longer fit the changed
    features. The initial weights of a new head come from the seed.
    """
    if not settings.action_units or clips.units is None or clips.units[..., PRESENT].isnan().all():
        model.unit_head = None
        return False
    if model.unit_head is not None:
        return False
    model.eval()
    device = next(model.parameters()).device
    width = model.forward_features(model.normalise(clips.maps[:1].to(device))).shape[-1]
    with repeatable(stream_seed(seed, "head for action units"), torch.device("cpu")):
        model.unit_head = UnitHead(width).to(device)
    return True


def _unit_loss(head: UnitHead | None, units: Tensor | None, mirrored: Tensor, weight: float) -> AuxiliaryLoss | None:
    """Return the loss on the action units (B, U, 3) of the first B clips of a batch, some of them `mirrored` (B,)."""
    if head is None or units is None:
        return None
    truth = in_mirror(units, mirrored)
    return lambda features: weight * head.loss(features[: len(truth)], truth)


@contextmanager
def repeatable(seed: int, device: torch.device) -> Iterator[torch.Generator]:
    """Yield a random generator; inside, all randomness comes from `seed`, and the caller's random state is kept."""
    devices = [device] if device.type == "cuda" else []
    before = torch.are_deterministic_algorithms_enabled()
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(stream_seed(seed, "dropout"))
        if devices:  # one CPU thread is deterministic anyway
            torch.use_deterministic_algorithms(True, warn_only=True)
        try:
            yield torch.Generator(device).manual_seed(stream_seed(seed, "batches and augmentation"))
        finally:
            torch.use_deterministic_algorithms(before, warn_only=warn_only)


def _call(after_epoch: AfterEpoch, epoch: int, network: Network, device: torch.device) -> None:
    """Call `after_epoch` with the network in evaluation mode, and keep the random state of training."""
    network.eval()
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        after_epoch(epoch, network)


def _is_finite(model: nn.Module) -> bool:
    return all(bool(tensor.isfinite().all()) for tensor in model.state_dict().values())


def _snapshot(model: nn.Module) -> dict[str, Tensor]:
    return {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}


def _diverged(epoch: int, settings: TrainingSettings) -> TrainingError:
    return TrainingError(
        f"the loss became NaN or infinite in epoch {epoch}; the model holds the last good weights",
        fix=f"train with a lower rate than {settings.lr:g} (--set training.lr=...) or with training.gradient_limit=1",
    )


@dataclass
class Checkpoint:
    """The state of a training run, saved so that an interrupted run resumes exactly.

    One safetensors file holds the weights, their average, the optimiser and the random state; its metadata hold the
    step, the losses, and a digest of model, recipe and clips, so that no other training resumes from it.
    """

    model: Network
    optimiser: torch.optim.Optimizer
    delivered: AveragedModel
    generator: torch.Generator  # of batches and augmentation
    losses: list[float]  # one per finished epoch
    step: int = 0

    def save(self, path: Path, name: str) -> None:
        """Write the state to `path` atomically; `name` is the training digest."""
        from safetensors.torch import save

        tensors = {key: tensor.detach().cpu().contiguous().clone() for key, tensor in self._tensors().items()}
        about = {"format": FORMAT, "training": name, "step": str(self.step), "losses": json.dumps(self.losses)}
        write_bytes(path, save(tensors, metadata=about))

    def restore(self, path: Path, name: str) -> None:
        """Restore the state saved in `path`; do nothing if the file does not exist."""
        from safetensors import SafetensorError, safe_open

        try:
            check_regular(path, error=CheckpointError, fix="choose another name for the checkpoint")
        except FileNotFoundError:
            return
        try:
            with utf8_name(path) as readable, safe_open(readable, framework="pt") as file:
                about = file.metadata() or {}
                saved = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 (not a mapping)
        except (SafetensorError, OSError) as error:
            raise CheckpointError(f"{path} cannot be read: {error}", fix="delete it to train from the start") from None
        if about.get("format") != FORMAT or about.get("training") != name:
            raise CheckpointError(
                f"{path} is the checkpoint of another training",
                fix="choose another name, or delete it to train from the start",
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
    """Return a digest of the network, its recipe (without prediction settings), the seed and the clips."""
    recipe = {name: value for name, value in to_dict(settings).items() if not name.endswith("_at_prediction")}
    if settings.start is not None:  # the content of the weights counts, not their path
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
