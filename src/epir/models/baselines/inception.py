"""Dual-Inception and FeatRef: one stream of two inception blocks for u, one for v.

Axes: B clips, S map size, D width, F shared features, C classes
"""

from typing import Annotated

import torch
from torch import Tensor, nn
from torch.nn import functional

from epir.models.arguments import Dropout, Range, Width
from epir.models.network import WithFeatures

PATHS = 4
KERNELS = (6, 16)  # per path, in the two blocks of a stream


class InceptionBlock(nn.Module):
    """Convolutions of 5, 3 and 1 px and a max pool in parallel, concatenated and pooled to half the size."""

    def __init__(self, channels: int, kernels: int) -> None:
        super().__init__()
        self.wide = nn.Sequential(_point(channels, kernels), nn.Conv2d(kernels, kernels, 5, padding=2), nn.ReLU())
        self.near = nn.Sequential(_point(channels, kernels), nn.Conv2d(kernels, kernels, 3, padding=1), nn.ReLU())
        self.largest = nn.Sequential(nn.MaxPool2d(3, stride=1, padding=1), _point(channels, kernels))
        self.point = _point(channels, kernels)
        self.pool = nn.MaxPool2d(2)

    def forward(self, maps: Tensor) -> Tensor:
        """Maps (B, channels, S, S) -> (B, 4 * kernels, S / 2, S / 2)."""
        paths = [path(maps) for path in (self.wide, self.near, self.largest, self.point)]
        return self.pool(torch.cat(paths, dim=1))


class DualInception(WithFeatures):
    """Two streams of two inception blocks and one layer of 1024 units; ignores the strain channel.

    [Dual-Inception] Zhou, Mao, Xue 2019, Dual-Inception Network for Cross-Database Micro-Expression
                     Recognition, FG 2019

    Departs from [Dual-Inception]: flow goes from onset to apex, while the paper uses the middle frame as apex; dropout
    before the last layer.
    """

    def __init__(
        self,
        classes: int = 3,
        map_size: Annotated[int, Range(ge=8)] = 28,
        dropout: Dropout = 0.5,
        width: Width = 1024,
    ) -> None:
        super().__init__()
        self.streams = _inception_streams()
        self.joined = _joining_layer(map_size, width, dropout)
        self.head = nn.Linear(width, classes)

    def forward_features(self, maps: Tensor) -> Tensor:
        """Normalised maps (B, 3, S, S) -> features (B, D)."""
        return self.joined(two_stream_features(self.streams, maps))


def two_stream_features(streams: nn.ModuleList, maps: Tensor) -> Tensor:
    """Run one stream on u and one on v of maps (B, 3, S, S), and concatenate their flattened outputs (B, ...)."""
    flow = maps[:, :2].split(1, dim=1)  # u and v, each (B, 1, S, S)
    return torch.cat([stream(part).flatten(1) for stream, part in zip(streams, flow, strict=True)], dim=1)


def _inception_streams() -> nn.ModuleList:
    first, second = KERNELS
    return nn.ModuleList(
        [nn.Sequential(InceptionBlock(1, first), InceptionBlock(PATHS * first, second)) for _ in ("u", "v")]
    )


def _joining_layer(map_size: int, width: int, dropout: float) -> nn.Sequential:
    """Return one layer on the flattened output of both streams."""
    places = map_size // 4  # per side
    return nn.Sequential(nn.Linear(2 * PATHS * KERNELS[1] * places**2, width), nn.ReLU(), nn.Dropout(dropout))


def _point(channels: int, kernels: int) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(channels, kernels, 1), nn.ReLU())


class ExpressionBranch(nn.Module):
    """The branch of one expression: attention over the shared features, refined features, and a proposal."""

    def __init__(self, shared: int, own: int, dropout: float) -> None:
        super().__init__()
        self.attention = nn.Sequential(nn.Linear(shared, shared), nn.Sigmoid())
        self.refine = nn.Sequential(nn.Linear(shared, own), nn.ReLU(), nn.Dropout(dropout))
        self.proposal = nn.Linear(own, 1)

    def forward(self, shared: Tensor) -> tuple[Tensor, Tensor]:
        """Shared features (B, F) -> features (B, D) of this expression, and the logit (B, 1) that it is present."""
        refined = self.refine(self.attention(shared) * shared)
        return refined, self.proposal(refined)


class ExpressionHead(nn.Module):
    """One branch per expression, and a classifier on the features of all branches."""

    def __init__(self, shared: int, own: int, classes: int, dropout: float) -> None:
        super().__init__()
        self.branches = nn.ModuleList([ExpressionBranch(shared, own, dropout) for _ in range(classes)])
        self.classifier = nn.Linear(classes * own, classes)

    def forward(self, shared: Tensor) -> tuple[Tensor, Tensor]:
        """Shared features (B, F) -> class logits (B, C) and proposal logits (B, C)."""
        own, proposals = zip(*[branch(shared) for branch in self.branches], strict=True)
        return self.classifier(torch.cat(own, dim=1)), torch.cat(proposals, dim=1)


class FeatRef(WithFeatures):
    """Two streams of inception blocks for u and v, then a branch per expression; ignores the strain channel.

    [FeatRef] Zhou, Mao, Huang, Zhang, Zhang 2022, Feature refinement: An expression-specific feature learning and
              fusion method for micro-expression recognition, Pattern Recognition 122, arXiv:2101.04838

    Departs from [FeatRef]: one training stage; the loss is the cross-entropy of the classes plus the mean cross-entropy
    of the proposals; the widths are ours; flow goes from onset to apex.
    """

    def __init__(
        self,
        classes: int = 3,
        map_size: Annotated[int, Range(ge=8)] = 28,
        dropout: Dropout = 0.5,
        width: Annotated[Width, "shared features"] = 256,
        own_width: Annotated[Width, "features of each expression"] = 64,
        proposal: Annotated[float, Range(ge=0), "weight of the proposals in the loss"] = 1.0,
    ) -> None:
        super().__init__()
        self.proposal = proposal
        self.streams = _inception_streams()
        self.shared = _joining_layer(map_size, width, dropout)
        self.head = ExpressionHead(width, own_width, classes, dropout)

    def forward_features(self, maps: Tensor) -> Tensor:
        """Normalised maps (B, 3, S, S) -> shared features (B, F)."""
        return self.shared(two_stream_features(self.streams, maps))

    def forward_head(self, features: Tensor) -> Tensor:
        """Shared features (B, F) -> logits (B, C)."""
        logits, _ = self.head(features)
        return logits

    def loss_of_features(self, features: Tensor, labels: Tensor, smoothing: float, weights: Tensor | None) -> Tensor:
        """Return the cross-entropy of the classes plus that of the proposals."""
        logits, proposals = self.head(features)
        present = functional.one_hot(labels, proposals.shape[1]).to(proposals.dtype)  # (B, C)
        proposed = functional.binary_cross_entropy_with_logits(proposals, present)
        classified = functional.cross_entropy(logits, labels, weight=weights, label_smoothing=smoothing)
        return classified + self.proposal * proposed
