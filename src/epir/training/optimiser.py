"""The optimiser, its learning rate at every step, and averages of weights that are fixed before training."""

import copy
import math

import torch
from torch import nn

from epir.models.network import Network
from epir.training.recipe import TrainingSettings


def make_optimiser(model: Network, settings: TrainingSettings) -> torch.optim.Optimizer:
    """Adam or AdamW over what may learn of the model.

    Only weight matrices decay: not biases, norms, positions, the class token and temperatures, which also have a
    learning rate of their own (`scale`, a factor on the schedule).
    """
    spared = model.no_weight_decay()
    decaying, plain, temperatures = [], [], []
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue
        if name.endswith("temperature"):
            temperatures.append(parameter)
        elif parameter.ndim < 2 or name in spared:
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
    """The learning rate of step `step` (from 0) of `steps`: a linear rise, then constant or half a cosine wave."""
    rise = round(settings.warmup * steps)
    if step < rise:
        return settings.lr * (step + 1) / rise
    if settings.schedule == "constant":
        return settings.lr
    return settings.lr * 0.5 * (1 + math.cos(math.pi * (step - rise) / max(1, steps - rise)))


def take_step(
    model: nn.Module, optimiser: torch.optim.Optimizer, loss: torch.Tensor, lr: float, gradient_limit: float
) -> None:
    """One step of the optimiser at the rate `lr`, the norm of the gradient limited unless the limit is 0."""
    for group in optimiser.param_groups:
        group["lr"] = lr * group["scale"]
    optimiser.zero_grad(set_to_none=True)
    loss.backward()
    if gradient_limit:
        nn.utils.clip_grad_norm_(model.parameters(), gradient_limit)
    optimiser.step()


class AveragedModel:
    """The network that training delivers: the one that is trained, or a copy that follows it as an average.

    `ema`: a moving average over all steps, quick at first so that the random start is forgotten. Running statistics of
    a network are averaged like its weights. With `interpolate`, the delivered weights are moved back towards the first
    ones by that share of the way; those of a `new` part, whose names begin so, are not, as it began with random ones.

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
        kept = [name for name in start if new is None or not name.startswith(new)]
        self._start = {name: start[name].detach().clone() for name in kept}

    @torch.no_grad()
    def current(self) -> Network:
        """The network as it would be delivered now."""
        if not self.interpolate:
            return self.network
        network = copy.deepcopy(self.network)
        for name, tensor in network.state_dict().items():
            if tensor.is_floating_point() and name in self._start:
                tensor.lerp_(self._start[name].to(tensor.device), self.interpolate)
        return network

    def after_step(self, model: Network) -> None:
        """Follow one step of the optimiser."""
        if self.settings.averaging == "ema":
            self.steps += 1
            decay = min(self.settings.decay, (1 + self.steps) / (10 + self.steps))
            self._move(model, 1 - decay)

    @torch.no_grad()
    def _move(self, model: Network, share: float) -> None:
        mine, theirs = self.network.state_dict(), model.state_dict()
        for name, tensor in mine.items():
            if tensor.is_floating_point():
                tensor.lerp_(theirs[name], share)
            else:
                tensor.copy_(theirs[name])
