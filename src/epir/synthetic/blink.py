"""Closing an eye: the upper lid comes down over the ball, the lower one rises a little.

Within one column of the picture the closing is piecewise linear in y: the skin between the fold and the lid's edge
stretches, the opening shrinks, the skin below follows. So both directions are known in closed form.

All lengths are in face units; `x` and `y` are arrays of one shape.
"""

import numpy as np

from epir.synthetic.drawing.eyes import Lids

REACH_UP, REACH_DOWN = 2.3, 1.3  # skin above and below the opening that takes part
SHUT = 0.95  # how much of the opening a full blink takes
LOWER_SHARE = 0.12  # how much of that the lower lid does


def close_lids(lids: Lids, x: np.ndarray, y: np.ndarray, closure: float) -> np.ndarray:
    """The height to which each point of the open eye goes when the lids close by `closure`, 0 open .. 1 shut."""
    before, after = _levels(lids, np.abs(x), closure)
    return _between(y, before, after)


def open_lids(lids: Lids, x: np.ndarray, y: np.ndarray, closure: float) -> np.ndarray:
    """The other way round: where each point of the closed eye came from."""
    before, after = _levels(lids, np.abs(x), closure)
    return _between(y, after, before)


def _levels(lids: Lids, a: np.ndarray, closure: float) -> tuple[list[np.ndarray], list[np.ndarray]]:
    upper, lower = lids.upper(a), lids.lower(a)
    within = (a > lids.inner) & (a < lids.outer)
    gap = np.where(within, lower - upper, 0) * np.float32(SHUT * closure)
    top, bottom = upper - np.float32(REACH_UP), lower + np.float32(REACH_DOWN)
    share = np.float32(LOWER_SHARE)
    return [top, upper, lower, bottom], [top, upper + (1 - share) * gap, lower - share * gap, bottom]


def _between(y: np.ndarray, start: list[np.ndarray], end: list[np.ndarray]) -> np.ndarray:
    """`y` moved as the levels move; beyond the outer levels it stays."""
    out = y
    for low, high, new_low, new_high in zip(start, start[1:], end, end[1:], strict=False):
        inside = (y > low) & (y <= high)
        width = np.maximum(high - low, np.float32(1e-6))
        out = np.where(inside, new_low + (y - low) * ((new_high - new_low) / width), out)
    return out
