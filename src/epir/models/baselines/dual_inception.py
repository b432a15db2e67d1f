"""Dual-Inception: one stream of two inception blocks for u, one for v.

[Dual-Inception] Zhou, Mao, Xue 2019, Dual-Inception Network for Cross-Database Micro-Expression Recognition, FG 2019

Axes: B clips, S map size, P places per side after pooling (7 for 28 px maps), D width
"""

from typing import Annotated

import torch
from torch import Tensor, nn

from epir.models.arguments import Dropout, Range, Width
from epir.models.network import WithFeatures

PATHS = 4
KERNELS = (6, 16)  # of each path, in the two blocks of a stream


class InceptionBlock(nn.Module):
    """Four paths that look 1, 3 and 5 px wide, and at the largest neighbour; joined and halved in size."""

    def __init__(self, channels: int, kernels: int) -> None:
        super().__init__()
        self.wide = nn.Sequential(_one(channels, kernels), nn.Conv2d(kernels, kernels, 5, padding=2), nn.ReLU())
        self.near = nn.Sequential(_one(channels, kernels), nn.Conv2d(kernels, kernels, 3, padding=1), nn.ReLU())
        self.largest = nn.Sequential(nn.MaxPool2d(3, stride=1, padding=1), _one(channels, kernels))
        self.point = _one(channels, kernels)
        self.pool = nn.MaxPool2d(2)

    def forward(self, maps: Tensor) -> Tensor:
        """Maps (B, channels, S, S) to (B, 4 * kernels, S / 2, S / 2)."""
        paths = [path(maps) for path in (self.wide, self.near, self.largest, self.point)]
        return self.pool(torch.cat(paths, dim=1))


class DualInception(WithFeatures):
    """Two streams of two inception blocks and one layer of 1024 units; the strain channel is not used.

    Departs from [Dual-Inception]: flow goes from onset to apex, as in the map set, where the paper takes the middle
    frame for the apex; dropout before the last layer.
    """

    def __init__(
        self,
        classes: int = 3,
        map_size: Annotated[int, Range(ge=8)] = 28,
        dropout: Dropout = 0.5,
        width: Width = 1024,
    ) -> None:
        super().__init__()
        self.streams = flow_streams()
        places = map_size // 4
        self.joined = nn.Sequential(
            nn.Linear(2 * PATHS * KERNELS[1] * places**2, width), nn.ReLU(), nn.Dropout(dropout)
        )
        self.head = nn.Linear(width, classes)

    def forward_features(self, maps: Tensor) -> Tensor:
        """Features (B, D) of normalised maps (B, 3, S, S)."""
        return self.joined(stream_features(self.streams, maps))  # (B, D)

    def forward_head(self, features: Tensor) -> Tensor:
        """Logits (B, C) of features (B, D)."""
        return self.head(features)


def flow_streams() -> nn.ModuleList:
    """A stream of two inception blocks for u, and one for v."""
    first, second = KERNELS
    return nn.ModuleList(
        [nn.Sequential(InceptionBlock(1, first), InceptionBlock(PATHS * first, second)) for _ in ("u", "v")]
    )


def stream_features(streams: nn.ModuleList, maps: Tensor) -> Tensor:
    """What both streams give for u and v, side by side, (B, 128 * P * P) of maps (B, 3, S, S)."""
    flow = maps[:, :2].split(1, dim=1)  # u and v, each (B, 1, S, S)
    return torch.cat([stream(part).flatten(1) for stream, part in zip(streams, flow, strict=True)], dim=1)


def _one(channels: int, kernels: int) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(channels, kernels, 1), nn.ReLU())
