"""The optimiser, its learning-rate schedule, and the averaging of weights."""

import copy
import math

import torch
from torch import nn

from epir.models.network import Network
from epir.training.recipe import TrainingSettings


def make_optimiser(model: Network, settings: TrainingSettings) -> torch.optim.Optimizer:
    """Return Adam or AdamW over the trainable parameters.

    Only weight matrices decay, not biases, norms, positions, the class token or temperatures. Temperatures also have
    their own learning rate (`scale` is a factor on the schedule).
    """
    no_decay = model.no_weight_decay()
    decaying, plain, temperatures = [], [], []
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue
        if name.endswith("temperature"):
            temperatures.append(parameter)
        elif parameter.ndim < 2 or name in no_decay:
            plain.append(parameter)
        else:
            decaying.append(parameter)
    groups = [
        {"params": decaying, "weight_decay": settings.weight_decay, "scale": 1.0},
        {"params": plain, "weight_decay": 0.0, "scale": 1.0},
        {"params": temperatures, "weight_decay": 0.0, "scale": settings.temperature_rate},
    ]
    kind = torch.optim.AdamW if settings.optimiser == "adamw" else torch.optim.Adam
    return kind([group for group in groups if group["params"]], lr=settings.lr, fused=True)


def learning_rate(step: int, steps: int, settings: TrainingSettings) -> float:
    """Return the learning rate of step `step` (from 0) of `steps`: linear warm-up, then constant or cosine decay."""
    warmup = round(settings.warmup * steps)
    if step < warmup:
        return settings.lr * (step + 1) / warmup
    if settings.schedule == "constant":
        return settings.lr
    return settings.lr * 0.5 * (1 + math.cos(math.pi * (step - warmup) / max(1, steps - warmup)))


def take_step(
    model: nn.Module, optimiser: torch.optim.Optimizer, loss: torch.Tensor, lr: float, gradient_limit: float
) -> None:
    """Take one optimiser step at the rate `lr`, with the gradient norm clipped unless the limit is 0."""
    for group in optimiser.param_groups:
        group["lr"] = lr * group["scale"]
    optimiser.zero_grad(set_to_none=True)
    loss.backward()
    if gradient_limit:
        nn.utils.clip_grad_norm_(model.parameters(), gradient_limit)
    optimiser.step()


class AveragedModel:
    """The network that training delivers: the trained one, or a moving average of it.

    `ema` averages over all steps, fast at first so that the random start is forgotten, and includes running statistics.
    `interpolate` moves the delivered weights back towards the initial ones by that share, except those whose names
    start with `new`, which began at random.

    [WiSE-FT] Wortsman et al. 2022, Robust fine-tuning of zero-shot models, arXiv:2109.01903
    """

    def __init__(
        self, model: Network, settings: TrainingSettings, *, interpolate: float = 0.0, new: str | None = None
    ) -> None:
        self.settings = settings
        self.network = model if settings.averaging == "none" else copy.deepcopy(model).requires_grad_(False)
        self.steps = 0
        self.interpolate = interpolate
        start = model.state_dict() if interpolate else {}
        self._start = {
            name: tensor.detach().clone() for name, tensor in start.items() if new is None or not name.startswith(new)
        }

    @torch.no_grad()
    def current(self) -> Network:
        """Return the network that training would deliver now."""
        if not self.interpolate:
            return self.network
        network = copy.deepcopy(self.network)
        for name, tensor in network.state_dict().items():
            if tensor.is_floating_point() and name in self._start:
                tensor.lerp_(self._start[name].to(tensor.device), self.interpolate)
        return network

    @torch.no_grad()
    def after_step(self, model: Network) -> None:
        """Update the average after one step of the optimiser."""
        if self.settings.averaging != "ema":
            return
        self.steps += 1
        decay = min(self.settings.decay, (1 + self.steps) / (10 + self.steps))
        trained = model.state_dict()
        for name, tensor in self.network.state_dict().items():
            if tensor.is_floating_point():
                tensor.lerp_(trained[name], 1 - decay)
            else:
                tensor.copy_(trained[name])
