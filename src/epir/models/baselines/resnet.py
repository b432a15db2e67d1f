"""ResNet-18 on flow maps, and CapsuleNet on a residual block.

[Capsules] Sabour, Frosst, Hinton 2017, Dynamic Routing Between Capsules, NeurIPS 2017, arXiv:1710.09829

Axes: B clips, S map size, D channels, N primary capsules of 8 numbers, C class capsules of 16 numbers
"""

from typing import Annotated, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from epir.models.arguments import Range, Width
from epir.models.network import WithFeatures

STAGES, BLOCKS = 4, 2  # eighteen layers: the stem, 4 stages of 2 blocks of 2 convolutions, the classifier
KINDS, SMALL, LARGE = 32, 8, 16  # kinds of primary capsules; numbers in a primary and in a class capsule
PRESENT, ABSENT, DOWN = 0.9, 0.1, 0.5  # the margins of [Capsules] Eq. 4, and the weight of absent classes
EPSILON = 1e-6  # keeps lengths away from 0 and 1


class ResidualBlock(nn.Module):
    """Two 3 x 3 convolutions with a shortcut."""

    def __init__(self, before: int, after: int, *, stride: int) -> None:
        super().__init__()
        self.first = nn.Sequential(convolution(before, after, stride=stride), nn.ReLU())
        self.second = convolution(after, after)
        self.shortcut: nn.Module = nn.Identity()
        if before != after or stride > 1:
            point = nn.Conv2d(before, after, 1, stride=stride, bias=False)
            self.shortcut = nn.Sequential(point, nn.BatchNorm2d(after))

    def forward(self, maps: Tensor) -> Tensor:
        """Maps (B, before, S, S) -> (B, after, S / stride, S / stride)."""
        return functional.relu(self.second(self.first(maps)) + self.shortcut(maps))


class ResnetFlow(WithFeatures):
    """The four stages of ResNet-18, on 28 px maps.

    [ResNet] He, Zhang, Ren, Sun 2016, Deep Residual Learning for Image Recognition, CVPR 2016, arXiv:1512.03385

    Departs from [ResNet]: the stem is one 3 x 3 convolution without pooling; for 224 px pictures it is a 7 x 7
    convolution and a pooling that reduce each side to a quarter. Weights start at random, not from ImageNet.
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
        """Normalised maps (B, 3, S, S) -> features (B, 8 * width)."""
        return self.stages(self.stem(maps)).mean(dim=(2, 3))


def convolution(before: int, after: int, *, stride: int = 1) -> nn.Sequential:
    """Return a 3 x 3 convolution with batch normalisation."""
    return nn.Sequential(nn.Conv2d(before, after, 3, stride=stride, padding=1, bias=False), nn.BatchNorm2d(after))


class CapsuleNet(WithFeatures):
    """A residual stem, two 9 x 9 convolutions into 32 kinds of capsules, and three rounds of routing.

    [CapsuleNet] Van Quang, Chun, Tokuyama 2019, CapsuleNet for Micro-Expression Recognition, FG 2019

    Departs from [CapsuleNet]: the paper feeds the apex frame to the first stages of a ResNet-18 trained on ImageNet;
    we download nothing, so one residual block on the flow map, trained from scratch, replaces them. Channels are 32,
    not 256. The margins are those of [Capsules], not the 0.99 and 0.01 of the authors' code.
    """

    def __init__(
        self,
        classes: int = 3,
        map_size: Annotated[int, Range(ge=19)] = 28,  # two 9 px kernels without padding must leave more than one place
        width: Annotated[Width, "channels before the capsules; the method's paper has 256"] = 32,
        routings: Annotated[int, Range(ge=1, le=100)] = 3,
    ) -> None:
        super().__init__()
        self.classes, self.routings = classes, routings
        self.stem = nn.Sequential(convolution(3, width), nn.ReLU(), ResidualBlock(width, width, stride=1))
        self.wide = nn.Sequential(nn.Conv2d(width, width, 9), nn.ReLU())
        self.primary = nn.Conv2d(width, KINDS * SMALL, 9, stride=2)
        places = (map_size - 8 - 9) // 2 + 1
        self.head = nn.Parameter(0.01 * torch.randn(classes, KINDS * places**2, SMALL, LARGE))

    def forward_features(self, maps: Tensor) -> Tensor:
        """Normalised maps (B, 3, S, S) -> class capsules (B, C * 16)."""
        primary = self.primary(self.wide(self.stem(maps)))  # (B, 32 * 8, P, P)
        primary = primary.flatten(2).unflatten(1, (KINDS, SMALL))  # (B, 32, 8, P * P)
        primary = squash(primary.transpose(2, 3).flatten(1, 2))  # (B, N, 8)
        votes = torch.einsum("bni,cnio->bcno", primary, self.head)  # (B, C, N, 16)
        return route(votes, self.routings).flatten(1)  # (B, C * 16)

    def forward_head(self, features: Tensor) -> Tensor:
        """Class capsules (B, C * 16) -> logits (B, C), the log-odds of their lengths."""
        return torch.logit(self._lengths(features), eps=EPSILON)

    def loss_of_features(self, features: Tensor, labels: Tensor, smoothing: float, weights: Tensor | None) -> Tensor:
        """Return the margin loss of [Capsules] Eq. 4, which makes the true class's capsule long, the others short."""
        lengths = self._lengths(features)  # (B, C)
        classes = self.classes
        truth = functional.one_hot(labels, classes).to(lengths.dtype) * (1 - smoothing) + smoothing / classes
        return margin_loss(lengths, truth, None if weights is None else weights[labels])

    def _lengths(self, features: Tensor) -> Tensor:
        return lengths_of(features.unflatten(1, (self.classes, LARGE)))


def squash(capsules: Tensor) -> Tensor:
    """Shrink capsules to lengths below 1 and keep their direction, [Capsules] Eq. 1: s becomes s^2 / (1 + s^2)."""
    square = capsules.square().sum(dim=-1, keepdim=True)
    return capsules * (square + EPSILON).sqrt() / (1 + square)


def lengths_of(capsules: Tensor) -> Tensor:
    """Return the lengths of capsules along the last axis, smooth at 0."""
    return (capsules.square().sum(dim=-1) + EPSILON**2).sqrt()


def route(votes: Tensor, rounds: int) -> Tensor:
    """Combine votes (B, C, N, 16) into class capsules (B, C, 16) by agreement.

    Each primary capsule spreads a weight of 1 over the classes, more to those that its vote agrees with. The weights
    have no gradient; only the last sum is differentiated.
    """
    fixed = votes.detach()
    agreement = fixed.new_zeros(fixed.shape[:3])  # (B, C, N)
    for _ in range(rounds - 1):
        capsules = squash(_gather(agreement, fixed))  # (B, C, 16)
        agreement = agreement + torch.einsum("bcno,bco->bcn", fixed, capsules)
    return squash(_gather(agreement, votes))


def margin_loss(lengths: Tensor, truth: Tensor, weights: Tensor | None = None) -> Tensor:
    """Return the margin loss of lengths (B, C) given class probabilities (B, C) and optional clip weights (B,)."""
    short = functional.relu(PRESENT - lengths).square() * truth
    long = functional.relu(lengths - ABSENT).square() * (1 - truth) * DOWN
    losses = (short + long).sum(dim=1)  # (B,)
    return losses.mean() if weights is None else (losses * weights).sum() / weights.sum()


def _gather(agreement: Tensor, votes: Tensor) -> Tensor:
    return torch.einsum("bcn,bcno->bco", agreement.softmax(dim=1), votes)
