"""The same clip under two names: equal maps by their hash, nearly equal ones by their correlation.

Axes: n maps, S map size, Q values of a map at low resolution
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from epir.core.records import Clip

# Between clips of different people. The largest correlation of different clips of different people is 0.80 in 325 maps
# of the 2019 composite (0.88 in those of a second lab) and 0.82 in synthetic sets; frames saved again as JPEG of
# quality 95 give 0.95 and more in ten of twelve clips, of quality 80 in four, of quality 50 in none: it misses those.
NEARLY_EQUAL = 0.95
COARSE = 7  # pixels per side at low resolution
BLOCK = 1024  # maps that are compared at a time


@dataclass(frozen=True)
class Copy:
    """Two clips with the same map, or nearly the same."""

    first: str  # keys of the clips
    second: str
    correlation: float  # 1: equal

    def __str__(self) -> str:
        how = "equal maps" if self.correlation == 1 else f"maps with a correlation of {self.correlation:.3f}"
        return f"{self.first} and {self.second} ({how})"


def map_hashes(maps: np.ndarray) -> np.ndarray:
    """The first 64 bits of the SHA-256 of each map (n, 3, S, S): (n,) uint64; (n, V) for V views of each clip."""
    each_map = maps.reshape(-1, *maps.shape[-3:])
    digests = [hashlib.sha256(np.ascontiguousarray(each, dtype="<f4").tobytes()).digest()[:8] for each in each_map]
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64).reshape(maps.shape[:-3])


def find_copies(maps: np.ndarray, clips: Sequence[Clip]) -> list[Copy]:
    """Equal maps among all clips, and nearly equal ones among clips of different people."""
    return _copies(maps, clips, maps, clips, same=True)


def find_copies_between(
    maps: np.ndarray, clips: Sequence[Clip], others: np.ndarray, other_clips: Sequence[Clip]
) -> list[Copy]:
    """The same between two sets of clips."""
    return _copies(maps, clips, others, other_clips, same=False)


def _copies(
    maps: np.ndarray, clips: Sequence[Clip], others: np.ndarray, other_clips: Sequence[Clip], *, same: bool
) -> list[Copy]:
    """Pairs, found at low resolution, where the distance of two maps is never larger than at full resolution."""
    maps, others = (each.reshape(len(each), -1, *each.shape[-2:]) for each in (maps, others))  # views as channels
    people, other_people = (np.array([clip.person for clip in each]) for each in (clips, other_clips))
    coarse = _coarse(maps)  # (n, Q)
    other_coarse = coarse if same else _coarse(others)
    farthest = 2 * (1 - NEARLY_EQUAL) + 1e-6  # squared distance of two unit vectors with this correlation
    found = []
    for start in range(0, len(coarse), BLOCK):
        rows = coarse[start : start + BLOCK]
        distance = (rows**2).sum(1)[:, None] + (other_coarse**2).sum(1)[None] - 2 * rows @ other_coarse.T
        for row, column in zip(*np.nonzero(distance <= farthest), strict=True):
            first, second = start + int(row), int(column)
            if same and first >= second:
                continue
            one, two = standardised(maps[[first]])[0], standardised(others[[second]])[0]
            if not one.any() or not two.any():
                continue  # a map without any motion is nobody's
            is_equal = np.array_equal(maps[first], others[second])
            correlation = 1.0 if is_equal else min(float(one @ two), 0.9999)
            if is_equal or (people[first] != other_people[second] and correlation >= NEARLY_EQUAL):
                found.append(Copy(clips[first].key, other_clips[second].key, correlation))
    return found


def standardised(maps: np.ndarray) -> np.ndarray:
    """Maps (n, 3, S, S) as unit vectors (n, 3 * S * S), each channel with mean 0 and the same length.

    Scalar products of these are correlations. A channel without any variation stays 0.
    """
    channels = np.array(maps, dtype=np.float64).reshape(len(maps), maps.shape[1], -1)
    channels -= channels.mean(axis=2, keepdims=True)
    return _unit(_unit(np.where(np.abs(channels) > 1e-9, channels, 0.0)).reshape(len(maps), -1))


def _coarse(maps: np.ndarray) -> np.ndarray:
    """The standardised maps projected to low resolution, (n, Q) float32: an orthogonal projection."""
    size = maps.shape[-1]
    edges = np.linspace(0, size, min(COARSE, size) + 1).round().astype(int)
    pool = np.zeros((len(edges) - 1, size))
    for number, (low, high) in enumerate(pairwise(edges)):
        pool[number, low:high] = 1 / np.sqrt(high - low)
    parts = []
    for start in range(0, len(maps), BLOCK):
        unit = standardised(maps[start : start + BLOCK]).reshape(-1, maps.shape[1], size, size)
        parts.append(np.einsum("ri,ncij,sj->ncrs", pool, unit, pool, optimize=True).reshape(len(unit), -1))
    return np.concatenate(parts).astype(np.float32) if parts else np.zeros((0, 1), np.float32)


def _unit(values: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(values, axis=-1, keepdims=True)
    return values / np.where(length > 0, length, 1)
