"""The training loop: it sees the clips that it is given and nothing else; `predict` predicts once.

Axes: n clips, B clips of a batch, S map size, C classes, U action units, V views of a map
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from epir.core.errors import ConfigError, TrainingError
from epir.core.progress import Progress, Silent
from epir.core.seeds import stream_seed
from epir.models.folder import UNIT_HEAD
from epir.models.network import AuxiliaryLoss, Network
from epir.models.units import PRESENT, UnitHead, over_views
from epir.training.action_units import in_mirror
from epir.training.augment import augment, draw_mirrored, mixtures, views
from epir.training.checkpoint import Checkpoint, training_digest
from epir.training.data import LabelledMaps, shuffled, steps_per_epoch
from epir.training.optimiser import AveragedModel, learning_rate, make_optimiser, take_step
from epir.training.recipe import TrainingSettings

PREDICTION_BATCH = 256

AfterEpoch = Callable[[int, Network], None]
Teacher = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class TrainingInputs:
    """What the loop learns from besides the clips themselves, as the recipe wants it."""

    teacher: Teacher | None = None  # gives the probabilities (B, C) of maps that replace their labels
    replay: LabelledMaps | None = None  # synthetic clips of the same classes
    interpolate: float = 0.0  # towards the weights that the model has when the loop begins


@dataclass(frozen=True)
class Trained:
    """A trained model in evaluation mode, and how training went."""

    model: Network
    losses: tuple[float, ...]  # mean over the clips, per epoch
    clips: int
    seconds: float

    @property
    def clips_per_second(self) -> float:
        """Throughput, all epochs together."""
        return self.clips * len(self.losses) / max(self.seconds, 1e-9)


def run_epochs(
    model: Network,
    clips: LabelledMaps,
    settings: TrainingSettings,
    inputs: TrainingInputs,
    *,
    seed: int,
    after_epoch: AfterEpoch | None = None,
    checkpoint: Path | None = None,
    progress: Progress | None = None,
) -> Trained:
    """Train the model in place; it ends in evaluation mode with the weights that the recipe delivers.

    Called by `epir.training.train` alone, which prepares the `inputs`. `after_epoch` is shown the epoch (from 1) and
    the network as it would be delivered now, in evaluation mode. It cannot change what follows: it has no part in the
    random numbers. With `checkpoint` every finished epoch is saved in that file, and a second call resumes from there
    to the same weights.
    """
    progress = progress or Silent()
    device = find_device(settings.device)
    model.to(device)
    maps, labels = clips.maps.to(device), clips.labels.to(device)
    model.normalise.fit(maps)
    weights = clips.class_weights().to(device) if settings.class_weights else None
    new_head = _prepare_unit_head(model, clips, settings, seed)
    learning = {name: parameter.requires_grad for name, parameter in model.named_parameters()}
    if settings.freeze:
        for name, parameter in model.named_parameters():
            parameter.requires_grad_(name.startswith(UNIT_HEAD))
    optimiser = make_optimiser(model, settings)
    delivered = AveragedModel(model, settings, interpolate=inputs.interpolate, new=UNIT_HEAD if new_head else None)
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
                own_units = None if clips.units is None else clips.units[rows.cpu()].to(device)
                batch, truth, units = _with_replay(maps[rows], labels[rows], own_units, inputs.replay, generator)
                mirrored = draw_mirrored(len(batch), settings, generator)
                seen = augment(batch, settings, generator, in_mirror=mirrored)  # (B, 3, S, S)
                if inputs.teacher is not None:
                    seen = torch.cat([seen, _mixed(maps, len(seen), settings, generator)])  # (2B, 3, S, S)
                    truth = inputs.teacher(seen)  # (2B, C)
                auxiliary = _unit_loss(model.unit_head, units, mirrored, settings.action_units)
                loss = model.loss(seen, truth, smoothing=settings.smoothing, weights=weights, auxiliary=auxiliary)
                value = float(loss.detach())
                if not np.isfinite(value):
                    model.load_state_dict(good)
                    raise _diverged(epoch, settings)
                if number == 0:
                    good = _snapshot(model)  # these weights have just given a finite loss
                take_step(model, optimiser, loss, learning_rate(state.step, steps, settings), settings.gradient_limit)
                delivered.after_step(model)
                state.step += 1
                total += value * len(rows)
            if not _is_finite(model):  # no loss has shown what the last step made of the weights
                model.load_state_dict(good)
                raise _diverged(epoch, settings)
            losses.append(total / len(clips))
            delivered.after_epoch(model, epoch)
            if after_epoch is not None:
                _show(after_epoch, epoch, delivered.current(), device)
            if checkpoint is not None:
                state.save(checkpoint, name)
            speed = len(clips) * (epoch - done) / (time.perf_counter() - began)
            progress.advance(note=f"loss {losses[-1]:.3f}, {speed:.0f} clips a second")
    if (network := delivered.current()) is not model:
        model.load_state_dict(network.state_dict())
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(learning[name])
    model.eval()
    if not _is_finite(model):  # their average
        model.load_state_dict(good)
        raise _diverged(settings.epochs, settings)
    progress.finish()
    return Trained(model, tuple(losses), len(clips), time.perf_counter() - began)


def _with_replay(
    maps: Tensor, labels: Tensor, units: Tensor | None, replay: LabelledMaps | None, generator: torch.Generator
) -> tuple[Tensor, Tensor, Tensor | None]:
    """A batch (maps, labels, units where there are any), and as many synthetic clips drawn at random after it."""
    if replay is None:
        return maps, labels, units
    rows = torch.randint(len(replay), (len(labels),), generator=generator, device=generator.device).cpu()
    others, truth = replay.maps[rows].to(maps.device), replay.labels[rows].to(maps.device)
    if units is not None and replay.units is not None:
        units = torch.cat([units, replay.units[rows].to(maps.device)])
    return torch.cat([maps, others]), torch.cat([labels, truth]), units


def _mixed(maps: Tensor, count: int, settings: TrainingSettings, generator: torch.Generator) -> Tensor:
    """So many mixtures of two clips each, drawn at random and augmented."""
    pairs = torch.randint(len(maps), (2, count), generator=generator, device=generator.device)
    first, second = (augment(maps[rows], settings, generator) for rows in pairs)
    return mixtures(first, second, generator)


@torch.no_grad()
def _prepare_unit_head(model: Network, clips: LabelledMaps, settings: TrainingSettings, seed: int) -> bool:
    """Give the model a head for action units where the recipe and the clips have them, and say whether it is a new one.

    A head that the model has already is trained on, unless the recipe wants a new one. Where no units are learnt the
    model loses it, for it would not fit the features that move on without it. The first weights of a new head come from
    the seed.
    """
    if not settings.action_units or clips.units is None or clips.units[..., PRESENT].isnan().all():
        model.unit_head = None
        return False
    if model.unit_head is not None and not settings.new_unit_head:
        return False
    model.eval()
    device = next(model.parameters()).device
    width = model.forward_features(model.normalise(clips.maps[:1].to(device))).shape[-1]
    with repeatable(stream_seed(seed, "head for action units"), torch.device("cpu")):
        model.unit_head = UnitHead(width).to(device)
    return True


def _unit_loss(head: UnitHead | None, units: Tensor | None, mirrored: Tensor, weight: float) -> AuxiliaryLoss | None:
    """The loss of the action units (B, U, 3) of the clips that come first in a batch, some (B,) seen in the mirror."""
    if head is None or units is None:
        return None
    truth = in_mirror(units, mirrored[: len(units)])
    return lambda features: weight * head.loss(features[: len(truth)], truth)


@torch.no_grad()
def predict(model: Network, maps: Tensor | np.ndarray, *, mirror: bool = True, shift: int = 0) -> np.ndarray:
    """Probabilities (n, C) of maps (n, 3, S, S), the mean over the `views` of each.

    For a network: `predict(create_model("epir", pretrained=True), maps.maps)`. A video goes to `Recognizer.predict`.

    >>> from epir import create_model
    >>> predict(create_model("ststnet"), np.zeros((2, 3, 28, 28), np.float32)).shape
    (2, 3)
    """
    device = next(model.parameters()).device
    model.eval()
    tensor = maps if isinstance(maps, Tensor) else torch.from_numpy(np.array(maps, dtype=np.float32))
    if not len(tensor):
        return np.zeros((0, model.settings.classes), dtype=np.float32)
    parts = []
    for batch in tensor.split(PREDICTION_BATCH):
        batch = batch.to(device)
        seen = views(batch, mirror=mirror, shift=shift)
        answer = model(torch.cat(seen)).softmax(-1)
        parts.append(answer.unflatten(0, (len(seen), -1)).mean(0))  # (B, C)
    return finite(torch.cat(parts).cpu().numpy())


def finite(scores: np.ndarray) -> np.ndarray:
    """The scores, refused where one is not a number: the largest of such scores is always class 0."""
    if not np.isfinite(scores).all():
        raise TrainingError(
            "the model gives scores that are not numbers",
            fix="its training diverged: train again with a lower rate (--set training.lr=...)",
        )
    return scores


@torch.no_grad()
def predict_with_units(
    model: Network, maps: Tensor | np.ndarray, *, mirror: bool = True, shift: int = 0
) -> tuple[np.ndarray, np.ndarray | None]:
    """Probabilities (n, C) as `predict` gives them, and uncalibrated logits (n, 3, U) of the action units.

    They are: present, and if so on the person's left and right (`epir.models.units`); None without a head for them.
    """
    if model.unit_head is None:
        return predict(model, maps, mirror=mirror, shift=shift), None
    device = next(model.parameters()).device
    model.eval()
    tensor = maps if isinstance(maps, Tensor) else torch.from_numpy(np.array(maps, dtype=np.float32))
    scores = [np.zeros((0, model.settings.classes), np.float32)]
    units = [np.zeros((0, 3, len(model.unit_head.units)), np.float32)]
    for batch in tensor.split(PREDICTION_BATCH) if len(tensor) else ():
        seen = views(batch.to(device), mirror=True, shift=shift)  # the sides need the mirror in any case
        logits, own = model.forward_with_units(torch.cat(seen))  # (VB, C), (VB, 2, U)
        answer = logits.softmax(-1).unflatten(0, (len(seen), -1))  # (V, B, C)
        scores.append((answer if mirror else answer[: len(seen) // 2]).mean(0).cpu().numpy())
        units.append(over_views(own.unflatten(0, (len(seen), -1)).cpu().numpy()))
    return finite(np.concatenate(scores)), np.concatenate(units)


def find_device(name: str) -> torch.device:
    """The device called `name`; `auto` is a GPU where there is one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return torch.empty(0, device=name).device
    except (RuntimeError, AssertionError):
        raise ConfigError(f"there is no device {name!r} here", fix="use --set training.device=cpu, or auto") from None


@contextmanager
def repeatable(seed: int, device: torch.device) -> Iterator[torch.Generator]:
    """A generator of random numbers; inside, everything random comes from `seed`, and the caller's numbers stay."""
    devices = [device] if device.type == "cuda" else []
    was, warned = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(stream_seed(seed, "dropout"))
        if devices:  # a CPU with one thread is deterministic by itself
            torch.use_deterministic_algorithms(True, warn_only=True)
        try:
            yield torch.Generator(device).manual_seed(stream_seed(seed, "batches and augmentation"))
        finally:
            torch.use_deterministic_algorithms(was, warn_only=warned)


def _show(after_epoch: AfterEpoch, epoch: int, network: Network, device: torch.device) -> None:
    """Call with the network in evaluation mode; random numbers drawn there are not missed here."""
    network.eval()
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        after_epoch(epoch, network)


def _is_finite(model: nn.Module) -> bool:
    return all(bool(tensor.isfinite().all()) for tensor in model.state_dict().values())


def _snapshot(model: nn.Module) -> dict[str, Tensor]:
    return {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}


def _diverged(epoch: int, settings: TrainingSettings) -> TrainingError:
    return TrainingError(
        f"the loss is not a number any more in epoch {epoch}; the model holds the last good weights",
        fix=f"train with a lower rate than {settings.lr:g} (--set training.lr=...) or with training.gradient_limit=1",
    )
