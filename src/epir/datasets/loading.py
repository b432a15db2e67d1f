"""From an annotation sheet and the folders beside it to clips: the same way for every corpus that has a sheet."""

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
    read_numbers,
)
from epir.datasets.folders import VIDEO, Layouts, Matches, Place, Tree, frame_notes, match_folders
from epir.datasets.intervals import KINDS, Interval, Kind, LongVideo, in_order, span
from epir.datasets.sheet import Row, Table, find_sheet, read_table
from epir.datasets.spelling import is_video, not_a_number, plain, subject_number, synonyms, whole

TRIMMED = "the folder of the clip is trimmed: its frames are counted anew from its first one"


def version_in_name(clips: Sequence[Clip], table: Table) -> str:
    """The version that the sheet's file name gives: `v2`; `unknown` where it gives none."""
    match = re.search(r"v(?:er)?[\W_]?(\d+)", table.path.stem, re.IGNORECASE)
    return f"v{match[1]}" if match else "unknown"


def sheet_columns(*frames: str, **others: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """The columns that every sheet has, by their names in most of them; `others` are added, or named otherwise.

    >>> sheet_columns("{}Frame", "{}", emotion=("Emotion",))["onset"]
    ('OnsetFrame', 'Onset')
    """
    numbers = {name: tuple(pattern.format(name.capitalize()) for pattern in frames) for name in FRAMES}
    return {"subject": ("Subject",), "clip": ("Filename",), **numbers, **others}


Events = tuple[Sequence[Row], Sequence[str]]  # one row for each movement, and notes on how they came about


def as_they_are(disk: Tree, table: Table) -> Events:
    """The rows of the sheet: one movement each."""
    return table.rows, ()


@dataclass(frozen=True)
class SheetFormat:
    """What is particular to a corpus that comes with an annotation sheet."""

    corpus: str  # the name that clips carry
    title: str
    fps: float  # where the sheet has no column `fps`
    sheets: tuple[str, ...]  # names of the sheet's file, likeliest first
    columns: Mapping[str, tuple[str, ...]]  # field: names of its column
    subject: Callable[[int], str]  # how a subject's number is written in full
    words: frozenset[str]  # the emotion words of the corpus
    layouts: Layouts
    page: str = ""  # the page of the workbook to try first
    further: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # columns that may be missing
    passed_on: tuple[str, ...] = ("action_units", "objective_class")  # those of them that a clip keeps
    clip: str = "{clip}"  # the clip's name
    clip_case: Callable[[str], str] = str  # one spelling for what the sheet calls the clip
    version: Callable[[Sequence[Clip], Table], str] = version_in_name
    events: Callable[[Tree, Table], Events] = as_they_are  # what the rows of the sheet mean
    name: str = ""  # of the corpus, where its clips are those of another one: SAMM Long Videos has the clips of SAMM
    header: tuple[str, ...] = ()  # the columns of a sheet that has no header
    rows: int | None = None  # how many rows a complete sheet has, where corrections go by row
    first_frame: int = 1  # the number of the first frame of a recording; with 0 the cell 0 is a frame
    trimmed: bool = False  # folders hold the clip alone, and may count its frames anew
    video: Callable[[Path], tuple[int, str] | None] | None = None  # of long videos: subject and name by the path

    @property
    def released_as(self) -> str:
        """The name of the corpus: in corrections.csv, known.csv and expected.toml."""
        return self.name or self.corpus


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
    table = read_table(path, {**form.columns, **form.further}, page=form.page, optional=form.further, names=form.header)
    rows, remarks = form.events(disk, table)
    entries, wrong = _entries(form, table, rows)
    if not entries:
        raise DatasetError(f"{path} has no rows below its header", fix="give another sheet with --sheet")

    places = [Place(_key(form, entry), entry.spellings) for entry in entries]
    matches = match_folders(disk, places, form.layouts, wanted=tree)
    clips: list[Clip] = []
    corrected: list[Correction] = []
    for entry in entries:
        folder = matches.folders.get(_key(form, entry))
        frames = disk.listing(folder).frames if folder is not None and not is_video(folder.name) else ()
        entry = _fitting(form, entry, frames)
        clip, problems = _clip(form, entry, folder)
        clip, moved = _rebased(clip, frames) if form.trimmed else (clip, ())
        problems += order_problems(clip)
        problems += place_problems(clip, disk, absent="no folder with its frames was found")
        if folder is not None and is_video(folder.name) and not folder.stat().st_size:
            problems.append(("no frames", "its video is empty"))
        clips.append(clip)
        corrected += [*entry.corrected, *moved]
        wrong += defects(clip, problems, tree=matches.kind, corpus=form.released_as)
    videos = _long_videos(form, disk, matches, entries, clips) if form.video else ()
    return Corpus(
        name=form.released_as,
        root=root,
        sheet=form.version(clips, table),
        clips=tuple(clip for clip, entry in zip(clips, entries, strict=True) if entry.kind == "micro"),
        corrected=tuple(corrected),
        defects=tuple(wrong),
        tree=matches.kind,
        notes=(*_notes(form, disk, path, others, matches), *remarks),
        layout=""
        if matches.folders
        else f"frames are expected as {form.layouts.example}; found instead: {disk.contents()}",
        videos=tuple(videos),
    )


def _entries(form: SheetFormat, table: Table, rows: Sequence[Row]) -> tuple[list[Entry], list[Defect]]:
    """The entries of the sheet; a clip that is listed twice is a defect, and its second row is passed over."""
    places: dict[int, int] = {}  # of rows by their numbers, where corrections may go by row
    if form.rows == len(table.rows) == len(rows):
        places = {row.number: place for place, row in enumerate(rows)}
    by_row = [row.cells for row in rows] if places else []
    entries = [entry for row in rows if (entry := _entry(form, row, table, by_row, places.get(row.number)))]
    seen: dict[str, Entry] = {}
    kept, twice = list[Entry](), list[Defect]()
    for entry in entries:
        key = _key(form, entry)
        twin = seen.setdefault(key.casefold(), entry)
        if twin is not entry and entry.kind == "micro":  # macro-expressions do not become clips
            words = f"it is listed twice, in rows {twin.row.number} and {entry.row.number}: delete one of the two"
            twice.append(Defect(key, words, kind="listed twice"))
        else:
            kept.append(entry)
    return kept, twice


def _entry(
    form: SheetFormat, row: Row, table: Table, by_row: Sequence[Mapping[str, str]], place: int | None
) -> Entry | None:
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
    subject = form.subject(number)
    corrected, applied = correct(f"{form.released_as}/{subject}/{name}", cells, by_row, place)
    return Entry(row, subject, name, cells, corrected, applied)


def _fitting(form: SheetFormat, entry: Entry, frames: Sequence[int]) -> Entry:
    """The entry, without corrections by row whose frames the folder does not hold while it holds those of the sheet."""
    if form.rows is None or not frames or not any(one.field in FRAMES for one in entry.corrected):
        return entry

    def held(cells: Mapping[str, str]) -> bool:
        return {whole(cells.get(name, "")) for name in FRAMES} <= set(map(str, frames))

    if held(entry.before) and not held(entry.cells):
        return replace(entry, cells=entry.before, corrected=())
    return entry


def _rebased(clip: Clip, frames: Sequence[int]) -> tuple[Clip, tuple[Correction, ...]]:
    """The clip with its frames counted as its trimmed folder counts them, where that does not hold the sheet's."""
    if not frames or clip.onset is None or clip.onset in frames:
        return clip, ()
    by = frames[0] - clip.onset
    moved = {name: number + by for name in FRAMES if (number := getattr(clip, name)) is not None}
    if not set(moved.values()) <= set(frames):
        return clip, ()
    applied = [Correction(clip.key, name, str(number - by), str(number), TRIMMED) for name, number in moved.items()]
    return replace(clip, **moved), tuple(applied)


def _key(form: SheetFormat, entry: Entry) -> str:
    return f"{form.corpus}/{entry.subject}/{entry.clip}"


def _clip(form: SheetFormat, entry: Entry, folder: Path | None) -> tuple[Clip, list[Problem]]:
    cells = entry.cells
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
        subject=entry.subject,
        clip=entry.clip,
        emotion=plain(emotion).casefold(),
        fps=_fps(form, cells, problems),
        frames=folder,
        extra={name: cells[name] for name in form.passed_on if cells.get(name)},
        **numbers,
    ), problems


def _fps(form: SheetFormat, cells: Mapping[str, str], problems: list[Problem]) -> float:
    text = cells.get("fps", "")
    try:
        return float(text) if text else form.fps
    except ValueError:
        problems.append(("no number", not_a_number("fps", text, "frame rate")))
        return form.fps


def kind_of(row: Row, table: Table) -> Kind:
    """`micro` or `macro`, from a cell such as `Micro - 1/2` or `macro-expression`."""
    text = row.cells["kind"]
    for kind in KINDS:
        if text.casefold().startswith(kind):
            return kind
    raise DatasetError(
        f"{table.path}, row {row.number}: {text!r} is neither a micro- nor a macro-expression",
        fix="correct that cell of the sheet",
    )


def _long_videos(
    form: SheetFormat, disk: Tree, matches: Matches, entries: Sequence[Entry], clips: Sequence[Clip]
) -> list[LongVideo]:
    """Every video that the sheet names or the disk holds, by subject and name."""
    videos: dict[tuple[str, str], LongVideo] = {}
    movements: dict[tuple[str, str], list[Interval]] = {}
    for entry, clip in zip(entries, clips, strict=True):
        key = (entry.subject, entry.cells["video"])
        path = clip.frames or disk.root / entry.subject / entry.cells["video"]
        if key not in videos or not videos[key].path.exists():
            videos[key] = _long_video(form, disk, *key, path)
        if clip.onset is not None and clip.offset is not None and clip.onset <= clip.offset:
            by = form.first_frame if is_video(path.name) else 0
            apex = None if clip.apex is None else clip.apex + by
            movements.setdefault(key, []).append(
                Interval(key[1], key[0], entry.kind, clip.onset + by, apex, clip.offset + by, clip.emotion)
            )
    for key, path in _unannotated(form, disk, matches):
        videos.setdefault(key, _long_video(form, disk, *key, path))
    return [replace(videos[key], intervals=in_order(movements.get(key, ()))) for key in sorted(videos)]


def _long_video(form: SheetFormat, disk: Tree, subject: str, name: str, path: Path) -> LongVideo:
    there = span(disk.listing(path).frames) if path.is_dir() else None
    first, frames = there or (form.first_frame, None)
    return LongVideo(form.released_as, subject, name, path, form.fps, frames, first=first)


def _unannotated(form: SheetFormat, disk: Tree, matches: Matches) -> Iterator[tuple[tuple[str, str], Path]]:
    """The videos below the folders in which annotated ones were found."""
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
