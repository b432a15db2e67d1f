"""The video with its movements written on it.

Axes: H, W pixels
"""

from pathlib import Path
from typing import Any

import cv2
import numpy as np

from epir.core.errors import FrameError
from epir.core.files import whole_file
from epir.core.progress import Progress, Silent
from epir.faces.align import Crop
from epir.recognition.answer import Answer
from epir.recognition.source import open_source

LARGEST = 1280  # px: longer sides are made smaller
SLOWEST, FASTEST = 10.0, 60.0  # frames a second that players show well
GREEN, GREY, WHITE = (150, 190, 40), (150, 150, 150), (255, 255, 255)  # BGR
STRIP = 64  # px below the picture, for the motion


def write_video(given: Any, answer: Answer, path: Path, progress: Progress | None = None) -> Path:
    """Write the frames of `given` with face, movements and motion; slow motion where the camera was fast."""
    progress = progress or Silent()
    assert answer.timeline is not None, "movements were spotted"
    with open_source(given) as frames, whole_file(path) as temporary:
        writer: cv2.VideoWriter | None = None
        strip: np.ndarray | None = None
        rate = float(np.clip(answer.fps or 25.0, SLOWEST, FASTEST))
        progress.start("writing the video", len(frames))
        for each in frames:
            number, frame = each.number, each.pixels
            picture = annotated(frame, number, answer)
            strip = motion_strip(answer, picture.shape[1]) if strip is None else strip
            picture = np.vstack([picture, _with_mark(strip, number, answer)])
            if writer is None:
                height, width = picture.shape[:2]
                writer = cv2.VideoWriter(str(temporary), cv2.VideoWriter_fourcc(*"mp4v"), rate, (width, height))  # type: ignore[attr-defined]
                if not writer.isOpened():
                    raise FrameError(
                        f"{path} cannot be written as a video", fix="check that the folder can be written to"
                    )
            writer.write(picture)
            progress.advance()
        if writer is not None:
            writer.release()
        progress.finish()
    return path


def annotated(frame: np.ndarray, number: int, answer: Answer) -> np.ndarray:
    """One (H, W, 3) uint8 RGB frame with the face's square, and the class while it lasts; BGR."""
    shrink = min(1.0, LARGEST / max(frame.shape[:2]))
    width, height = (max(2, round(side * shrink)) // 2 * 2 for side in (frame.shape[1], frame.shape[0]))
    picture = cv2.resize(cv2.cvtColor(frame, cv2.COLOR_RGB2BGR), (width, height), interpolation=cv2.INTER_AREA)
    now = next((each for each in answer.all if _covers(each, number)), None)
    crop = _crop_at(answer, number)
    if crop is not None:
        _draw_square(picture, crop, width / frame.shape[1], GREEN if now else GREY)
    if now is not None:
        text = now.label if now.confidence is None else f"{now.label} {now.confidence:.2f}"
        _write(picture, text, (10, 30), 0.8, GREEN)
    _write(picture, f"frame {number}", (10, height - 12), 0.5, WHITE)
    return picture


def motion_strip(answer: Answer, width: int) -> np.ndarray:
    """The motion of the whole video with its movements, (STRIP, width, 3) BGR: the strongest frame of each column."""
    timeline = answer.timeline
    assert timeline is not None, "movements were spotted"
    strip = np.full((STRIP, width, 3), 32, np.uint8)
    for each in answer.all:
        if each.onset is not None and each.offset is not None:
            left, right = (_column(number, answer, width) for number in (each.onset, each.offset))
            cv2.rectangle(strip, (left, 0), (right, STRIP), (70, 90, 30), -1)
    columns = np.array([_column(number, answer, width) for number in timeline.numbers.tolist()])
    strongest = np.zeros(width)
    np.maximum.at(strongest, columns, timeline.face)
    shown = np.unique(columns)
    up = (STRIP - 4) * (1 - strongest[shown] / max(float(strongest.max()), 2 * timeline.level)) + 2
    points = np.stack([shown, up], axis=1).round().astype(np.int32)[:, None]
    cv2.polylines(strip, [points], isClosed=False, color=(210, 170, 90), thickness=1, lineType=cv2.LINE_AA)
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
    assert timeline is not None
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
