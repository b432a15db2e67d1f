"""How a face differs from what it was shortly before and what it is shortly after.

A micro-expression comes and goes: at its apex the skin is displaced, the same way, from where it was shortly before and
from where it is shortly after. A turn of the head or a lasting smile differs from one of the two only, or from both in
opposite directions. So the motion of a frame is the part that both displacements share.

Axes: h pixels of the small face, G cells per side, R regions; u to the right, v downwards
"""

from dataclasses import dataclass

import numpy as np

from epir.flow.head_motion import similarity_motion
from epir.flow.map import area_average
from epir.flow.optical import flow_between
from epir.flow.recipe import FlowRecipe, FlowSettings
from epir.spotting.regions import EYES, GRID, NAMES, region_cells

FLOW = FlowRecipe(flow=FlowSettings(window=11, levels=3, iterations=2))
MOVING_SHARE = 0.25  # the motion of a region is that of the quarter of it that moves most


@dataclass(frozen=True, slots=True)
class Displacement:
    """Where the skin went between two frames, as shares of the face's width, and how far the head went."""

    skin: np.ndarray  # (G, G, 2) float32, without the head's part
    head: float  # the longest way of the head's part


def displacement(before: np.ndarray, after: np.ndarray) -> Displacement:
    """The displacement between two small faces (h, h) uint8 that were cut out by one crop."""
    flow = area_average(flow_between(before, after, FLOW), GRID) / before.shape[0]  # (G, G, 2)
    rigid = similarity_motion(flow)
    head = float(np.hypot(rigid[..., 0], rigid[..., 1]).max())
    return Displacement((flow - rigid).astype(np.float32), head)


def shared_motion(since_before: np.ndarray, since_after: np.ndarray) -> np.ndarray:
    """The part of two displacements (G, G, 2) on which they agree: the shorter, as far as they point the same way."""
    lengths = [np.hypot(way[..., 0], way[..., 1]) for way in (since_before, since_after)]
    product = (since_before * since_after).sum(axis=-1)
    longer, shorter = np.maximum(*lengths), np.minimum(*lengths)
    agreement = np.clip(product / np.maximum(longer * shorter, 1e-12), 0.0, 1.0)
    both = since_before + since_after
    direction = both / np.maximum(np.hypot(both[..., 0], both[..., 1]), 1e-12)[..., None]
    return (shorter * agreement)[..., None] * direction


def region_motion(motion: np.ndarray) -> np.ndarray:
    """The motion of each region, (R,): the mean length over the quarter of its cells that moves most."""
    lengths = np.hypot(motion[..., 0], motion[..., 1])
    return np.array([_strongest(lengths[region_cells(name)]) for name in NAMES], np.float32)


def lid_motion(motion: np.ndarray) -> float:
    """How far the moving part of the eyes goes down (G, G, 2): far in a blink, upwards in a startled look."""
    eyes = motion[region_cells(EYES)]
    count = max(1, round(MOVING_SHARE * len(eyes)))
    moving = np.argpartition(np.hypot(eyes[:, 0], eyes[:, 1]), -count)[-count:]
    return float(eyes[moving, 1].mean())


def _strongest(lengths: np.ndarray) -> float:
    count = max(1, round(MOVING_SHARE * lengths.size))
    return float(np.partition(lengths, -count)[-count:].mean())
