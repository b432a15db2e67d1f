"""Find the apex of a clip without an annotated one: the frame in which the face has moved most since the onset.

The head and the lids move too. The motion at the offset counts as drift of the head, and most of it is subtracted in
proportion to time (not all of it: an offset may be annotated before the face is at rest). The lids and the rim of the
crop get little weight.

Axes: h pixels of the small face
"""

from collections.abc import Sequence
from functools import cache

import cv2
import numpy as np

from epir.core.errors import FrameError
from epir.faces.align import Crop
from epir.flow.head_motion import without_head_motion
from epir.flow.optical import to_grey
from epir.frames.reader import Frames, unreadable

SPOTTING_SIZE = 84  # px: enough to see which frame moved most, at a quarter of the cost of a map
SAMPLES = 16  # frames measured in one pass; the next pass samples more densely around the best frame
MOVING_SHARE = 0.05  # the motion of a frame is the mean over the 5 % of the face that move most
DRIFT = 0.7  # share of the motion at the offset that is subtracted


def middle_apex(frames: Frames, onset: int, offset: int) -> int:
    """The frame halfway between onset and offset, or the nearest one present, as most public code does for SMIC."""
    middle = (onset + offset) // 2
    return min(frames_after(frames, onset, offset), key=lambda number: (abs(number - middle), number))


def spot_apex(frames: Frames, onset: int, offset: int, crop: Crop) -> int:
    """The number of the frame after `onset`, up to `offset`, in which the face has moved most since the onset.

    Frames are first sampled evenly and then more densely around the best, so a long clip costs little more than a short
    one. Missing and unreadable frames are skipped, the latter with a note.
    """
    numbers = frames_after(frames, onset, offset)
    before = spotting_face(frames.read(onset), crop)
    try:
        return _most_moved(frames, onset, numbers, before, crop)
    except FrameError:
        damaged = {number: error for number in numbers if (error := _read_error(frames, number)) is not None}
        if not damaged or len(damaged) == len(numbers):
            raise
    readable = [number for number in numbers if number not in damaged]
    apex = _most_moved(frames, onset, readable, before, crop)
    frames.note(f"{unreadable(list(damaged))}, and left out: {next(iter(damaged.values())).problem}")
    return apex


def _read_error(frames: Frames, number: int) -> FrameError | None:
    """Why a frame cannot be read; `None` if it can."""
    try:
        frames.read(number)
    except FrameError as error:
        return error
    return None


def _most_moved(frames: Frames, onset: int, numbers: Sequence[int], before: np.ndarray, crop: Crop) -> int:
    """The one of `numbers` in which the face has moved most since `before`, the face at the onset."""
    at_end = face_motion(before, spotting_face(frames.read(numbers[-1]), crop))
    measured: dict[int, float] = {}
    low, high = 0, len(numbers) - 1
    while True:
        step = max(1, -(-(high - low) // SAMPLES))
        for place in sorted({*range(low, high + 1, step), high} - measured.keys()):  # rising: a video is read forwards
            motion = face_motion(before, spotting_face(frames.read(numbers[place]), crop))
            drift = DRIFT * (numbers[place] - onset) / (numbers[-1] - onset)
            measured[place] = strength(motion - drift * at_end)
        best = max(measured, key=lambda place: (measured[place], -place))
        if step == 1:
            return numbers[best]
        low, high = max(best - step, 0), min(best + step, len(numbers) - 1)


def frames_after(frames: Frames, onset: int, offset: int) -> list[int]:
    """The numbers of the frames present after `onset`, up to `offset`."""
    numbers = [number for number in frames.numbers if onset < number <= offset]
    if not numbers:
        raise FrameError(
            f"{frames.path} has no frame after the onset {onset} up to the offset {offset} to find an apex in: "
            f"it holds frames {frames.numbers[0]} to {frames.numbers[-1]}",
            fix="correct onset and offset in the annotation",
        )
    return numbers


def spotting_face(frame: np.ndarray, crop: Crop) -> np.ndarray:
    """The face of a frame in grey, at `SPOTTING_SIZE`, (h, h) uint8."""
    return to_grey(crop.apply(frame, SPOTTING_SIZE))


def face_motion(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """The flow between two small faces without head motion, (h, h, 2), as a share of the face's width."""
    flow = cv2.calcOpticalFlowFarneback(before, after, None, 0.5, 2, 15, 2, 5, 1.2, 0)  # type: ignore[call-overload]
    return without_head_motion(flow, "similarity") / before.shape[0]


def strength(motion: np.ndarray) -> float:
    """The mean displacement of the part of the face that moves most."""
    lengths = (np.hypot(motion[..., 0], motion[..., 1]) * point_weights(motion.shape[0])).ravel()
    count = max(1, round(MOVING_SHARE * lengths.size))
    return float(np.partition(lengths, -count)[-count:].mean())


@cache
def point_weights(size: int) -> np.ndarray:
    """The weight of each point, (h, h): 0 at the rim, small on the lids, which blink."""
    y, x = (np.mgrid[0:size, 0:size] + 0.5) / size - 0.5
    lids = np.maximum(*(np.exp(-(((x - side * 0.24) / 0.17) ** 4) - ((y + 0.24) / 0.10) ** 4) for side in (-1, 1)))
    return (1.0 - 0.8 * lids) * (np.hypot(x, y) < 0.48)
