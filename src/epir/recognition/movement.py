"""One movement as the network sees it: the pictures of its key frames -> a map, made as `epir prepare` makes it.

Axes: S map size, V maps of a clip, h pixels of the face
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from epir.faces.align import Crop
from epir.faces.tracking import TrackedFace
from epir.flow.head_motion import similarity_motion
from epir.flow.map import cut_face, face_map, flow_to_map, without_border
from epir.flow.optical import flow_between
from epir.flow.recipe import FlowRecipe
from epir.frames.reader import Frame
from epir.maps.views import View, frame_pairs
from epir.recognition.answer import Evidence
from epir.spotting.words import RegionMotion, moving_regions


class FrameTime(NamedTuple):
    """The number and the time of a frame, without its pixels."""

    number: int
    seconds: float

    @classmethod
    def of(cls, frame: Frame | TrackedFace) -> "FrameTime":
        """Those of a frame, or of a face in it."""
        return cls(frame.number, frame.seconds)


@dataclass(frozen=True)
class KeyFrames:
    """The key frames of one movement, and its person."""

    onset: FrameTime
    apex: FrameTime
    offset: FrameTime | None = None
    track: int | None = None


@dataclass
class MovementMap:
    """The map of one movement, what it was made from, and words about it."""

    key_frames: KeyFrames
    map: np.ndarray  # (3, S, S) float32
    evidence: Evidence | None
    moved: tuple[float, float]  # head and skin, as shares of the face's width
    words: list[str]
    regions: tuple[RegionMotion, ...] = ()  # that stand out
    strength: float | None = None  # of a spotted movement
    probability: float | None = None  # of being a micro-expression at all, where it was spotted
    views: np.ndarray | None = None  # (V, 3, S, S) float32, for a model that takes several maps


def movement_map(
    key_frames: KeyFrames, onset: np.ndarray, apex: np.ndarray, crop: Crop, recipe: FlowRecipe, size: int
) -> MovementMap:
    """The map between two pictures (H, W, 3) under one crop."""
    faces = [cut_face(onset, crop, recipe), cut_face(apex, crop, recipe)]
    flow = without_border(flow_between(faces[0], faces[1], recipe), recipe)  # (h, h, 2)
    border = recipe.flow.border
    inner = [face[border : face.shape[0] - border, border : face.shape[1] - border] for face in faces]
    evidence = Evidence(inner[0], inner[1], flow)
    return MovementMap(
        key_frames, flow_to_map(flow, recipe, size), evidence, _head_and_skin(flow), [], moving_regions(flow)
    )


def movement_views(
    views: Sequence[View],
    key_frames: KeyFrames,
    pictures: Mapping[int, np.ndarray],
    crop: Crop,
    recipe: FlowRecipe,
    size: int,
) -> np.ndarray:
    """The maps (V, 3, S, S) of a movement between these pictures, by their numbers."""
    offset = None if key_frames.offset is None else key_frames.offset.number
    pairs = frame_pairs(views, sorted(pictures), key_frames.onset.number, key_frames.apex.number, offset)
    shown = {number for pair in pairs for number in pair}
    faces = {number: cut_face(pictures[number], crop, recipe) for number in shown}
    return np.stack(
        [
            face_map(faces[first], faces[second], view.recipe(recipe), size)
            for view, (first, second) in zip(views, pairs, strict=True)
        ]
    )


def forget_pixels(movements: Sequence[MovementMap], most: int) -> None:
    """Keep the pixels of the strongest movements only, so that a long video needs no more memory than a short one."""
    shown = [each for each in movements if each.evidence is not None]
    if len(shown) > most:
        min(shown, key=lambda each: each.strength or 0.0).evidence = None


def _head_and_skin(flow: np.ndarray) -> tuple[float, float]:
    """How far the head and how far the skin went in an (h, h, 2) flow, as shares of the face's width."""
    rigid = similarity_motion(flow)
    skin = np.hypot(*np.moveaxis(flow - rigid, -1, 0))
    head = np.hypot(*np.moveaxis(rigid, -1, 0)).max()
    return float(head) / flow.shape[0], float(np.quantile(skin, 0.98)) / flow.shape[0]
