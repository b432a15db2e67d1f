"""SMIC [1]: folder names and emotion words. It has no annotation sheet and no apex: the folder of a clip says the rest.

The parts HS, VIS and NIR show the same people, so the name of a clip of VIS or NIR contains its part. `hs-e`, `vis-e`
and `nir-e` are the long clips of SMIC-E, which come with a sheet.

[1] Li et al. 2013, A Spontaneous Micro-expression Database: Inducement, Collection and Baseline, FG
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from epir.core.errors import DatasetError
from epir.core.records import Clip
from epir.datasets.base import Corpus, Defect, Problem, defects, place_problems
from epir.datasets.folders import DEEPEST, Layouts, Tree, frame_notes
from epir.datasets.loading import Events, SheetFormat, load_sheet
from epir.datasets.sheet import Sheet, SheetRow

WORDS = frozenset({"negative", "positive", "surprise"})
RATES = {"hs": 100.0, "vis": 25.0, "nir": 25.0}
PARTS = (*RATES, *(f"{part}-e" for part in RATES))
TOKENS = {"ne": "negative", "po": "positive", "sur": "surprise"}
TREES = {"cropped": "crop", "raw": "raw"}  # kind of tree -> part of a folder's name; preferred first

_SUBJECT = re.compile(r"s(\d+)", re.IGNORECASE)
_CLIP = re.compile(r"s0*(\d+)_(ne|po|sur)_0*(\d+)", re.IGNORECASE)
_PART = re.compile(r"(?:^|[^a-z])(hs|vis|nir)(?:[^a-z]|$)")
_LONG = re.compile(r"(hs|vis|nir)[-_ ]?long|smic[-_ ]?(hs|vis|nir)[-_ ]?e$")  # folders of SMIC-E


def clip_name(text: str) -> str:
    """A clip's full name, `s01_ne_01` for `s1_ne_01`; any other text in lower case."""
    match = _CLIP.fullmatch(text)
    return f"s{int(match[1]):02d}_{match[2].lower()}_{int(match[3]):02d}" if match else text.casefold()


def load(root: Path, *, part: str = "hs", tree: str | None = None, sheet: str | Path | None = None) -> Corpus:
    """Load one part of SMIC from `root`."""
    part = part.casefold()
    if part not in PARTS:
        raise DatasetError(f"SMIC has no part {part!r}", fix=f"use one of: {', '.join(PARTS)}")
    if part.endswith("-e"):
        return load_sheet(long_format(part.removesuffix("-e")), root, sheet=sheet, tree=tree)
    if sheet is not None:
        raise DatasetError("SMIC has no annotation sheet", fix=f"leave --sheet out, or add --part {part}-e for SMIC-E")
    return load_folders(part, root, tree=tree)


def load_e(root: Path, *, part: str = "hs", sheet: str | Path | None = None, tree: str | None = None) -> Corpus:
    """Load one part of SMIC-E from `root`: the clips of SMIC in longer recordings."""
    return load(root, part=f"{part.casefold().removesuffix('-e')}-e", sheet=sheet, tree=tree)


def long_format(part: str) -> SheetFormat:
    """The format of SMIC-E, whose rows are long clips with up to three micro-expressions between neutral frames."""
    prefix = "" if part == "hs" else f"{part}_"

    def several(row: SheetRow) -> list[SheetRow]:
        name = _CLIP.fullmatch(row.cells["clip"])
        if name is None:  # a remark below the table
            return []
        movements = []
        for number in ("", "2", "3"):
            onset, offset = row.cells.get(f"onset{number}", ""), row.cells.get(f"offset{number}", "")
            full = prefix + clip_name(name[0])
            event = {"name": "_".join([full, *number]), "video": full, "onset": onset, "offset": offset}
            if not number or onset not in ("", "0"):
                movements.append(replace(row, cells={**row.cells, **event, "emotion": TOKENS[name[2].lower()]}))
        return movements

    def events(disk: Tree, sheet: Sheet) -> Events:
        apexes = "the column ApexF is not part of the release and is not read"
        notes = [apexes] if "ApexF" in sheet.columns else []
        return [event for row in sheet.rows for event in several(row)], notes

    def video(path: Path) -> tuple[int, str] | None:
        name = _CLIP.fullmatch(path.name)
        return (int(name[1]), prefix + clip_name(path.name)) if name else None

    return SheetFormat(
        corpus="smic",
        title=f"SMIC-E {part.upper()}",
        fps=RATES[part],
        sheets=(f"SMIC-{part}-E_annotation*.xlsx", f"SMIC*{part}*E*annotation*.xls*"),
        columns={"subject": ("Subject",), "clip": ("Filename",), "onset": ("OnsetF",), "offset": ("OffsetF",)},
        further={f"{field}{n}": (f"{field}{n}F",) for n in (2, 3) for field in ("onset", "offset")},
        passed_on=(),
        subject="s{:02d}".format,
        clip="{name}",
        words=WORDS,
        layouts=Layouts(
            {"{subject}/{clip}": "unnamed"},
            {f"long {part}": f"*{part}*"},
            example=f"{part.upper()}_long/SMIC-{part.upper()}-E/s01/s01_ne_01/image559740.jpg",
            clip_name=clip_name,
        ),
        version=lambda clips, sheet: f"{part}-e",
        events=events,
        name="smic-e",
        video=video,
    )


@dataclass(frozen=True, slots=True)
class Home:
    """A folder of subjects, its part of SMIC, and its kind of tree."""

    folder: Path
    part: str  # empty if no folder is named after it
    tree: str  # empty for SMIC-E


def load_folders(part: str, root: Path, *, tree: str | None = None) -> Corpus:
    """The trimmed clips of one part: `HS/s1/micro/negative/s1_ne_01`."""
    disk = Tree(root)
    homes = list(_homes(disk))
    named = any(home.part for home in homes)
    fitting = [home for home in homes if home.tree and (home.part == part or not named)]
    kinds = [kind for kind in (*TREES, "frames") if any(home.tree == kind for home in fitting)]
    if not kinds or tree not in (None, *kinds):
        raise _nothing(disk, part, tree, homes)
    kind = tree or kinds[0]
    loaded: list[tuple[Clip, list[Defect]]] = []
    chosen = [home.folder for home in fitting if home.tree == kind]
    for folder in chosen:
        loaded += [(clip, list(defects(clip, bad, tree=kind))) for clip, bad in _clips(disk, folder, part)]
    if not loaded:
        raise _nothing(disk, part, tree, [])
    loaded.sort(key=lambda pair: pair[0].key)
    for (first, _), (second, _) in pairwise(loaded):
        if first.key == second.key:
            raise DatasetError(
                f"the clip {first.key} exists twice: {first.frames} and {second.frames}", fix="remove one of the two"
            )
    notes = frame_notes(disk, chosen, [other for other in kinds if other != kind])
    return Corpus(
        name="smic",
        root=root,
        sheet=part,
        clips=tuple(clip for clip, _ in loaded),
        defects=tuple(defect for _, bad in loaded for defect in bad),
        tree=kind,
        notes=tuple(notes),
    )


def _homes(disk: Tree) -> Iterator[Home]:
    level = [disk.root]
    for _ in range(DEEPEST + 1):
        below: list[Path] = []
        for folder in level:
            folders = disk.listing(folder).folders
            subjects = {name for name in folders if _SUBJECT.fullmatch(name)}
            if subjects:
                yield _home(disk, folder)
            below += [path for name, path in folders.items() if name not in subjects]
        level = below


def _home(disk: Tree, folder: Path) -> Home:
    names = disk.names(folder)
    if any(_LONG.search(name) for name in names):
        return Home(folder, "", "")
    part = next((match[1] for name in names if (match := _PART.search(name))), "")
    tree = next((kind for name in names for kind, word in TREES.items() if word in name), "frames")
    return Home(folder, part, tree)


def _clips(disk: Tree, home: Path, part: str) -> Iterator[tuple[Clip, list[Problem]]]:
    for name, folder in disk.listing(home).folders.items():
        if match := _SUBJECT.fullmatch(name):
            for below in disk.below(folder, depth=3):
                if _CLIP.fullmatch(below.name):
                    yield _clip(disk, below, part, f"s{int(match[1]):02d}")


def _clip(disk: Tree, folder: Path, part: str, subject: str) -> tuple[Clip, list[Problem]]:
    frames = disk.listing(folder).frames
    above = folder.parent.name.casefold()
    match = _CLIP.fullmatch(folder.name)
    assert match is not None
    word, named = TOKENS[match[2].casefold()], f"s{int(match[1]):02d}"
    clip = Clip(
        corpus="smic",
        subject=subject,
        clip=("" if part == "hs" else f"{part}_") + clip_name(folder.name),
        emotion=above if above in WORDS else word,
        onset=frames[0] if frames else None,
        offset=frames[-1] if frames else None,
        fps=RATES[part],
        frames=folder,
    )
    problems = place_problems(clip, disk)
    if clip.emotion != word:
        problems.append(("emotion", f"it lies under {above!r}, but its name says {word!r}"))
    if named != subject:
        problems.append(("subject", f"it lies under {subject}, but its name says {named}"))
    return clip, problems


def _nothing(disk: Tree, part: str, tree: str | None, homes: list[Home]) -> DatasetError:
    missing = f"{tree} frames of the part {part}" if tree else f"clips of the part {part}"
    here = sorted({f"{home.part or 'an unnamed part'} ({home.tree})" for home in homes if home.tree})
    problem = f"{disk.root} holds no {missing} of SMIC"
    if here:
        return DatasetError(problem, fix=f"found there: {', '.join(here)}; choose with --part and --tree")
    if homes:
        fix = f"these are the long clips of SMIC-E: add --part {part}-e, or unpack SMIC_all_cropped"
        return DatasetError(problem, fix=fix)
    return DatasetError(
        f"{problem}; found instead: {disk.contents()}",
        fix=f"unpack it so that it holds folders such as {part.upper()}/s1/micro/negative/s1_ne_01",
    )
