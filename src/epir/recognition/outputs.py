"""Write an answer to files: a figure per movement, the timeline, the annotated video, tables, tiers and JSON.

Axes: H, W pixels
"""

import json
import math
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from epir.core.engines import Progress, Silent
from epir.core.errors import EpirWarning, MissingExtra
from epir.core.files import csv_text
from epir.core.output import ANSWER, new_folder
from epir.datasets.annotations import (
    APEX,
    EMOTION,
    UNITS,
    Tier,
    TierInterval,
    without_overlap,
    write_eaf,
    write_textgrid,
)
from epir.faces.align import Crop
from epir.frames.film import write_film
from epir.frames.folder import numbered_pictures
from epir.frames.reader import upright
from epir.frames.seeking import frame_times
from epir.recognition.answer import KEYS, Answer
from epir.recognition.events import REJECTED, REPORTED, event_rows, events_table, frames_table
from epir.recognition.source import open_source, output_name, source_paths
from epir.spotting.megc.submission import SPOTTING_HEADERS, TYPES
from epir.spotting.timeline import Timeline

WHAT_MOVED, CANDIDATES = "what moved", "candidates"  # tiers
CHALLENGE = "2024"
LARGEST = 1280  # px: maximum side of the annotated video
SLOWEST, FASTEST = 10.0, 60.0  # frames a second that players show well
GREEN, GREY, WHITE = (40, 190, 150), (150, 150, 150), (255, 255, 255)
STRIP = 64  # px: height of the motion strip below the picture
STRIP_INK, STRIP_MARK, STRIP_BACK = (90, 170, 210), (30, 90, 70), (32, 32, 32)


def write_outputs(
    source: Any,
    answer: Answer,
    folder: str | Path,
    *,
    fps: float | None = None,
    start: float | None = None,
    end: float | None = None,
    every: bool = False,
    force: bool = False,
    progress: Progress | None = None,
) -> list[Path]:
    """Write an answer to a folder and return the paths; with `every`, events.csv includes rejected movements.

    `fps`, `start` and `end` are those that were given to `Recognizer.predict`.
    """
    from epir.recognition.timeline import draw_timeline
    from epir.recognition.why import draw_why, save_picture

    folder, answers = Path(folder), answer.all or (answer,)
    with new_folder(folder, ANSWER, force=force, inputs=source_paths(source)) as place:
        written = [
            save_picture(draw_why(each), place / ("why.png" if len(answers) == 1 else f"why-{number}.png"))
            for number, each in enumerate(answers, start=1)
            if each.evidence is not None
        ]
        if answer.timeline is not None:
            written.append(save_picture(draw_timeline(answer), place / "timeline.png"))
            times = start or 0.0, math.inf if end is None else end
            film = place / "annotated.mp4"
            written.append(write_annotated_video(source, answer, film, times, progress or Silent(), fps=fps))
        written += write_tables(source, answer, place, every=every, fps=fps)
        values = json.dumps({"answers": [each.to_dict() for each in answers], **answer.to_dict_of_all()}, indent=1)
        written.append(place / "answer.json")
        written[-1].write_text(values + "\n", encoding="utf-8")
    return [folder / path.name for path in written]


def answer_tiers(answer: Answer, times: Sequence[float] = ()) -> list[Tier]:
    """Tiers for emotion, apex, action units, what moved, rejected movements and candidates, per person if several.

    `times` are the seconds of every frame where the media plays at another rate than `answer.fps`.
    """
    rows = [row for row in event_rows(answer, every=True) if row["onset_s"] is not None]
    if times:
        rows = [{**row, **{f"{key}_s": _time_of(row[key], times) for key in KEYS}} for row in rows]
    tracks = sorted({row["track"] or 0 for row in rows})
    tiers: list[Tier] = []
    for track in tracks:
        person = f" of {track}" if len(tracks) > 1 else ""
        of_track = [row for row in rows if (row["track"] or 0) == track]
        reported = [row for row in of_track if row["status"] == REPORTED]
        frame = 1 / (answer.fps or 1000.0)
        tiers += without_overlap(EMOTION + person, (_interval(row, row["class"]) for row in reported))
        apexes = (TierInterval(row["apex_s"], row["apex_s"] + frame, "apex") for row in reported)
        tiers += without_overlap(APEX + person, apexes, points=True)
        tiers += without_overlap(UNITS + person, (_interval(row, row["units"]) for row in reported if row["units"]))
        tiers += without_overlap(WHAT_MOVED + person, (_interval(row, row["text"]) for row in reported))
        others = [row for row in of_track if row["status"] == REJECTED]
        tiers += without_overlap(REJECTED + person, (_interval(row, row["reason"]) for row in others))
        candidates = (_interval(row, _candidate_label(row)) for row in others if row["class"])
        tiers += without_overlap(CANDIDATES + person, candidates)
    return tiers


def _time_of(number: int | None, times: Sequence[float]) -> float | None:
    return None if number is None else times[min(number, len(times) - 1)]


def write_tables(
    source: Any, answer: Answer, folder: Path, *, every: bool = False, fps: float | None = None
) -> list[Path]:
    """Write events.csv, frames.csv, the MEGC submission and both tier files; warns if tiers need a package.

    With `fps`, the rate at which a video was filmed, the tiers keep to the times at which the file plays.
    """
    media = Path(source) if isinstance(source, str | Path) else None
    stem = output_name(source)
    written = [folder / "events.csv"]
    events_table(answer, every=every).to_csv(written[0], index=False)
    if answer.timeline is None:
        return written
    written += [folder / "frames.csv", folder / "megc.csv"]
    frames_table(answer, every=every).to_csv(written[1], index=False)
    is_from_1 = media is not None and media.is_dir() and 0 not in numbered_pictures(media)
    written[2].write_text(megc_text(answer, stem, 0 if is_from_1 else 1), encoding="utf-8")
    times = frame_times(media) if fps is not None and media is not None and media.is_file() else ()
    tiers = answer_tiers(answer, times)
    end = times[-1] if times else max(answer.span[1], answer.timeline.seconds)
    try:
        written.append(write_eaf(folder / f"{stem}.eaf", tiers, media))
        written.append(write_textgrid(folder / f"{stem}.TextGrid", tiers, end))
    except MissingExtra as error:
        warning = f"{error.problem}: no .eaf and .TextGrid were written; {error.fix}"
        warnings.warn(warning, EpirWarning, stacklevel=3)
    return written


def megc_text(answer: Answer, name: str, first: int) -> str:
    """The micro-expressions in the format of the spotting challenges; adding `first` makes frames count from 1."""
    rows = [
        (name, each.onset + first, each.offset + first, TYPES["micro"])
        for each in answer.movements
        if each.onset is not None and each.offset is not None
    ]
    return csv_text(SPOTTING_HEADERS[CHALLENGE], rows)


def _candidate_label(row: dict[str, Any]) -> str:
    """A candidate in one line: probability, reason for rejection, class, units, head motion and what moved."""
    units = f"; AU {row['units']}" if row["units"] else ""
    head = f"head {row['head']:.2g} %"
    return f"probability {row['probability']:.2f}, {row['reason']}; {row['class']}{units}; {head}; {row['text']}"


def _interval(row: dict[str, Any], label: str) -> TierInterval:
    end = row["apex_s"] if row["offset_s"] is None else row["offset_s"]
    return TierInterval(float(row["onset_s"]), float(end), label)


def write_annotated_video(
    source: Any,
    answer: Answer,
    path: Path,
    times: tuple[float, float],
    progress: Progress,
    *,
    fps: float | None = None,
) -> Path:
    """Write the frames of `source` with faces, movements and motion; a fast camera's video plays in slow motion.

    `fps` is the rate that was given to `Recognizer.predict`: with it, `times` select the frames that were analysed.
    """

    def pictures() -> Iterator[np.ndarray]:
        strip: np.ndarray | None = None
        with upright(open_source(source, fps), answer.turned) as frames:
            progress.start("writing the video", frames.announced or 0)
            for frame in frames.during(*times):
                picture = annotated(frame.pixels, frame.number, answer)
                strip = motion_strip(answer, picture.shape[1]) if strip is None else strip
                yield np.vstack([picture, _with_mark(strip, frame.number, answer)])
                progress.advance()
            progress.finish()

    return write_film(path, pictures(), float(np.clip(answer.fps or 25.0, SLOWEST, FASTEST)))


def annotated(frame: np.ndarray, number: int, answer: Answer) -> np.ndarray:
    """A frame (H, W, 3) uint8 RGB with the square of each face, and the class of a movement during it."""
    shrink = min(1.0, LARGEST / max(frame.shape[:2]))
    width, height = (max(2, round(side * shrink)) // 2 * 2 for side in (frame.shape[1], frame.shape[0]))
    picture = cv2.resize(frame, (width, height), interpolation=cv2.INTER_AREA)
    people = answer.timelines
    for place, (track, timeline) in enumerate(people.items()):
        now = next((each for each in answer.all if (each.track or 0) == track and _covers(each, number)), None)
        crop = _crop_at(timeline, number)
        if crop is not None:
            _draw_square(picture, crop, width / frame.shape[1], GREEN if now else GREY)
        if now is not None:
            text = now.label if now.confidence is None else f"{now.label} {now.confidence:.2f}"
            text = f"{track}: {text}" if len(people) > 1 else text
            _write(picture, text, (10, 30 + 30 * place), 0.8, GREEN)
    _write(picture, f"frame {number}", (10, height - 12), 0.5, WHITE)
    return picture


def motion_strip(answer: Answer, width: int) -> np.ndarray:
    """Everyone's motion and movements, (STRIP, width, 3) RGB; a column shows the strongest of its frames."""
    strip = np.full((STRIP, width, 3), STRIP_BACK, np.uint8)
    for each in answer.all:
        if each.onset is not None and each.offset is not None:
            left, right = (_column(number, answer, width) for number in (each.onset, each.offset))
            cv2.rectangle(strip, (left, 0), (right, STRIP), STRIP_MARK, -1)
    highest = max(max(float(each.face.max(initial=0.0)), 2 * each.level) for each in answer.timelines.values())
    for timeline in answer.timelines.values():
        columns = np.array([_column(number, answer, width) for number in timeline.numbers.tolist()], int)
        strongest = np.zeros(width)
        np.maximum.at(strongest, columns, timeline.face)
        shown = np.unique(columns)
        up = (STRIP - 4) * (1 - strongest[shown] / highest) + 2
        points = np.stack([shown, up], axis=1).round().astype(np.int32)[:, None]
        cv2.polylines(strip, [points], isClosed=False, color=STRIP_INK, thickness=1, lineType=cv2.LINE_AA)
    return strip


def _with_mark(strip: np.ndarray, number: int, answer: Answer) -> np.ndarray:
    place = _column(number, answer, strip.shape[1])
    return cv2.line(strip.copy(), (place, 0), (place, STRIP), WHITE, 1)


def _column(number: int, answer: Answer, width: int) -> int:
    """The column of a frame on the strip."""
    numbers = [int(number) for timeline in answer.timelines.values() for number in timeline.numbers[[0, -1]]]
    numbers += [number for gap in answer.gaps for number in (gap.first, gap.last)]
    share = (number - min(numbers)) / max(max(numbers) - min(numbers), 1)
    return round(min(max(share, 0.0), 1.0) * (width - 1))


def _covers(answer: Answer, number: int) -> bool:
    return answer.onset is not None and answer.offset is not None and answer.onset <= number <= answer.offset


def _crop_at(timeline: Timeline, number: int) -> Crop | None:
    """The crop of a face in a frame, or None if the frame does not show it."""
    place = int(np.searchsorted(timeline.numbers, number))
    is_shown = place < len(timeline.numbers) and timeline.numbers[place] == number
    return timeline.squares[place] if is_shown else None


def _draw_square(picture: np.ndarray, crop: Crop, scale: float, colour: tuple[int, int, int]) -> None:
    corners = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])  # of the only pixel of a 1 px crop
    points = crop.to_frame(corners, 1) * scale
    cv2.polylines(picture, [points.round().astype(np.int32)[:, None]], True, colour, 2, cv2.LINE_AA)


def _write(picture: np.ndarray, text: str, place: tuple[int, int], size: float, colour: tuple[int, int, int]) -> None:
    for thickness, ink in ((4, (0, 0, 0)), (1 if size < 0.7 else 2, colour)):
        cv2.putText(picture, text, place, cv2.FONT_HERSHEY_SIMPLEX, size, ink, thickness, cv2.LINE_AA)
