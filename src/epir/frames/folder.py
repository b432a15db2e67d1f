"""A folder of pictures as frames, numbered by the last integer of each file name."""

import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import numpy as np

from epir.core.errors import FrameError
from epir.frames.picture import PICTURES, read_picture

LAST_INTEGER = re.compile(r"(\d+)\D*$")


class FolderFrames:
    """The pictures of one folder; names such as `reg_img46.jpg` and `006_05562.jpg` are frames 46 and 5562."""

    fps: float | None = None

    def __init__(self, path: Path) -> None:
        self.path = path
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

    def read(self, number: int) -> np.ndarray:
        """The picture with this number, (H, W, 3) uint8 RGB."""
        files = self._files.get(number)
        if files is None:
            raise missing_frame(self.path, number, self.numbers)
        if len(files) > 1:
            names = " and ".join(sorted(file.name for file in files))
            raise FrameError(f"{self.path} has two pictures for frame {number}: {names}", fix="remove one of them")
        return read_picture(files[0])

    def between(self, first: int, last: int) -> Iterator[tuple[int, np.ndarray]]:
        """The pictures from `first` to `last` (both included) with their numbers, one at a time."""
        for number in self.numbers:
            if first <= number <= last:
                yield number, self.read(number)

    def __iter__(self) -> Iterator[tuple[int, np.ndarray]]:
        return self.between(self.numbers[0], self.numbers[-1])

    def __len__(self) -> int:
        return len(self.numbers)

    def __enter__(self) -> "FolderFrames":
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing stays open."""


def numbered_pictures(folder: Path) -> dict[int, list[Path]]:
    """The pictures of a folder by number; hidden files and names without an integer are passed over."""
    files: dict[int, list[Path]] = {}
    for file in folder.iterdir():
        found = LAST_INTEGER.search(file.stem)
        if found and file.suffix.lower() in PICTURES and not file.name.startswith("."):
            files.setdefault(int(found[1]), []).append(file)
    return files


def missing_frame(path: Path, number: int, numbers: tuple[int, ...]) -> FrameError:
    """The error for a frame that is not there: it says what is."""
    nearest = min(numbers, key=lambda there: (abs(there - number), there))
    gaps = numbers[-1] - numbers[0] + 1 - len(numbers)
    among = f"; {gaps} of these are missing" if gaps else ""
    return FrameError(
        f"{path} has no frame {number}: it holds frames {numbers[0]} to {numbers[-1]}{among}",
        fix=f"correct the annotation; the nearest frame is {nearest}",
    )
