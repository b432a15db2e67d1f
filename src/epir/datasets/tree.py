"""Folders on disk: each is listed once, matched without regard to case, and no picture is opened."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from epir.core.errors import DatasetError
from epir.datasets.spelling import frame_of_file


@dataclass(frozen=True, slots=True)
class Listing:
    """What one folder holds."""

    folders: dict[str, Path]  # by name, sorted
    frames: tuple[int, ...]  # frame numbers, sorted
    files: tuple[str, ...]  # names of everything that is no picture, sorted


class Tree:
    """The folders below a root, each listed at most once."""

    def __init__(self, root: Path) -> None:
        if root.is_file():
            raise DatasetError(f"{root} is a file", fix="give the folder into which the corpus was unpacked")
        self.root = root
        self._listings: dict[Path, Listing] = {}

    def look(self, folder: Path) -> Listing:
        """What `folder` holds; hidden files and archives' leftovers are passed over."""
        if folder not in self._listings:
            self._listings[folder] = _scan(folder)
        return self._listings[folder]

    def below(self, folder: Path, depth: int) -> Iterator[Path]:
        """`folder` and the folders down to `depth` levels below it, nearest first."""
        level = [folder]
        for _ in range(depth + 1):
            yield from level
            level = [child for parent in level for child in self.look(parent).folders.values()]

    def names(self, folder: Path) -> list[str]:
        """The names of a folder and of those above it down from the root, nearest first, in lower case."""
        above = folder.relative_to(self.root).parts
        return [name.casefold() for name in (*reversed(above), self.root.name)]

    def relative(self, path: Path) -> str:
        """The path below the root, for messages; the root's own name for the root."""
        return path.relative_to(self.root).as_posix() if self.root in path.parents else path.name


def _scan(folder: Path) -> Listing:
    folders, frames, files = {}, [], []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.startswith(".") or entry.name == "__MACOSX":
                    continue
                number = frame_of_file(entry.name)
                if number is not None:
                    frames.append(number)
                elif entry.is_dir():
                    folders[entry.name] = folder / entry.name
                else:
                    files.append(entry.name)
    except OSError as error:
        raise DatasetError(
            f"the folder {folder} cannot be listed: {error.strerror}",
            fix="give yourself the right to read it, or check the disk",
        ) from None
    return Listing(dict(sorted(folders.items())), tuple(sorted(frames)), tuple(sorted(files)))
