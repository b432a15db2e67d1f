"""Say in words what moved: the regions of the face that stand out in a flow, and their directions.

Left and right are the person's: in a picture that is not mirrored, the person's left is on the right.

Axes: h pixels of the flow, G cells per side, R regions
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from epir.core.words import percent
from epir.flow.head_motion import without_head_motion
from epir.flow.map import area_average
from epir.spotting.regions import GRID, NAMES, REGIONS, region_cells

Side = Literal["both", "left", "right", "middle"]

LEAST = 0.002  # share of the face's width: minimum displacement of a region that moved
STANDS_OUT = 0.45  # minimum share of the largest displacement of a region
ABOVE_THE_REST = 2.0  # minimum ratio to the median displacement: otherwise everything moves and nothing stands out
BOTH = 0.4  # share of the stronger side below which the movement is one-sided
DIAGONAL = 0.38  # share of the length (sin 22.5 degrees) below which a component is not named
DRAGGED = 0.8  # share of a neighbour's displacement below which it only drags the region along, as brows drag lids
MOST = 3  # maximum number of regions that are named
BROWS = ("brow", "inner brow", "outer brow")
NEIGHBOURS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(BROWS, ("upper lid",)),
    "upper lid": (*BROWS, "lower lid"),
    "lower lid": ("upper lid",),
}
NOTHING = "no region stands out"


@dataclass(frozen=True)
class RegionMotion:
    """The displacement of a region on one side or both; lengths are shares of the face's width."""

    region: str
    side: Side
    out: float  # away from the midline; for a region in the middle, to the person's left
    up: float
    peak: float  # largest displacement of a cell

    @property
    def length(self) -> float:
        """The displacement of the region."""
        return float(np.hypot(self.out, self.up))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; lengths are in % of the face's width."""
        lengths = {name: percent(getattr(self, name)) for name in ("out", "up", "peak")}
        return {"region": self.region, "side": self.side, "direction": self.direction, **lengths}

    @property
    def direction(self) -> str:
        """The direction in words: `up and out`."""
        if self.region == "lips":
            return "apart" if self.up > 0 else "together"
        length = max(self.length, 1e-12)
        words = []
        if abs(self.up) >= DIAGONAL * length:
            words.append("up" if self.up > 0 else "down")
        if abs(self.out) >= DIAGONAL * length:
            if self.side == "middle":
                words.append("to the left" if self.out > 0 else "to the right")
            elif self.out > 0:
                words.append("out")
            else:
                words.append("together" if self.side == "both" and self.region.endswith("brow") else "in")
        return " and ".join(words)


def moving_regions(flow: np.ndarray) -> tuple[RegionMotion, ...]:
    """The regions that stand out in the flow (h, h, 2) of an aligned face, strongest first, without head motion."""
    skin = without_head_motion(np.asarray(flow, np.float32), "similarity") / flow.shape[0]
    cells = area_average(skin, GRID).reshape(-1, 2)  # (G * G, 2)
    lengths = np.hypot(cells[:, 0], cells[:, 1])
    weights = region_cells() * (lengths + 1e-9)  # cells that move more count more
    moved = (weights / weights.sum(axis=1, keepdims=True)) @ cells  # (R, 2)
    peaks = (region_cells() * lengths).max(axis=1)
    motions = _joined({name: (*moved[place], peaks[place]) for place, name in enumerate(NAMES)})
    longest = max(each.length for each in motions)
    least = max(LEAST, STANDS_OUT * longest, ABOVE_THE_REST * float(np.median(lengths)))
    clear = [each for each in motions if each.length >= least and not _dragged(each, motions)]
    return tuple(sorted(clear, key=lambda each: -each.length)[:MOST])


def motion_words(regions: Sequence[RegionMotion]) -> str:
    """Regions and directions in words.

    >>> corners, cheek = RegionMotion("lip corner", "both", 0.6, 1.0, 1.4), RegionMotion("cheek", "left", 0, 1, 1)
    >>> motion_words([corners, cheek])
    'both lip corners up and out, left cheek up'
    """
    if not regions:
        return NOTHING
    first = f"both {_noun(regions[0])}" if regions[0].side == "both" else _noun(regions[0])
    nouns = [first, *map(_noun, regions[1:])]
    return ", ".join(f"{noun} {each.direction}" for noun, each in zip(nouns, regions, strict=True))


def in_group(regions: Sequence[RegionMotion], group: str | None) -> list[RegionMotion]:
    """The regions that belong to a group, such as `brows`."""
    groups = {each.name: each.group for each in REGIONS} | {"brow": "brows", "lips": "lips and chin"}
    return [each for each in regions if groups[each.region] == group]


def describe(
    regions: Sequence[RegionMotion], rise: float | None, spotted: str | None = None, strength: float | None = None
) -> str:
    """A sentence about a movement that took `rise` seconds from onset to apex.

    It begins with the group of regions in which the movement was `spotted` and gives the `strength` in % measured
    there, so that it agrees with the columns `region`, `side` and `strength`.

    >>> corners, chin = RegionMotion("lip corner", "both", 0.006, 0.01, 0.012), RegionMotion("chin", "middle", 0, 1, 1)
    >>> describe([corners], 0.16)
    'Both lip corners up and out; 1.2 % of the face; 0.16 s to the apex.'
    >>> describe([chin, corners], None, "lip corners", 0.63)
    'Both lip corners up and out, chin up; 0.63 % of the face.'
    >>> describe([chin], None, "eyes", 0.3)
    'Eyes slightly, chin up; 0.3 % of the face.'
    """
    lead = in_group(regions, spotted)
    parts = [motion_words([*lead, *(each for each in regions if each not in lead)])]
    if spotted and not lead:
        parts = [f"{spotted} slightly, {parts[0]}" if regions else f"{spotted} slightly"]
    if strength is None and regions:
        strength = 100 * max(each.peak for each in regions)
    if strength is not None:
        parts.append(f"{strength:.2g} % of the face")
    if rise is not None:
        parts.append(f"{rise:.2f} s to the apex")
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def _joined(moved: dict[str, tuple[float, float, float]]) -> list[RegionMotion]:
    """Join both sides of a region if they move alike, inner and outer brows, and the lips."""
    motions: list[RegionMotion] = []
    for name in dict.fromkeys(each.name for each in REGIONS):
        if name in moved:  # in the middle
            right, down, peak = moved[name]
            motions.append(RegionMotion(name, "middle", float(right), float(-down), float(peak)))
        else:
            motions += _sides(name, moved)
    return _lips(_brows(motions))


def _sides(name: str, moved: dict[str, tuple[float, float, float]]) -> list[RegionMotion]:
    """Both sides as one motion, or separately if one hardly moves or moves in another direction."""
    sides = []
    for picture, sign in (("left", -1), ("right", 1)):
        right, down, peak = moved[f"{picture} {name}"]
        side: Side = "left" if picture == "right" else "right"  # of the person
        sides.append(RegionMotion(name, side, float(sign * right), float(-down), float(peak)))
    strong, weak = sorted(sides, key=lambda each: -each.length)
    alike = strong.out * weak.out + strong.up * weak.up > 0.5 * strong.length * weak.length
    if weak.length >= BOTH * strong.length and alike:
        out, up = (float(np.mean([getattr(each, axis) for each in sides])) for axis in ("out", "up"))
        return [RegionMotion(name, "both", out, up, max(each.peak for each in sides))]
    return [strong, weak]


def _brows(motions: list[RegionMotion]) -> list[RegionMotion]:
    """Join inner and outer brow of a side if both move in the same direction."""
    for side in ("both", "left", "right"):
        pair = [each for each in motions if each.region in ("inner brow", "outer brow") and each.side == side]
        if len(pair) < 2:
            continue
        strong, weak = sorted(pair, key=lambda each: -each.length)
        if weak.length >= BOTH * strong.length and strong.up * weak.up > 0:
            weight = [each.length / (strong.length + weak.length) for each in (strong, weak)]
            out, up = strong.out * weight[0] + weak.out * weight[1], strong.up * weight[0] + weak.up * weight[1]
            motions = [each for each in motions if each not in pair]
            motions.append(RegionMotion("brow", side, out, up, strong.peak))
    return motions


def _lips(motions: list[RegionMotion]) -> list[RegionMotion]:
    """Join upper and lower lip as `lips` if they move apart (positive) or together (negative)."""
    upper, lower = (next(each for each in motions if each.region == name) for name in ("upper lip", "lower lip"))
    shorter, longer = sorted((abs(upper.up), abs(lower.up)))
    if upper.up * lower.up >= 0 or shorter < 0.25 * longer:
        return motions
    apart = (upper.up - lower.up) / 2
    joined = RegionMotion(
        "lips", "middle", 0.0, float(np.copysign(max(abs(apart), longer), apart)), max(upper.peak, lower.peak)
    )
    return [each for each in motions if each not in (upper, lower)] + [joined]


def _dragged(motion: RegionMotion, others: Sequence[RegionMotion]) -> bool:
    """Whether a neighbour moves in the same direction, and farther."""
    return any(
        other.region in NEIGHBOURS.get(motion.region, ())
        and {other.side, motion.side} != {"left", "right"}
        and motion.out * other.out + motion.up * other.up > 0.5 * motion.length * other.length
        and motion.length < DRAGGED * other.length
        for other in others
    )


def _noun(motion: RegionMotion) -> str:
    if motion.side == "middle":
        return motion.region
    if motion.region == "nose":
        return "sides of the nose" if motion.side == "both" else f"{motion.side} side of the nose"
    return f"{motion.region}s" if motion.side == "both" else f"{motion.side} {motion.region}"
