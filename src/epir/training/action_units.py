"""Action units as a second thing to learn: what moved, besides what it means.

An annotation such as `4+L14` names them. A linear layer on the features of a network tells which are there; it shapes
the features and is thrown away with the end of training. A clip without an annotation says nothing about them.

Axes: n clips, U action units, F features
"""

import re
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

UNITS = (1, 2, 4, 5, 6, 7, 9, 10, 12, 14, 15, 16, 17, 18, 20, 23, 24, 25, 26, 28, 38)
NONE = [float("nan")] * len(UNITS)


def read_units(annotations: Sequence[str]) -> Tensor:
    """Which units each annotation names, (n, U): 1 there, 0 not; rows of NaN where nothing is annotated."""
    rows = [[float(unit in _numbers(text)) for unit in UNITS] if _numbers(text) else NONE for text in annotations]
    return torch.tensor(rows).reshape(len(annotations), len(UNITS))


def _numbers(annotation: str) -> set[int]:
    return {int(digits) for digits in re.findall(r"\d+", annotation)}


class UnitHead(nn.Module):
    """Tells action units by features, and says how wrong it was."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.layer = nn.Linear(features, len(UNITS))

    def loss(self, features: Tensor, truth: Tensor) -> Tensor:
        """Binary cross-entropy over the annotated clips, for features (B, F) and units (B, U)."""
        known = ~truth[:, 0].isnan()
        logits = self.layer(features[known])
        return functional.binary_cross_entropy_with_logits(logits, truth[known]) if known.any() else logits.sum()
