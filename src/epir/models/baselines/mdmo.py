"""MDMO: of each region of the face, the mean flow of its main direction.

[MDMO] Liu, Zhang, Yan, Wang, Zhao, Fu 2016, A Main Directional Mean Optical Flow Feature for Spontaneous
       Micro-Expression Recognition, IEEE Transactions on Affective Computing 7(4)

Axes: n clips, S map size, G regions per side, K directions
"""

from collections.abc import Sequence
from typing import Annotated

import numpy as np

from epir.core.records import Clip
from epir.models.arguments import Count, Range
from epir.models.baselines.svm import (
    Balanced,
    Bins,
    Cost,
    FeatureSvm,
    Zero,
    block_sums,
    check_grid,
    directions_of,
    flow_of,
)

SMALLEST_MOTION = 1e-9


class Mdmo(FeatureSvm):
    """Two numbers per region: how far its main direction moves, relative to the clip's largest, and which way.

    Departs from [MDMO]: the 36 regions are a fixed 6 x 6 grid of the aligned face, not polygons between 66 landmarks;
    one flow from onset to apex stands for the mean over all frames; the kernel of the machine is linear.
    """

    scaled = False  # `balance` would be lost

    def __init__(
        self,
        map_size: int = 28,
        cost: Cost = 1.0,
        balanced: Balanced = False,
        grid: Annotated[Count, "regions per side: 36 of them, as many as the method's paper has"] = 6,
        bins: Bins = 8,
        balance: Annotated[float, Range(ge=0, le=1), "weight of the magnitude against the direction"] = 0.9,
        normalise: Zero = "map",
    ) -> None:
        super().__init__(cost, balanced)
        check_grid("mdmo", grid, map_size)
        self.grid, self.bins, self.balance, self.normalise = grid, bins, balance, normalise

    def features(self, maps: np.ndarray, clips: Sequence[Clip]) -> np.ndarray:
        """Features (n, 2 * G * G) of maps (n, 3, S, S)."""
        flow = flow_of(maps, self.normalise)
        mean = main_direction_means(flow, grid=self.grid, bins=self.bins)  # (n, G * G, 2)
        magnitude = np.hypot(mean[..., 0], mean[..., 1])
        magnitude = magnitude / magnitude.max(axis=1, keepdims=True).clip(min=SMALLEST_MOTION)  # (n, G * G), to 1
        angle = np.arctan2(mean[..., 1], mean[..., 0])
        balance = self.balance
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
