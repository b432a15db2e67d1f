"""A user's own corpus: a CSV with one row per clip.

Its columns are `clip,subject,emotion,frames`, optionally `onset,apex,offset,fps` and `corpus`; further columns are
kept. `frames` is a folder of pictures or a video file, relative to the CSV.
"""

from dataclasses import replace
from pathlib import Path

from epir.core.errors import DatasetError, is_machine_fault
from epir.core.facs import unknown_units
from epir.core.files import joined
from epir.core.records import Clip
from epir.core.words import counted
from epir.datasets.base import (
    Corpus,
    Defect,
    Problem,
    defects,
    order_problems,
    place_problems,
    read_fps,
    read_numbers,
    with_people,
)
from epir.datasets.folders import Tree, check_unpacked
from epir.datasets.intervals import LongVideo, find_intervals, read_intervals
from epir.datasets.sheet import SheetRow, read_cells, read_sheet
from epir.datasets.spelling import column

COLUMNS = ("clip", "subject", "emotion", "frames", "onset", "apex", "offset", "fps", "corpus")
OPTIONAL = ("onset", "apex", "offset", "fps", "corpus")
NAME = "manifest.csv"
LABELS = "write one row for each word: disgust,negative"
SYNTHETIC_NAME = "annotations.csv"


def load(root: Path, *, sheet: str | Path | None = None, labels: str | Path | None = None) -> Corpus:
    """The clips in a CSV; `root` is the CSV or its folder.

    `labels` is a CSV with a class for each emotion word; clips whose word has an empty class are left out.
    """
    corpus = read_manifest(Path(sheet) if sheet else find_manifest(root), root=root)
    return corpus if labels is None else relabelled(corpus, Path(labels))


def read_labels(path: Path) -> dict[str, str]:
    """Word in lower case -> class; a header `word,class` is skipped."""
    classes: dict[str, str] = {}
    for number, cells in enumerate(read_cells(path), start=1):
        if not any(cells) or (number == 1 and [column(cell) for cell in cells[:2]] == ["word", "class"]):
            continue
        if len(cells) < 2 or not cells[0] or any(cells[2:]):
            raise DatasetError(f"{path}, row {number}: {','.join(cells)!r} is not a word and its class", fix=LABELS)
        if classes.setdefault(cells[0].casefold(), cells[1]) != cells[1]:
            raise DatasetError(f"{path}, row {number}: {cells[0]!r} has two classes", fix="delete one of the two rows")
    if not classes:
        raise DatasetError(f"{path} lists no classes", fix=LABELS)
    return classes


def relabelled(corpus: Corpus, labels: Path) -> Corpus:
    """The corpus with classes in place of emotion words; each clip keeps its word in the column `word`."""
    classes = read_labels(labels)
    clips = []
    for clip in corpus.clips:
        word = clip.emotion.casefold()
        if not word:
            raise DatasetError(
                f"the clip {clip.key} has no emotion", fix=f"fill in its emotion in {corpus.sheet}, or remove its row"
            )
        if word not in classes:
            raise DatasetError(
                f"the clip {clip.key} is labelled {clip.emotion!r}, which {labels} does not list",
                fix=f"add a row for it: {clip.emotion},negative (or with an empty class, to leave these clips out)",
            )
        if classes[word]:
            clips.append(replace(clip, emotion=classes[word], extra={**clip.extra, "word": clip.emotion}))
    left_out = {clip.key for clip in corpus.clips} - {clip.key for clip in clips}
    return replace(
        corpus,
        clips=tuple(clips),
        # A second row of a clip left out may have another word.
        defects=tuple(one for one in corpus.defects if one.clip not in left_out or one.kind == "listed twice"),
        notes=(*corpus.notes, f"classes from {labels.name}, which leaves out {counted(len(left_out), 'clip')}"),
    )


def load_synthetic(root: Path, *, sheet: str | Path | None = None) -> Corpus:
    """The corpus that `epir synth` wrote: a manifest called annotations.csv."""
    check_unpacked(root)
    path = Path(sheet) if sheet else root / SYNTHETIC_NAME
    if not path.is_file():
        if sheet is not None:
            raise DatasetError(f"there is no sheet {path}", fix="check the path given with --sheet")
        is_other = root.is_dir() and any(root.iterdir())
        fix = "give the folder that epir synth wrote" if is_other else f"write a corpus there: epir synth {root}"
        raise DatasetError(f"there is no {SYNTHETIC_NAME} in {root}", fix=fix)
    return read_manifest(path, root=root, corpus="synthetic")


def long_videos(root: Path) -> list[LongVideo]:
    """The long videos in an `intervals.csv`; `root` is the CSV or its folder."""
    return read_intervals(find_intervals(root))


def long_synthetic(root: Path) -> list[LongVideo]:
    """The long videos that `epir synth --long` wrote."""
    return read_intervals(find_intervals(root), corpus="synthetic")


def find_manifest(root: Path) -> Path:
    """The CSV `root` itself, the manifest.csv in that folder, or the only CSV there."""
    check_unpacked(root)
    if root.is_file():
        return root
    tables = sorted(path for path in root.glob("*.csv") if not path.name.startswith("."))
    named = [path for path in tables if path.name.casefold() == NAME]
    if named or len(tables) == 1:
        return (named or tables)[0]
    problem = (
        f"{root} holds {len(tables)} CSV files, none called {NAME}" if tables else f"there is no CSV file in {root}"
    )
    raise DatasetError(problem, fix=f"call it {NAME}, or give its path; its columns are {','.join(COLUMNS[:8])}")


def read_manifest(path: Path, *, root: Path, corpus: str = "manifest") -> Corpus:
    """The clips of one CSV; a cell in the column `corpus` overrides `corpus`."""
    try:
        return _manifest(path, root, corpus)
    except (OSError, ValueError) as error:  # a path that no disk takes: too long, a loop of links
        if is_machine_fault(error):
            raise
        raise DatasetError(f"{path} holds an impossible path: {error}", fix="correct its column frames") from None


def _manifest(path: Path, root: Path, corpus: str) -> Corpus:
    listed = read_sheet(path, {name: (name,) for name in COLUMNS}, optional=OPTIONAL, exact=True)
    disk = Tree(path.parent)
    clips: dict[str, Clip] = {}
    rows: dict[str, int] = {}
    wrong: list[Defect] = []
    for row in listed.rows:
        empty = [name for name in ("clip", "subject") if not row.cells[name]]
        if empty:
            wrong += [Defect(f"row {row.number}", f"the {name} is empty", kind="empty cell") for name in empty]
            continue
        clip, problems = _clip(row, path.parent, corpus)
        if clip.key in clips:
            words = f"it is listed twice, in rows {rows[clip.key]} and {row.number}: give each clip its own name"
            wrong.append(Defect(clip.key, words, kind="listed twice"))
            continue
        clip = _with_bounds(clip, disk)
        more = place_problems(clip, disk, written=row.cells["frames"], absent="the column frames is empty")
        clips[clip.key], rows[clip.key] = clip, row.number
        wrong += defects(clip, [*problems, *order_problems(clip), *more], tree="")
    if not clips and not wrong:
        raise DatasetError(f"{path} lists no clips", fix="write one row per clip below the header")
    return with_people(Corpus(corpus, root, path.name, tuple(clips.values()), defects=tuple(wrong), tree="as listed"))


def _clip(row: SheetRow, folder: Path, corpus: str) -> tuple[Clip, list[Problem]]:
    cells = row.cells
    numbers, problems = read_numbers(cells, zero=True)
    if not cells["emotion"]:
        problems.append(("emotion", "it has no emotion"))
    if unknown := unknown_units(row.further.get("action_units", "")):
        problems.append(("units", f"the action units {', '.join(map(repr, unknown))} do not exist"))
    return Clip(
        corpus=cells.get("corpus") or corpus,
        subject=cells["subject"],
        clip=cells["clip"],
        emotion=cells["emotion"],
        fps=read_fps(cells, problems),
        frames=joined(folder, cells["frames"]) if cells["frames"] else None,
        extra={name: cell for name, cell in row.further.items() if cell},
        **numbers,
    ), problems


def _with_bounds(clip: Clip, disk: Tree) -> Clip:
    """The clip with a missing onset set to the first frame, and a missing offset to the last frame of its folder."""
    first: int | None = None
    last: int | None = None
    if clip.frames is not None and clip.frames.is_dir():
        if frames := disk.listing(clip.frames).frames:
            first, last = frames[0], frames[-1]
    elif clip.frames is not None and clip.frames.is_file():
        first = 0
    return replace(
        clip,
        onset=first if clip.onset is None else clip.onset,
        offset=last if clip.offset is None else clip.offset,
    )
