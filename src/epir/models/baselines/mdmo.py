"""MDMO: of each region of the face, the mean flow of its main direction.

[MDMO] Liu, Zhang, Yan, Wang, Zhao, Fu 2016, A Main Directional Mean Optical Flow Feature for Spontaneous
       Micro-Expression Recognition, IEEE Transactions on Affective Computing 7(4)

Axes: n clips, S map size, G regions per side, K directions
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from epir.core.errors import ConfigError
from epir.core.records import Clip
from epir.models.baselines.pipeline import Pipeline, PipelineSettings, block_sums, check_grid, directions_of, flow_of

SMALLEST_MOTION = 1e-9


@dataclass(frozen=True)
class MdmoSettings(PipelineSettings):
    """MDMO: the mean flow of each region's main direction."""

    name: Literal["mdmo"] = "mdmo"
    grid: int = 6  # regions per side: 36, as many as the method's paper has
    bins: int = 8
    balance: float = 0.9  # weight of the magnitude against the direction

    def __post_init__(self) -> None:
        super().__post_init__()
        check_grid(self, self.grid, self.bins)
        if not 0 <= self.balance <= 1:
            raise ConfigError(f"balance cannot be {self.balance}", fix="use a number from 0 to 1")


class Mdmo(Pipeline):
    """Two numbers per region: how far its main direction moves, relative to the clip's largest, and which way.

    Departs from [MDMO]: the 36 regions are a fixed 6 x 6 grid of the aligned face, not polygons between 66 landmarks;
    one flow from onset to apex stands for the mean over all frames; the kernel of the machine is linear.
    """

    settings: MdmoSettings
    scaled = False  # `balance` would be lost

    def features(self, maps: np.ndarray, clips: Sequence[Clip]) -> np.ndarray:
        """Features (n, 2 * G * G) of maps (n, 3, S, S)."""
        flow = flow_of(maps, self.settings.normalise)
        mean = main_direction_means(flow, grid=self.settings.grid, bins=self.settings.bins)  # (n, G * G, 2)
        magnitude = np.hypot(mean[..., 0], mean[..., 1])
        magnitude = magnitude / magnitude.max(axis=1, keepdims=True).clip(min=SMALLEST_MOTION)  # (n, G * G), to 1
        angle = np.arctan2(mean[..., 1], mean[..., 0])
        balance = self.settings.balance
        return np.concatenate([balance * magnitude, (1 - balance) * angle], axis=1)


def main_direction_means(flow: np.ndarray, *, grid: int, bins: int) -> np.ndarray:
    """Mean vectors (n, G * G, 2) of those vectors of a flow (n, 2, S, S) that have their region's main direction.

    The main direction is the one that most vectors of the region have; the first of them if two have as many.
    """
    directions = directions_of(flow, bins)
    counts = np.stack([block_sums((directions == k).astype(float), grid) for k in range(bins)])  # (K, n, G, G)
    sums = np.stack([block_sums(flow * (directions == k)[:, None], grid) for k in range(bins)])  # (K, n, 2, G, G)
    main = counts.argmax(axis=0)[None]  # (1, n, G, G)
    count = np.take_along_axis(counts, main, axis=0)[0]  # (n, G, G)
    total = np.take_along_axis(sums, main[:, :, None], axis=0)[0]  # (n, 2, G, G)
    return (total / count[:, None]).reshape(len(flow), 2, -1).transpose(0, 2, 1)
