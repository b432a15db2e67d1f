"""Folders on disk, and which of them hold the frames of which clip.

Each folder is listed once; no picture is opened. A layout is a path with names in braces, such as `{subject}/{clip}`,
or `{subject}/{clip}.avi` for videos. Subjects match by number, everything else ignoring case. A corpus may lie on disk
as several trees (cropped and raw); the most complete tree is used.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from epir.core.errors import DatasetError
from epir.core.files import VIDEO_ENDINGS, is_copy
from epir.datasets.spelling import frame_of_file, is_archive, is_video, subject_number

DEEPEST = 5  # levels below the root down to which the folder that holds the subjects is searched
VIDEO = "video"  # the kind of tree that holds one video per clip


@dataclass(frozen=True, slots=True)
class Listing:
    """The contents of one folder."""

    folders: dict[str, Path]  # by name, sorted
    frames: tuple[int, ...]  # frame numbers, sorted
    files: tuple[str, ...]  # names of all other files, sorted
    copies: tuple[str, ...] = ()  # of pictures beside them, as `a46 (1).jpg`: they are not read

    @property
    def videos(self) -> list[str]:
        """The names of the videos."""
        return [name for name in self.files if is_video(name)]


class Tree:
    """The folders below a root, each listed at most once."""

    def __init__(self, root: Path) -> None:
        check_unpacked(root)
        if root.is_file():
            raise DatasetError(f"{root} is a file", fix="give the folder into which the corpus was unpacked")
        self.root = root
        self._name = os.path.basename(os.path.abspath(root))  # the root may be `.`
        self._listings: dict[Path, Listing] = {}

    def listing(self, folder: Path) -> Listing:
        """The contents of `folder`, without hidden files and leftovers of archives."""
        if folder not in self._listings:
            self._listings[folder] = _scan(folder)
        return self._listings[folder]

    def below(self, folder: Path, depth: int) -> Iterator[Path]:
        """`folder` and the folders down to `depth` levels below it, nearest first."""
        level = [folder]
        for _ in range(depth + 1):
            yield from level
            level = [child for parent in level for child in self.listing(parent).folders.values()]

    def names(self, folder: Path) -> list[str]:
        """The names of a folder and its parents up to the root, nearest first, in lower case."""
        above = folder.relative_to(self.root).parts
        return [name.casefold() for name in (*reversed(above), self._name)]

    def relative(self, path: Path) -> str:
        """The path relative to the root, for messages; for the root, its name."""
        if path == self.root:
            return self._name
        return path.relative_to(self.root).as_posix() if self.root in path.parents else path.name

    def contents(self) -> str:
        """What lies below the root, in words: archives, videos and pictures, with examples."""
        archives: list[str] = []
        videos: list[str] = []
        pictures: list[Path] = []
        count = 0
        for folder in self.below(self.root, DEEPEST):
            listing = self.listing(folder)
            archives += [self.relative(folder / name) for name in listing.files if is_archive(name)]
            videos += [self.relative(folder / name) for name in listing.videos]
            if listing.frames:
                pictures.append(folder)
                count += len(listing.frames)
        parts = []
        if archives:
            parts.append(f"{_counted(len(archives), 'archive')} not unpacked ({_examples(archives)})")
        if videos:
            parts.append(f"{_counted(len(videos), 'video')} ({_examples(videos)})")
        if len(pictures) == 1:
            parts.append(f"{_counted(count, 'picture')} in one folder ({self.relative(pictures[0])})")
        elif pictures:
            parts.append(f"pictures in {len(pictures)} folders ({_examples([self.relative(p) for p in pictures])})")
        if not parts:
            listing = self.listing(self.root)
            names = [*(f"{name}/" for name in listing.folders), *listing.files]
            parts.append(f"neither pictures nor videos ({_examples(names)})" if names else "nothing")
        return ", ".join(parts)


def check_unpacked(path: Path) -> None:
    """Raise an error if `path` is the archive that a corpus came in."""
    if path.is_file() and is_archive(path.name):
        raise DatasetError(f"{path} is an archive that was not unpacked", fix="unpack it, and give the folder")


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _examples(names: Sequence[str], most: int = 2) -> str:
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")


def _scan(folder: Path) -> Listing:
    folders, pictures, files = {}, dict[str, int](), []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.startswith(".") or entry.name == "__MACOSX":
                    continue
                number = frame_of_file(entry.name)
                if number is not None:
                    pictures[entry.name] = number
                elif entry.is_dir():
                    folders[entry.name] = folder / entry.name
                else:
                    files.append(entry.name)
    except OSError as error:
        raise DatasetError(
            f"the folder {folder} cannot be listed: {error.strerror}",
            fix="give yourself permission to read it, or check the disk",
        ) from None
    copies = {name for name in pictures if is_copy(name, pictures)}
    frames = sorted(number for name, number in pictures.items() if name not in copies)
    return Listing(dict(sorted(folders.items())), tuple(frames), tuple(sorted(files)), tuple(sorted(copies)))


@dataclass(frozen=True, slots=True)
class Layouts:
    """Where a corpus keeps its frames."""

    kinds: Mapping[str, str]  # layout -> kind of tree
    names: Mapping[str, str]  # kind of tree -> name pattern of a folder above it
    example: str = ""  # the path of one frame, for messages
    ignored: tuple[str, ...] = ()  # folders that never lead to frames
    clip_name: Callable[[str], str] = str.casefold  # normalises the folder name of a clip or a long video

    @property
    def order(self) -> list[str]:
        """The kinds of tree, preferred first."""
        return list(dict.fromkeys([*self.names, *self.kinds.values()]))

    def meaning(self, part: str, name: str) -> object:
        """A name at this part of a layout, normalised: equal for all its spellings."""
        if part == "{subject}":
            number = subject_number(name)
            return name if number is None else number
        return self.clip_name(name) if part in ("{clip}", "{video}") else name.casefold()


@dataclass(frozen=True, slots=True)
class Place:
    """A clip and the values for the braces of a layout: as the sheet spells them, then as corrected."""

    clip: str
    spellings: tuple[Mapping[str, str], ...]


@dataclass(frozen=True, slots=True)
class Matches:
    """The folders (or videos) of one kind of tree, by clip."""

    kind: str = ""
    folders: Mapping[str, Path] = field(default_factory=dict)
    homes: tuple[Path, ...] = ()  # the folders above the subjects
    other_kinds: tuple[str, ...] = ()


def match_folders(tree: Tree, places: Sequence[Place], layouts: Layouts, *, kind: str | None = None) -> Matches:
    """The folder of each clip, in the tree of this `kind`, or else in the most complete tree."""
    search = _Search(tree, layouts)
    trees = search.trees(places)
    matched = {
        name: folders
        for name, roots in trees.items()
        if (folders := {place.clip: folder for place in places if (folder := search.folder(place, roots))})
    }
    if kind is not None and kind not in matched:
        raise DatasetError(
            f"{tree.root} has no {kind!r} frames",
            fix=f"choose one of: {', '.join(matched)}" if matched else "unpack the frames there",
        )
    if not matched:
        return Matches()
    best = kind or max(matched, key=lambda name: len(matched[name]))  # a tie goes to the first: the preferred kind
    homes = dict.fromkeys(folder for folder, _ in trees[best])
    return Matches(best, matched[best], tuple(homes), tuple(name for name in matched if name != best))


def frame_notes(disk: Tree, homes: Sequence[Path], other_kinds: Sequence[str]) -> Iterator[str]:
    """Notes on where the frames were found, and which other frames are there."""
    if homes:
        yield f"frames from {_examples([disk.relative(home) for home in homes], most=4)}"
    if other_kinds:
        yield f"other frames there: {', '.join(other_kinds)} (choose with --tree)"


class _Search:
    """Looks up names in folders; each folder is indexed once, by the normalised names of its children."""

    def __init__(self, tree: Tree, layouts: Layouts) -> None:
        self.tree, self.layouts = tree, layouts
        self._indices: dict[tuple[Path, str], dict[object, list[Path]]] = {}

    def trees(self, places: Sequence[Place]) -> dict[str, list[tuple[Path, str]]]:
        """Every kind of tree below the root, with the folders that hold subjects or clips and their layouts."""
        firsts = {layout: layout.split("/")[0] for layout in self.layouts.kinds}
        searched = {
            part: {self._meaning(part, spelling) for place in places for spelling in place.spellings}
            for part in firsts.values()
        }
        kinds: dict[str, list[tuple[Path, str]]] = {}
        level = [self.tree.root]
        for _ in range(DEEPEST + 1):
            below: list[Path] = []
            for folder in level:
                entered: set[Path] = set()
                for layout, part in firsts.items():
                    index = self._index(folder, part)
                    hits = [path for meaning in index.keys() & searched[part] for path in index[meaning]]
                    if hits:
                        kinds.setdefault(self._kind(folder, layout), []).append((folder, layout))
                        entered.update(hits)
                below += [path for path in self.tree.listing(folder).folders.values() if path not in entered]
            level = [path for path in below if path.name.casefold() not in self.layouts.ignored]
        return {kind: kinds[kind] for kind in self.layouts.order if kind in kinds}

    def folder(self, place: Place, roots: Sequence[tuple[Path, str]]) -> Path | None:
        """The clip's video or folder: the first one with frames, or else the first that exists."""
        there: Path | None = None
        for root, layout in roots:
            for spelling in place.spellings:
                folder = self._follow(root, layout.split("/"), spelling)
                if folder is not None and (is_video(layout) or self.tree.listing(folder).frames):
                    return folder
                there = there or folder
        return there

    def _follow(self, folder: Path, parts: Sequence[str], spelling: Mapping[str, str]) -> Path | None:
        if not parts:
            return folder
        for child in self._index(folder, parts[0]).get(self._meaning(parts[0], spelling), ()):
            if end := self._follow(child, parts[1:], spelling):
                return end
        return None

    def _index(self, folder: Path, part: str) -> dict[object, list[Path]]:
        if (folder, part) not in self._indices:
            listing = self.tree.listing(folder)
            here = listing.folders
            part_of = part
            if is_video(part):  # of two videos with one name the more usual ending counts
                usual_last = sorted(listing.videos, key=lambda name: -VIDEO_ENDINGS.index(Path(name).suffix.casefold()))
                part_of, here = Path(part).stem, {Path(name).stem: folder / name for name in usual_last}
            index: dict[object, list[Path]] = {}
            for name, path in here.items():
                index.setdefault(self.layouts.meaning(part_of, name), []).append(path)
            self._indices[folder, part] = index
        return self._indices[folder, part]

    def _meaning(self, part: str, spelling: Mapping[str, str]) -> object:
        part = Path(part).stem if is_video(part) else part
        return self.layouts.meaning(part, part.format(**spelling))

    def _kind(self, folder: Path, layout: str) -> str:
        if is_video(layout):
            return VIDEO
        names = self.tree.names(folder)
        patterns = self.layouts.names.items()
        named = (kind for name in names for kind, pattern in patterns if fnmatchcase(name, pattern))
        return next(named, self.layouts.kinds[layout])
