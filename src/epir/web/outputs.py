"""An answer for the page: JSON, pictures, tables, and films of the face.

A film is one JPEG that holds all frames, row by row; the page plays them at any speed and can stop at any frame. The
faces are collected while the clip is analysed, so that no frame is decoded twice.

Axes: T frames, A arrows per side
"""

import io
import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from epir.core.engines import Progress
from epir.faces.align import Crop
from epir.flow.colour import flow_peak
from epir.flow.head_motion import without_head_motion
from epir.flow.map import area_average, cut_face, without_border
from epir.flow.optical import flow_between
from epir.flow.recipe import FlowRecipe
from epir.frames.picture import decode_jpeg
from epir.frames.reader import ASSUMED_RATE
from epir.recognition.answer import Answer
from epir.recognition.events import events_table
from epir.recognition.onepass import ShownFace
from epir.recognition.timeline import draw_timeline
from epir.recognition.why import (
    DOTS_PER_INCH,
    draw_attention,
    draw_attribution,
    draw_flow,
    draw_tokens,
    draw_why,
)
from epir.reports.pictures import jpeg
from epir.spotting.timeline import FaceMovement, Timeline
from epir.spotting.visibility import visibility_of
from epir.web.settings import CLIP_FRAMES, CURVE_POINTS, FILM_FRAMES

MARGIN_S = 0.08  # that a film shows before the onset and after the offset
COLUMNS = 8
MOVEMENT_PX, REJECTED_PX, CLIP_PX = 256, 192, 160  # width of the face in a film
KEPT_PX, KEPT_MARGIN = 320, 1.25  # size of a collected face: at least the largest of the above, and a margin
KEPT_QUALITY, QUALITY = 92, 86  # JPEG quality of collected faces and of films
ARROWS = 14  # per side
FLOW_PX = 84  # width of the face for the arrows, which are coarse
FACE = Crop((KEPT_PX - 1) / 2, (KEPT_PX - 1) / 2, KEPT_PX / KEPT_MARGIN)  # in a collected picture
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet would run these cells

Output = tuple[dict[str, Any], dict[str, bytes]]  # the result, and its files by name


def answer_output(answer: Answer, url: str, *, movements: int, labels: Sequence[str] = ()) -> Output:
    """The answer as in `epir predict --json`, with pictures of the `movements` strongest movements."""
    files: dict[str, bytes] = {}
    if answer.found:
        files["why.png"] = _png(draw_why(answer))
    if answer.timeline is not None:
        files["timeline.png"] = _png(draw_timeline(answer))
    whole_clip = list(files)
    with_pixels = [number for number, movement in enumerate(answer.all) if movement.evidence is not None]
    chosen = strongest([answer.all[number].strength or 0.0 for number in with_pixels], movements)
    drawn = {with_pixels[place] for place in chosen}
    entries = []
    for number, movement in enumerate(answer.all):
        pictures = _movement_pictures(movement, number) if number in drawn else {}
        files |= pictures
        addresses = {name.split("-")[0]: url + name for name in pictures}
        entries.append({**movement.to_dict(), "pictures": addresses, "scales": _scales(movement) if pictures else {}})
    files["events.csv"] = _csv(answer, labels)
    start, end = answer.span
    return {
        **answer.to_dict_of_all(),
        "movements": entries,
        "pictures": {name.split(".")[0]: url + name for name in whole_clip},
        "table": f"{url}events.csv",
        "seconds": round(end - start, 4) or None,
        "curves": motion_curves(answer),
    }, files


def strongest(strengths: Sequence[float], count: int) -> list[int]:
    """The indices of the `count` largest values, in ascending order."""
    return sorted(sorted(range(len(strengths)), key=lambda place: -strengths[place])[:count])


def motion_curves(answer: Answer) -> list[dict[str, Any]]:
    """The motion of every person over time: times in seconds, motion in % of the face width."""
    labels = {(movement.track or 0, movement.onset): movement.label for movement in answer.all}
    return [
        {
            "track": track,
            **curve_points(timeline, thinned_places(timeline.face)),
            "events": [_event(each, labels.get((track, each.onset), "movement")) for each in timeline.movements],
            "others": [_event(each, each.kind) for each in timeline.others],
            "hidden": _hidden(answer, timeline),
        }
        for track, timeline in answer.timelines.items()
    ]


def _hidden(answer: Answer, timeline: Timeline) -> list[dict[str, Any]]:
    """The spans in which this person could not be judged, and those without any person, in seconds."""
    if not answer.people:
        return []
    unjudged = [span for span in visibility_of([timeline], answer.span).hidden if span.conditions]
    nobody = [span for span in answer.visible.hidden if not span.conditions]
    spans = sorted([*unjudged, *nobody], key=lambda span: span.start)
    return [
        {"start": round(span.start, 4), "stop": round(span.stop, 4), "reasons": list(span.reasons)} for span in spans
    ]


def curve_points(timeline: Timeline, places: np.ndarray | slice) -> dict[str, Any]:
    """Time, frame and motion at these entries of a timeline, and the detection threshold."""
    return {
        "time": [round(float(seconds), 4) for seconds in timeline.stamps[places]],
        "frames": timeline.numbers[places].tolist(),
        "energy": [round(100 * float(motion), 4) for motion in timeline.face[places]],
        "level": round(100 * timeline.level, 4),
    }


def thinned_places(values: np.ndarray) -> np.ndarray:
    """The indices of at most `CURVE_POINTS` values: the largest of each bin, so that no peak is lost."""
    edges = np.linspace(0, len(values), min(len(values), CURVE_POINTS) + 1).astype(int)
    return np.array([low + int(values[low:high].argmax()) for low, high in pairwise(edges)], int)


def _event(movement: FaceMovement, label: str) -> dict[str, Any]:
    times = dict(zip(("onset", "apex", "offset"), (round(at, 4) for at in movement.seconds), strict=True))
    return {**times, "frames": [movement.onset, movement.apex, movement.offset], "label": label}


def _rejected_movement(answer: Answer, entry: Mapping[str, Any]) -> FaceMovement:
    """The movement behind an entry of `rejected`."""
    key = (entry["track"], entry["onset"], entry["apex"])
    others = (other for timeline in answer.timelines.values() for other in timeline.others)
    return next(other for other in others if (other.track, other.onset, other.apex) == key)


def _csv(answer: Answer, labels: Sequence[str]) -> bytes:
    """events.csv; an apostrophe before text that a spreadsheet would run as a formula."""
    table = events_table(answer, labels)
    for name in ("file", "text", "warnings"):
        table[name] = [f"'{cell}" if str(cell).startswith(FORMULA_STARTS) else cell for cell in table[name]]
    return table.to_csv(index=False).encode()


def _scales(answer: Answer) -> dict[str, float]:
    """The value of full colour in each picture of a movement, in %."""
    assert answer.evidence is not None, "an answer with scores has evidence"
    flow = without_head_motion(answer.evidence.flow, "similarity")
    scales = {"flow": 100 * flow_peak(flow) / flow.shape[0]}  # of the face width
    if answer.attribution is not None:
        scales["why"] = 100 * float(np.abs(answer.attribution.patches).max())  # of the score
    if answer.tokens is not None:
        weights = answer.tokens.attention
        scales["rollout"] = 100 * max(*weights, 4 / len(weights)) / sum(weights)  # of all attention
    return {name: round(value, 3) for name, value in scales.items()}


def _movement_pictures(answer: Answer, number: int) -> dict[str, bytes]:
    evidence = answer.evidence
    assert evidence is not None, "an answer with scores has evidence"
    pictures = {
        f"onset-{number}.jpg": jpeg(evidence.onset, quality=90),
        f"apex-{number}.jpg": jpeg(evidence.apex, quality=90),
        f"flow-{number}.png": _png(draw_flow(evidence.onset, evidence.flow)),
    }
    if answer.attribution is not None:
        pictures[f"why-{number}.png"] = _png(draw_attribution(evidence.onset, answer.attribution))
    if answer.tokens is not None:
        pictures[f"tokens-{number}.png"] = _png(draw_tokens(evidence.onset, answer.tokens))
        pictures[f"rollout-{number}.png"] = _png(draw_attention(evidence.onset, answer.tokens))
    return pictures


def _png(figure: Any) -> bytes:
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=DOTS_PER_INCH, pil_kwargs={"compress_level": 4})
    return out.getvalue()


@dataclass(frozen=True, slots=True)
class KeptFace:
    """The face of one person in one frame."""

    seconds: float
    segment: int
    jpeg: bytes

    @property
    def pixels(self) -> np.ndarray:
        """The face with a margin, (KEPT_PX, KEPT_PX, 3) uint8 RGB."""
        pixels = decode_jpeg(self.jpeg)
        assert pixels is not None, "Album.add encoded it"
        return pixels


class Album:
    """The faces of a clip, collected during the analysis; about 15 kB each."""

    def __init__(self) -> None:
        self.people: defaultdict[int, dict[int, KeptFace]] = defaultdict(dict)  # by track, then by frame number

    def add(self, shown: ShownFace) -> None:
        """Collect one face."""
        frame = shown.frame
        pixels = shown.crop.widen(KEPT_MARGIN).apply(frame.pixels, KEPT_PX)
        kept = KeptFace(frame.seconds, shown.segment, jpeg(pixels, quality=KEPT_QUALITY))
        self.people[shown.track][frame.number] = kept


@dataclass(frozen=True)
class FaceFilm:
    """A film to write: its file name, frames and size."""

    name: str
    faces: Mapping[int, KeptFace]  # by frame number, in ascending order
    size: int  # px
    onset: int | None = None  # arrows show the motion from this frame to each later one

    def output(self, recipe: FlowRecipe, url: str) -> Output:
        """The film as JSON, and its files by name."""
        pixels = {number: face.pixels for number, face in self.faces.items()}
        whole = sheet([FACE.apply(picture, self.size) for picture in pixels.values()])
        files = {f"{self.name}.jpg": jpeg(whole, quality=QUALITY)}
        film: dict[str, Any] = {
            "sheet": f"{url}{self.name}.jpg",
            "size": self.size,
            "columns": COLUMNS,
            "frames": list(self.faces),
            "seconds": [round(face.seconds, 4) for face in self.faces.values()],
        }
        if self.onset is not None and self.onset in self.faces:
            files[f"{self.name}.json"] = json.dumps(np.round(_arrows(pixels, self.onset, recipe), 2).tolist()).encode()
            film["flow"] = f"{url}{self.name}.json"
        return film, files


def add_films(
    result: Mapping[str, Any],
    album: Album,
    answer: Answer,
    recipe: FlowRecipe,
    url: str,
    *,
    rejected: int,
    progress: Progress,
) -> dict[str, bytes]:
    """Add films to a result, and return their files by name.

    Films show the movements with pictures, the `rejected` strongest rejected movements, and each person's whole clip.
    """
    films: list[tuple[dict[str, Any], str, FaceFilm]] = []
    for number, (entry, movement) in enumerate(zip(result["movements"], answer.all, strict=True)):
        entry["replay"] = None
        if entry["pictures"]:
            films.append((entry, "replay", _movement_film(movement, number, album)))
    people = answer.timelines
    chosen = strongest([entry["strength"] for entry in result["rejected"]], rejected)
    for number, entry in enumerate(result["rejected"]):
        entry["replay"] = None
        if number in chosen:
            faces, other = album.people[entry["track"]], _rejected_movement(answer, entry)
            numbers = _around(other, people[entry["track"]], faces)
            films.append((entry, "replay", FaceFilm(f"rejected-{number}", _chosen(faces, numbers), REJECTED_PX)))
    for curve in result["curves"]:
        numbers = thinned(people[curve["track"]].numbers.tolist(), max(1, CLIP_FRAMES // len(people)))
        faces = _chosen(album.people[curve["track"]], numbers)
        curve["film"] = None
        films.append((curve, "film", FaceFilm(f"clip-{curve['track']}", faces, CLIP_PX)))
    files: dict[str, bytes] = {}
    progress.start("filming", len(films))
    for entry, key, film in films:
        if film.faces:
            entry[key], more = film.output(recipe, url)
            files |= more
        progress.advance()
    progress.finish()
    return files


def sheet(faces: list[np.ndarray]) -> np.ndarray:
    """Square pictures (T, s, s, 3) tiled with `COLUMNS` in a row; the rest of the last row is black."""
    size = faces[0].shape[0]
    columns = min(COLUMNS, len(faces))
    whole = np.zeros((math.ceil(len(faces) / COLUMNS) * size, columns * size, 3), np.uint8)
    for number, face in enumerate(faces):
        row, column = divmod(number, COLUMNS)
        whole[row * size : (row + 1) * size, column * size : (column + 1) * size] = face
    return whole


def thinned(numbers: Iterable[int], most: int, keep: Iterable[int] = ()) -> tuple[int, ...]:
    """At most `most` of these numbers, evenly spread, plus those in `keep`."""
    numbers = list(numbers)
    step = max(1, math.ceil(len(numbers) / most))
    return tuple(sorted({*numbers[::step], *(set(keep) & set(numbers))}))


def _movement_film(answer: Answer, index: int, album: Album) -> FaceFilm:
    assert answer.onset is not None and answer.apex is not None, "only movements are filmed"
    faces = album.people[answer.track or 0]
    if answer.timeline is None:  # the user chose onset and apex, so only the movement was read
        numbers = thinned(faces, FILM_FRAMES, (answer.onset, answer.apex))
    else:
        movement = next(other for other in answer.timeline.movements if other.onset == answer.onset)
        numbers = _around(movement, answer.timeline, faces)
    return FaceFilm(f"replay-{index}", _chosen(faces, numbers), MOVEMENT_PX, answer.onset)


def _around(movement: FaceMovement, timeline: Timeline, faces: Mapping[int, KeptFace]) -> tuple[int, ...]:
    """The frames of a movement, and a few before and after it with the same crop."""
    more = max(1, round(MARGIN_S * (timeline.fps or ASSUMED_RATE)))
    numbers = range(movement.onset - more, movement.offset + more + 1)
    inside = [
        number
        for number in numbers
        if number in faces
        and (movement.onset <= number <= movement.offset or faces[number].segment == movement.segment)
    ]
    return thinned(inside, FILM_FRAMES, (movement.onset, movement.apex, movement.offset))


def _chosen(faces: Mapping[int, KeptFace], numbers: Iterable[int]) -> dict[int, KeptFace]:
    return {number: faces[number] for number in numbers if number in faces}


def _arrows(faces: Mapping[int, np.ndarray], onset: int, recipe: FlowRecipe) -> np.ndarray:
    """The motion since the onset without head motion, (T, A, A, 2), in % of the face width."""
    small = replace(recipe, flow=replace(recipe.flow, size=FLOW_PX))
    cut = {number: cut_face(pixels, FACE, small) for number, pixels in faces.items() if number >= onset}
    arrows = np.zeros((len(faces), ARROWS, ARROWS, 2), np.float32)  # 0 until the onset
    for place, number in enumerate(faces):
        if number > onset:
            flow = without_border(flow_between(cut[onset], cut[number], small), small)
            arrows[place] = 100 * area_average(without_head_motion(flow, "similarity"), ARROWS) / flow.shape[0]
    return arrows
