"""An answer -> files: the picture of why for each movement, the timeline, the annotated video, tables, the values.

Axes: H, W pixels
"""

import json
import math
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from epir.core.errors import EpirWarning
from epir.core.output import ANSWER, new_folder
from epir.core.progress import Progress, Silent
from epir.faces.align import Crop
from epir.frames.film import write_film
from epir.frames.turned import upright
from epir.recognition.answer import Answer
from epir.recognition.events import write_tables
from epir.recognition.source import open_source, source_paths

LARGEST = 1280  # px: longer sides are made smaller
SLOWEST, FASTEST = 10.0, 60.0  # frames a second that players show well
GREEN, GREY, WHITE = (40, 190, 150), (150, 150, 150), (255, 255, 255)
STRIP = 64  # px below the picture, for the motion
STRIP_INK, STRIP_MARK, STRIP_BACK = (90, 170, 210), (30, 90, 70), (32, 32, 32)


def write_outputs(
    given: Any,
    answer: Answer,
    folder: str | Path,
    *,
    start: float | None = None,
    end: float | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> list[Path]:
    """Write all there is to see about an answer into a folder, and say what was written."""
    from epir.reports.why import draw_timeline, draw_why, save_picture

    folder, answers = Path(folder), answer.all or (answer,)
    with new_folder(folder, ANSWER, force=force, inputs=source_paths(given)) as place:
        written = [
            save_picture(draw_why(each), place / ("why.png" if len(answers) == 1 else f"why-{number}.png"))
            for number, each in enumerate(answers, start=1)
            if each.evidence is not None
        ]
        if answer.timeline is not None:
            written.append(save_picture(draw_timeline(answer), place / "timeline.png"))
            times = start or 0.0, math.inf if end is None else end
            written.append(write_video(given, answer, place / "annotated.mp4", times, progress or Silent()))
        tables, notes = write_tables(given, answer, place)
        written += tables
        for note in notes:
            warnings.warn(note, EpirWarning, stacklevel=2)
        values = json.dumps({"answers": [each.to_dict() for each in answers]}, indent=1)
        written.append(place / "answer.json")
        written[-1].write_text(values + "\n", encoding="utf-8")
    return [folder / path.name for path in written]


def write_video(given: Any, answer: Answer, path: Path, times: tuple[float, float], progress: Progress) -> Path:
    """Write the frames of `given` with faces, movements and motion; slow motion where the camera was fast."""

    def pictures() -> Iterator[np.ndarray]:
        strip: np.ndarray | None = None
        source = open_source(given, answer.fps if isinstance(given, np.ndarray) else None)
        with upright(source, answer.turned) as frames:
            progress.start("writing the video", frames.announced or 0)
            for frame in frames.during(*times):
                picture = annotated(frame.pixels, frame.number, answer)
                strip = motion_strip(answer, picture.shape[1]) if strip is None else strip
                yield np.vstack([picture, _with_mark(strip, frame.number, answer)])
                progress.advance()
            progress.finish()

    return write_film(path, pictures(), float(np.clip(answer.fps or 25.0, SLOWEST, FASTEST)))


def annotated(frame: np.ndarray, number: int, answer: Answer) -> np.ndarray:
    """One (H, W, 3) uint8 RGB frame with the square of each face, and the class of a movement while it lasts."""
    shrink = min(1.0, LARGEST / max(frame.shape[:2]))
    width, height = (max(2, round(side * shrink)) // 2 * 2 for side in (frame.shape[1], frame.shape[0]))
    picture = cv2.resize(frame, (width, height), interpolation=cv2.INTER_AREA)
    people = {each.track: each for each in (answer, *answer.all)}
    for place, (track, own) in enumerate(sorted(people.items(), key=lambda each: each[0] or 0)):
        now = next((each for each in answer.all if each.track == track and _covers(each, number)), None)
        crop = _crop_at(own, number)
        if crop is not None:
            _draw_square(picture, crop, width / frame.shape[1], GREEN if now else GREY)
        if now is not None:
            text = now.label if now.confidence is None else f"{now.label} {now.confidence:.2f}"
            text = f"{track}: {text}" if len(people) > 1 else text
            _write(picture, text, (10, 30 + 30 * place), 0.8, GREEN)
    _write(picture, f"frame {number}", (10, height - 12), 0.5, WHITE)
    return picture


def motion_strip(answer: Answer, width: int) -> np.ndarray:
    """The motion of the whole video with its movements, (STRIP, width, 3) RGB: the strongest frame of each column."""
    timeline = answer.timeline
    assert timeline is not None, "movements were spotted"
    strip = np.full((STRIP, width, 3), STRIP_BACK, np.uint8)
    for each in answer.all:
        if each.onset is not None and each.offset is not None:
            left, right = (_column(number, answer, width) for number in (each.onset, each.offset))
            cv2.rectangle(strip, (left, 0), (right, STRIP), STRIP_MARK, -1)
    columns = np.array([_column(number, answer, width) for number in timeline.numbers.tolist()], int)
    strongest = np.zeros(width)
    np.maximum.at(strongest, columns, timeline.face)
    shown = np.unique(columns)
    up = (STRIP - 4) * (1 - strongest[shown] / max(float(strongest.max()), 2 * timeline.level)) + 2
    points = np.stack([shown, up], axis=1).round().astype(np.int32)[:, None]
    cv2.polylines(strip, [points], isClosed=False, color=STRIP_INK, thickness=1, lineType=cv2.LINE_AA)
    return strip


def _with_mark(strip: np.ndarray, number: int, answer: Answer) -> np.ndarray:
    place = _column(number, answer, strip.shape[1])
    return cv2.line(strip.copy(), (place, 0), (place, STRIP), WHITE, 1)


def _column(number: int, answer: Answer, width: int) -> int:
    """Where a frame stands on the strip."""
    assert answer.timeline is not None
    first, last = int(answer.timeline.numbers[0]), int(answer.timeline.numbers[-1])
    share = (number - first) / max(last - first, 1)
    return round(min(max(share, 0.0), 1.0) * (width - 1))


def _covers(answer: Answer, number: int) -> bool:
    return answer.onset is not None and answer.offset is not None and answer.onset <= number <= answer.offset


def _crop_at(answer: Answer, number: int) -> Crop | None:
    timeline = answer.timeline
    if timeline is None:
        return None
    for movement in (*timeline.movements, *timeline.others):
        if movement.onset <= number <= movement.offset and movement.crop is not None:
            return movement.crop
    return timeline.crops[0] if len(timeline.crops) == 1 else None


def _draw_square(picture: np.ndarray, crop: Crop, scale: float, colour: tuple[int, int, int]) -> None:
    corners = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])  # of the one pixel of a crop at 1 px
    points = crop.to_frame(corners, 1) * scale
    cv2.polylines(picture, [points.round().astype(np.int32)[:, None]], True, colour, 2, cv2.LINE_AA)


def _write(picture: np.ndarray, text: str, place: tuple[int, int], size: float, colour: tuple[int, int, int]) -> None:
    for thickness, ink in ((4, (0, 0, 0)), (1 if size < 0.7 else 2, colour)):
        cv2.putText(picture, text, place, cv2.FONT_HERSHEY_SIMPLEX, size, ink, thickness, cv2.LINE_AA)
