"""Bootstrap over people: whole people are resampled with replacement, since the clips of one person are alike.

Axes: P people, R resamplings
"""

import numpy as np

from epir.core.seeds import generator

RESAMPLINGS = 2000
LEVEL = 0.95


def resample_people(people: int, resamplings: int = RESAMPLINGS) -> np.ndarray:
    """How often each person is in each resampling, (R, P); rows sum to P, and every call gives the same.

    >>> resample_people(3, 2).sum(axis=1).tolist()
    [3, 3]
    """
    random = generator(0, "bootstrap over people")
    return random.multinomial(people, np.full(people, 1 / people), size=resamplings)


def interval(scores: np.ndarray, level: float = LEVEL) -> tuple[float, float]:
    """The middle `level` of the resampled scores (R,), without those that are NaN.

    >>> interval(np.arange(101.0), level=0.5)
    (25.0, 75.0)
    """
    low, high = np.nanquantile(scores, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
