"""Open the input as frames: a video file, a folder of pictures, an array or two pictures; check which are asked for.

Axes: T frames, H, W pixels
"""

import math
import os
from collections.abc import Iterator, Sequence
from operator import index
from pathlib import Path
from typing import Any

import numpy as np

from epir.core.errors import FrameError, ShapeError
from epir.core.files import PICTURE_ENDINGS, readable
from epir.core.words import FASTEST_RATE
from epir.frames.picture import read_picture
from epir.frames.reader import ASSUMED_RATE, Frame, Frames, missing_frame, open_frames
from epir.frames.video import VideoFrames

Times = tuple[float | None, float | None]  # start and end in seconds


class ArrayFrames(Frames):
    """Frames in memory, numbered from 0."""

    def __init__(
        self, frames: np.ndarray | Sequence[np.ndarray], name: str = "array", fps: float | None = None
    ) -> None:
        self.path, self.fps = Path(name), fps
        self.notes: list[str] = []
        self._frames = frames

    @property
    def numbers(self) -> tuple[int, ...]:
        """The indices of the frames."""
        return tuple(range(len(self._frames)))

    def frame(self, number: int) -> Frame:
        """One frame with its time."""
        if not 0 <= number < len(self._frames):
            raise missing_frame(self.path, number, self.numbers)
        return Frame(number, number / (self.fps or ASSUMED_RATE), colour(self._frames[number]))

    def between(self, first: int, last: int) -> Iterator[Frame]:
        """The frames from `first` to `last`, both included."""
        for number in self.numbers[max(first, 0) : last + 1]:
            yield self.frame(number)


class PairFrames(ArrayFrames):
    """Two frames: an onset and an apex."""


def open_source(source: Any, fps: float | None = None) -> Frames:
    """The frames of a path, an open video, an array (T, H, W, 3) or (T, H, W), or a pair of pictures."""
    frames: Frames
    if isinstance(source, VideoFrames):
        return source
    if isinstance(source, str | Path):
        return open_frames(source, fps)  # frames of a video are counted during the pass
    if isinstance(source, np.ndarray) and source.dtype != object:
        frames = ArrayFrames(_checked(source), fps=fps)
    elif isinstance(source, Sequence) and len(source) == 2:
        frames = _pair(source[0], source[1])
    elif isinstance(source, Sequence) and len(source) > 2 and all(isinstance(each, np.ndarray) for each in source):
        frames = ArrayFrames([_picture(each, f"frame {number}") for number, each in enumerate(source)], fps=fps)
    else:
        raise ShapeError(
            f"cannot read frames from {type(source).__name__}",
            fix="give a video file, a folder of frames, an array (T, H, W, 3), or two pictures (onset, apex)",
        )
    if len(frames.numbers) < 2:
        raise too_few(frames, len(frames.numbers), (None, None))
    return frames


def source_name(source: Any) -> str:
    """The name under which the input is reported."""
    if isinstance(source, str | Path | VideoFrames):
        return readable(source.path if isinstance(source, VideoFrames) else source)
    if isinstance(source, Sequence) and source and all(isinstance(each, str | Path) for each in source):
        return " ".join(readable(each) for each in source)
    return "two pictures" if isinstance(source, Sequence) and len(source) == 2 else "array"


def source_paths(source: Any) -> list[str | Path]:
    """The files and folders of an input; none for arrays."""
    return [each for each in (source if isinstance(source, list | tuple) else [source]) if isinstance(each, str | Path)]


def output_name(source: Any) -> str:
    """The name for what is written about an input: that of a folder, of a file without its ending, or `answer`."""
    paths = source_paths(source)
    if not paths:
        return "answer"
    path = Path(os.path.abspath(paths[-1]))  # `.` and `..` have no name
    return (path.name if path.is_dir() else path.stem) or "answer"


def is_picture(path: str | Path) -> bool:
    """Whether a path is a picture by its ending."""
    return Path(path).suffix.lower() in PICTURE_ENDINGS and not Path(path).is_dir()


def colour(frame: np.ndarray) -> np.ndarray:
    """The frame as (H, W, 3); grey becomes three equal channels."""
    if frame.ndim == 2:
        frame = frame[..., None]
    return np.ascontiguousarray(np.repeat(frame, 3, axis=2) if frame.shape[2] == 1 else frame)


def chosen_frames(frames: Frames, apex: int | None, times: Times, near: float) -> Iterator[Frame]:
    """The frames between two times; if an apex is given, those within `near` seconds of it."""
    start, end = times
    if apex is not None:
        return _around(frames, apex, round(near * (frames.fps or ASSUMED_RATE)))
    if start is None and end is None:
        return iter(frames)
    return frames.during(start or 0.0, math.inf if end is None else end)


def _around(frames: Frames, apex: int, near: int) -> Iterator[Frame]:
    """The frames up to `near` before and after the apex; an apex past the end is an error."""
    last = -1
    for frame in frames.between(apex - near, apex + near):
        last = frame.number
        yield frame
    if last < apex and apex > frames.numbers[-1]:  # only now: counting the frames of a video takes a pass
        raise missing_frame(frames.path, apex, frames.numbers)


def check_times(fps: float | None, start: float | None, end: float | None) -> None:
    """Raise an error if the frame rate or the times are impossible."""
    if fps is not None and not 0 < fps <= FASTEST_RATE:
        raise FrameError(
            f"{fps:g} frames a second is not a frame rate", fix="give the rate of the camera, such as --fps 100"
        )
    if not 0 <= (start or 0.0) < (math.inf if end is None else end):
        raise FrameError(
            f"there is nothing between --start {start or 0.0:g} and --end {end if end is not None else math.inf:g}",
            fix="give seconds from 0 on, with the start before the end",
        )


def frame_number(value: Any, name: str) -> int | None:
    """A frame number as a plain integer; NumPy's integers become one."""
    try:
        return None if value is None else index(value)
    except TypeError:
        raise FrameError(f"{name} cannot be {value!r}", fix="give the number of a frame, a whole number") from None


def check_order(onset: int | None, apex: int | None) -> None:
    """Raise an error if the apex does not come after the onset."""
    if onset is not None and apex is not None and onset >= apex:
        raise FrameError(f"the apex {apex} does not come after the onset {onset}", fix="give an onset before the apex")


def check_key_frames(frames: Frames, onset: int | None, apex: int | None) -> None:
    """Raise an error if the input lacks the key frames; a video is not decoded to count its frames."""
    check_order(onset, apex)
    counted = not isinstance(frames, VideoFrames)
    first, last = (frames.numbers[0], frames.numbers[-1]) if counted else (0, None)
    for name, number in (("onset", onset), ("apex", apex)):
        if number is not None and (number < first or (last is not None and number > last)):
            held = f", which holds frames {first} to {last}" if last is not None else ": frames are counted from 0"
            raise FrameError(
                f"the {name} {number} is not in {frames.path}{held}",
                fix=f"give a frame number from {first}{'' if last is None else f' to {last}'}",
            )
    if apex == first and onset is None:
        raise FrameError(f"the apex {apex} is the first frame", fix="give an apex with frames before it")
    if onset is not None and onset == last and apex is None:
        raise FrameError(f"the onset {onset} is the last frame", fix="give an onset with frames after it")


def too_few(frames: Frames, count: int, times: Times) -> FrameError:
    """The error for an input with fewer than two frames."""
    counted = "no frame" if count == 0 else "one frame"
    if times != (None, None):
        start, end = times
        until = "the end" if end is None else f"{end:g} s"
        return FrameError(
            f"{frames.path} has {counted} between {start or 0.0:g} s and {until}",
            fix="give --start and --end within the video, with a second or so between them",
        )
    return FrameError(
        f"{frames.path} holds {counted}: motion needs two",
        fix="give a video of a second or so, or two pictures (onset, apex)",
    )


def _pair(onset: Any, apex: Any) -> PairFrames:
    pictures = [_picture(each, name) for each, name in ((onset, "the onset"), (apex, "the apex"))]
    if pictures[0].shape != pictures[1].shape:
        sizes = [f"{picture.shape[1]} x {picture.shape[0]} px" for picture in pictures]
        raise ShapeError(
            f"the onset is {sizes[0]} but the apex is {sizes[1]}",
            fix="take both pictures from one video, without cropping or scaling either",
        )
    return PairFrames(pictures, source_name((onset, apex)))


def _picture(source: Any, name: str) -> np.ndarray:
    if isinstance(source, str | Path):
        return read_picture(source)
    picture = np.asarray(source)
    if picture.dtype != np.uint8 or not (picture.ndim == 2 or (picture.ndim == 3 and picture.shape[2] in (1, 3))):
        raise ShapeError(
            f"{name} is {picture.dtype} {picture.shape}, not a picture", fix="give uint8 RGB (H, W, 3) or grey (H, W)"
        )
    return colour(picture)


def _checked(frames: np.ndarray) -> np.ndarray:
    if frames.ndim == 3 and frames.shape[2] in (1, 3):
        raise ShapeError(
            f"an array of shape {frames.shape} is one picture, not a clip", fix="give (T, H, W, 3), or two pictures"
        )
    if frames.dtype != np.uint8 or frames.ndim not in (3, 4) or (frames.ndim == 4 and frames.shape[3] not in (1, 3)):
        raise ShapeError(
            f"frames are (T, H, W, 3) uint8 RGB, not {frames.dtype} {frames.shape}",
            fix="stack the frames on the first axis; values go from 0 to 255",
        )
    if 0 in frames.shape[1:]:
        raise ShapeError(f"frames of shape {frames.shape} are empty", fix="give frames with pixels")
    return frames
