"""Occlusion: what each part of the map is worth to the class probability.

[ZF] Zeiler and Fergus 2014, Visualizing and Understanding Convolutional Networks, section 4.2: occlusion sensitivity
[SL] Strumbelj and Kononenko 2014, Explaining prediction models and individual predictions with feature contributions

A part is hidden by replacing it with what most of the face does. A movement shows in several parts, so a sure answer
stays sure without any one of them; therefore the part is also left alone and all else hidden. Its worth is the mean of
what is lost in the first case and gained in the second: the two ends of its Shapley value [SL]. It asks the model itself and nothing else, so it serves every model and backend: all occluded copies of a map go
through it in one batch. `epir bench --only explanation` tests it where the moving patches are known.

Axes: n maps, S map size, P parts (patches, then groups of regions), g patches per side, C classes
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
    """What the parts of the map are worth to the probability of a class; below 0 a part speaks against it."""

    label: str  # the class
    patches: np.ndarray  # (g, g) float32
    regions: Mapping[str, float] = field(default_factory=dict)  # by group of regions, both sides together

    @property
    def region(self) -> str:
        """The group of regions that is worth most."""
        return max(self.regions, key=lambda name: self.regions[name])

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "label": self.label,
            "patches": [[round(float(value), 4) for value in row] for row in self.patches],
            "regions": {name: round(value, 4) for name, value in self.regions.items()},
        }


def explain(predict: Predict, maps: np.ndarray, labels: Sequence[str], patches: int = PATCHES) -> list[Attribution]:
    """The attribution of each map's most probable class, for maps (n, 3, S, S)."""
    size = maps.shape[-1]
    parts = np.concatenate([patch_masks(size, patches, REACH), region_masks(size)])  # (P, S, S)
    hidden = np.concatenate([np.zeros_like(parts[:1]), np.ones_like(parts[:1]), parts, ~parts])  # (2 + 2 P, S, S)
    copies = np.concatenate([occluded(made, hidden) for made in maps])
    answers = predict(copies).reshape(len(maps), len(hidden), -1)  # (n, 2 + 2 P, C)
    found = []
    for answer in answers:
        best = int(answer[0].argmax())
        whole, nothing, rest = answer[0, best], answer[1, best], answer[2:, best]
        worth = ((whole - rest[: len(parts)]) + (rest[len(parts) :] - nothing)) / 2  # (P,)
        shown = worth[: patches**2].reshape(patches, patches).astype(np.float32)
        regions = {name: float(value) for name, value in zip(GROUPS, worth[patches**2 :], strict=True)}
        found.append(Attribution(labels[best], shown, regions))
    return found


def occluded(made: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """One copy of a map (3, S, S) for each part (P, S, S), in which that part is neutral: (P, 3, S, S)."""
    return np.where(parts[:, None], neutral(made), made).astype(np.float32)


def neutral(made: np.ndarray) -> np.ndarray:
    """What most of the face does, per channel (3, 1, 1): its median, also in a map that was stretched to 0..1."""
    return np.median(made, axis=(1, 2), keepdims=True)


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
