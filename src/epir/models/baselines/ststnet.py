"""STSTNet: three shallow convolutional streams side by side.

[STSTNet] Liong, Gan, See, Khor, Huang 2019, Shallow Triple Stream Three-dimensional CNN for Micro-expression
          Recognition, FG 2019, arXiv:1902.03634; batch normalisation and dropout as in the authors' Python code.

Axes: B clips, S map size, P places per side after pooling (5 for 28 px maps)
"""

from typing import Annotated

import torch
from torch import Tensor, nn

from epir.models.arguments import Dropout, Range
from epir.models.network import WithFeatures

KERNELS = (3, 5, 8)  # of the three streams


class Ststnet(WithFeatures):
    """Three streams of one convolution each, pooled, joined and classified by one layer.

    Departs from [STSTNet]: maps are normalised per map and channel, not stretched to 0..1; the border of the
    convolution is 1 px, which gives the paper's 10 x 10 and 5 x 5 sizes as well as the code's 2 px do.
    """

    def __init__(self, classes: int = 3, map_size: Annotated[int, Range(ge=8)] = 28, dropout: Dropout = 0.5) -> None:
        super().__init__()
        self.streams = nn.ModuleList([_stream(kernels, dropout) for kernels in KERNELS])
        self.pool = nn.AvgPool2d(2)
        places = ((map_size - 1) // 3 + 1) // 2
        self.head = nn.Linear(sum(KERNELS) * places**2, classes)

    def forward_features(self, maps: Tensor) -> Tensor:
        """Features (B, 16 * P * P) of normalised maps (B, 3, S, S)."""
        joined = torch.cat([stream(maps) for stream in self.streams], dim=1)  # (B, 16, 2P, 2P)
        return self.pool(joined).flatten(1)  # (B, 16 * P * P)

    def forward_head(self, features: Tensor) -> Tensor:
        """Logits (B, C) of features (B, 16 * P * P)."""
        return self.head(features)


def _stream(kernels: int, dropout: float) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(3, kernels, 3, padding=1),
        nn.ReLU(),
        nn.BatchNorm2d(kernels),
        nn.MaxPool2d(3, stride=3, padding=1),
        nn.Dropout(dropout),
    )
