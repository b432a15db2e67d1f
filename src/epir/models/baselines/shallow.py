"""Small convolutional networks: STSTNet, OFF-ApexNet, and RCN-A with its parameter-free attention.

Axes: B clips, S map size, D width, P places per side after pooling (STSTNet 5, OFF-ApexNet 7 for 28 px maps), C classes
"""

from typing import Annotated

import torch
from torch import Tensor, nn
from torch.nn import functional

from epir.core.errors import ConfigError
from epir.models.arguments import Count, Dropout, Range, Width
from epir.models.baselines.inception import two_stream_features
from epir.models.network import WithFeatures

STREAM_KERNELS = (3, 5, 8)  # of the three streams of STSTNet
KERNELS = (6, 16)  # of the two convolutions of an OFF-ApexNet stream
STEPS = 2  # of the recurrent convolution
SMALLEST_RANGE = 1e-6


class Ststnet(WithFeatures):
    """Three streams of one convolution each, pooled, concatenated and classified by one layer.

    [STSTNet] Liong, Gan, See, Khor, Huang 2019, Shallow Triple Stream Three-dimensional CNN for Micro-expression
              Recognition, FG 2019, arXiv:1902.03634; batch normalisation and dropout as in the authors' Python code.

    Departs from [STSTNet]: maps are normalised per map and channel, not stretched to 0..1; the padding of the
    convolution is 1 px, not the 2 px of the authors' code; both give the paper's 10 x 10 and 5 x 5 sizes.
    """

    def __init__(self, classes: int = 3, map_size: Annotated[int, Range(ge=8)] = 28, dropout: Dropout = 0.5) -> None:
        super().__init__()
        self.streams = nn.ModuleList([_ststnet_stream(kernels, dropout) for kernels in STREAM_KERNELS])
        self.pool = nn.AvgPool2d(2)
        places = ((map_size - 1) // 3 + 1) // 2
        self.head = nn.Linear(sum(STREAM_KERNELS) * places**2, classes)

    def forward_features(self, maps: Tensor) -> Tensor:
        """Normalised maps (B, 3, S, S) -> features (B, 16 * P * P)."""
        joined = torch.cat([stream(maps) for stream in self.streams], dim=1)  # (B, 16, 2P, 2P)
        return self.pool(joined).flatten(1)  # (B, 16 * P * P)


def _ststnet_stream(kernels: int, dropout: float) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(3, kernels, 3, padding=1),
        nn.ReLU(),
        nn.BatchNorm2d(kernels),
        nn.MaxPool2d(3, stride=3, padding=1),
        nn.Dropout(dropout),
    )


class OffApexNet(WithFeatures):
    """Two streams of two 5 x 5 convolutions, then two layers of 1024 units; ignores the strain channel.

    [OFF-ApexNet] Gan, Liong, Yau, Huang, Tan 2019, OFF-ApexNet on micro-expression recognition system,
                  Signal Processing: Image Communication 74, arXiv:1805.08699

    Departs from [OFF-ApexNet]: dropout between the wide layers, as in later comparisons with the method; the flow is
    that of the map set, not TV-L1.
    """

    def __init__(
        self,
        classes: int = 3,
        map_size: Annotated[int, Range(ge=8)] = 28,
        dropout: Dropout = 0.5,
        width: Width = 1024,
    ) -> None:
        super().__init__()
        self.streams = nn.ModuleList([_off_apexnet_stream() for _ in ("u", "v")])
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
        """Normalised maps (B, 3, S, S) -> features (B, D)."""
        return self.joined(two_stream_features(self.streams, maps))


def _off_apexnet_stream() -> nn.Sequential:
    first, second = KERNELS
    return nn.Sequential(
        nn.Conv2d(1, first, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(first, second, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
    )


class RecurrentConvolution(nn.Module):
    """Applies one 3 x 3 convolution repeatedly, each time to the input plus the previous result."""

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.forward_step = _layer(width, width, kernel=1)
        self.recurrent_step = _layer(width, width, kernel=3, padding=1)
        self.shrink = nn.Sequential(nn.MaxPool2d(2), nn.Dropout(dropout))

    def forward(self, maps: Tensor) -> Tensor:
        """Maps (B, D, S, S) -> (B, D, S / 2, S / 2)."""
        state = self.forward_step(maps)
        for _ in range(STEPS):
            state = self.recurrent_step(maps + state)
        return self.shrink(state)


class RcnA(WithFeatures):
    """A 5 x 5 convolution, one recurrent convolution, and attention computed from the classifier's weights.

    [RCN] Xia, Peng, Khor, Feng, Zhao 2020, Revealing the Invisible with Model and Data Shrinking for Composite-database
          Micro-expression Recognition, IEEE TIP 29, arXiv:2006.09674

    Departs from [RCN]: maps are 28 px, while the paper also varies the resolution; the width of 32 and the 5 x 5
    places come from the example in the authors' code; a constant activation map gives no attention.
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
        """Normalised maps (B, 3, S, S) -> features (B, D * P * P)."""
        low = self.stem(maps)  # (B, D, S', S')
        places = self.pool
        attention = class_attention(functional.adaptive_avg_pool2d(low, places), self.head.weight)
        high = functional.adaptive_avg_pool2d(self.recurrence(low), places)  # (B, D, P, P)
        return (high * attention).flatten(1)  # (B, D * P * P)


def class_attention(maps: Tensor, weights: Tensor) -> Tensor:
    """Return attention (B, 1, P, P) from 0 to 1, from maps (B, D, P, P) and classifier weights (C, D * P * P).

    Each class's activation map is stretched to 0..1 separately, then the classes are averaged.
    """
    shaped = weights.unflatten(1, maps.shape[1:])  # (C, D, P, P)
    activations = torch.einsum("bdyx,cdyx->bcyx", maps, shaped) / maps.shape[1]  # (B, C, P, P)
    lowest = activations.amin(dim=(2, 3), keepdim=True)
    spread = activations.amax(dim=(2, 3), keepdim=True) - lowest
    return ((activations - lowest) / spread.clamp(min=SMALLEST_RANGE)).mean(dim=1, keepdim=True)


def _layer(before: int, after: int, *, kernel: int, padding: int = 0) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(before, after, kernel, padding=padding), nn.BatchNorm2d(after), nn.ReLU())
