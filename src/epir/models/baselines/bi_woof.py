"""Bi-WOOF: histograms of flow direction per block, weighted twice.

[Bi-WOOF] Liong, See, Wong, Phan 2018, Less is more: Micro-expression recognition from video using apex frame,
          Signal Processing: Image Communication 62, arXiv:1606.01721

Axes: n clips, S map size, G blocks per side, K directions
"""

from collections.abc import Sequence

import numpy as np

from epir.core.records import Clip
from epir.models.baselines.svm import (
    Balanced,
    Bins,
    Blocks,
    Cost,
    FeatureSvm,
    Zero,
    block_sums,
    check_grid,
    directions_of,
    flow_of,
)


class BiWoof(FeatureSvm):
    """Each vector counts in its block's histogram by its magnitude, each block by its mean strain.

    Departs from [Bi-WOOF]: the directions are centred on the axes; the zero of the flow is its median; each feature
    is standardised on the training clips; the flow is that of the map, at the map's size.
    """

    def __init__(
        self,
        map_size: int = 28,
        cost: Cost = 4.0,
        balanced: Balanced = False,
        grid: Blocks = 5,
        bins: Bins = 8,
        normalise: Zero = "map",
    ) -> None:
        super().__init__(cost, balanced)
        check_grid("bi-woof", grid, map_size)
        self.grid, self.bins, self.normalise = grid, bins, normalise

    def features(self, maps: np.ndarray, clips: Sequence[Clip]) -> np.ndarray:
        """Features (n, G * G * K) of maps (n, 3, S, S)."""
        flow = flow_of(maps, self.normalise)
        return weighted_histograms(flow, maps[:, 2], grid=self.grid, bins=self.bins)


def weighted_histograms(flow: np.ndarray, strain: np.ndarray, *, grid: int, bins: int) -> np.ndarray:
    """Histograms (n, G * G * K) of a flow (n, 2, S, S), given its strain (n, S, S)."""
    magnitude = np.hypot(flow[:, 0], flow[:, 1])
    directions = directions_of(flow, bins)
    local = np.stack([block_sums(magnitude * (directions == k), grid) for k in range(bins)], axis=-1)  # (n, G, G, K)
    strain = np.asarray(strain, dtype=np.float64)
    mean_strain = block_sums(strain, grid) / block_sums(np.ones_like(strain), grid)  # (n, G, G)
    return (local * mean_strain[..., None]).reshape(len(flow), -1)
