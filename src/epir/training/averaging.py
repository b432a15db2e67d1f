"""Averages of weights that are fixed before training: nothing in them is chosen by a score."""

import copy

import torch

from epir.models.network import Network
from epir.training.recipe import TrainingSettings


class Averaged:
    """The network that training delivers: the one that is trained, or a copy that follows it as an average.

    `ema`: a moving average over all steps, quick at first so that the random start is forgotten. `last`: the mean of
    the weights after each of the last epochs. Running statistics of a network are averaged like its weights.
    With `keep`, it is then moved back towards the weights that it has at first, by that share of the way.
    """

    def __init__(self, model: Network, settings: TrainingSettings, *, keep: float = 0.0) -> None:
        self.settings = settings
        self.network = model if settings.averaging == "none" else copy.deepcopy(model).requires_grad_(False)
        self.steps = 0
        self.keep = keep
        self._start = {name: tensor.detach().clone() for name, tensor in model.state_dict().items()} if keep else {}

    @torch.no_grad()
    def now(self) -> Network:
        """The network as it would be delivered now."""
        if not self.keep:
            return self.network
        network = copy.deepcopy(self.network)
        for name, tensor in network.state_dict().items():
            if tensor.is_floating_point():
                tensor.lerp_(self._start[name].to(tensor.device), self.keep)
        return network

    def after_step(self, model: Network) -> None:
        """Follow one step of the optimiser."""
        if self.settings.averaging == "ema":
            self.steps += 1
            decay = min(self.settings.decay, (1 + self.steps) / (10 + self.steps))
            self._move(model, 1 - decay)

    def after_epoch(self, model: Network, epoch: int) -> None:
        """Follow one epoch, counted from 1."""
        if self.settings.averaging == "last":
            first = max(1, self.settings.epochs - self.settings.last + 1)
            self._move(model, 1 / max(1, epoch - first + 1))

    @torch.no_grad()
    def _move(self, model: Network, share: float) -> None:
        mine, theirs = self.network.state_dict(), model.state_dict()
        for name, tensor in mine.items():
            if tensor.is_floating_point():
                tensor.lerp_(theirs[name], share)
            else:
                tensor.copy_(theirs[name])
