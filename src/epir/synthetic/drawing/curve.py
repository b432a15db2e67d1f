"""Smooth curves through a few points: the outlines of a face."""

import numpy as np


class Curve:
    """A cubic spline through (`x`, `y`), level at both ends (as symmetric outlines are at the midline)."""

    def __init__(self, x: list[float], y: list[float], *, level: bool = True) -> None:
        self._x, self._y = np.asarray(x, float), np.asarray(y, float)
        assert (np.diff(self._x) > 0).all(), "the points of a curve go from left to right"
        self._slopes = _slopes(self._x, self._y, level)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """The height of the curve at `x`; beyond its ends it stays as it is there."""
        x = np.clip(x, self._x[0], self._x[-1])
        i = np.clip(np.searchsorted(self._x, x) - 1, 0, len(self._x) - 2)
        width = self._x[i + 1] - self._x[i]
        t = (x - self._x[i]) / width
        a, b = self._slopes[i] * width, self._slopes[i + 1] * width
        low, high = self._y[i], self._y[i + 1]
        return (low + t * (a + t * (3 * (high - low) - 2 * a - b + t * (2 * (low - high) + a + b)))).astype(np.float32)

    def table(self, points: int = 512) -> tuple[np.ndarray, np.ndarray]:
        """The curve as a table for `numpy.interp`, which is quicker on whole pictures."""
        x = np.linspace(self._x[0], self._x[-1], points)
        return x, self(x)


def _slopes(x: np.ndarray, y: np.ndarray, level: bool) -> np.ndarray:
    """The slopes at the points that make the second derivative continuous."""
    h = np.diff(x)
    secant = np.diff(y) / h
    n = len(x)
    system, right = np.zeros((n, n)), np.zeros(n)
    for i in range(1, n - 1):
        system[i, i - 1 : i + 2] = 1 / h[i - 1], 2 / h[i - 1] + 2 / h[i], 1 / h[i]
        right[i] = 3 * (secant[i - 1] / h[i - 1] + secant[i] / h[i])
    system[0, 0] = system[-1, -1] = 1
    if not level:
        system[0, 1] = system[-1, -2] = 0.5
        right[0], right[-1] = 1.5 * secant[0], 1.5 * secant[-1]
    return np.linalg.solve(system, right)
