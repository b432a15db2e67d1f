"""Finding the same clip under two names: equal maps, and copies that were shifted by a pixel or two, mirrored or noisy.

Maps are compared without their margins, so that a shifted copy correlates as well as an unshifted one. A search at low
resolution selects the candidates.

Axes: n maps, C channels, S map size, W width of a window, Q values of a window at low resolution
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from epir.core.records import Clip

# The correlation from which two maps count as copies, its maximum over all shifts and mirror images. Different clips of
# different people reach 0.85 in 325 maps of the 2019 composite; 95 % of copies with noise of 0.35 standard deviations
# reach 0.92. In maps of a second lab, different clips reach 0.946 if a channel is constant.
NEARLY_EQUAL = 0.9
NEARLY_EQUAL_BARE = 0.96  # if a channel is constant
CANDIDATE = 0.8  # correlation at low resolution from which two maps are compared in full
CELLS = 6  # per side at low resolution
BLOCK = 1024  # maps compared at a time
BITS = 512  # of a fingerprint
MOST_BITS = 70  # that may differ between fingerprints of one clip: the angle of a correlation of 0.91


@dataclass(frozen=True)
class Copy:
    """Two clips whose maps are equal or nearly equal."""

    first: str  # keys of the clips
    second: str
    correlation: float  # 1: equal
    moved: str = ""  # how the second map differs: mirrored, shifted

    def __str__(self) -> str:
        how = "equal maps" if self.correlation == 1 else f"maps with a correlation of {self.correlation:.3f}"
        return f"{self.first} and {self.second} ({how}{', ' if self.moved else ''}{self.moved})"


def map_hashes(maps: np.ndarray) -> np.ndarray:
    """The first 64 bits of the SHA-256 of each map (n, 3, S, S): (n,) uint64."""
    digests = [hashlib.sha256(np.ascontiguousarray(one, dtype="<f4").tobytes()).digest()[:8] for one in maps]
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


def find_copies(maps: np.ndarray, clips: Sequence[Clip]) -> list[Copy]:
    """Equal maps among all clips, and nearly equal ones among clips of different people."""
    return _copies(maps, clips, maps, clips, same=True)


def find_copies_between(
    maps: np.ndarray,
    clips: Sequence[Clip],
    others: np.ndarray,
    other_clips: Sequence[Clip],
    *,
    only_equal: bool = False,
) -> list[Copy]:
    """The copies between two sets of clips; with `only_equal`, equal maps only, which is faster."""
    if not only_equal:
        return _copies(maps, clips, others, other_clips, same=False)
    place = {key: number for number, key in enumerate(map_hashes(maps).tolist())}
    pairs = [(place[key], other) for other, key in enumerate(map_hashes(others).tolist()) if key in place]
    return [Copy(clips[first].key, other_clips[second].key, 1.0) for first, second in pairs]


def _copies(
    maps: np.ndarray, clips: Sequence[Clip], others: np.ndarray, other_clips: Sequence[Clip], *, same: bool
) -> list[Copy]:
    maps, others = (array.reshape(len(array), -1, *array.shape[-2:]) for array in (maps, others))  # (n, C, S, S)
    copies = []
    for first, second in sorted(_candidates(maps, others, same=same)):
        is_equal = np.array_equal(maps[first], others[second])
        if not is_equal and clips[first].person == other_clips[second].person:
            continue
        correlation, moved = (1.0, "") if is_equal else _nearest(maps[first], others[second])
        limit = NEARLY_EQUAL if _varies(np.stack([maps[first], others[second]])).all() else NEARLY_EQUAL_BARE
        if correlation >= limit:
            copies.append(Copy(clips[first].key, other_clips[second].key, correlation, moved))
    return copies


def _candidates(maps: np.ndarray, others: np.ndarray, *, same: bool) -> set[tuple[int, int]]:
    """Pairs that correlate at low resolution for some mirror image and shift; maps without motion match nothing."""
    step = max(1, reach(maps.shape[-1]))
    coarse = _in_blocks(maps, (0, 0), "")  # (n, Q)
    pairs: set[tuple[int, int]] = set()
    for mirror in MIRRORS:
        for shift in _shifts(maps.shape[-1], step):
            moved = _in_blocks(others, shift, mirror)
            for start in range(0, len(coarse), BLOCK):
                later = start if same else 0  # shifts go both ways, so a pair and its reverse need one comparison
                alike = coarse[start : start + BLOCK] @ moved[later:].T >= CANDIDATE
                rows, columns = np.nonzero(alike)
                pairs.update(zip((rows + start).tolist(), (columns + later).tolist(), strict=True))
    return {(first, second) for first, second in pairs if not same or first < second}


def _nearest(one: np.ndarray, other: np.ndarray) -> tuple[float, str]:
    """The largest correlation of two maps over mirror images and shifts, and the mirror image and shift in words."""
    size = one.shape[-1]
    window = unit_vectors(_window(one[None], (0, 0), ""))[0]
    best, words = -1.0, ""
    for mirror in MIRRORS:
        for shift in _shifts(size, 1):
            value = float(window @ unit_vectors(_window(other[None], shift, mirror))[0])
            if value > best + 1e-6:
                where = f"shifted by {shift[0]}, {shift[1]} px" if any(shift) else ""
                best, words = value, ", ".join(filter(None, [mirror and "mirrored", where]))
    return min(best, 0.9999), words


MIRRORS = ("", "frames", "map")  # unchanged, mirrored frames (which negates u), a mirrored map


def reach(size: int) -> int:
    """The largest shift of a copy in px: 2 for maps of 28 px."""
    return min(2, size // 14)


def _shifts(size: int, step: int) -> Iterator[tuple[int, int]]:
    """Shifts from the nearest to the farthest."""
    steps = range(-reach(size), reach(size) + 1, step)
    yield from sorted(((x, y) for x in steps for y in steps), key=lambda shift: (shift[0] ** 2 + shift[1] ** 2, shift))


def _window(maps: np.ndarray, shift: tuple[int, int], mirror: str) -> np.ndarray:
    """The maps (n, C, S, S), mirrored and without margins, (n, C, W, W); `shift` is to the right and down."""
    margin, size = reach(maps.shape[-1]), maps.shape[-1]
    if mirror:
        maps = maps[..., ::-1]
    x, y = margin + shift[0], margin + shift[1]
    window = maps[..., y : y + size - 2 * margin, x : x + size - 2 * margin]
    if mirror == "frames":
        window = window.copy()
        window[:, ::3] *= -1
    return window


def _in_blocks(maps: np.ndarray, shift: tuple[int, int], mirror: str) -> np.ndarray:
    parts = [_coarse(_window(maps[start : start + BLOCK], shift, mirror)) for start in range(0, len(maps), BLOCK)]
    return np.concatenate(parts) if parts else np.zeros((0, 1), np.float32)


def unit_vectors(maps: np.ndarray) -> np.ndarray:
    """Maps (n, C, W, W) as unit vectors (n, C * W * W), each channel with mean 0 and the same length.

    Their scalar products are correlations. A constant channel stays 0.
    """
    channels = np.array(maps, dtype=np.float32).reshape(len(maps), maps.shape[1], -1)
    largest = np.abs(channels).max(axis=2, keepdims=True)
    channels /= np.where(largest > 0, largest, np.float32(1))  # strain may be tiny
    channels -= channels.mean(axis=2, keepdims=True)
    varies = np.abs(channels).max(axis=2, keepdims=True) > 1e-6
    return _unit(_unit(np.where(varies, channels, np.float32(0))).reshape(len(maps), -1))


def _coarse(windows: np.ndarray) -> np.ndarray:
    """The windows at low resolution as unit vectors, (n, Q) float32."""
    count, channels, width, _ = windows.shape
    edges = np.linspace(0, width, min(CELLS, width) + 1).round().astype(int)
    unit = unit_vectors(windows).reshape(count, channels, width, width)
    cells = np.add.reduceat(np.add.reduceat(unit, edges[:-1], axis=2), edges[:-1], axis=3)
    return _unit(cells.reshape(count, -1))


def _varies(maps: np.ndarray) -> np.ndarray:
    """Whether every channel of each map (n, C, S, S) varies within the margins: (n,) bool."""
    window = _window(maps, (0, 0), "").reshape(len(maps), maps.shape[1], -1)
    return (np.ptp(window, axis=2) > 1e-6 * np.abs(window).max(axis=2)).all(axis=1)


def _unit(values: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(values, axis=-1, keepdims=True)
    return values / np.where(length > 0, length, np.float32(1))


def fingerprints(maps: np.ndarray, shift: tuple[int, int] = (0, 0), mirror: str = "") -> np.ndarray:
    """512 bits of each map (n, C, S, S), as (n, 8) uint64: the signs of its projections on fixed directions.

    The share of bits that differ estimates the angle between two windows. A map with a constant channel gets only
    zeros, which match no map.
    """
    prints = []
    for start in range(0, len(maps), BLOCK):
        window = unit_vectors(_window(maps[start : start + BLOCK], shift, mirror))
        sides = window @ _directions(window.shape[1]) > 0
        sides &= _varies(maps[start : start + BLOCK])[:, None]
        prints.append(np.packbits(sides, axis=1).view("<u8"))
    return np.concatenate(prints) if prints else np.zeros((0, BITS // 64), np.uint64)


def known_fingerprints(maps: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Whether each map (n, C, S, S), in any shift and mirror image, has one of the fingerprints (m, 8): (n,) bool."""
    is_known, known = np.zeros(len(maps), bool), known[known.any(axis=1)]
    if not len(known) or not len(maps):
        return is_known
    signs = 1 - 2 * np.unpackbits(np.ascontiguousarray(known, "<u8").view(np.uint8), axis=1).astype(np.float32)
    for mirror in MIRRORS:
        for shift in _shifts(maps.shape[-1], 1):
            prints = fingerprints(maps, shift, mirror)
            bits = 1 - 2 * np.unpackbits(prints.view(np.uint8), axis=1).astype(np.float32)
            is_known |= ((BITS - bits @ signs.T) / 2 <= MOST_BITS).any(axis=1)
    return is_known & _varies(maps)


@lru_cache(maxsize=4)
def _directions(length: int) -> np.ndarray:
    """Fixed directions (length, 512) of +1 and -1, the same on every machine."""
    stream = hashlib.shake_256(f"epir fingerprint {length}".encode()).digest(length * BITS // 8)
    bits = np.unpackbits(np.frombuffer(stream, np.uint8)).reshape(length, BITS)
    return 1 - 2 * bits.astype(np.float32)
