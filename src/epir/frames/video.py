"""A video file as frames, with exact indices.

Jumping inside a compressed video can land on a neighbour of the frame that was asked for, and a micro-expression lives
on such neighbours. So the file is only ever read forwards: a later frame is reached by passing over those before it, an
earlier one by beginning again.
"""

import os
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import cv2
import numpy as np

from epir.core.errors import FrameError
from epir.frames.folder import missing_frame

VIDEOS = frozenset({".mp4", ".avi", ".mov", ".mkv", ".webm", ".m4v"})


class VideoFrames:
    """The frames of one video file, numbered from 0."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._capture = open_capture(path)
        self._next = 0  # the index of the frame that the capture gives next

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """The indices that the file announces; they are counted where it announces none."""
        announced = int(self._capture.get(cv2.CAP_PROP_FRAME_COUNT))
        return tuple(range(announced if announced > 0 else count_frames(self.path)))

    @cached_property
    def fps(self) -> float | None:
        """Frames per second, where the file says."""
        rate = float(self._capture.get(cv2.CAP_PROP_FPS))
        return rate if np.isfinite(rate) and rate > 0 else None

    def read(self, number: int) -> np.ndarray:
        """The frame with this index, (H, W, 3) uint8 RGB."""
        if not 0 <= number < len(self.numbers):
            raise missing_frame(self.path, number, self.numbers)
        if number < self._next:
            self._begin_again()
        while self._next < number:
            if not self._capture.grab():
                raise self._ended_early(number)
            self._next += 1
        good, pixels = self._capture.read()
        if not good:
            raise self._ended_early(number)
        self._next += 1
        return cv2.cvtColor(pixels, cv2.COLOR_BGR2RGB)

    def between(self, first: int, last: int) -> Iterator[tuple[int, np.ndarray]]:
        """The frames from `first` to `last` (both included) with their indices, one at a time."""
        for number in range(max(first, 0), min(last, len(self.numbers) - 1) + 1):
            yield number, self.read(number)

    def __iter__(self) -> Iterator[tuple[int, np.ndarray]]:
        return self.between(0, len(self.numbers) - 1)

    def __len__(self) -> int:
        return len(self.numbers)

    def __enter__(self) -> "VideoFrames":
        return self

    def __exit__(self, *error: object) -> None:
        self._capture.release()

    def _begin_again(self) -> None:
        self._capture.release()
        self._capture = open_capture(self.path)
        self._next = 0

    def _ended_early(self, number: int) -> FrameError:
        return FrameError(
            f"{self.path} cannot be read at frame {number}: "
            f"it announces {len(self.numbers)} frames, and ends after {self._next}",
            fix="the file is cut short or damaged: copy it again, or use frames before that",
        )


def open_capture(path: Path) -> cv2.VideoCapture:
    """OpenCV's reader for a video, or an error that names the file."""
    os.environ.setdefault("OPENCV_FFMPEG_LOGLEVEL", "-8")  # the error below says it once, in words
    capture = cv2.VideoCapture(str(path))
    if not capture.isOpened():
        raise FrameError(
            f"{path} cannot be opened as a video: it is damaged, or its codec is missing",
            fix="play it in a video player; if it plays there, convert it to mp4 (H.264) or to png pictures",
        )
    return capture


def count_frames(path: Path) -> int:
    """How many frames a video really holds: it is read once, without turning frames into pictures."""
    capture, count = open_capture(path), 0
    while capture.grab():
        count += 1
    capture.release()
    if not count:
        raise FrameError(f"{path} holds no frame that can be read", fix="copy it again, or convert it to mp4 (H.264)")
    return count
