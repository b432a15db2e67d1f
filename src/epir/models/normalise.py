"""Input normalisation, a part of the model: what a network sees does not depend on how a map was scaled.

Axes: B clips, S map size
"""

from typing import Literal

import torch
from torch import Tensor, nn

Normalisation = Literal["map", "squash", "fold", "none"]

SMALLEST_DEVIATION = 1e-6  # a channel that does not vary stays at zero


class InputNormalisation(nn.Module):
    """Shift and scale of each channel of a map.

    `map`: each channel of each map to zero mean and unit deviation, so that raw flow and maps stretched to
    0..1 are the same to the network. `squash`: the same, then its hyperbolic tangent, and the same again: a few strong
    pixels (lids, edges, faults of the flow) do not make everything else small. `fold`: by the statistics of the
    training clips. `none`: as it is.
    """

    mean: Tensor
    deviation: Tensor

    def __init__(self, mode: Normalisation) -> None:
        super().__init__()
        self.mode = mode
        if mode == "fold":
            self.register_buffer("mean", torch.zeros(3, 1, 1))
            self.register_buffer("deviation", torch.ones(3, 1, 1))

    @torch.no_grad()
    def fit(self, maps: Tensor) -> None:
        """Learn the statistics of the training clips, (n, 3, S, S); only `fold` has any."""
        if self.mode == "fold":
            self.mean.copy_(maps.mean(dim=(0, 2, 3)).view(3, 1, 1))
            self.deviation.copy_(maps.std(dim=(0, 2, 3)).clamp(min=SMALLEST_DEVIATION).view(3, 1, 1))

    def forward(self, maps: Tensor) -> Tensor:
        """Normalised maps of the same shape, (B, 3, S, S)."""
        if self.mode == "none":
            return maps
        if self.mode == "fold":
            return (maps - self.mean) / self.deviation
        maps = standardised(maps)
        return standardised(maps.tanh()) if self.mode == "squash" else maps

    def extra_repr(self) -> str:
        """The mode, for printing a model."""
        return self.mode


def standardised(maps: Tensor) -> Tensor:
    """Each channel of each map with mean 0 and deviation 1, (B, 3, S, S)."""
    centred = maps - maps.mean(dim=(2, 3), keepdim=True)
    length = torch.linalg.vector_norm(centred, dim=(2, 3), keepdim=True)  # (B, 3, 1, 1): S times the deviation
    return centred / (length / maps.shape[3]).clamp(min=SMALLEST_DEVIATION)
