"""Load a corpus that comes with an annotation sheet: sheet and folders -> clips. Every such corpus uses this code."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from epir.core.errors import DatasetError
from epir.core.records import Clip
from epir.datasets.base import (
    FRAMES,
    Corpus,
    Correction,
    Defect,
    Problem,
    correct,
    defects,
    order_problems,
    place_problems,
    read_fps,
    read_numbers,
)
from epir.datasets.folders import VIDEO, Layouts, Matches, Place, Tree, frame_notes, match_folders
from epir.datasets.intervals import KINDS, Interval, Kind, LongVideo, first_and_length, in_order
from epir.datasets.sheet import Sheet, SheetRow, find_sheet, read_sheet
from epir.datasets.spelling import is_video, plain, subject_number, synonyms, whole

TRIMMED = "the folder of the clip is trimmed: its frames are numbered from its first one"
KNOWN_SHARE, FEW_MISSING = 0.15, 20  # of the clips, and clips: releases with missing frames miss some in a tenth


def version_in_name(clips: Sequence[Clip], sheet: Sheet) -> str:
    """The version in the sheet's file name, such as `v2`; `unknown` if it has none."""
    match = re.search(r"v(?:er)?[\W_]?(\d+)", sheet.path.stem, re.IGNORECASE)
    return f"v{match[1]}" if match else "unknown"


def sheet_columns(*frames: str, **others: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """The possible names of each column that every sheet has; `others` adds columns or replaces their names.

    >>> sheet_columns("{}Frame", "{}", emotion=("Emotion",))["onset"]
    ('OnsetFrame', 'Onset')
    """
    numbers = {name: tuple(pattern.format(name.capitalize()) for pattern in frames) for name in FRAMES}
    return {"subject": ("Subject",), "clip": ("Filename",), **numbers, **others}


Events = tuple[Sequence[SheetRow], Sequence[str]]  # one row per movement, and notes on how they were read


def one_per_row(disk: Tree, sheet: Sheet) -> Events:
    """The rows unchanged: each row of the sheet is one movement."""
    return sheet.rows, ()


@dataclass(frozen=True)
class SheetFormat:
    """How one corpus writes its annotation sheet and lays out its folders."""

    corpus: str  # the name that clips carry
    title: str
    fps: float  # if the sheet has no column `fps`
    sheets: tuple[str, ...]  # file names of the sheet, most likely first
    columns: Mapping[str, tuple[str, ...]]  # field -> possible names of its column
    subject: Callable[[int], str]  # writes a subject's number in full
    words: frozenset[str]  # the emotion words of the corpus
    layouts: Layouts
    page: str = ""  # the page of the workbook to try first
    further: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # columns that may be missing
    passed_on: tuple[str, ...] = ("action_units", "objective_class")  # which of these a clip keeps
    clip: str = "{clip}"  # the clip's name
    clip_case: Callable[[str], str] = str  # normalises the sheet's spelling of a clip
    version: Callable[[Sequence[Clip], Sheet], str] = version_in_name
    events: Callable[[Tree, Sheet], Events] = one_per_row  # turns the rows of the sheet into movements
    name: str = ""  # of the corpus, if its clips belong to another: SAMM Long Videos has the clips of SAMM
    header: tuple[str, ...] = ()  # the columns of a sheet that has no header
    rows: int | None = None  # rows of a complete sheet, if corrections refer to row numbers
    first_frame: int = 1  # the number of a recording's first frame; if it is 0, a cell 0 is a frame
    trimmed: bool = False  # folders hold the clip alone, and may renumber its frames
    video: Callable[[Path], tuple[int, str] | None] | None = None  # of long videos: subject and name by the path

    @property
    def released_as(self) -> str:
        """The name of the corpus: in corrections.csv, known.csv and expected.toml."""
        return self.name or self.corpus


@dataclass(frozen=True, slots=True)
class CorrectedRow:
    """A row of the sheet with full names and corrected values."""

    number: int  # as a spreadsheet counts
    subject: str
    clip: str
    before: Mapping[str, str]
    cells: Mapping[str, str]
    corrected: tuple[Correction, ...]

    @property
    def spellings(self) -> tuple[Mapping[str, str], ...]:
        """The values that the name of the clip's folder may be built from: the sheet's, then the corrected ones."""
        written = ({**self.before, "subject": self.subject}, {**self.cells, "subject": self.subject})
        return written if self.corrected else written[:1]

    @property
    def kind(self) -> Kind:
        """Micro or macro; a sheet without that column lists micro-expressions only."""
        return "macro" if self.cells.get("kind") == "macro" else "micro"


def load_sheet(form: SheetFormat, root: Path, *, sheet: str | Path | None = None, tree: str | None = None) -> Corpus:
    """The corpus that `form` describes, as found under `root`."""
    disk = Tree(root)
    path, others = (
        (Path(sheet), ()) if sheet else find_sheet(disk, form.sheets, title=form.title, example=form.layouts.example)
    )
    content = read_sheet(
        path, {**form.columns, **form.further}, page=form.page, optional=form.further, names=form.header
    )
    movements, remarks = form.events(disk, content)
    rows, wrong = _corrected_rows(form, content, movements)
    if not rows:
        raise DatasetError(f"{path} has no rows below its header", fix="give another sheet with --sheet")

    places = [Place(_key(form, row), row.spellings) for row in rows]
    matches = match_folders(disk, places, form.layouts, kind=tree)
    clips: list[Clip] = []
    corrected: list[Correction] = []
    for row in rows:
        folder = matches.folders.get(_key(form, row))
        frames = disk.listing(folder).frames if folder is not None and not is_video(folder.name) else ()
        row = _fitting(form, row, frames)
        clip, problems = _clip(form, row, folder)
        clip, moved = _renumbered(clip, frames) if form.trimmed else (clip, ())
        problems += order_problems(clip)
        problems += place_problems(clip, disk, absent="no folder with its frames was found")
        if folder is not None and is_video(folder.name) and not folder.stat().st_size:
            problems.append(("no frames", "its video is empty"))
        clips.append(clip)
        corrected += [*row.corrected, *moved]
        wrong += defects(clip, problems, tree=matches.kind, corpus=form.released_as)
    videos = _long_videos(form, disk, matches, rows, clips) if form.video else ()
    return Corpus(
        name=form.released_as,
        root=root,
        sheet=form.version(clips, content),
        clips=tuple(clip for clip, row in zip(clips, rows, strict=True) if row.kind == "micro"),
        corrected=tuple(corrected),
        defects=_with_known_share(wrong, len(clips)),
        tree=matches.kind,
        notes=(*_notes(form, disk, path, others, matches), *remarks),
        layout=""
        if matches.folders
        else f"frames are expected as {form.layouts.example}; found instead: {disk.contents()}; the first clip of "
        f"{path.name} is {_key(form, rows[0])}",
        videos=tuple(videos),
    )


def _with_known_share(found: Sequence[Defect], clips: int) -> tuple[Defect, ...]:
    """The defects; missing frames of more clips than in any release are not known, but lost in this copy."""
    known = sum(one.known and one.kind == "missing frames" for one in found)
    if known <= max(FEW_MISSING, KNOWN_SHARE * clips):
        return tuple(found)
    return tuple(replace(one, known=False) if one.kind == "missing frames" else one for one in found)


def _corrected_rows(
    form: SheetFormat, sheet: Sheet, movements: Sequence[SheetRow]
) -> tuple[list[CorrectedRow], list[Defect]]:
    """The rows of all movements; a clip listed twice is a defect, and its second row is skipped."""
    places: dict[int, int] = {}  # row number -> place, if corrections may refer to row numbers
    if form.rows == len(sheet.rows) == len(movements):
        places = {row.number: place for place, row in enumerate(movements)}
    by_row = [row.cells for row in movements] if places else []
    seen: dict[str, CorrectedRow] = {}
    rows, twice = list[CorrectedRow](), list[Defect]()
    for movement in movements:
        row = _corrected_row(form, movement, sheet, by_row, places.get(movement.number))
        if row is None:
            continue
        key = _key(form, row)
        twin = seen.setdefault(key.casefold(), row)
        if twin is not row and row.kind == "micro":  # macro-expressions do not become clips
            words = f"it is listed twice, in rows {twin.number} and {row.number}: delete one of the two"
            twice.append(Defect(key, words, kind="listed twice"))
        else:
            rows.append(row)
    return rows, twice


def _corrected_row(
    form: SheetFormat, row: SheetRow, sheet: Sheet, by_row: Sequence[Mapping[str, str]], place: int | None
) -> CorrectedRow | None:
    """The row with its corrections applied; `None` for a row of remarks."""
    cells = {name: whole(cell) if name in FRAMES else cell for name, cell in row.cells.items()}
    number = subject_number(cells["subject"])
    if number is None or not cells["clip"]:
        if cells.get("onset", "").isdecimal():
            wrong = "subject" if number is None else "clip"
            raise DatasetError(
                f"{sheet.path}, row {row.number}: the {wrong} is {cells[wrong]!r}", fix="correct that cell of the sheet"
            )
        return None
    name = form.clip.format(**{**cells, "clip": form.clip_case(cells["clip"])})
    subject = form.subject(number)
    corrected, applied = correct(f"{form.released_as}/{subject}/{name}", cells, by_row, place)
    return CorrectedRow(row.number, subject, name, cells, corrected, applied)


def _fitting(form: SheetFormat, row: CorrectedRow, frames: Sequence[int]) -> CorrectedRow:
    """The row, without corrections by row number if the folder holds the sheet's frames but not the corrected ones."""
    if form.rows is None or not frames or not any(one.field in FRAMES for one in row.corrected):
        return row

    def in_folder(cells: Mapping[str, str]) -> bool:
        return {whole(cells.get(name, "")) for name in FRAMES} <= set(map(str, frames))

    if in_folder(row.before) and not in_folder(row.cells):
        return replace(row, cells=row.before, corrected=())
    return row


def _renumbered(clip: Clip, frames: Sequence[int]) -> tuple[Clip, tuple[Correction, ...]]:
    """The clip with the frame numbers of its trimmed folder, if the folder does not hold the sheet's numbers."""
    if not frames or clip.onset is None or clip.onset in frames:
        return clip, ()
    others = {number for number in (clip.apex, clip.offset) if number is not None}
    is_as_long = clip.offset is not None and frames[-1] - frames[0] == clip.offset - clip.onset
    if others & set(frames) and not is_as_long:  # only the picture of the onset is missing
        return clip, ()
    by = frames[0] - clip.onset
    moved = {name: number + by for name in FRAMES if (number := getattr(clip, name)) is not None}
    if not set(moved.values()) <= set(frames):
        return clip, ()
    applied = [Correction(clip.key, name, str(number - by), str(number), TRIMMED) for name, number in moved.items()]
    return replace(clip, **moved), tuple(applied)


def _key(form: SheetFormat, row: CorrectedRow) -> str:
    return f"{form.corpus}/{row.subject}/{row.clip}"


def _clip(form: SheetFormat, row: CorrectedRow, folder: Path | None) -> tuple[Clip, list[Problem]]:
    cells = row.cells
    numbers, problems = read_numbers(cells, zero=form.first_frame == 0)
    for name, number in numbers.items():
        if number is not None and folder is not None and is_video(folder.name):
            numbers[name] = number - form.first_frame  # frames of a video are counted from 0
        elif number is None and name in form.columns:
            what = "; the apex policy decides" if name == "apex" else ""
            problems.append((f"no {name}", f"the sheet gives no {name}{what}"))
    emotion = cells.get("emotion", "")
    if (emotion or "emotion" in form.columns) and not synonyms(emotion) & form.words:
        problems.append(("emotion", f"the emotion {emotion!r} is not one of: {', '.join(sorted(form.words))}"))
    return Clip(
        corpus=form.corpus,
        subject=row.subject,
        clip=row.clip,
        emotion=plain(emotion).casefold(),
        fps=read_fps(cells, problems) or form.fps,
        frames=folder,
        extra={name: cells[name] for name in form.passed_on if cells.get(name)},
        **numbers,
    ), problems


def expression_kind(row: SheetRow, sheet: Sheet) -> Kind:
    """`micro` or `macro`, from a cell such as `Micro - 1/2` or `macro-expression`."""
    text = row.cells["kind"]
    for kind in KINDS:
        if text.casefold().startswith(kind):
            return kind
    raise DatasetError(
        f"{sheet.path}, row {row.number}: {text!r} is neither a micro- nor a macro-expression",
        fix="correct that cell of the sheet",
    )


def _long_videos(
    form: SheetFormat, disk: Tree, matches: Matches, rows: Sequence[CorrectedRow], clips: Sequence[Clip]
) -> list[LongVideo]:
    """Every video that the sheet names or the disk holds, sorted by subject and name."""
    videos: dict[tuple[str, str], LongVideo] = {}
    movements: dict[tuple[str, str], list[Interval]] = {}
    for row, clip in zip(rows, clips, strict=True):
        key = (row.subject, row.cells["video"])
        path = clip.frames or disk.root / row.subject / row.cells["video"]
        if key not in videos or not videos[key].path.exists():
            videos[key] = _long_video(form, disk, *key, path)
        if clip.onset is not None and clip.offset is not None and clip.onset <= clip.offset:
            by = form.first_frame if is_video(path.name) else 0
            apex = None if clip.apex is None else clip.apex + by
            movements.setdefault(key, []).append(
                Interval(key[1], key[0], row.kind, clip.onset + by, apex, clip.offset + by, clip.emotion)
            )
    for key, path in _unannotated(form, disk, matches):
        videos.setdefault(key, _long_video(form, disk, *key, path))
    return [replace(videos[key], intervals=in_order(movements.get(key, ()))) for key in sorted(videos)]


def _long_video(form: SheetFormat, disk: Tree, subject: str, name: str, path: Path) -> LongVideo:
    there = first_and_length(disk.listing(path).frames) if path.is_dir() else None
    first, frames = there or (form.first_frame, None)
    return LongVideo(form.released_as, subject, name, path, form.fps, frames, first=first)


def _unannotated(form: SheetFormat, disk: Tree, matches: Matches) -> Iterator[tuple[tuple[str, str], Path]]:
    """Every video in the folders where annotated videos were found."""
    assert form.video is not None
    for home in matches.homes:
        for folder in disk.below(home, depth=3):
            listing = disk.listing(folder)
            paths = [folder / name for name in listing.videos] if matches.kind == VIDEO else []
            paths += [folder] if listing.frames and matches.kind != VIDEO else []
            for path in paths:
                if path.name.casefold() not in form.layouts.ignored and (one := form.video(path)):
                    yield (form.subject(one[0]), one[1]), path


def _notes(form: SheetFormat, disk: Tree, path: Path, others: Sequence[Path], matches: Matches) -> Iterator[str]:
    yield f"annotations from {disk.relative(path)}"
    if others:
        yield f"other sheets there: {', '.join(map(disk.relative, others))} (choose with --sheet)"
    yield from frame_notes(disk, matches.homes, matches.other_kinds)
    if matches.kind == VIDEO:
        yield f"frames of a video are counted from 0: frame {form.first_frame} of the sheet is frame 0"
