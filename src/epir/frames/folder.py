"""A folder of pictures as frames, numbered by the last integer of each file name."""

import math
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import numpy as np

from epir.core.errors import FrameError
from epir.frames.inspection import unreadable
from epir.frames.picture import PICTURES, picture_size, read_picture
from epir.frames.reader import ASSUMED_RATE, Frame, missing_frame

LAST_INTEGER = re.compile(r"(\d+)\D*$")


class FolderFrames:
    """The pictures of one folder; names such as `reg_img46.jpg` and `006_05562.jpg` are frames 46 and 5562."""

    def __init__(self, path: Path, fps: float | None = None) -> None:
        self.path, self.fps = path, fps
        self.notes: list[str] = []
        self._files = numbered_pictures(path)
        if not self._files:
            raise FrameError(
                f"{path} holds no numbered pictures",
                fix=f"it should hold files such as img1.jpg; known endings: {', '.join(sorted(PICTURES))}",
            )

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of the pictures, rising."""
        return tuple(sorted(self._files))

    @property
    def announced(self) -> int:
        """How many pictures there are."""
        return len(self._files)

    def read(self, number: int) -> np.ndarray:
        """The picture with this number, (H, W, 3) uint8 RGB."""
        return read_picture(self._file(number))

    def frame(self, number: int) -> Frame:
        """The same with its time, which begins with the first picture."""
        return Frame(number, (number - self.numbers[0]) / (self.fps or ASSUMED_RATE), self.read(number))

    def size(self, number: int) -> tuple[int, int]:
        """Width and height of a picture as it is shown; only the beginning of its file is read."""
        return picture_size(self._file(number))

    def between(self, first: int, last: int) -> Iterator[Frame]:
        """The pictures from `first` to `last` (both included), one at a time; damaged ones are left out and noted."""
        damaged: list[int] = []
        problem: FrameError | None = None
        given = 0
        for number in self.numbers:
            if not first <= number <= last:
                continue
            self._file(number)  # refuses two for one number
            try:
                frame = self.frame(number)
            except FrameError as error:
                problem = problem or error
                damaged.append(number)
                continue
            given += 1
            yield frame
        if problem is not None:
            if not given:
                raise problem
            self._note(f"{unreadable(damaged)}, and left out: {problem.problem}")

    def during(self, start: float, end: float) -> Iterator[Frame]:
        """The frames from `start` to `end` seconds (both included), one at a time."""
        rate, first = self.fps or ASSUMED_RATE, self.numbers[0]
        last = self.numbers[-1] if math.isinf(end) else first + math.floor(end * rate + 1e-6)
        return self.between(first + math.ceil(start * rate - 1e-6), last)

    def __iter__(self) -> Iterator[Frame]:
        return self.between(self.numbers[0], self.numbers[-1])

    def __len__(self) -> int:
        return len(self.numbers)

    def __enter__(self) -> "FolderFrames":
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing stays open."""

    def _note(self, words: str) -> None:
        if words not in self.notes:
            self.notes.append(words)

    def _file(self, number: int) -> Path:
        files = self._files.get(number)
        if files is None:
            raise missing_frame(self.path, number, self.numbers)
        if len(files) > 1:
            names = " and ".join(sorted(file.name for file in files))
            raise FrameError(f"{self.path} has two pictures for frame {number}: {names}", fix="remove one of them")
        return files[0]


def numbered_pictures(folder: Path) -> dict[int, list[Path]]:
    """The pictures of a folder by number; hidden files and names without an integer are passed over."""
    files: dict[int, list[Path]] = {}
    for file in folder.iterdir():
        found = LAST_INTEGER.search(file.stem)
        if found and file.suffix.lower() in PICTURES and not file.name.startswith("."):
            files.setdefault(int(found[1]), []).append(file)
    return files
