"""RCN-A: a shallow recurrent convolution with attention that has no weights of its own.

[RCN] Xia, Peng, Khor, Feng, Zhao 2020, Revealing the Invisible with Model and Data Shrinking for Composite-database
      Micro-expression Recognition, IEEE TIP 29, arXiv:2006.09674

Axes: B clips, S map size, D width, P places per side that the classifier sees, C classes
"""

from typing import Annotated

import torch
from torch import Tensor, nn
from torch.nn import functional

from epir.core.errors import ConfigError
from epir.models.arguments import Count, Dropout, Range, Width
from epir.models.network import WithFeatures

STEPS = 2  # how often the recurrent convolution is applied
SMALLEST_RANGE = 1e-6


class RecurrentConvolution(nn.Module):
    """One 3 x 3 convolution applied again and again, each time to what came in plus the last result."""

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.forward_step = _layer(width, width, kernel=1)
        self.recurrent_step = _layer(width, width, kernel=3, padding=1)
        self.shrink = nn.Sequential(nn.MaxPool2d(2), nn.Dropout(dropout))

    def forward(self, maps: Tensor) -> Tensor:
        """Maps (B, D, S, S) to (B, D, S / 2, S / 2)."""
        state = self.forward_step(maps)
        for _ in range(STEPS):
            state = self.recurrent_step(maps + state)
        return self.shrink(state)


class RcnA(WithFeatures):
    """A 5 x 5 convolution, one recurrent convolution, and attention from the classifier's weights.

    Departs from [RCN]: maps are 28 px, where the paper varies the resolution as well; the width of 32 and the 5 x 5
    places are those of the example in the authors' code; a class's map that does not vary attends nowhere.
    """

    def __init__(
        self,
        classes: int = 3,
        map_size: Annotated[int, Range(ge=12)] = 28,
        dropout: Dropout = 0.5,
        width: Width = 32,
        pool: Annotated[Count, "places per side that the classifier sees"] = 5,
    ) -> None:
        super().__init__()
        if pool > (map_size - 4) // 4:
            raise ConfigError(
                f"rcn-a cannot pool a {map_size} px map to {pool} places per side",
                fix=f"set pool to at most {(map_size - 4) // 4}",
            )
        self.pool = pool
        self.stem = nn.Sequential(_layer(3, width, kernel=5), nn.MaxPool2d(2), nn.Dropout(dropout))
        self.recurrence = RecurrentConvolution(width, dropout)
        self.head = nn.Linear(width * pool**2, classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
        nn.init.normal_(self.head.weight, std=0.01)
        nn.init.zeros_(self.head.bias)

    def forward_features(self, maps: Tensor) -> Tensor:
        """Features (B, D * P * P) of normalised maps (B, 3, S, S)."""
        low = self.stem(maps)  # (B, D, S', S')
        places = self.pool
        attention = class_attention(functional.adaptive_avg_pool2d(low, places), self.head.weight)
        high = functional.adaptive_avg_pool2d(self.recurrence(low), places)  # (B, D, P, P)
        return (high * attention).flatten(1)  # (B, D * P * P)

    def forward_head(self, features: Tensor) -> Tensor:
        """Logits (B, C) of features (B, D * P * P)."""
        return self.head(features)


def class_attention(maps: Tensor, weights: Tensor) -> Tensor:
    """Where the classes look, (B, 1, P, P) from 0 to 1, given maps (B, D, P, P) and classifier weights (C, D * P * P).

    Each class's activation map is stretched to 0..1 by itself, then the classes are averaged.
    """
    shaped = weights.unflatten(1, maps.shape[1:])  # (C, D, P, P)
    activations = torch.einsum("bdyx,cdyx->bcyx", maps, shaped) / maps.shape[1]  # (B, C, P, P)
    lowest = activations.amin(dim=(2, 3), keepdim=True)
    spread = activations.amax(dim=(2, 3), keepdim=True) - lowest
    return ((activations - lowest) / spread.clamp(min=SMALLEST_RANGE)).mean(dim=1, keepdim=True)


def _layer(before: int, after: int, *, kernel: int, padding: int = 0) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(before, after, kernel, padding=padding), nn.BatchNorm2d(after), nn.ReLU())
