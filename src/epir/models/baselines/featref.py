"""FeatRef: features for each expression, refined from shared ones by a branch that looks for that expression alone.

[FeatRef] Zhou, Mao, Huang, Zhang, Zhang 2022, Feature refinement: An expression-specific feature learning and fusion
          method for micro-expression recognition, Pattern Recognition 122, arXiv:2101.04838

Axes: B clips, S map size, F shared features, D features of one expression, C classes
"""

from typing import Annotated

import torch
from torch import Tensor, nn
from torch.nn import functional

from epir.models.arguments import Dropout, Range, Width
from epir.models.baselines.dual_inception import KERNELS, PATHS, flow_streams, stream_features
from epir.models.network import WithFeatures


class ExpressionBranch(nn.Module):
    """Attention over the shared features for one expression, its own features, and whether it is shown."""

    def __init__(self, shared: int, own: int, dropout: float) -> None:
        super().__init__()
        self.attention = nn.Sequential(nn.Linear(shared, shared), nn.Sigmoid())
        self.refine = nn.Sequential(nn.Linear(shared, own), nn.ReLU(), nn.Dropout(dropout))
        self.proposal = nn.Linear(own, 1)

    def forward(self, shared: Tensor) -> tuple[Tensor, Tensor]:
        """Features (B, D) of this expression, and the logit (B, 1) that it is shown, of shared features (B, F)."""
        own = self.refine(self.attention(shared) * shared)
        return own, self.proposal(own)


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
        self.shared = nn.Sequential(
            nn.Linear(2 * PATHS * KERNELS[1] * (map_size // 4) ** 2, width), nn.ReLU(), nn.Dropout(dropout)
        )
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
