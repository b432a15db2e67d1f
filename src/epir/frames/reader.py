"""Frames of a clip, from a folder of pictures or from a video file, read one by one.

The number of a frame is the last integer of the file name in a folder, and the index from 0 in a video. Nothing is read
before it is asked for, and nothing is kept: a long video needs no more memory than a short one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from epir.core.errors import FrameError
from epir.frames.picture import PICTURES

ASSUMED_RATE = 100.0  # frames a second, where neither the file nor the user says


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame with its number and its time since the beginning."""

    number: int
    seconds: float
    pixels: np.ndarray  # (H, W, 3) uint8 RGB


class Frames(Protocol):
    """What a folder and a video have in common; `with` closes a video early."""

    path: Path
    notes: list[str]  # what was found out while reading, such as a file that ends early

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of the frames that are there, rising; a video is decoded once to count them."""

    @property
    def announced(self) -> int | None:
        """About how many frames there are, where this is known without reading them."""

    @property
    def fps(self) -> float | None:
        """Frames per second: as given by the user, or else as the file says."""

    def read(self, number: int) -> np.ndarray:
        """One frame, (H, W, 3) uint8 RGB; a damaged one is refused."""

    def frame(self, number: int) -> Frame:
        """The same with its time."""

    def between(self, first: int, last: int) -> Iterator[Frame]:
        """The frames from `first` to `last` (both included), one at a time."""

    def during(self, start: float, end: float) -> Iterator[Frame]:
        """The frames from `start` to `end` seconds (both included), one at a time."""

    def __iter__(self) -> Iterator[Frame]:
        """Every frame, one at a time."""

    def __len__(self) -> int: ...

    def __enter__(self) -> "Frames": ...

    def __exit__(self, *error: object) -> None: ...


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
        raise FrameError(f"{path} is one picture, not a clip", fix=f"give the folder that holds it: {path.parent}")
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
