"""The optimiser, and its learning rate at every step."""

import math
from collections.abc import Iterable

import torch
from torch import nn

from epir.training.recipe import TrainingSettings


def rate(step: int, steps: int, settings: TrainingSettings) -> float:
    """The learning rate of step `step` (from 0) of `steps`: a linear rise, then constant or half a cosine wave."""
    rise = round(settings.warmup * steps)
    if step < rise:
        return settings.lr * (step + 1) / rise
    if settings.schedule == "constant":
        return settings.lr
    return settings.lr * 0.5 * (1 + math.cos(math.pi * (step - rise) / max(1, steps - rise)))


def make_optimiser(parameters: Iterable[nn.Parameter], settings: TrainingSettings) -> torch.optim.Optimizer:
    """Adam or AdamW; only weight matrices decay, not biases, norms and temperatures."""
    learned = [each for each in parameters if each.requires_grad]
    groups = [
        {"params": [each for each in learned if each.ndim >= 2], "weight_decay": settings.weight_decay},
        {"params": [each for each in learned if each.ndim < 2], "weight_decay": 0.0},
    ]
    kind = torch.optim.AdamW if settings.optimiser == "adamw" else torch.optim.Adam
    return kind([group for group in groups if group["params"]], lr=settings.lr, fused=True)
