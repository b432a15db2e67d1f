"""LBP-TOP: local binary patterns on three orthogonal planes of a clip's frames.

Axes: n clips, T frames, Y rows, X columns, G blocks per side; planes are XY, XT, YT
"""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np

from epir.core.errors import ConfigError, MapSetError, TrainingError
from epir.core.records import Clip
from epir.core.words import counted
from epir.models.arguments import Count
from epir.models.baselines.svm import Balanced, Blocks, Cost, FeatureSvm

NEIGHBOURS = 8
GREY = np.array([0.299, 0.587, 0.114], dtype=np.float32)  # of red, green, blue


class Sizes(NamedTuple):
    """Sizes of blocks, face crops and patterns, as in the arguments of `LbpTop`."""

    grid: int
    face_size: int
    length: int
    radius: int
    reach: int


class LbpTop(FeatureSvm):
    """Histograms of uniform patterns in each block of the face, over the whole clip.

    [LBP-TOP] Zhao, Pietikainen 2007, Dynamic Texture Recognition Using Local Binary Patterns with an Application to
              Facial Expressions, IEEE TPAMI 29(6); blocks and radii as in the MEGC 2019 baseline.

    Departs from [LBP-TOP]: neighbours are the nearest pixels, not interpolated; clips are resampled to one length by
    linear interpolation between frames, not along a manifold.
    """

    def __init__(
        self,
        cost: Cost = 4.0,
        balanced: Balanced = False,
        grid: Blocks = 5,
        face_size: Annotated[Count, "side of the face crops, in pixels"] = 140,
        length: Annotated[Count, "frames that each clip is resampled to"] = 20,
        radius: Annotated[Count, "radius of the patterns in space, in pixels"] = 1,
        reach: Annotated[Count, "radius of the patterns in time, in frames"] = 4,
    ) -> None:
        super().__init__(cost, balanced)
        if length <= 2 * reach:
            raise ConfigError(
                f"{length} frames are too few for a reach of {reach} frames",
                fix=f"set length to {2 * reach + 1} or more, or lower reach",
            )
        if grid > face_size - 2 * radius:
            raise ConfigError(f"a {face_size} px face is too small for {grid} x {grid} blocks", fix="lower grid")
        self.sizes = Sizes(grid, face_size, length, radius, reach)

    def features(self, maps: np.ndarray, clips: Sequence[Clip]) -> np.ndarray:
        """Return features (n, G * G * 3 * 59) of the clips' frames; the maps are ignored."""
        if len(clips) != len(maps):
            raise TrainingError(
                f"lbp-top reads frames, but got {len(clips)} clips for {len(maps)} maps",
                fix="pass clips=..., one per map, in the same order",
            )
        return np.stack([_clip_features(*_locate(clip), self.sizes) for clip in clips])


def read_volume(
    frames: Path, crop: str, turns: int, onset: int | None, offset: int | None, *, size: int, length: int
) -> np.ndarray:
    """Read the grey face crops (T, Y, X) float32 of a clip from onset to offset, upright, resampled to `length`."""
    from epir.faces.align import Crop
    from epir.frames.reader import open_frames, upright

    window = Crop.from_text(crop)
    with upright(open_frames(frames), turns) as source:
        numbers = [n for n in source.numbers if (onset is None or n >= onset) and (offset is None or n <= offset)]
        if len(numbers) < 2:
            raise MapSetError(
                f"{frames} has {counted(len(numbers), 'frame')} between onset and offset, too few for lbp-top",
                fix="check onset and offset of that clip in clips.csv",
            )
        places = np.linspace(0, len(numbers) - 1, length)
        before = np.minimum(places.astype(int), len(numbers) - 2)
        needed = sorted({*before, *(before + 1)})
        grey = {place: window.apply(source.read(numbers[place]), size) @ GREY for place in needed}
    share = (places - before).astype(np.float32)
    return np.stack([(1 - s) * grey[b] + s * grey[b + 1] for b, s in zip(before, share, strict=True)])


def binary_patterns(volume: np.ndarray, *, radius: int, reach: int) -> np.ndarray:
    """Return binary patterns 0..255 on the planes XY, XT, YT, (3, T - 2 reach, Y - 2 radius, X - 2 radius).

    Bit p is set if the neighbour at angle p * 45 degrees is at least as bright as the centre.
    """
    centre = _shifted(volume, 0, 0, 0, radius, reach)
    codes = np.zeros((3, *centre.shape), dtype=np.uint8)
    for bit in range(NEIGHBOURS):
        angle = 2 * np.pi * bit / NEIGHBOURS
        first, second = np.cos(angle), -np.sin(angle)  # the second axis grows downwards, or with time
        along, across = round(radius * first), round(radius * second)
        later = round(reach * second)
        for plane, (t, y, x) in enumerate([(0, across, along), (later, 0, along), (later, along, 0)]):
            brighter = _shifted(volume, t, y, x, radius, reach) >= centre
            codes[plane] |= brighter.astype(np.uint8) << bit
    return codes


def uniform_table() -> np.ndarray:
    """Return the bin (256,) of each pattern: 58 patterns with at most two changes around the circle, then the rest."""
    table = np.full(2**NEIGHBOURS, -1)
    bins = 0
    for code in range(2**NEIGHBOURS):
        bits = [code >> bit & 1 for bit in range(NEIGHBOURS)]
        changes = sum(bits[bit] != bits[bit - 1] for bit in range(NEIGHBOURS))
        if changes <= 2:
            table[code], bins = bins, bins + 1
    table[table < 0] = bins
    return table


TABLE = uniform_table()
BINS = int(TABLE.max()) + 1  # 59


def block_histograms(codes: np.ndarray, grid: int) -> np.ndarray:
    """Return histograms (G * G * 3 * 59) of patterns (3, T, Y, X), per block and plane; each sums to 1."""
    planes, _, rows, columns = codes.shape
    row, column = np.arange(rows) * grid // rows, np.arange(columns) * grid // columns
    block = (row[:, None] * grid + column) * planes * BINS  # (Y, X)
    place = block[None, None] + (np.arange(planes) * BINS)[:, None, None, None] + TABLE[codes]
    counts = np.bincount(place.ravel(), minlength=grid**2 * planes * BINS).reshape(-1, BINS)
    return (counts / counts.sum(axis=1, keepdims=True)).ravel()


def _shifted(volume: np.ndarray, t: int, y: int, x: int, radius: int, reach: int) -> np.ndarray:
    frames, rows, columns = volume.shape
    return volume[reach + t : frames - reach + t, radius + y : rows - radius + y, radius + x : columns - radius + x]


def _locate(clip: Clip) -> tuple[Path, str, int, int | None, int | None]:
    """Return a clip's frames, crop, quarter turns, and first and last frame."""
    frames = clip.frames or clip.extra.get("frames")
    crop = clip.extra.get("crop")
    if not frames or not crop:
        raise MapSetError(
            f"lbp-top reads frames, but the map set has no path to those of {clip.key}",
            fix="prepare the corpus with epir prepare, which writes them to clips.csv; or leave lbp-top out",
        )
    if not Path(frames).exists():
        raise MapSetError(
            f"lbp-top reads frames, but those of {clip.key} are not at {frames}",
            fix="move the corpus back there, or prepare it again; or leave lbp-top out",
        )
    turns = int(clip.extra.get("turned") or 0)
    return Path(frames), crop, turns, clip.onset, clip.offset if clip.offset is not None else clip.apex


@lru_cache(maxsize=4096)
def _clip_features(
    frames: Path, crop: str, turns: int, onset: int | None, offset: int | None, sizes: Sizes
) -> np.ndarray:
    """Return the features of one clip; cached, because every fold asks again for almost all clips."""
    volume = read_volume(frames, crop, turns, onset, offset, size=sizes.face_size, length=sizes.length)
    codes = binary_patterns(volume, radius=sizes.radius, reach=sizes.reach)
    return block_histograms(codes, sizes.grid).astype(np.float32)
