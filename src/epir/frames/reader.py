"""Frames of a clip, from a folder of pictures or from a video file, read one by one.

A frame is (H, W, 3) uint8 RGB. Its number is the last integer of the file name in a folder, and the index from 0 in a
video. Nothing is read before it is asked for, and nothing is kept: a long video needs no more memory than a short one.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import numpy as np

from epir.core.errors import FrameError
from epir.frames.folder import FolderFrames
from epir.frames.picture import PICTURES
from epir.frames.video import VIDEOS, VideoFrames


class Frames(Protocol):
    """What a folder and a video have in common; `with` closes a video early."""

    path: Path

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of the frames that are there, rising."""

    @property
    def fps(self) -> float | None:
        """Frames per second, where the file says."""

    def read(self, number: int) -> np.ndarray:
        """One frame, (H, W, 3) uint8 RGB."""

    def between(self, first: int, last: int) -> Iterator[tuple[int, np.ndarray]]:
        """The frames from `first` to `last` (both included) with their numbers, one at a time."""

    def __iter__(self) -> Iterator[tuple[int, np.ndarray]]:
        """Every frame with its number, one at a time."""

    def __len__(self) -> int: ...

    def __enter__(self) -> "Frames": ...

    def __exit__(self, *error: object) -> None: ...


def open_frames(path: str | Path) -> Frames:
    """The frames at `path`: a folder of jpg, png or bmp pictures, or a video file."""
    path = Path(path)
    if path.is_dir():
        return FolderFrames(path)
    if not path.exists():
        raise FrameError(f"there is no folder or video {path}", fix="check the path")
    if path.suffix.lower() in PICTURES:
        raise FrameError(f"{path} is one picture, not a clip", fix=f"give the folder that holds it: {path.parent}")
    if path.suffix.lower() not in VIDEOS:
        known = ", ".join(sorted(VIDEOS))
        raise FrameError(f"{path} is neither a folder of pictures nor a video", fix=f"video files end in {known}")
    return VideoFrames(path)
