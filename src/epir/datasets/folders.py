"""Matching the rows of a sheet to the folders that hold their frames.

A layout is a path with names in braces, such as `{subject}/{clip}`. Subjects match by their number, everything else
without regard to case. A corpus may lie on disk as several trees (cropped and raw); the most complete one is taken.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from epir.core.errors import DatasetError
from epir.datasets.spelling import subject_number
from epir.datasets.tree import Tree

DEEPEST = 5  # how far below the root the folder that holds the subjects may lie


@dataclass(frozen=True, slots=True)
class Layouts:
    """Where a corpus keeps its frames."""

    kinds: Mapping[str, str]  # layout -> the kind of tree that it makes
    names: Mapping[str, str]  # kind of tree -> pattern of a folder's name that tells it
    ignored: tuple[str, ...] = ()  # folders that never lead to frames
    clip_name: Callable[[str], str] = str.casefold  # one spelling for a clip's folder

    @property
    def order(self) -> list[str]:
        """The kinds of tree, preferred first."""
        return list(dict.fromkeys([*self.names, *self.kinds.values()]))

    def meaning(self, part: str, name: str) -> object:
        """What a folder's name stands for at this part of a layout: equal for all its spellings."""
        if part == "{subject}":
            number = subject_number(name)
            return name if number is None else number
        return self.clip_name(name) if part == "{clip}" else name.casefold()


@dataclass(frozen=True, slots=True)
class Place:
    """A clip, and the values for the braces of a layout: as the sheet spells them, then as corrected."""

    clip: str
    spellings: tuple[Mapping[str, str], ...]


@dataclass(frozen=True, slots=True)
class Matches:
    """The folders of one kind of tree, by clip."""

    kind: str = ""
    folders: Mapping[str, Path] = field(default_factory=dict)
    homes: tuple[Path, ...] = ()  # the folders above the subjects
    other_kinds: tuple[str, ...] = ()


def match_folders(tree: Tree, places: Sequence[Place], layouts: Layouts, *, wanted: str | None = None) -> Matches:
    """The folder of each clip, in the kind of tree called `wanted` or else in the most complete one."""
    search = _Search(tree, layouts)
    trees = search.trees(places)
    if wanted is not None and wanted not in trees:
        raise DatasetError(
            f"{tree.root} has no {wanted!r} frames",
            fix=f"choose one of: {', '.join(trees)}" if trees else "unpack the frames there",
        )
    matched = {
        kind: {place.clip: folder for place in places if (folder := search.folder(place, roots))}
        for kind, roots in trees.items()
        if wanted in (None, kind)
    }
    if not matched:
        return Matches()
    best = max(matched, key=lambda kind: len(matched[kind]))  # of equals the first, which is the preferred one
    homes = dict.fromkeys(folder for folder, _ in trees[best])
    return Matches(best, matched[best], tuple(homes), tuple(kind for kind in trees if kind != best))


def frame_notes(disk: Tree, homes: Sequence[Path], other_kinds: Sequence[str]) -> Iterator[str]:
    """Where the frames were found, and what else could have been taken."""
    if homes:
        yield f"frames from {', '.join(map(disk.relative, homes))}"
    if other_kinds:
        yield f"other frames there: {', '.join(other_kinds)} (choose with --tree)"


class _Search:
    """Looks names up in folders, each indexed once by what its children stand for."""

    def __init__(self, tree: Tree, layouts: Layouts) -> None:
        self.tree, self.layouts = tree, layouts
        self._indices: dict[tuple[Path, str], dict[object, list[Path]]] = {}

    def trees(self, places: Sequence[Place]) -> dict[str, list[tuple[Path, str]]]:
        """Every kind of tree below the root: the folders that hold subjects or clips, each with its layout."""
        firsts = {layout: layout.split("/")[0] for layout in self.layouts.kinds}
        wanted = {
            part: {self._wanted(part, spelling) for place in places for spelling in place.spellings}
            for part in firsts.values()
        }
        found: dict[str, list[tuple[Path, str]]] = {}
        level = [self.tree.root]
        for _ in range(DEEPEST + 1):
            below: list[Path] = []
            for folder in level:
                entered: set[Path] = set()
                for layout, part in firsts.items():
                    index = self._index(folder, part)
                    hits = [path for meaning in index.keys() & wanted[part] for path in index[meaning]]
                    if hits:
                        found.setdefault(self._kind(folder, layout), []).append((folder, layout))
                        entered.update(hits)
                below += [path for path in self.tree.look(folder).folders.values() if path not in entered]
            level = [path for path in below if path.name.casefold() not in self.layouts.ignored]
        return {kind: found[kind] for kind in self.layouts.order if kind in found}

    def folder(self, place: Place, roots: Sequence[tuple[Path, str]]) -> Path | None:
        """The clip's folder: the first that holds frames, or the first that is there at all."""
        there: Path | None = None
        for root, layout in roots:
            for spelling in place.spellings:
                folder = self._follow(root, layout.split("/"), spelling)
                if folder is not None and self.tree.look(folder).frames:
                    return folder
                there = there or folder
        return there

    def _follow(self, folder: Path, parts: Sequence[str], spelling: Mapping[str, str]) -> Path | None:
        if not parts:
            return folder
        for child in self._index(folder, parts[0]).get(self._wanted(parts[0], spelling), ()):
            if end := self._follow(child, parts[1:], spelling):
                return end
        return None

    def _index(self, folder: Path, part: str) -> dict[object, list[Path]]:
        if (folder, part) not in self._indices:
            index: dict[object, list[Path]] = {}
            for name, path in self.tree.look(folder).folders.items():
                index.setdefault(self.layouts.meaning(part, name), []).append(path)
            self._indices[folder, part] = index
        return self._indices[folder, part]

    def _wanted(self, part: str, spelling: Mapping[str, str]) -> object:
        return self.layouts.meaning(part, part.format(**spelling))

    def _kind(self, folder: Path, layout: str) -> str:
        names = self.tree.names(folder)
        patterns = self.layouts.names.items()
        told = (kind for name in names for kind, pattern in patterns if fnmatchcase(name, pattern))
        return next(told, self.layouts.kinds[layout])
