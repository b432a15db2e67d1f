"""Frames of a clip, from a folder of pictures or from a video file, read one by one, turned upright where need be.

The number of a frame is the last integer of the file name in a folder, and the index from 0 in a video. Nothing is read
before it is asked for, and nothing is kept: a long video needs no more memory than a short one.

Frames of several sizes are refused: no motion between them means anything. Missing frames, frames that the decoder
concealed and pictures that cannot be read are notes, unless a key frame is among them.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from epir.core.errors import FrameError
from epir.core.words import missing_frames, ranges
from epir.frames.picture import PICTURES

if TYPE_CHECKING:
    from epir.frames.folder import FolderFrames

ASSUMED_RATE = 100.0  # frames a second, where neither the file nor the user says
LONGEST = 1_000_000  # frames whose numbers are looked through for gaps
DIRECTIONS = {1: "90 degrees counter-clockwise", 2: "180 degrees", 3: "90 degrees clockwise"}


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame with its number and its time since the beginning."""

    number: int
    seconds: float
    pixels: np.ndarray  # (H, W, 3) uint8 RGB


class Frames(ABC):
    """What a folder, a video and an array have in common; `with` closes a video early."""

    path: Path
    fps: float | None  # as given by the user, or else as the file says
    notes: list[str]  # what turned out while reading, such as a file that ends early

    @property
    @abstractmethod
    def numbers(self) -> tuple[int, ...]:
        """The numbers of the frames that are there, rising; a video is decoded once to count them."""

    @property
    def announced(self) -> int | None:
        """About how many frames there are, where this is known without reading them."""
        return len(self.numbers)

    @abstractmethod
    def frame(self, number: int) -> Frame:
        """One frame with its time; a damaged one is refused."""

    @abstractmethod
    def between(self, first: int, last: int) -> Iterator[Frame]:
        """The frames from `first` to `last` (both included), one at a time."""

    def read(self, number: int) -> np.ndarray:
        """The pixels of one frame, (H, W, 3) uint8 RGB."""
        return self.frame(number).pixels

    def during(self, start: float, end: float) -> Iterator[Frame]:
        """The frames from `start` to `end` seconds (both included), one at a time."""
        rate, first = self.fps or ASSUMED_RATE, self.numbers[0]
        last = self.numbers[-1] if math.isinf(end) else first + math.floor(end * rate + 1e-6)
        return self.between(first + math.ceil(start * rate - 1e-6), last)

    def note(self, words: str) -> None:
        """Add to the notes, once."""
        if words not in self.notes:
            self.notes.append(words)

    def __iter__(self) -> Iterator[Frame]:
        return self.between(0, 1 << 62)

    def __len__(self) -> int:
        return len(self.numbers)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:  # noqa: B027
        """Close what is open."""


def open_frames(path: str | Path, fps: float | None = None) -> Frames:
    """The frames at `path`: a folder of pictures, or a video file; a given `fps` replaces the file's own times."""
    from epir.frames.folder import FolderFrames
    from epir.frames.video import VideoFrames

    path = Path(path)
    if path.is_dir():
        return FolderFrames(path, fps)
    if not path.exists():
        raise FrameError(f"there is no folder or video {path}", fix="check the path")
    if path.suffix.lower() in PICTURES:
        raise FrameError(
            f"{path} is one picture, not a clip",
            fix=f"give two pictures, onset and apex, or the folder that holds them: {path.parent}",
        )
    return VideoFrames(path, fps)


def missing_frame(path: Path, number: int, numbers: tuple[int, ...]) -> FrameError:
    """The error for a frame that is not there: it says what is."""
    nearest = min(numbers, key=lambda there: (abs(there - number), there))
    gaps = numbers[-1] - numbers[0] + 1 - len(numbers)
    among = f"; {gaps} of these are missing" if gaps else ""
    return FrameError(
        f"{path} has no frame {number}: it holds frames {numbers[0]} to {numbers[-1]}{among}",
        fix=f"the nearest frame is {nearest}",
    )


def inspect_pictures(pictures: "FolderFrames", first: int, last: int) -> list[str]:
    """Notes about the pictures from `first` to `last`; pictures of several sizes, by their headers, are refused."""
    numbers = [number for number in pictures.numbers if first <= number <= last]
    start: tuple[int, tuple[int, int]] | None = None
    for number in numbers:
        try:
            size = pictures.size(number)
        except FrameError:
            continue  # told when it is read
        start = start or (number, size)
        check_same_size(start[0], start[1], number, size)
    if not numbers or numbers[-1] - numbers[0] > LONGEST:
        return []
    gaps = missing_frames(set(numbers), numbers[0], numbers[-1])
    return [gaps] if gaps else []


def same_size(frames: Iterable[Frame]) -> Iterator[Frame]:
    """The frames one by one, until one has another size than the first: that is refused."""
    start: tuple[int, tuple[int, int]] | None = None
    for frame in frames:
        size = size_of(frame.pixels)
        start = start or (frame.number, size)
        check_same_size(start[0], start[1], frame.number, size)
        yield frame


def check_same_size(first: int, size: tuple[int, int], number: int, other: tuple[int, int]) -> None:
    """Refuse two frames of different width or height."""
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
    """In words, which pictures of a folder cannot be opened."""
    noun = "picture" if len(numbers) == 1 else "pictures"
    return f"{len(numbers)} {noun} cannot be opened: frame {ranges(numbers)}"


class TurnedFrames(Frames):
    """Frames, each turned counter-clockwise by so many quarters."""

    def __init__(self, frames: Frames, turns: int) -> None:
        self.frames, self.turns = frames, turns
        self.path, self.fps = frames.path, frames.fps
        self.notes = frames.notes  # the same list, which grows while frames are read

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of the frames."""
        return self.frames.numbers

    @property
    def announced(self) -> int | None:
        """About how many frames there are."""
        return self.frames.announced

    def frame(self, number: int) -> Frame:
        """One frame, upright."""
        return self._turned(self.frames.frame(number))

    def between(self, first: int, last: int) -> Iterator[Frame]:
        """The frames from `first` to `last` (both included), upright."""
        return map(self._turned, self.frames.between(first, last))

    def during(self, start: float, end: float) -> Iterator[Frame]:
        """The frames from `start` to `end` seconds (both included), upright."""
        return map(self._turned, self.frames.during(start, end))

    def __exit__(self, *error: object) -> None:
        self.frames.__exit__(*error)

    def _turned(self, frame: Frame) -> Frame:
        return replace(frame, pixels=turned(frame.pixels, self.turns))


def upright(frames: Frames, turns: int) -> Frames:
    """The frames turned counter-clockwise by so many quarters; themselves for none."""
    return TurnedFrames(frames, turns) if turns else frames


def turned(pixels: np.ndarray, turns: int) -> np.ndarray:
    """A (H, W, 3) frame turned counter-clockwise by so many quarters."""
    return np.ascontiguousarray(np.rot90(pixels, turns)) if turns else pixels


def turn_note(turns: int) -> list[str]:
    """Words about frames that had to be turned."""
    if not turns:
        return []
    lies = "is upside down" if turns == 2 else "lies on its side"
    return [f"the face {lies}: the frames were turned by {DIRECTIONS[turns]}"]
