"""Films of the face for the page: every movement as it happened, and the whole clip in small pictures.

A film is one JPEG that holds its frames row by row; the page draws one after the other, at any speed, to the frame.
The faces are kept while the clip is analysed, so that no frame is decoded twice.

Axes: T frames, A arrows per side
"""

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from epir.core.progress import Progress
from epir.faces.align import Crop
from epir.flow.head_motion import without_head_motion
from epir.flow.map import area_average, cut_face, without_border
from epir.flow.optical import flow_between
from epir.flow.recipe import FlowRecipe
from epir.frames.picture import decode_jpeg
from epir.frames.reader import ASSUMED_RATE
from epir.recognition.answer import Answer
from epir.recognition.onepass import ShownFace
from epir.reports.pictures import jpeg
from epir.spotting.timeline import Movement, Timeline

AROUND = 0.08  # seconds before the onset and after the offset
MOST_FRAMES = 48  # of one movement; of more, every second or third is shown
CLIP_FRAMES = 240  # of the whole clip
COLUMNS = 8
MOVEMENT_PX, REJECTED_PX, CLIP_PX = 256, 192, 160  # width of the face
KEPT_PX, KEPT_AROUND = 320, 1.25  # of a face while the clip is analysed: the largest of these, and what surrounds it
KEPT_QUALITY, QUALITY = 92, 86  # of the JPEG, then and in a film
ARROWS = 14  # per side
FLOW_PX = 84  # width of the face while the arrows are computed: they are coarse


@dataclass(frozen=True, slots=True)
class KeptFace:
    """The face of one person in one frame."""

    seconds: float
    segment: int
    jpeg: bytes

    @property
    def pixels(self) -> np.ndarray:
        """The face and what surrounds it, (KEPT_PX, KEPT_PX, 3) uint8 RGB."""
        pixels = decode_jpeg(self.jpeg)
        assert pixels is not None, "it was written here"
        return pixels


FACE = Crop((KEPT_PX - 1) / 2, (KEPT_PX - 1) / 2, KEPT_PX / KEPT_AROUND)  # of the pixels that are kept


class Album:
    """The faces of a clip as they pass, about 15 kB each."""

    def __init__(self) -> None:
        self.people: defaultdict[int, dict[int, KeptFace]] = defaultdict(dict)  # by track, then by frame number

    def add(self, shown: ShownFace) -> None:
        """Keep one face."""
        frame = shown.frame
        pixels = shown.crop.widen(KEPT_AROUND).apply(frame.pixels, KEPT_PX)
        kept = KeptFace(frame.seconds, shown.segment, jpeg(pixels, quality=KEPT_QUALITY))
        self.people[shown.track][frame.number] = kept


@dataclass(frozen=True)
class Film:
    """The frames that a film shows."""

    name: str
    faces: Mapping[int, KeptFace]  # by frame number, rising
    size: int  # px
    onset: int | None = None  # arrows point from this frame to each later one

    def output(self, recipe: FlowRecipe, url: str) -> tuple[dict[str, Any], dict[str, bytes]]:
        """The film as JSON, and its files by name."""
        pixels = {number: face.pixels for number, face in self.faces.items()}
        whole = sheet([FACE.apply(each, self.size) for each in pixels.values()])
        files = {f"{self.name}.jpg": jpeg(whole, quality=QUALITY)}
        told: dict[str, Any] = {
            "sheet": f"{url}{self.name}.jpg",
            "size": self.size,
            "columns": COLUMNS,
            "frames": list(self.faces),
            "seconds": [round(each.seconds, 4) for each in self.faces.values()],
        }
        if self.onset is not None and self.onset in self.faces:
            files[f"{self.name}.json"] = json.dumps(np.round(_arrows(pixels, self.onset, recipe), 2).tolist()).encode()
            told["flow"] = f"{url}{self.name}.json"
        return told, files


@dataclass(frozen=True)
class Films:
    """The films of an answer as JSON: of its movements, of what was rejected (both by index), and of the clip."""

    movements: Mapping[int, dict[str, Any]]
    rejected: Mapping[int, dict[str, Any]]
    clip: dict[str, Any] | None


def make_films(
    album: Album,
    answer: Answer,
    recipe: FlowRecipe,
    url: str,
    *,
    movements: Iterable[int],
    rejected: Iterable[int],
    progress: Progress,
) -> tuple[Films, dict[str, bytes]]:
    """Films of these movements, of these rejected ones, and of the whole clip; also gives the files by name."""
    timeline = answer.timeline
    films = {("movement", index): _of_answer(answer.all[index], index, album) for index in movements}
    if timeline is not None:
        films |= {("rejected", index): _of_rejected(timeline, index, album) for index in rejected}
        films["clip", 0] = _of_clip(answer, timeline, album)
    found: dict[tuple[str, int], dict[str, Any]] = {}
    files: dict[str, bytes] = {}
    progress.start("filming", len(films))
    for key, film in films.items():
        if film.faces:
            found[key], own = film.output(recipe, url)
            files |= own
        progress.advance()
    progress.finish()
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


def _of_answer(answer: Answer, index: int, album: Album) -> Film:
    assert answer.onset is not None and answer.apex is not None, "only movements are filmed"
    faces = album.people[answer.track or 0]
    if answer.timeline is None:  # onset and apex were given, and what was shown is the movement
        numbers = thinned(faces, MOST_FRAMES, (answer.onset, answer.apex))
    else:
        own = next(each for each in answer.timeline.movements if each.onset == answer.onset)
        numbers = _around(own, answer.timeline, faces)
    return Film(f"replay-{index}", _chosen(faces, numbers), MOVEMENT_PX, answer.onset)


def _of_rejected(timeline: Timeline, index: int, album: Album) -> Film:
    movement = timeline.others[index]
    faces = album.people[movement.track]
    return Film(f"rejected-{index}", _chosen(faces, _around(movement, timeline, faces)), REJECTED_PX)


def _of_clip(answer: Answer, timeline: Timeline, album: Album) -> Film:
    faces = album.people[min(album.people, default=0) if answer.track is None else answer.track]
    return Film("clip", _chosen(faces, thinned(timeline.numbers.tolist(), CLIP_FRAMES)), CLIP_PX)


def _around(movement: Movement, timeline: Timeline, faces: Mapping[int, KeptFace]) -> tuple[int, ...]:
    """The frames of a movement, and a little before and after it under the same crop."""
    more = max(1, round(AROUND * (timeline.fps or ASSUMED_RATE)))
    numbers = range(movement.onset - more, movement.offset + more + 1)
    inside = [
        number
        for number in numbers
        if number in faces
        and (movement.onset <= number <= movement.offset or faces[number].segment == movement.segment)
    ]
    return thinned(inside, MOST_FRAMES, (movement.onset, movement.apex, movement.offset))


def _chosen(faces: Mapping[int, KeptFace], numbers: Iterable[int]) -> dict[int, KeptFace]:
    return {number: faces[number] for number in numbers if number in faces}


def _arrows(faces: Mapping[int, np.ndarray], onset: int, recipe: FlowRecipe) -> np.ndarray:
    """The motion since the onset without that of the head, (T, A, A, 2) in per cent of the face's width."""
    small = replace(recipe, flow=replace(recipe.flow, size=FLOW_PX))
    cut = {number: cut_face(pixels, FACE, small) for number, pixels in faces.items() if number >= onset}
    arrows = np.zeros((len(faces), ARROWS, ARROWS, 2), np.float32)  # 0 until the onset
    for place, number in enumerate(faces):
        if number > onset:
            flow = without_border(flow_between(cut[onset], cut[number], small), small)
            arrows[place] = 100 * area_average(without_head_motion(flow, "similarity"), ARROWS) / flow.shape[0]
    return arrows
