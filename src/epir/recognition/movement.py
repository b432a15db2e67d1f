"""The map of one movement, computed from its key frames as `epir prepare` computes it.

Axes: S map size, h pixels of the face
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from epir.core.config import from_dict
from epir.core.errors import CheckpointError, ConfigError, FrameError
from epir.faces.align import Crop, face_crop, whole_frame
from epir.faces.face import TrackingSettings
from epir.faces.finder import check_one_person, count_faces, find_face, flatness
from epir.faces.patch import cut_patch, face_near, small_face
from epir.faces.tracking import NO_FACE, TOO_SMALL
from epir.flow.apex import spot_apex
from epir.flow.head_motion import similarity_motion
from epir.flow.map import cut_face, flow_to_map, without_border
from epir.flow.optical import flow_between
from epir.flow.recipe import FlowRecipe
from epir.frames.reader import ASSUMED_RATE, Frame, Frames, check_same_size, size_of
from epir.recognition import caution
from epir.recognition.answer import Evidence
from epir.recognition.onepass import PATCH, ShownFace, SpottedMovement, Watch
from epir.recognition.source import ArrayFrames
from epir.spotting.decision import LONGEST
from epir.spotting.timeline import FaceMovement
from epir.spotting.words import RegionMotion, moving_regions


class NoFace(Exception):
    """The frame shows no usable face; `reason` becomes the label of the answer."""

    def __init__(self, reason: str, *warnings: str) -> None:
        super().__init__(reason)
        self.reason, self.warnings = reason, warnings


class FrameTime(NamedTuple):
    """The number and time of a frame, without its pixels."""

    number: int
    seconds: float


@dataclass
class MovementMap:
    """The map of one movement, with the pixels and measures that the answer needs."""

    onset: FrameTime
    apex: FrameTime
    map: np.ndarray  # (3, S, S) float32
    evidence: Evidence | None
    moved: tuple[float, float]  # displacement of head and skin, as shares of the face's width
    regions: tuple[RegionMotion, ...]  # regions that stand out
    warnings: list[str]
    offset: FrameTime | None = None
    spotted: FaceMovement | None = None  # None if the user gave the key frames


def movement_map(onset: Frame, apex: Frame, crop: Crop, recipe: FlowRecipe, size: int) -> MovementMap:
    """The map of size `size` between two frames under one crop."""
    faces = [cut_face(each.pixels, crop, recipe) for each in (onset, apex)]
    flow = without_border(flow_between(faces[0], faces[1], recipe), recipe)  # (h, h, 2)
    border = recipe.flow.border
    inner = [face[border : face.shape[0] - border, border : face.shape[1] - border] for face in faces]
    return MovementMap(
        onset=FrameTime(onset.number, onset.seconds),
        apex=FrameTime(apex.number, apex.seconds),
        map=flow_to_map(flow, recipe, size),
        evidence=Evidence(inner[0], inner[1], flow),
        moved=_head_and_skin(flow),
        regions=moving_regions(flow),
        warnings=[],
    )


def spotted_map(spotted: SpottedMovement, recipe: FlowRecipe, size: int) -> MovementMap:
    """The map of a spotted movement; as in `epir prepare`, the face is detected at the onset."""
    onset, apex = spotted.patches  # the apex is aligned with the onset
    crop = onset.place(spotted.onset.crop)
    face = None if recipe.face.detector == "none" else face_near(onset.pixels, crop)
    if face is not None:
        crop = face_crop(face, recipe.face)
    before = Frame(spotted.onset.number, spotted.onset.seconds, onset.pixels)
    after = Frame(spotted.apex.number, spotted.apex.seconds, apex.pixels)
    movement = movement_map(before, after, crop, recipe, size)
    movement.warnings += caution.face_warnings(spotted.onset.crop.side, 1)
    movement.offset = FrameTime(spotted.offset.number, spotted.offset.seconds)
    movement.spotted = spotted.movement
    return movement


def key_frame_map(
    frames: Frames,
    onset: int,
    apex: int | None,
    recipe: FlowRecipe,
    tracking: TrackingSettings,
    size: int,
    watch: Watch | None = None,
) -> MovementMap:
    """The map of given key frames; a missing apex is searched within half a second after the onset."""
    before = frames.frame(onset)
    crop = onset_crop(before.pixels, tracking)
    if apex is None:
        after = _find_apex(frames, before, crop, watch)
    elif watch is None:
        after = frames.frame(apex)
    else:
        after = _watched(frames, before, apex, crop, watch)
    check_same_size(onset, size_of(before.pixels), after.number, size_of(after.pixels))
    check_one_person(onset, before.pixels, after.number, after.pixels, crop, recipe.face)
    faces = 1 if recipe.face.detector == "none" else count_faces(before.pixels, crop.side)
    movement = movement_map(before, after, crop, recipe, size)
    movement.warnings += caution.face_warnings(crop.side, faces)
    return movement


def onset_crop(pixels: np.ndarray, tracking: TrackingSettings) -> Crop:
    """The crop of the onset frame (H, W, 3), as `epir prepare` takes it; raises `NoFace` if no face is usable."""
    if tracking.face.detector == "none":
        return whole_frame(pixels)
    face = find_face(pixels, tracking.face)
    if face is None or face.confidence < tracking.least_score or not face.is_plausible:
        raise NoFace(NO_FACE, "no face was found; for a picture cropped to the face, use --detector none")
    crop = face_crop(face, tracking.face)
    if flatness(small_face(pixels, crop, tracking.size)) > tracking.flattest:
        raise NoFace(NO_FACE, "the detected face appears to be a drawing")
    if face.temples < tracking.least_face:
        raise NoFace(TOO_SMALL, caution.too_small_warning(face.temples, tracking.least_face))
    return crop


def _find_apex(frames: Frames, before: Frame, crop: Crop, watch: Watch | None) -> Frame:
    """The apex after a given onset; the frames are read once, and only the surroundings of the face are kept."""
    last = before.number + max(1, round(LONGEST * (frames.fps or ASSUMED_RATE)))
    read = [before, *frames.between(before.number + 1, last)]
    if len(read) < 2:
        raise FrameError(f"the onset {before.number} is the last frame", fix="give an onset with frames after it")
    patches = [cut_patch(frame.pixels, crop, PATCH) for frame in read]
    apex = spot_apex(ArrayFrames([patch.pixels for patch in patches]), 0, len(read) - 1, patches[0].place(crop))
    _show(read[: 2 * apex + 1], crop, watch)  # the return may take as long as the rise
    return read[apex]


def _watched(frames: Frames, onset: Frame, apex: int, crop: Crop, watch: Watch) -> Frame:
    """The apex; `watch` sees every frame from the onset to as long after the apex as the rise took."""
    _show(chain([onset], frames.between(onset.number + 1, apex)), crop, watch)
    after = frames.frame(apex)
    _show(frames.between(apex + 1, 2 * apex - onset.number), crop, watch)
    return after


def _show(frames: Iterable[Frame], crop: Crop, watch: Watch | None) -> None:
    if watch is not None:
        for frame in frames:
            watch(ShownFace(frame, crop))


def discard_pixels(movements: Sequence[MovementMap], most: int) -> None:
    """Drop the pixels of the weakest movement if more than `most` have pixels, so that memory stays bounded."""
    with_pixels = [movement for movement in movements if movement.evidence is not None]
    if len(with_pixels) > most:
        min(with_pixels, key=lambda movement: movement.spotted.strength if movement.spotted else 0.0).evidence = None


def _head_and_skin(flow: np.ndarray) -> tuple[float, float]:
    """How far the head and the skin move in a flow (h, h, 2), as shares of the face's width."""
    rigid = similarity_motion(flow)
    skin = np.hypot(*np.moveaxis(flow - rigid, -1, 0))
    head = np.hypot(*np.moveaxis(rigid, -1, 0)).max()
    return float(head) / flow.shape[0], float(np.quantile(skin, 0.98)) / flow.shape[0]


def read_recipe(notes: Mapping[str, Any]) -> FlowRecipe:
    """The flow recipe of the maps that a model was trained on; by default `epir`.

    From a mixture, it takes `epir`, or else the first recipe that needs pictures.
    """
    recipe = notes.get("recipe") or {}
    mixed = [each for each in recipe.get("recipes", ()) if each.get("name") != "direct"]
    if mixed:
        recipe = next((each for each in mixed if each.get("name") == "epir"), mixed[0])
    known = {each.name for each in fields(FlowRecipe)}
    values = {name: value for name, value in recipe.items() if name in known}
    try:
        return from_dict(FlowRecipe, values, section="recipe") if "flow" in values else FlowRecipe()
    except ConfigError as error:
        raise CheckpointError(
            f"the flow recipe of this model cannot be used: {error.problem}",
            fix="install the version of epir that wrote the model, or train it again",
        ) from None
