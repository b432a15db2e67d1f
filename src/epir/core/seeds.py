"""Random streams, each determined by the seed and its name alone; and the bootstrap over people.

So a fold gives the same numbers on any worker, in any order, also after a kill.

Axes: P people, R resamplings
"""

import hashlib

import numpy as np

RESAMPLINGS = 2000
LEVEL = 0.95


def stream_seed(seed: int, *names: object) -> int:
    """A 63-bit seed for the stream called `names`, the same on every machine."""
    text = "\x1f".join([str(seed), *map(str, names)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def generator(seed: int, *names: object) -> np.random.Generator:
    """A NumPy generator for the stream called `names`."""
    return np.random.default_rng(stream_seed(seed, *names))


def resample_people(people: int, resamplings: int = RESAMPLINGS) -> np.ndarray:
    """How often each person occurs in each resampling, (R, P); rows sum to P, and every call returns the same.

    People are resampled with replacement, not clips, since the clips of one person are alike.

    >>> resample_people(3, 2).sum(axis=1).tolist()
    [3, 3]
    """
    random = generator(0, "bootstrap over people")
    return random.multinomial(people, np.full(people, 1 / people), size=resamplings)


def interval(scores: np.ndarray, level: float = LEVEL) -> tuple[float, float]:
    """The central interval that holds the share `level` of the resampled scores (R,), ignoring NaN.

    >>> interval(np.arange(101.0), level=0.5)
    (25.0, 75.0)
    """
    low, high = np.nanquantile(scores, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
