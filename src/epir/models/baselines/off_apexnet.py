"""OFF-ApexNet: one small convolutional stream for u, one for v, joined by two wide layers.

[OFF-ApexNet] Gan, Liong, Yau, Huang, Tan 2019, OFF-ApexNet on micro-expression recognition system,
              Signal Processing: Image Communication 74, arXiv:1805.08699

Axes: B clips, S map size, P places per side after pooling (7 for 28 px maps), D width
"""

from typing import Annotated

import torch
from torch import Tensor, nn

from epir.models.arguments import Dropout, Range, Width
from epir.models.network import WithFeatures

KERNELS = (6, 16)  # of the two convolutions of a stream


class OffApexNet(WithFeatures):
    """Two streams of two 5 x 5 convolutions, then two layers of 1024 units; the strain channel is not used.

    Departs from [OFF-ApexNet]: dropout between the wide layers, as later comparisons of the method have it;
    the flow is that of the map set, not TV-L1.
    """

    def __init__(
        self,
        classes: int = 3,
        map_size: Annotated[int, Range(ge=8)] = 28,
        dropout: Dropout = 0.5,
        width: Width = 1024,
    ) -> None:
        super().__init__()
        self.streams = nn.ModuleList([_stream() for _ in ("u", "v")])
        places = map_size // 4
        self.joined = nn.Sequential(
            nn.Linear(2 * KERNELS[1] * places**2, width),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(width, width),
            nn.ReLU(),
            nn.Dropout(dropout),
        )
        self.head = nn.Linear(width, classes)

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
