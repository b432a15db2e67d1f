"""A corpus without a sheet: its clips are the folders that are there, and their names are the labels."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from epir.core.errors import DatasetError
from epir.core.records import Clip
from epir.datasets.base import Corpus, Defect
from epir.datasets.folders import DEEPEST, frame_notes
from epir.datasets.inspection import Problem, defects, frame_problems
from epir.datasets.tree import Tree


@dataclass(frozen=True)
class FolderFormat:
    """What is particular to a corpus whose folder names are its labels."""

    corpus: str
    title: str
    example: str  # the path of one clip, for messages
    part: str  # which of its parts is wanted
    fps: float
    parts: re.Pattern[str]  # finds the part in the name of a folder above the subjects
    subject_folder: re.Pattern[str]  # the name of a subject's folder; its group is the number
    subject: str  # how a subject's number is written in full
    clip: re.Pattern[str]  # the name of a clip's folder; its second group is the token of the emotion
    clip_name: Callable[[str], str]  # the clip's name in full
    clip_prefix: str
    tokens: Mapping[str, str]  # token: emotion
    trees: Mapping[str, str]  # kind of tree: what a folder's name contains; preferred first
    elsewhere: re.Pattern[str]  # names of folders of another release
    elsewhere_fix: str


@dataclass(frozen=True, slots=True)
class Home:
    """A folder that holds subjects: of which part, and of which kind of tree."""

    folder: Path
    part: str  # empty where no folder's name tells it
    tree: str  # empty for another release


def load_folders(form: FolderFormat, root: Path, *, tree: str | None = None) -> Corpus:
    """The corpus that `form` describes, as found under `root`."""
    disk = Tree(root)
    homes = list(_homes(disk, form))
    named = any(home.part for home in homes)
    fitting = [home for home in homes if home.tree and (home.part == form.part or not named)]
    kinds = [kind for kind in (*form.trees, "frames") if any(home.tree == kind for home in fitting)]
    if not kinds or tree not in (None, *kinds):
        raise _nothing(form, root, tree, homes)
    kind = tree or kinds[0]
    found: list[tuple[Clip, list[Defect]]] = []
    chosen = [home.folder for home in fitting if home.tree == kind]
    for folder in chosen:
        found += [(clip, list(defects(clip, bad, tree=kind))) for clip, bad in _clips(disk, folder, form)]
    if not found:
        raise _nothing(form, root, tree, [])
    found.sort(key=lambda pair: pair[0].key)
    for (first, _), (second, _) in pairwise(found):
        if first.key == second.key:
            raise DatasetError(
                f"the clip {first.key} is there twice: {first.frames} and {second.frames}", fix="remove one of the two"
            )
    notes = frame_notes(disk, chosen, [other for other in kinds if other != kind])
    return Corpus(
        name=form.corpus,
        root=root,
        sheet=form.part,
        clips=tuple(clip for clip, _ in found),
        defects=tuple(defect for _, bad in found for defect in bad),
        tree=kind,
        notes=tuple(notes),
    )


def _homes(disk: Tree, form: FolderFormat) -> Iterator[Home]:
    level = [disk.root]
    for _ in range(DEEPEST + 1):
        below: list[Path] = []
        for folder in level:
            folders = disk.look(folder).folders
            subjects = {name for name in folders if form.subject_folder.fullmatch(name)}
            if subjects:
                yield _home(disk, folder, form)
            below += [path for name, path in folders.items() if name not in subjects]
        level = below


def _home(disk: Tree, folder: Path, form: FolderFormat) -> Home:
    names = disk.names(folder)
    if any(form.elsewhere.search(name) for name in names):
        return Home(folder, "", "")
    part = next((found[1] for name in names if (found := form.parts.search(name))), "")
    tree = next((kind for name in names for kind, word in form.trees.items() if word in name), "frames")
    return Home(folder, part, tree)


def _clips(disk: Tree, home: Path, form: FolderFormat) -> Iterator[tuple[Clip, list[Problem]]]:
    for name, folder in disk.look(home).folders.items():
        if match := form.subject_folder.fullmatch(name):
            for below in disk.below(folder, depth=3):
                if form.clip.fullmatch(below.name):
                    yield _clip(disk, below, form, form.subject.format(int(match[1])))


def _clip(disk: Tree, folder: Path, form: FolderFormat, subject: str) -> tuple[Clip, list[Problem]]:
    frames = disk.look(folder).frames
    name, above = form.clip_name(folder.name), folder.parent.name.casefold()
    match = form.clip.fullmatch(folder.name)
    assert match is not None
    word = form.tokens[match[2].casefold()]
    clip = Clip(
        corpus=form.corpus,
        subject=subject,
        clip=form.clip_prefix + name,
        emotion=above if above in form.tokens.values() else word,
        onset=frames[0] if frames else None,
        offset=frames[-1] if frames else None,
        fps=form.fps,
        frames=folder,
    )
    problems = list(frame_problems(clip, frames))
    if clip.emotion != word:
        problems.append(("emotion", f"it lies under {above!r}, but its name says {word!r}"))
    if form.subject.format(int(match[1])) != subject:
        problems.append(("subject", f"it lies under {subject}, but its name says {form.subject.format(int(match[1]))}"))
    return clip, problems


def _nothing(form: FolderFormat, root: Path, tree: str | None, homes: list[Home]) -> DatasetError:
    wanted = f"{tree} frames of the part {form.part}" if tree else f"clips of the part {form.part}"
    here = sorted({f"{home.part or 'an unnamed part'} ({home.tree})" for home in homes if home.tree})
    if here:
        fix = f"found there: {', '.join(here)}; choose with --part and --tree"
    elif homes:
        fix = form.elsewhere_fix
    else:
        fix = f"it should hold folders such as {form.example}"
    return DatasetError(f"{root} holds no {wanted} of {form.title}", fix=fix)
