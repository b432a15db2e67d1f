"""The head for action units: which moved, and on which side of the person; it lies beside the classifier of a network.

It scores two things for each unit: that it is there at all, and that, if so, the person's left side takes part. The
right side is the left side of the mirrored map, scored by the same weights, so that an answer and that of the mirror
image agree by construction.

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
SIDES_SHARE = 0.5  # weight of the sides in the loss, against 1 for what is present


class UnitHead(nn.Module):
    """Logits of action units by the features of a network, and how wrong they are."""

    def __init__(self, features: int, units: Sequence[int] = UNITS) -> None:
        super().__init__()
        self.units = tuple(units)
        self.norm = nn.LayerNorm(features)
        self.layer = nn.Linear(features, 2 * len(self.units))

    def forward(self, features: Tensor) -> Tensor:
        """Logits (B, 2, U) of features (B, F): present, and left side if present."""
        logits: Tensor = self.layer(self.norm(features)).unflatten(-1, (2, len(self.units)))
        return logits

    def loss(self, features: Tensor, truth: Tensor) -> Tensor:
        """Binary cross-entropy with the truth (B, U, 3), for features (B, F); what is not known (NaN) says nothing."""
        logits = self(features).transpose(1, 2)  # (B, U, 2)
        present = _masked(logits[..., PRESENT], truth[..., PRESENT])
        return present + SIDES_SHARE * _masked(logits[..., LEFT], truth[..., LEFT])


def _masked(logits: Tensor, truth: Tensor) -> Tensor:
    """The mean binary cross-entropy where the truth is known, 0 where it is nowhere."""
    known = ~truth.isnan()
    if not known.any():
        return logits.sum() * 0
    return functional.binary_cross_entropy_with_logits(logits[known], truth[known])


def over_views(logits: np.ndarray) -> np.ndarray:
    """Logits (B, 3, U) of present, left and right, from those (V, B, 2, U) of views: maps first, their mirrors after.

    The mean does not depend on the order of the views, so that the answer for a mirrored map is the mirrored answer.
    """
    half = len(logits) // 2
    plain, mirrored = logits[:half], logits[half:]
    parts = (logits[:, :, PRESENT], plain[:, :, LEFT], mirrored[:, :, LEFT])  # each (views, B, U)
    return np.stack([np.sort(part, axis=0).mean(0) for part in parts], axis=1)


@dataclass(frozen=True)
class UnitCalibration:
    """How logits become probabilities, and from which probability on a unit counts as found.

    Two pairs of a factor and an addend [P], one for what is present and one for the sides, and a threshold per unit. A
    unit is one-sided where the logits of the sides differ by more than a margin: most are on both sides, and the
    difference of the two is free of what they have in common.

    [P] Platt 1999, Probabilistic outputs for support vector machines
    """

    present: tuple[float, float] = (1.0, 0.0)
    side: tuple[float, float] = (1.0, 0.0)
    thresholds: Mapping[int, float] | None = None  # by unit; 0.5 where there is none
    side_margin: float = 1.0

    def probabilities(self, logits: np.ndarray) -> np.ndarray:
        """Probabilities (n, 3, U) of present, present on the left and on the right, for logits (n, 3, U)."""
        factor, addend = np.array([self.present, self.side, self.side]).T  # each (3,)
        plain = expit(factor[:, None] * logits + addend[:, None])
        present = plain[:, :1]
        return np.concatenate([present, present * plain[:, 1:]], axis=1)

    def sides(self, logits: np.ndarray) -> np.ndarray:
        """The side (n, U) of each unit, if it is present, for logits (n, 3, U): `both`, `left` or `right`."""
        difference = logits[:, LEFT] - logits[:, RIGHT]
        one_sided = np.where(difference > 0, "left", "right")
        return np.where(np.abs(difference) > self.side_margin, one_sided, "both")

    def threshold(self, unit: int) -> float:
        """The probability from which on the unit counts as found."""
        return (self.thresholds or {}).get(unit, 0.5)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for the notes of a model folder."""
        thresholds = {str(unit): value for unit, value in (self.thresholds or {}).items()}
        return {
            "present": list(self.present),
            "side": list(self.side),
            "side_margin": self.side_margin,
            "thresholds": thresholds,
        }

    @classmethod
    def of_notes(cls, notes: Mapping[str, Any]) -> "UnitCalibration":
        """That of a model folder by its notes; that of nobody where they do not say."""
        values = notes.get("units") or {}
        thresholds = {int(unit): float(value) for unit, value in values.get("thresholds", {}).items()}
        margin = float(values.get("side_margin", cls.side_margin))
        return cls(_pair(values.get("present")), _pair(values.get("side")), thresholds or None, margin)


def _pair(values: Sequence[float] | None) -> tuple[float, float]:
    return (1.0, 0.0) if values is None else (float(values[0]), float(values[1]))
