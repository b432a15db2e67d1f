"""Bi-WOOF: histograms of flow direction per block, weighted twice.

[Bi-WOOF] Liong, See, Wong, Phan 2018, Less is more: Micro-expression recognition from video using apex frame,
          Signal Processing: Image Communication 62, arXiv:1606.01721

Axes: n clips, S map size, G blocks per side, K directions
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from epir.core.records import Clip
from epir.models.baselines.pipeline import Pipeline, PipelineSettings, block_sums, check_grid, directions_of, flow_of


@dataclass(frozen=True)
class BiWoofSettings(PipelineSettings):
    """Bi-WOOF: histograms of flow direction per block, weighted by magnitude and by strain."""

    name: Literal["bi-woof"] = "bi-woof"
    cost: float = 4.0
    grid: int = 5  # blocks per side
    bins: int = 8

    def __post_init__(self) -> None:
        super().__post_init__()
        check_grid(self, self.grid, self.bins)


class BiWoof(Pipeline):
    """Each vector counts in its block's histogram by its magnitude, each block by its mean strain.

    Departs from [Bi-WOOF]: the directions are centred on the axes; the zero of the flow is its median; each feature
    is standardised on the training clips; the flow is that of the map, at the map's size.
    """

    settings: BiWoofSettings

    def features(self, maps: np.ndarray, clips: Sequence[Clip]) -> np.ndarray:
        """Features (n, G * G * K) of maps (n, 3, S, S)."""
        flow = flow_of(maps, self.settings.normalise)
        return weighted_histograms(flow, maps[:, 2], grid=self.settings.grid, bins=self.settings.bins)


def weighted_histograms(flow: np.ndarray, strain: np.ndarray, *, grid: int, bins: int) -> np.ndarray:
    """Histograms (n, G * G * K) of a flow (n, 2, S, S), given its strain (n, S, S)."""
    magnitude = np.hypot(flow[:, 0], flow[:, 1])
    directions = directions_of(flow, bins)
    local = np.stack([block_sums(magnitude * (directions == k), grid) for k in range(bins)], axis=-1)  # (n, G, G, K)
    strain = np.asarray(strain, dtype=np.float64)
    mean_strain = block_sums(strain, grid) / block_sums(np.ones_like(strain), grid)  # (n, G, G)
    return (local * mean_strain[..., None]).reshape(len(flow), -1)
