"""Frames of a clip, read one by one from a folder of pictures or a video file, and turned upright if needed.

The number of a frame is the last integer of the file name in a folder, and the index from 0 in a video. Frames are read
on demand and not kept: a long video needs no more memory than a short one.

Frames of different sizes are an error: motion between them means nothing. Missing frames, frames that the decoder
concealed and unreadable pictures are noted, unless they are key frames.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np

from epir.core.errors import FrameError
from epir.core.files import PICTURE_ENDINGS
from epir.core.words import ranges

ASSUMED_RATE = 100.0  # frames per second, if neither the file nor the user says
DIRECTIONS = {1: "90 degrees counter-clockwise", 2: "180 degrees", 3: "90 degrees clockwise"}


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame with its number and its time since the start."""

    number: int
    seconds: float
    pixels: np.ndarray  # (H, W, 3) uint8 RGB


class Frames(ABC):
    """The interface of folders, videos and arrays; `with` closes a video early."""

    path: Path
    fps: float | None  # from the user, or else from the file
    notes: list[str]  # problems met while reading, such as a file that ends early

    @property
    @abstractmethod
    def numbers(self) -> tuple[int, ...]:
        """The numbers of the frames, sorted; a video is decoded once to count them."""

    @property
    def announced(self) -> int | None:
        """The estimated number of frames, if it is known without reading them."""
        return len(self.numbers)

    @abstractmethod
    def frame(self, number: int) -> Frame:
        """One frame with its time; a damaged frame is an error."""

    @abstractmethod
    def between(self, first: int, last: int) -> Iterator[Frame]:
        """The frames from `first` to `last` (inclusive), one at a time."""

    def inspect(self, first: int, last: int) -> list[str]:
        """Notes on the frames from `first` to `last` that need no decoding; different sizes are an error."""
        return []

    def read(self, number: int) -> np.ndarray:
        """The pixels of one frame, (H, W, 3) uint8 RGB."""
        return self.frame(number).pixels

    def during(self, start: float, end: float) -> Iterator[Frame]:
        """The frames from `start` to `end` seconds (inclusive), one at a time."""
        rate, first = self.fps or ASSUMED_RATE, self.numbers[0]
        last = self.numbers[-1] if math.isinf(end) else first + math.floor(end * rate + 1e-6)
        return self.between(first + math.ceil(start * rate - 1e-6), last)

    def note(self, words: str) -> None:
        """Add a note, unless it is there already."""
        if words not in self.notes:
            self.notes.append(words)

    def __iter__(self) -> Iterator[Frame]:
        return self.between(0, 1 << 62)

    def __len__(self) -> int:
        return len(self.numbers)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:  # noqa: B027
        """Close the file."""


def open_frames(path: str | Path, fps: float | None = None) -> Frames:
    """The frames at `path`, a folder of pictures or a video file; `fps` overrides the times in the file."""
    from epir.frames.folder import FolderFrames
    from epir.frames.video import VideoFrames

    path = Path(path)
    if path.is_dir():
        return FolderFrames(path, fps)
    if not path.exists():
        raise FrameError(f"there is no folder or video {path}", fix="check the path")
    if path.suffix.lower() in PICTURE_ENDINGS:
        raise FrameError(
            f"{path} is one picture, not a clip",
            fix=f"give two pictures, onset and apex, or the folder that holds them: {path.parent}",
        )
    return VideoFrames(path, fps)


def missing_frame(path: Path, number: int, numbers: tuple[int, ...]) -> FrameError:
    """The error for a missing frame; it names the range of frames and the nearest frame."""
    nearest = min(numbers, key=lambda other: (abs(other - number), other))
    gaps = numbers[-1] - numbers[0] + 1 - len(numbers)
    among = f"; {gaps} of these are missing" if gaps else ""
    return FrameError(
        f"{path} has no frame {number}: it holds frames {numbers[0]} to {numbers[-1]}{among}",
        fix=f"the nearest frame is {nearest}",
    )


def same_size(frames: Iterable[Frame]) -> Iterator[Frame]:
    """The frames one by one; a frame of another size than the first is an error."""
    start: tuple[int, tuple[int, int]] | None = None
    for frame in frames:
        size = size_of(frame.pixels)
        start = start or (frame.number, size)
        check_same_size(start[0], start[1], frame.number, size)
        yield frame


def check_same_size(first: int, size: tuple[int, int], number: int, other: tuple[int, int]) -> None:
    """Raise an error for two frames of different width or height."""
    if size != other:
        raise FrameError(
            f"frames differ in size: frame {first} is {size[0]} x {size[1]} px, frame {number} is "
            f"{other[0]} x {other[1]} px",
            fix="take all frames of a clip from one recording, without cropping or scaling some of them",
        )


def size_of(pixels: np.ndarray) -> tuple[int, int]:
    """Width and height of a (H, W, 3) frame."""
    return pixels.shape[1], pixels.shape[0]


def unreadable(numbers: Sequence[int]) -> str:
    """The note on pictures of a folder that cannot be opened."""
    noun = "picture" if len(numbers) == 1 else "pictures"
    return f"{len(numbers)} {noun} cannot be opened: frame {ranges(numbers)}"


class TurnedFrames(Frames):
    """Frames rotated by `turns` counter-clockwise quarter turns."""

    def __init__(self, frames: Frames, turns: int) -> None:
        self.frames, self.turns = frames, turns
        self.path, self.fps = frames.path, frames.fps
        self.notes = frames.notes  # the same list object, which grows while frames are read

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of the frames."""
        return self.frames.numbers

    @property
    def announced(self) -> int | None:
        """The estimated number of frames."""
        return self.frames.announced

    def frame(self, number: int) -> Frame:
        """One frame, upright."""
        return self._turned(self.frames.frame(number))

    def between(self, first: int, last: int) -> Iterator[Frame]:
        """The frames from `first` to `last` (inclusive), upright."""
        return map(self._turned, self.frames.between(first, last))

    def during(self, start: float, end: float) -> Iterator[Frame]:
        """The frames from `start` to `end` seconds (inclusive), upright."""
        return map(self._turned, self.frames.during(start, end))

    def __exit__(self, *error: object) -> None:
        self.frames.__exit__(*error)

    def _turned(self, frame: Frame) -> Frame:
        return replace(frame, pixels=turned(frame.pixels, self.turns))


def upright(frames: Frames, turns: int) -> Frames:
    """The frames rotated by `turns` counter-clockwise quarter turns."""
    return TurnedFrames(frames, turns) if turns else frames


def turned(pixels: np.ndarray, turns: int) -> np.ndarray:
    """A (H, W, 3) frame rotated by `turns` counter-clockwise quarter turns."""
    return np.ascontiguousarray(np.rot90(pixels, turns)) if turns else pixels


def turn_note(turns: int) -> list[str]:
    """The note on frames that were rotated; nothing if they were not."""
    if not turns:
        return []
    lies = "is upside down" if turns == 2 else "lies on its side"
    return [f"the face {lies}: the frames were turned by {DIRECTIONS[turns]}"]
