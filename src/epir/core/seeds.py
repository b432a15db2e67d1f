"""One place for randomness: every stream is named, and comes from the seed and its name alone.

So a fold gives the same numbers whatever worker runs it, in whatever order, also after a kill.
"""

import hashlib

import numpy as np


def stream_seed(seed: int, *names: object) -> int:
    """A 63-bit seed for the stream called `names` under `seed`: the same on every machine."""
    text = "\x1f".join([str(seed), *map(str, names)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def generator(seed: int, *names: object) -> np.random.Generator:
    """NumPy's generator for the stream called `names` under `seed`."""
    return np.random.default_rng(stream_seed(seed, *names))
