"""The head for action units, beside a network's classifier: which units moved, and on which side of the person.

For each unit it scores whether the unit is present and whether, if so, the person's left side takes part. The right
side is the left side of the mirrored map, scored by the same weights, so the answers for a map and for its mirror
image always agree.

Axes: B clips, F features, U action units, V views of a map
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit
from torch import Tensor, nn
from torch.nn import functional

from epir.core.facs import UNITS

PRESENT, LEFT, RIGHT = 0, 1, 2  # columns of the truth; the head has the first two
SIDES_SHARE = 0.5  # weight of the sides in the loss; presence has weight 1


class UnitHead(nn.Module):
    """Scores action units from the features of a network."""

    def __init__(self, features: int, units: Sequence[int] = UNITS) -> None:
        super().__init__()
        self.units = tuple(units)
        self.norm = nn.LayerNorm(features)
        self.layer = nn.Linear(features, 2 * len(self.units))

    def forward(self, features: Tensor) -> Tensor:
        """Features (B, F) -> logits (B, 2, U): present, and left side if present."""
        logits: Tensor = self.layer(self.norm(features)).unflatten(-1, (2, len(self.units)))
        return logits

    def loss(self, features: Tensor, truth: Tensor) -> Tensor:
        """Return the binary cross-entropy of features (B, F) with the truth (B, U, 3), ignoring NaN."""
        logits = self(features).transpose(1, 2)  # (B, U, 2)
        present = _masked(logits[..., PRESENT], truth[..., PRESENT])
        return present + SIDES_SHARE * _masked(logits[..., LEFT], truth[..., LEFT])


def _masked(logits: Tensor, truth: Tensor) -> Tensor:
    """Return the mean binary cross-entropy over the known truth; 0 if none is known."""
    known = ~truth.isnan()
    if not known.any():
        return logits.sum() * 0
    return functional.binary_cross_entropy_with_logits(logits[known], truth[known])


def over_views(logits: np.ndarray) -> np.ndarray:
    """Average the logits (V, B, 2, U) of views, mirror images last, into (B, 3, U): present, left and right.

    Values are sorted before averaging, so the order of the views, and hence mirroring, cannot change the sum.
    """
    half = len(logits) // 2
    plain, mirrored = logits[:half], logits[half:]
    parts = (logits[:, :, PRESENT], plain[:, :, LEFT], mirrored[:, :, LEFT])  # each (views, B, U)
    return np.stack([np.sort(part, axis=0).mean(0) for part in parts], axis=1)


@dataclass(frozen=True)
class UnitCalibration:
    """Turns logits into probabilities, and probabilities into detected units.

    Platt scaling [P] has a factor and an offset for presence and for the sides; each unit has a threshold. A unit is
    one-sided if the logits of its sides differ by more than a margin: most units are on both sides, and the difference
    cancels what the sides have in common.

    [P] Platt 1999, Probabilistic outputs for support vector machines
    """

    present: tuple[float, float] = (1.0, 0.0)
    side: tuple[float, float] = (1.0, 0.0)
    thresholds: Mapping[int, float] | None = None  # by unit; 0.5 by default
    side_margin: float = 1.0

    def probabilities(self, logits: np.ndarray) -> np.ndarray:
        """Logits (n, 3, U) -> probabilities (n, 3, U): present, present on the left, present on the right."""
        factor, offset = np.array([self.present, self.side, self.side]).T  # each (3,)
        plain = expit(factor[:, None] * logits + offset[:, None])
        present = plain[:, :1]
        return np.concatenate([present, present * plain[:, 1:]], axis=1)

    def sides(self, logits: np.ndarray) -> np.ndarray:
        """Return the side (n, U) of each unit, `both`, `left` or `right`, assuming that it is present."""
        difference = logits[:, LEFT] - logits[:, RIGHT]
        one_sided = np.where(difference > 0, "left", "right")
        return np.where(np.abs(difference) > self.side_margin, one_sided, "both")

    def threshold(self, unit: int) -> float:
        """Return the probability at which the unit counts as detected."""
        return (self.thresholds or {}).get(unit, 0.5)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for the notes of a model folder."""
        thresholds = {str(unit): value for unit, value in (self.thresholds or {}).items()}
        return {
            "present": list(self.present),
            "side": list(self.side),
            "side_margin": self.side_margin,
            "thresholds": thresholds,
        }

    @classmethod
    def of_notes(cls, notes: Mapping[str, Any]) -> "UnitCalibration":
        """Read the calibration from the notes of a model folder; missing values mean no calibration."""
        values = notes.get("units") or {}
        thresholds = {int(unit): float(value) for unit, value in values.get("thresholds", {}).items()}
        margin = float(values.get("side_margin", cls.side_margin))
        return cls(_pair(values.get("present")), _pair(values.get("side")), thresholds or None, margin)


def _pair(values: Sequence[float] | None) -> tuple[float, float]:
    return (1.0, 0.0) if values is None else (float(values[0]), float(values[1]))
