"""From an annotation sheet and the folders beside it to clips: the same way for every corpus that has a sheet."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from epir.core.errors import DatasetError
from epir.core.records import Clip
from epir.datasets.base import Corpus, Correction, Defect, Problem, correct, defects, frame_problems, order_problems
from epir.datasets.folders import VIDEO, Layouts, Matches, Place, Tree, frame_notes, match_folders
from epir.datasets.sheet import Row, Table, find_sheet, read_table
from epir.datasets.spelling import frame_number, is_video, plain, subject_number, synonyms, whole

FRAMES = ("onset", "apex", "offset")
FIRST_FRAME = 1  # the number that sheets give to the first frame of a recording


def version_in_name(clips: Sequence[Clip], table: Table) -> str:
    """The version that the sheet's file name gives: `v2`; `unknown` where it gives none."""
    found = re.search(r"v(?:er)?[\W_]?(\d+)", table.path.stem, re.IGNORECASE)
    return f"v{found[1]}" if found else "unknown"


def one_event(row: Row) -> Sequence[Row]:
    """The row as it is: one micro-expression."""
    return (row,)


@dataclass(frozen=True)
class SheetFormat:
    """What is particular to a corpus that comes with an annotation sheet."""

    corpus: str
    title: str
    fps: float
    sheets: tuple[str, ...]  # names of the sheet's file, likeliest first
    columns: Mapping[str, tuple[str, ...]]  # field: names of its column
    subject: str  # how a subject's number is written in full
    words: frozenset[str]  # the emotion words of the corpus
    layouts: Layouts
    page: str = ""  # the page of the workbook to look at first
    further: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # columns that may be missing
    passed_on: tuple[str, ...] = ("action_units", "objective_class")  # those of them that a clip keeps
    clip: str = "{clip}"  # the clip's name
    clip_case: Callable[[str], str] = str  # one spelling for what the sheet calls the clip
    version: Callable[[Sequence[Clip], Table], str] = version_in_name
    events: Callable[[Row], Sequence[Row]] = one_event  # a row of some sheets tells of several micro-expressions


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of the sheet with its names put in full and its values put right."""

    row: Row
    subject: str
    clip: str
    before: Mapping[str, str]
    cells: Mapping[str, str]
    corrected: tuple[Correction, ...]

    @property
    def spellings(self) -> tuple[Mapping[str, str], ...]:
        """What the clip's folder may be named after: the sheet as it stands, or as corrected."""
        written = ({**self.before, "subject": self.subject}, {**self.cells, "subject": self.subject})
        return written if self.corrected else written[:1]


def load_sheet(form: SheetFormat, root: Path, *, sheet: str | Path | None = None, tree: str | None = None) -> Corpus:
    """The corpus that `form` describes, as found under `root`."""
    disk = Tree(root)
    path, others = (
        (Path(sheet), ()) if sheet else find_sheet(disk, form.sheets, title=form.title, example=form.layouts.example)
    )
    table = read_table(path, {**form.columns, **form.further}, page=form.page, optional=form.further)
    entries = _entries(form, table)
    if not entries:
        raise DatasetError(f"{path} has no rows below its header", fix="give another sheet with --sheet")

    places = [Place(_key(form, entry), entry.spellings) for entry in entries]
    matches = match_folders(disk, places, form.layouts, wanted=tree)
    clips: list[Clip] = []
    found: list[Defect] = []
    for entry in entries:
        clip, problems = _clip(form, entry, matches.folders.get(_key(form, entry)))
        problems += [*order_problems(clip), *_folder_problems(disk, clip)]
        clips.append(clip)
        found += defects(clip, problems, tree=matches.kind)
    return Corpus(
        name=form.corpus,
        root=root,
        sheet=form.version(clips, table),
        clips=tuple(clips),
        corrected=tuple(correction for entry in entries for correction in entry.corrected),
        defects=tuple(found),
        tree=matches.kind,
        notes=tuple(_notes(disk, path, others, matches)),
        layout="" if matches.folders else layout_problem(disk, form.layouts),
    )


def layout_problem(disk: Tree, layouts: Layouts) -> str:
    """Which layout is expected, and what is there instead."""
    return f"frames are expected as {layouts.example}; found instead: {disk.contents()}"


def _entries(form: SheetFormat, table: Table) -> list[Entry]:
    rows = (event for row in table.rows for event in form.events(row))
    entries = [entry for row in rows if (entry := _entry(form, row, table))]
    seen: dict[str, Entry] = {}
    for entry in entries:
        key = _key(form, entry)
        twin = seen.setdefault(key.casefold(), entry)
        if twin is not entry:
            raise DatasetError(
                f"{table.path} has the clip {key} twice, in rows {twin.row.number} and {entry.row.number}",
                fix="delete one of the two rows",
            )
    return entries


def _entry(form: SheetFormat, row: Row, table: Table) -> Entry | None:
    """The row as an entry; `None` for a row of remarks."""
    cells = {name: whole(cell) if name in FRAMES else cell for name, cell in row.cells.items()}
    number = subject_number(cells["subject"])
    if number is None or not cells["clip"]:
        if cells.get("onset", "").isdecimal():
            wrong = "subject" if number is None else "clip"
            raise DatasetError(
                f"{table.path}, row {row.number}: the {wrong} is {cells[wrong]!r}", fix="correct that cell of the sheet"
            )
        return None
    name = form.clip.format(**{**cells, "clip": form.clip_case(cells["clip"])})
    subject = form.subject.format(number)
    corrected, applied = correct(f"{form.corpus}/{subject}/{name}", cells)
    return Entry(row, subject, name, cells, corrected, applied)


def _key(form: SheetFormat, entry: Entry) -> str:
    return f"{form.corpus}/{entry.subject}/{entry.clip}"


def _clip(form: SheetFormat, entry: Entry, folder: Path | None) -> tuple[Clip, list[Problem]]:
    cells, problems = entry.cells, list[Problem]()
    numbers: dict[str, int | None] = {}
    for name in FRAMES:
        try:
            numbers[name] = frame_number(cells.get(name))
        except ValueError:
            numbers[name] = None
            problems.append(("no number", f"the {name} is {cells[name]!r}, which is no frame number"))
        else:
            if (number := numbers[name]) is not None and folder is not None and is_video(folder.name):
                numbers[name] = number - FIRST_FRAME  # frames of a video are counted from 0
            if name in form.columns and numbers[name] is None:
                what = "; the apex policy decides" if name == "apex" else ""
                problems.append((f"no {name}", f"the sheet gives no {name}{what}"))
    if not synonyms(cells["emotion"]) & form.words:
        problems.append(("emotion", f"the emotion {cells['emotion']!r} is not one of: {', '.join(sorted(form.words))}"))
    return Clip(
        corpus=form.corpus,
        subject=entry.subject,
        clip=entry.clip,
        emotion=plain(cells["emotion"]).casefold(),
        fps=form.fps,
        frames=folder,
        extra={name: cells[name] for name in form.passed_on if cells.get(name)},
        **numbers,
    ), problems


def _folder_problems(disk: Tree, clip: Clip) -> Iterator[Problem]:
    if clip.frames is None:
        yield "no folder", "no folder with its frames was found"
    elif is_video(clip.frames.name):
        if not clip.frames.stat().st_size:
            yield "no frames", "its video is empty"
    else:
        yield from frame_problems(clip, disk.look(clip.frames).frames)


def _notes(disk: Tree, path: Path, others: Sequence[Path], matches: Matches) -> Iterator[str]:
    yield f"annotations from {disk.relative(path)}"
    if others:
        yield f"other sheets there: {', '.join(map(disk.relative, others))} (choose with --sheet)"
    yield from frame_notes(disk, matches.homes, matches.other_kinds)
    if matches.kind == VIDEO:
        yield f"frames of a video are counted from 0: frame {FIRST_FRAME} of the sheet is frame 0"
