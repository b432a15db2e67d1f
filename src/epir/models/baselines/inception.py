"""Dual-Inception and FeatRef: one stream of two inception blocks for u, one for v.

Axes: B clips, S map size, P places per side after pooling (7 for 28 px maps), D width, F shared features, C classes
"""

from typing import Annotated

import torch
from torch import Tensor, nn
from torch.nn import functional

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

    [Dual-Inception] Zhou, Mao, Xue 2019, Dual-Inception Network for Cross-Database Micro-Expression
                     Recognition, FG 2019

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
        self.joined = joining_layer(map_size, width, dropout)
        self.head = nn.Linear(width, classes)

    def forward_features(self, maps: Tensor) -> Tensor:
        """Features (B, D) of normalised maps (B, 3, S, S)."""
        return self.joined(stream_features(self.streams, maps))  # (B, D)


def flow_streams() -> nn.ModuleList:
    """A stream of two inception blocks for u, and one for v."""
    first, second = KERNELS
    return nn.ModuleList(
        [nn.Sequential(InceptionBlock(1, first), InceptionBlock(PATHS * first, second)) for _ in ("u", "v")]
    )


def joining_layer(map_size: int, width: int, dropout: float) -> nn.Sequential:
    """One layer on the flattened features of both streams."""
    places = map_size // 4
    return nn.Sequential(nn.Linear(2 * PATHS * KERNELS[1] * places**2, width), nn.ReLU(), nn.Dropout(dropout))


def stream_features(streams: nn.ModuleList, maps: Tensor) -> Tensor:
    """What both streams give for u and v, side by side and flattened, of maps (B, 3, S, S)."""
    flow = maps[:, :2].split(1, dim=1)  # u and v, each (B, 1, S, S)
    return torch.cat([stream(part).flatten(1) for stream, part in zip(streams, flow, strict=True)], dim=1)


def _one(channels: int, kernels: int) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(channels, kernels, 1), nn.ReLU())


class ExpressionBranch(nn.Module):
    """Attention over the shared features for one expression, its own features, and whether it is shown."""

    def __init__(self, shared: int, own: int, dropout: float) -> None:
        super().__init__()
        self.attention = nn.Sequential(nn.Linear(shared, shared), nn.Sigmoid())
        self.refine = nn.Sequential(nn.Linear(shared, own), nn.ReLU(), nn.Dropout(dropout))
        self.proposal = nn.Linear(own, 1)

    def forward(self, shared: Tensor) -> tuple[Tensor, Tensor]:
        """Features (B, D) of this expression, and the logit (B, 1) that it is shown, of shared features (B, F)."""
        refined = self.refine(self.attention(shared) * shared)
        return refined, self.proposal(refined)


class ExpressionHead(nn.Module):
    """One branch for each expression, and a classifier of all their features."""

    def __init__(self, shared: int, own: int, classes: int, dropout: float) -> None:
        super().__init__()
        self.branches = nn.ModuleList([ExpressionBranch(shared, own, dropout) for _ in range(classes)])
        self.classifier = nn.Linear(classes * own, classes)

    def forward(self, shared: Tensor) -> tuple[Tensor, Tensor]:
        """Logits (B, C) of the classes, and (B, C) of the proposals, of shared features (B, F)."""
        own, proposals = zip(*[branch(shared) for branch in self.branches], strict=True)
        return self.classifier(torch.cat(own, dim=1)), torch.cat(proposals, dim=1)


class FeatRef(WithFeatures):
    """Two streams of inception blocks for u and v, then a branch per expression; the strain channel is not used.

    [FeatRef] Zhou, Mao, Huang, Zhang, Zhang 2022, Feature refinement: An expression-specific feature learning and
              fusion method for micro-expression recognition, Pattern Recognition 122, arXiv:2101.04838

    Departs from [FeatRef]: everything is trained together in one stage, the loss is the cross-entropy of the classes
    plus the mean one of the proposals, and the widths are ours; flow goes from onset to apex, as in the map set.
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
        self.streams = flow_streams()
        self.shared = joining_layer(map_size, width, dropout)
        self.head = ExpressionHead(width, own_width, classes, dropout)

    def forward_features(self, maps: Tensor) -> Tensor:
        """Shared features (B, F) of normalised maps (B, 3, S, S)."""
        return self.shared(stream_features(self.streams, maps))

    def forward_head(self, features: Tensor) -> Tensor:
        """Logits (B, C) of shared features (B, F)."""
        logits, _ = self.head(features)
        return logits

    def loss_of_features(self, features: Tensor, labels: Tensor, smoothing: float, weights: Tensor | None) -> Tensor:
        """Cross-entropy of the classes, and of each branch with whether its expression is shown."""
        logits, proposals = self.head(features)
        shown = functional.one_hot(labels, proposals.shape[1]).to(proposals.dtype)  # (B, C)
        proposed = functional.binary_cross_entropy_with_logits(proposals, shown)
        classified = functional.cross_entropy(logits, labels, weight=weights, label_smoothing=smoothing)
        return classified + self.proposal * proposed
