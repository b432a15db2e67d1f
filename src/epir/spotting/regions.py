"""The regions of an aligned face that expressions move, left and right separate, as cells of a coarse grid.

In the crop of `epir.faces.align`, the eyes lie a quarter from the top and the mouth a quarter from the bottom. Left and
right are those of the picture.

Axes: G cells per side, R regions
"""

from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np

GRID = 28  # cells per side: as fine as a map
Side = Literal["left", "right", "middle"]


@dataclass(frozen=True, slots=True)
class Region:
    """One region; `box` is left, top, right and bottom as shares of the crop."""

    name: str
    side: Side
    group: str
    box: tuple[float, float, float, float]


def _both(name: str, group: str, left: float, top: float, right: float, bottom: float) -> tuple[Region, Region]:
    mirrored = (round(1 - right, 6), top, round(1 - left, 6), bottom)
    return Region(name, "left", group, (left, top, right, bottom)), Region(name, "right", group, mirrored)


REGIONS: tuple[Region, ...] = (
    *_both("inner brow", "brows", 0.28, 0.02, 0.46, 0.17),
    *_both("outer brow", "brows", 0.07, 0.02, 0.28, 0.17),
    *_both("upper lid", "eyes", 0.14, 0.17, 0.38, 0.24),
    *_both("lower lid", "eyes", 0.14, 0.24, 0.38, 0.32),
    *_both("nose", "nose and cheeks", 0.34, 0.37, 0.50, 0.60),
    *_both("cheek", "nose and cheeks", 0.06, 0.34, 0.34, 0.58),
    *_both("lip corner", "lip corners", 0.18, 0.60, 0.38, 0.80),
    Region("upper lip", "middle", "lips and chin", (0.38, 0.60, 0.62, 0.69)),
    Region("lower lip", "middle", "lips and chin", (0.38, 0.71, 0.62, 0.82)),
    Region("chin", "middle", "lips and chin", (0.30, 0.84, 0.70, 0.98)),
)
NAMES = tuple(each.name if each.side == "middle" else f"{each.side} {each.name}" for each in REGIONS)
OTHER_SIDE = {"left": "right", "right": "left", "both": "both", "middle": "middle"}  # picture -> person, and back
GROUPS = tuple(dict.fromkeys(each.group for each in REGIONS))
EYES = "eyes"
MOUTH = ("lip corners", "lips and chin")


@cache
def members(*groups: str) -> np.ndarray:
    """The indices of the regions of these groups."""
    return np.array([place for place, each in enumerate(REGIONS) if each.group in groups])


@cache
def named(name: str) -> np.ndarray:
    """The indices of the regions with this name, on either side."""
    return np.array([place for place, each in enumerate(REGIONS) if each.name == name])


def centres() -> tuple[np.ndarray, np.ndarray]:
    """The centres of the cells as shares of the crop: x and y, (G, G) each."""
    axis = (np.arange(GRID) + 0.5) / GRID
    x, y = np.meshgrid(axis, axis)
    return x, y


@cache
def region_cells() -> np.ndarray:
    """Which cells belong to each region, (R, G * G) float32 of 0 and 1: those with their centre in its box."""
    x, y = centres()
    cells = [
        (x >= left) & (x < right) & (y >= top) & (y < bottom) for left, top, right, bottom in (r.box for r in REGIONS)
    ]
    cells_of_regions = np.array(cells).reshape(len(REGIONS), -1).astype(np.float32)
    cells_of_regions.flags.writeable = False
    return cells_of_regions
