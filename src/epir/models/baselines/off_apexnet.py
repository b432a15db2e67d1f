"""OFF-ApexNet: one small convolutional stream for u, one for v, joined by two wide layers.

[OFF-ApexNet] Gan, Liong, Yau, Huang, Tan 2019, OFF-ApexNet on micro-expression recognition system,
              Signal Processing: Image Communication 74, arXiv:1805.08699

Axes: B clips, S map size, P places per side after pooling (7 for 28 px maps), D width
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from epir.models.baselines.base import BaselineSettings
from epir.models.network import Network

KERNELS = (6, 16)  # of the two convolutions of a stream


@dataclass(frozen=True)
class OffApexNetSettings(BaselineSettings):
    """OFF-ApexNet: one stream for u, one for v, then two wide layers."""

    name: Literal["off-apexnet"] = "off-apexnet"
    dropout: float = 0.5
    width: int = 1024


class OffApexNet(Network):
    """Two streams of two 5 x 5 convolutions, then two layers of 1024 units; the strain channel is not used.

    Departs from [OFF-ApexNet]: dropout between the wide layers, as later comparisons of the method have it;
    the flow is that of the map set, not TV-L1.
    """

    def __init__(self, settings: OffApexNetSettings) -> None:
        super().__init__(settings)
        self.streams = nn.ModuleList([_stream() for _ in ("u", "v")])
        places = settings.map_size // 4
        self.joined = nn.Sequential(
            nn.Linear(2 * KERNELS[1] * places**2, settings.width),
            nn.ReLU(),
            nn.Dropout(settings.dropout),
            nn.Linear(settings.width, settings.width),
            nn.ReLU(),
            nn.Dropout(settings.dropout),
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
    return nn.Sequential(
        nn.Conv2d(1, first, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(first, second, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
    )
