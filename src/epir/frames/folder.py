"""A folder of pictures as frames, numbered by the last integer of each file name; and a fingerprint of a clip."""

import hashlib
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from epir.core.errors import FrameError
from epir.core.files import PICTURE_ENDINGS, is_copy
from epir.core.words import missing_frames
from epir.frames.picture import picture_size, read_picture
from epir.frames.reader import ASSUMED_RATE, Frame, Frames, check_same_size, missing_frame, unreadable

LAST_INTEGER = re.compile(r"(\d+)\D*$")
LONGEST = 1_000_000  # frames: longer folders are not checked for gaps
SHOWN = 2  # pictures named in an error
END = 1 << 20  # bytes compared at each end of a video


class FolderFrames(Frames):
    """The pictures of one folder; names such as `reg_img46.jpg` and `006_05562.jpg` are frames 46 and 5562."""

    def __init__(self, path: Path, fps: float | None = None) -> None:
        self.path, self.fps = path, fps
        self.notes: list[str] = []
        self._files = numbered_pictures(path)
        if not self._files:
            raise FrameError(
                f"{path} holds no numbered pictures",
                fix=f"it should hold files such as img1.jpg; known endings: {', '.join(PICTURE_ENDINGS)}",
            )

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of the pictures, sorted."""
        return tuple(sorted(self._files))

    def frame(self, number: int) -> Frame:
        """The picture with this number; time starts at the first picture."""
        pixels = read_picture(self._file(number))
        return Frame(number, (number - self.numbers[0]) / (self.fps or ASSUMED_RATE), pixels)

    def size(self, number: int) -> tuple[int, int]:
        """Width and height of a picture as shown; only the start of its file is read."""
        return picture_size(self._file(number))

    def inspect(self, first: int, last: int) -> list[str]:
        """A note on missing pictures; an error if the headers of the pictures give different sizes."""
        numbers = [number for number in self.numbers if first <= number <= last]
        start: tuple[int, tuple[int, int]] | None = None
        for number in numbers:
            try:
                size = self.size(number)
            except FrameError:
                continue  # reported when it is read
            start = start or (number, size)
            check_same_size(start[0], start[1], number, size)
        if not numbers or numbers[-1] - numbers[0] > LONGEST:
            return []
        gaps = missing_frames(set(numbers), numbers[0], numbers[-1])
        return [gaps] if gaps else []

    def between(self, first: int, last: int) -> Iterator[Frame]:
        """The pictures from `first` to `last` (inclusive), one at a time; damaged ones are skipped and noted."""
        damaged: list[int] = []
        problem: FrameError | None = None
        readable = 0
        for number in self.numbers:
            if not first <= number <= last:
                continue
            self._file(number)  # raises an error for two pictures with one number
            try:
                frame = self.frame(number)
            except FrameError as error:
                problem = problem or error
                damaged.append(number)
                continue
            readable += 1
            yield frame
        if problem is not None:
            if not readable:
                raise problem
            self.note(f"{unreadable(damaged)}, and left out: {problem.problem}")

    def _file(self, number: int) -> Path:
        files = self._files.get(number)
        if files is None:
            raise missing_frame(self.path, number, self.numbers)
        if len(files) > 1:
            names = sorted(file.name for file in files)
            more = len(names) - SHOWN
            shown = f"{', '.join(names[:SHOWN])} and {more} more" if more else " and ".join(names)
            raise FrameError(
                f"{self.path} has {len(names)} pictures for frame {number}: {shown}",
                fix="keep one picture per frame; the frame is the last number of a name, so a counter must come last: "
                "x4_frame_0001.png, not frame_0001_x4.png",
            )
        return files[0]


def numbered_pictures(folder: Path) -> dict[int, list[Path]]:
    """The pictures of a folder by number; hidden files, copies and names without an integer are ignored."""
    files: dict[int, list[Path]] = {}
    there = {file.name: file for file in folder.iterdir()}
    for file in there.values():
        match = LAST_INTEGER.search(file.stem)
        is_picture = file.suffix.lower() in PICTURE_ENDINGS and not file.name.startswith(".")
        if match and is_picture and not is_copy(file.name, there):
            files.setdefault(int(match[1]), []).append(file)
    return files


def fingerprint(path: Path, onset: int | None, apex: int | None) -> str | None:
    """A text that is equal for clips whose onset and apex are the same pictures, or the same frames of a video.

    `None` if a picture is missing or empty, or if both show the same picture.
    """
    if path.is_dir():
        files = numbered_pictures(path)
        keys = [files.get(number, []) for number in (onset, apex) if number is not None]
        if len(keys) != 2 or any(len(pictures) != 1 for pictures in keys):
            return None
        contents = [pictures[0].read_bytes() for pictures in keys]
        if not all(contents) or contents[0] == contents[1]:
            return None
        return hashlib.sha256(b"".join(hashlib.sha256(content).digest() for content in contents)).hexdigest()
    if not path.is_file() or not path.stat().st_size:
        return None
    size = path.stat().st_size
    with path.open("rb") as file:
        start = file.read(END)
        file.seek(max(0, size - END))
        end = file.read(END)
    return hashlib.sha256(b"%d %a %a " % (size, onset, apex) + start + end).hexdigest()
