"""ResNet-18 on flow maps.

[ResNet] He, Zhang, Ren, Sun 2016, Deep Residual Learning for Image Recognition, CVPR 2016, arXiv:1512.03385

Axes: B clips, S map size, D channels
"""

from typing import Annotated, Literal

from torch import Tensor, nn
from torch.nn import functional

from epir.models.arguments import Range, Width
from epir.models.network import WithFeatures

STAGES, BLOCKS = 4, 2  # eighteen layers: the stem, 4 stages of 2 blocks of 2 convolutions, the classifier


class ResidualBlock(nn.Module):
    """Two 3 x 3 convolutions, added to what came in."""

    def __init__(self, before: int, after: int, *, stride: int) -> None:
        super().__init__()
        self.first = nn.Sequential(convolution(before, after, stride=stride), nn.ReLU())
        self.second = convolution(after, after)
        self.shortcut = nn.Identity() if before == after and stride == 1 else _matched(before, after, stride)

    def forward(self, maps: Tensor) -> Tensor:
        """Maps (B, before, S, S) to (B, after, S / stride, S / stride)."""
        return functional.relu(self.second(self.first(maps)) + self.shortcut(maps))


class ResnetFlow(WithFeatures):
    """The four stages of ResNet-18 on maps of 28 px.

    Departs from [ResNet]: the stem is one 3 x 3 convolution without pooling, where 224 px pictures have a 7 x 7 one and
    a pooling that together take a quarter of each side; weights start at random, not from ImageNet.
    """

    def __init__(
        self,
        classes: int = 3,
        map_size: Annotated[int, Range(ge=8)] = 28,
        width: Annotated[Width, "channels of the first stage; doubled at each of the other three"] = 64,
        stride: Annotated[Literal[1, 2], "of the stem; 1 keeps the map's size and costs four times as much"] = 2,
    ) -> None:
        super().__init__()
        self.stem = nn.Sequential(convolution(3, width, stride=stride), nn.ReLU())
        stages: list[nn.Module] = []
        before = width
        for stage in range(STAGES):
            after = width * 2**stage
            for block in range(BLOCKS):
                stages.append(ResidualBlock(before, after, stride=2 if stage and not block else 1))
                before = after
        self.stages = nn.Sequential(*stages)
        self.head = nn.Linear(before, classes)

    def forward_features(self, maps: Tensor) -> Tensor:
        """Features (B, 8 * width) of normalised maps (B, 3, S, S)."""
        return self.stages(self.stem(maps)).mean(dim=(2, 3))

    def forward_head(self, features: Tensor) -> Tensor:
        """Logits (B, C) of features (B, 8 * width)."""
        return self.head(features)


def convolution(before: int, after: int, *, stride: int = 1) -> nn.Sequential:
    """A 3 x 3 convolution with batch normalisation."""
    return nn.Sequential(nn.Conv2d(before, after, 3, stride=stride, padding=1, bias=False), nn.BatchNorm2d(after))


def _matched(before: int, after: int, stride: int) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(before, after, 1, stride=stride, bias=False), nn.BatchNorm2d(after))
