"""What is wrong with the frames of a clip, found and told in the same way by check, prepare, predict and the page.

Frames of several sizes are refused: no motion between them means anything. Missing frames, frames that the decoder
concealed and pictures that cannot be read are notes, unless a key frame is among them.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import numpy as np

from epir.core.errors import FrameError
from epir.core.words import missing_frames, ranges
from epir.frames.reader import Frame

LONGEST = 1_000_000  # frames whose numbers are looked through for gaps


class Pictures(Protocol):
    """A folder of pictures: what is known of it without decoding them."""

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of the pictures, rising."""

    def size(self, number: int) -> tuple[int, int]:
        """Width and height of one picture."""


def inspect_pictures(pictures: Pictures, first: int, last: int) -> list[str]:
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
