"""Films of the face for the page: every movement as it happened, and the whole clip in small pictures.

A film is one JPEG that holds its frames row by row; the page draws one after the other, at any speed, to the frame.
The clip is read once more for it: what the recognizer keeps are onset and apex alone.

Axes: T frames, A arrows per side
"""

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from epir.core.progress import Progress
from epir.faces.align import Crop, face_crop, whole_frame
from epir.faces.finder import find_face
from epir.flow.head_motion import without_head_motion
from epir.flow.map import area_average, cut_face, without_border
from epir.flow.optical import flow_between
from epir.flow.recipe import FlowRecipe
from epir.frames.reader import ASSUMED_RATE, Frame
from epir.recognition.answer import Answer
from epir.recognition.source import open_source
from epir.reports.pictures import jpeg
from epir.spotting.timeline import Movement, Timeline

AROUND = 0.08  # seconds before the onset and after the offset
MOST_FRAMES = 48  # of one movement; of more, every second or third is shown
CLIP_FRAMES = 240  # of the whole clip
COLUMNS = 8
MOVEMENT_PX, REJECTED_PX, CLIP_PX = 256, 192, 160  # width of the face
QUALITY = 86  # of the JPEG
ARROWS = 14  # per side
FLOW_PX = 84  # width of the face while the arrows are computed: they are coarse

Place = Callable[[Frame], Crop]  # where the face is


@dataclass
class Film:
    """The frames that a film is to show, and those it has so far."""

    name: str
    wanted: tuple[int, ...]  # frame numbers, rising
    size: int  # px
    place: Place
    onset: int | None = None  # arrows point from this frame to each later one
    shown: list[Frame] = field(default_factory=list)  # with the face alone
    arrows: list[np.ndarray] = field(default_factory=list)  # (A, A, 2), per cent of the face's width
    _first: np.ndarray | None = None  # the face at the onset

    def take(self, frame: Frame, recipe: FlowRecipe) -> None:
        """Add one frame."""
        crop = self.place(frame)
        self.shown.append(replace(frame, pixels=crop.apply(frame.pixels, self.size)))
        if self.onset is None:
            return
        face = cut_face(frame.pixels, crop, recipe)
        if frame.number == self.onset:
            self._first = face
        self.arrows.append(_arrows(self._first, face, recipe))

    def output(self, url: str) -> tuple[dict[str, Any], dict[str, bytes]]:
        """The film as JSON, and its files by name."""
        files = {f"{self.name}.jpg": jpeg(sheet([each.pixels for each in self.shown]), quality=QUALITY)}
        told: dict[str, Any] = {
            "sheet": f"{url}{self.name}.jpg",
            "size": self.size,
            "columns": COLUMNS,
            "frames": [each.number for each in self.shown],
            "seconds": [round(each.seconds, 4) for each in self.shown],
        }
        if self.arrows:
            files[f"{self.name}.json"] = json.dumps(np.round(np.stack(self.arrows), 2).tolist()).encode()
            told["flow"] = f"{url}{self.name}.json"
        return told, files


@dataclass(frozen=True)
class Films:
    """The films of an answer as JSON: of its movements, of what was rejected (both by index), and of the clip."""

    movements: Mapping[int, dict[str, Any]]
    rejected: Mapping[int, dict[str, Any]]
    clip: dict[str, Any] | None


def make_films(
    clip: Any,
    answer: Answer,
    recipe: FlowRecipe,
    url: str,
    *,
    fps: float | None,
    movements: Iterable[int],
    rejected: Iterable[int],
    progress: Progress,
) -> tuple[Films, dict[str, bytes]]:
    """Read a clip again and film these movements, these rejected ones, and the whole; also gives the files by name."""
    others = answer.timeline.others if answer.timeline is not None else ()
    films = {
        **{("movement", index): _of_answer(answer.all[index], index, recipe) for index in movements},
        **{("rejected", index): _of_rejected(others[index], index, answer.timeline) for index in rejected},
    }
    if answer.timeline is not None and len(answer.timeline.squares) == len(answer.timeline.numbers):
        films["clip", 0] = _of_clip(answer.timeline)
    found: dict[tuple[str, int], dict[str, Any]] = {}
    files: dict[str, bytes] = {}
    progress.start("filming", answer.frame_count or 0)
    for key, film in _filmed(clip, fps, films, recipe, progress):
        found[key], own = film.output(url)
        files |= own
    by_kind = {kind: {at: told for (of, at), told in found.items() if of == kind} for kind in ("movement", "rejected")}
    return Films(by_kind["movement"], by_kind["rejected"], found.get(("clip", 0))), files


def sheet(faces: list[np.ndarray]) -> np.ndarray:
    """Square pictures (T, s, s, 3) side by side, `COLUMNS` in a row; the rest of the last row is black."""
    size = faces[0].shape[0]
    columns = min(COLUMNS, len(faces))
    whole = np.zeros((math.ceil(len(faces) / COLUMNS) * size, columns * size, 3), np.uint8)
    for number, face in enumerate(faces):
        row, column = divmod(number, COLUMNS)
        whole[row * size : (row + 1) * size, column * size : (column + 1) * size] = face
    return whole


def thinned(numbers: Iterable[int], most: int, keep: Iterable[int] = ()) -> tuple[int, ...]:
    """At most `most` of these numbers, evenly spread, and besides those that must be kept."""
    numbers = list(numbers)
    step = max(1, math.ceil(len(numbers) / most))
    return tuple(sorted({*numbers[::step], *(set(keep) & set(numbers))}))


def _filmed(
    clip: Any, fps: float | None, films: Mapping[tuple[str, int], Film], recipe: FlowRecipe, progress: Progress
) -> Iterable[tuple[tuple[str, int], Film]]:
    """Each film once its last frame was read, so that few are in memory at a time."""
    small = replace(recipe, flow=replace(recipe.flow, size=FLOW_PX))
    waiting = {key: film for key, film in films.items() if film.wanted}
    with open_source(clip, fps) as frames:
        for frame in frames:
            progress.advance()
            for key, film in list(waiting.items()):
                if frame.number in film.wanted:
                    film.take(frame, small)
                if frame.number >= film.wanted[-1]:
                    yield key, waiting.pop(key)
            if not waiting:
                break
        progress.finish()
    yield from ((key, film) for key, film in waiting.items() if film.shown)  # the clip ends before they do


def _of_answer(answer: Answer, index: int, recipe: FlowRecipe) -> Film:
    assert answer.onset is not None and answer.apex is not None, "only movements are filmed"
    name = f"replay-{index}"
    if answer.timeline is None:  # onset and apex were given
        span = range(answer.onset, 2 * answer.apex - answer.onset + 1)
        wanted = thinned(span, MOST_FRAMES, (answer.onset, answer.apex))
        return Film(name, wanted, MOVEMENT_PX, _found_once(recipe), answer.onset)
    own = next(each for each in answer.timeline.movements if each.onset == answer.onset)
    return Film(name, _around(own, answer.timeline), MOVEMENT_PX, _fixed(own), answer.onset)


def _of_rejected(movement: Movement, index: int, timeline: Timeline | None) -> Film:
    assert timeline is not None, "it was spotted"
    return Film(f"rejected-{index}", _around(movement, timeline), REJECTED_PX, _fixed(movement))


def _of_clip(timeline: Timeline) -> Film:
    squares = dict(zip(timeline.numbers.tolist(), timeline.squares, strict=True))
    wanted = thinned(timeline.numbers.tolist(), CLIP_FRAMES)
    return Film("clip", wanted, CLIP_PX, lambda frame: squares[frame.number])


def _around(movement: Movement, timeline: Timeline) -> tuple[int, ...]:
    """The frames of a movement, and a little before and after it."""
    more = max(1, round(AROUND * (timeline.fps or ASSUMED_RATE)))
    numbers = timeline.numbers
    inside = numbers[(numbers >= movement.onset - more) & (numbers <= movement.offset + more)]
    return thinned(inside.tolist(), MOST_FRAMES, (movement.onset, movement.apex, movement.offset))


def _fixed(movement: Movement) -> Place:
    """One square for the whole movement: the skin then moves against a still frame."""
    crop = movement.crop
    assert crop is not None, "spotted movements have a crop"
    return lambda _: crop


def _found_once(recipe: FlowRecipe) -> Place:
    """The face in the first frame, as the recognizer finds it."""
    kept: list[Crop] = []

    def place(frame: Frame) -> Crop:
        if not kept:
            face = None if recipe.face.detector == "none" else find_face(frame.pixels, recipe.face)
            kept.append(whole_frame(frame.pixels) if face is None else face_crop(face, recipe.face))
        return kept[0]

    return place


def _arrows(onset: np.ndarray | None, face: np.ndarray, recipe: FlowRecipe) -> np.ndarray:
    """The motion since the onset without that of the head, (A, A, 2) in per cent of the face's width; 0 before it."""
    if onset is None or onset is face:
        return np.zeros((ARROWS, ARROWS, 2), np.float32)
    flow = without_head_motion(without_border(flow_between(onset, face, recipe), recipe), "similarity")
    return 100 * area_average(flow, ARROWS) / flow.shape[0]
