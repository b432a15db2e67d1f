"""The parts of an aligned face in which expressions happen, as cells of a coarse grid.

In the crop of `epir.faces.align` the eyes lie a quarter from the top and the mouth a quarter from the bottom. The eyes
are a region of their own: blinks are seen there, and must not be taken for movements of the brows.

Axes: G cells per side
"""

from functools import cache

import numpy as np

GRID = 28  # cells per side: as fine as a map
BROWS, EYES = "brows", "eyes"

# name: boxes of left, top, right, bottom as shares of the crop
REGIONS: dict[str, tuple[tuple[float, float, float, float], ...]] = {
    BROWS: ((0.08, 0.0, 0.92, 0.17),),
    EYES: ((0.12, 0.19, 0.42, 0.32), (0.58, 0.19, 0.88, 0.32)),
    "nose": ((0.33, 0.36, 0.67, 0.60),),
    "cheeks": ((0.05, 0.36, 0.33, 0.62), (0.67, 0.36, 0.95, 0.62)),
    "mouth": ((0.18, 0.60, 0.82, 0.86),),
    "chin": ((0.28, 0.86, 0.72, 1.0),),
}
NAMES = tuple(REGIONS)


@cache
def region_cells(name: str) -> np.ndarray:
    """Which of the (G, G) cells belong to a region: those whose centre lies in one of its boxes."""
    centres = (np.arange(GRID) + 0.5) / GRID
    cells = np.zeros((GRID, GRID), bool)
    for left, top, right, bottom in REGIONS[name]:
        rows, columns = (centres >= top) & (centres < bottom), (centres >= left) & (centres < right)
        cells |= rows[:, None] & columns[None, :]
    cells.flags.writeable = False
    return cells
