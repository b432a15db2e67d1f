"""Dual-Inception: one stream of two inception blocks for u, one for v.

[Dual-Inception] Zhou, Mao, Xue 2019, Dual-Inception Network for Cross-Database Micro-Expression Recognition, FG 2019

Axes: B clips, S map size, P places per side after pooling (7 for 28 px maps), D width
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from epir.models.baselines.base import BaselineSettings
from epir.models.network import Network

PATHS = 4
KERNELS = (6, 16)  # of each path, in the two blocks of a stream


@dataclass(frozen=True)
class DualInceptionSettings(BaselineSettings):
    """Dual-Inception: one stream of two inception blocks for u, one for v, then one wide layer."""

    name: Literal["dual-inception"] = "dual-inception"
    dropout: float = 0.5
    width: int = 1024


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


class DualInception(Network):
    """Two streams of two inception blocks and one layer of 1024 units; the strain channel is not used.

    Departs from [Dual-Inception]: flow goes from onset to apex, as in the map set, where the paper takes the middle
    frame for the apex; dropout before the last layer.
    """

    def __init__(self, settings: DualInceptionSettings) -> None:
        super().__init__(settings)
        self.streams = nn.ModuleList([_stream() for _ in ("u", "v")])
        places = settings.map_size // 4
        self.joined = nn.Sequential(
            nn.Linear(2 * PATHS * KERNELS[1] * places**2, settings.width), nn.ReLU(), nn.Dropout(settings.dropout)
        )
        self.head = nn.Linear(settings.width, settings.classes)

    def forward_features(self, maps: Tensor) -> Tensor:
        """Features (B, D) of normalised maps (B, 3, S, S)."""
        flow = maps[:, :2].split(1, dim=1)  # u and v, each (B, 1, S, S)
        parts = [stream(part).flatten(1) for stream, part in zip(self.streams, flow, strict=True)]
        return self.joined(torch.cat(parts, dim=1))  # (B, D)

    def forward_head(self, features: Tensor) -> Tensor:
        """Logits (B, C) of features (B, D)."""
        return self.head(features)


def _stream() -> nn.Sequential:
    first, second = KERNELS
    return nn.Sequential(InceptionBlock(1, first), InceptionBlock(PATHS * first, second))


def _one(channels: int, kernels: int) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(channels, kernels, 1), nn.ReLU())
