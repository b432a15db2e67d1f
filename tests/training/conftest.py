"""A network small enough to train in a blink, and clips that it can tell apart."""

from dataclasses import dataclass

import pytest
import torch
from torch import nn

from epir.models.network import Network
from epir.training.data import LabelledMaps


@dataclass(frozen=True)
class TinySettings:
    name: str = "tiny"
    map_size: int = 6
    classes: int = 2
    normalise: str = "map"
    dropout: float = 0.3


class Tiny(Network):
    """Mean motion of a map's quarters -> classes, with dropout and a running statistic."""

    def __init__(self, settings: TinySettings) -> None:
        super().__init__(settings)
        self.pool = nn.AdaptiveAvgPool2d(2)
        self.norm = nn.BatchNorm1d(12)
        self.dropout = nn.Dropout(settings.dropout)
        self.head = nn.Linear(12, settings.classes)

    def forward_features(self, maps):
        return self.dropout(self.norm(self.pool(maps).flatten(1)))

    def forward_head(self, features):
        return self.head(features)


@pytest.fixture
def make_tiny():
    def make(**changes):
        torch.manual_seed(0)
        return Tiny(TinySettings(**changes))

    return make


@pytest.fixture
def two_classes():
    """Twenty clips: the upper half moves up, or the lower half does."""
    random = torch.Generator().manual_seed(1)
    labels = torch.arange(20) % 2
    maps = 0.3 * torch.randn(20, 3, 6, 6, generator=random)
    maps[labels == 0, 1, :3] -= 1
    maps[labels == 1, 1, 3:] -= 1
    return LabelledMaps(maps, labels, ("brow", "lip"))
