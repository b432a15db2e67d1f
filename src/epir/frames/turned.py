"""Frames of a camera that lay on its side or upside down, turned upright."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from epir.frames.reader import Frame, Frames

DIRECTIONS = {1: "90 degrees counter-clockwise", 2: "180 degrees", 3: "90 degrees clockwise"}


class TurnedFrames:
    """Frames, each turned counter-clockwise by so many quarters."""

    def __init__(self, frames: Frames, turns: int) -> None:
        self.frames, self.turns = frames, turns
        self.path: Path = frames.path
        self.notes = frames.notes  # the same list, which grows while frames are read

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of the frames."""
        return self.frames.numbers

    @property
    def announced(self) -> int | None:
        """About how many frames there are."""
        return self.frames.announced

    @property
    def fps(self) -> float | None:
        """Frames per second."""
        return self.frames.fps

    def read(self, number: int) -> np.ndarray:
        """One frame, (H, W, 3) uint8 RGB, upright."""
        return turned(self.frames.read(number), self.turns)

    def frame(self, number: int) -> Frame:
        """The same with its time."""
        return self._turned(self.frames.frame(number))

    def between(self, first: int, last: int) -> Iterator[Frame]:
        """The frames from `first` to `last` (both included), one at a time."""
        return map(self._turned, self.frames.between(first, last))

    def during(self, start: float, end: float) -> Iterator[Frame]:
        """The frames from `start` to `end` seconds (both included), one at a time."""
        return map(self._turned, self.frames.during(start, end))

    def __iter__(self) -> Iterator[Frame]:
        return map(self._turned, self.frames)

    def __len__(self) -> int:
        return len(self.frames)

    def __enter__(self) -> "TurnedFrames":
        return self

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
