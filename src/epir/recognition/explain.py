"""Occlusion: how far a class probability falls when a part of the map is replaced by what most of the face does.

[ZF] Zeiler and Fergus 2014, Visualizing and Understanding Convolutional Networks, section 4.2: occlusion sensitivity

It asks the model itself and nothing else, so it serves every model and backend: all occluded copies of a map go
through it in one batch. Where a model is sure, every fall is small, and the order of the parts still tells where it
looks. A test compares it with the patches that are known to move.

Axes: S map size, P parts (patches, then groups of regions), g patches per side, C classes
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from epir.spotting.regions import GRID, GROUPS, members, region_cells

PATCHES = 7  # per side: 4 px of a map of 28 px
REACH = 0.5  # of a patch: an occlusion reaches beyond its patch by that much, since a movement is wider than a patch

Predict = Callable[[np.ndarray], np.ndarray]  # maps (n, 3, S, S) -> probabilities (n, C)


@dataclass(frozen=True, eq=False)
class Attribution:
    """How far the probability of a class falls without a part of the map; below 0 it rises."""

    label: str  # the class
    patches: np.ndarray  # (g, g) float32
    regions: Mapping[str, float] = field(default_factory=dict)  # by group of regions, both sides together

    @property
    def region(self) -> str:
        """The group of regions without which it falls most."""
        return max(self.regions, key=lambda name: self.regions[name])

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "label": self.label,
            "patches": [[round(float(value), 4) for value in row] for row in self.patches],
            "regions": {name: round(value, 4) for name, value in self.regions.items()},
        }


def attribute(predict: Predict, flow_map: np.ndarray, labels: Sequence[str]) -> Attribution:
    """The attribution of the most probable class of a map (3, S, S)."""
    size = flow_map.shape[-1]
    parts = np.concatenate([patch_masks(size, PATCHES, REACH), region_masks(size)])  # (P, S, S)
    answers = predict(np.concatenate([flow_map[None], occluded(flow_map, parts)]))  # (1 + P, C)
    best = int(answers[0].argmax())
    falls = answers[0, best] - answers[1:, best]  # (P,)
    patches, regions = falls[: PATCHES**2].reshape(PATCHES, PATCHES), falls[PATCHES**2 :]
    by_region = {name: float(fall) for name, fall in zip(GROUPS, regions, strict=True)}
    return Attribution(labels[best], patches.astype(np.float32), by_region)


def occluded(flow_map: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """One copy of a map (3, S, S) for each part (P, S, S), in which that part is neutral: (P, 3, S, S)."""
    return np.where(parts[:, None], neutral(flow_map), flow_map).astype(np.float32)


def neutral(flow_map: np.ndarray) -> np.ndarray:
    """What most of the face does, per channel (3, 1, 1): its median, also in a map that was stretched to 0..1."""
    return np.median(flow_map, axis=(1, 2), keepdims=True)


@cache
def patch_masks(size: int, patches: int, reach: float = 0.0) -> np.ndarray:
    """The pixels of each patch of a map, row by row, and `reach` of a patch around it, (g * g, S, S) bool."""
    centres = (np.arange(size) + 0.5) * patches / size - 0.5  # of pixels, in patches
    near = np.abs(centres[None] - np.arange(patches)[:, None]) < 0.5 + reach - 1e-6  # (g, S)
    near[np.arange(size) * patches // size, np.arange(size)] = True  # pixels on the border of two patches
    return (near[:, None, :, None] & near[None, :, None, :]).reshape(-1, size, size)


@cache
def region_masks(size: int) -> np.ndarray:
    """The pixels of each group of regions, both sides together, (G, S, S) bool."""
    place = np.arange(size) * GRID // size
    cells = region_cells().reshape(-1, GRID, GRID)[:, place][:, :, place] > 0  # (R, S, S)
    return np.stack([cells[members(name)].any(axis=0) for name in GROUPS])
