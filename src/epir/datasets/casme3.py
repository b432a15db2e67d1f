"""CAS(ME)^3 Part A [1], as clips and as long videos: column names, spellings and emotion words.

A video holds several micro-expressions, so the name of a clip contains its onset: `a_355`. The sheet of the long videos
also lists macro-expressions, but no emotions: these come from the label sheet of the micro-expressions, if it is there;
both sheets list the same movements in the same order.

[1] Li et al. 2023, CAS(ME)^3: A Third Generation Facial Spontaneous Micro-Expression Database with Depth Information
    and High Ecological Validity, IEEE Transactions on Pattern Analysis and Machine Intelligence
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from epir.core.errors import DatasetError
from epir.core.records import Clip
from epir.datasets.base import FRAMES
from epir.datasets.folders import Layouts, Tree
from epir.datasets.loading import Events, SheetFormat, expression_kind, sheet_columns
from epir.datasets.sheet import Sheet, SheetRow, find_sheet, read_sheet
from epir.datasets.spelling import subject_number, whole

CASME3_WORDS = frozenset({"disgust", "surprise", "others", "fear", "anger", "sad", "happy"})

CASME3 = SheetFormat(
    corpus="casme3",
    title="CAS(ME)^3 Part A",
    fps=30.0,
    sheets=("cas(me)3_part_A_ME_label_JpgIndex_v2.xlsx", "cas(me)3_part_A_ME_label*.xls*", "cas(me)3_part_A_ME*.csv"),
    page="label",
    columns=sheet_columns("{}", emotion=("emotion",)),
    further={"action_units": ("AU",), "objective_class": ("Objective class",)},
    subject="spNO.{:d}".format,
    clip="{clip}_{onset}",
    clip_case=str.lower,
    words=CASME3_WORDS,
    layouts=Layouts(
        {"{subject}/{clip}/color": "full", "{subject}/{clip}": "full", "{subject}_{clip}_{onset}": "clips"},
        {},
        example="part_A/spNO.1/a/color/123.jpg",
        ignored=("depth", "video"),
    ),
)
MICRO = {860: "v2", 921: "v1"}  # number of micro-expressions -> version of the sheet

_VIDEO = re.compile(r"spno\.?(\d+)/([a-m])(?:/color)?", re.IGNORECASE)


def video(path: Path) -> tuple[int, str] | None:
    """Subject and name of the video in a folder."""
    parts = path.parts[-3:] if path.name.casefold() == "color" else path.parts[-2:]
    match = _VIDEO.fullmatch("/".join(parts))
    return (int(match[1]), match[2].lower()) if match else None


def events(disk: Tree, sheet: Sheet) -> Events:
    """The rows with video names, and with the emotions of the micro-expressions."""
    rows = [_event(row, sheet) for row in sheet.rows if row.cells["kind"]]
    micro = [row for row in rows if row.cells["kind"] == "micro"]
    emotions, note = _emotions(disk, micro)
    return [replace(row, cells={**row.cells, "emotion": emotions.get(row.number, "")}) for row in rows], (note,)


def _event(row: SheetRow, sheet: Sheet) -> SheetRow:
    kind, name = expression_kind(row, sheet), row.cells["clip"].lower()
    onset, offset = whole(row.cells["onset"]), whole(row.cells["offset"])
    full = f"{name}_{onset}" if kind == "micro" else f"{name}_{onset}-{offset}"
    return replace(row, cells={**row.cells, "kind": kind, "video": name, "name": full})


def _emotions(disk: Tree, micro: Sequence[SheetRow]) -> tuple[dict[int, str], str]:
    """Row number -> emotion, and a note; rows are matched by order if both sheets agree, else by video and frames."""
    form = CASME3
    try:
        path, _ = find_sheet(disk, form.sheets, title=form.title)
    except DatasetError:
        return {}, f"no emotions: put {form.sheets[0]} beside the sheet"
    labels = read_sheet(path, form.columns, page=form.page).rows
    pairs = list(zip(micro, labels, strict=False))
    if len(micro) == len(labels) and all(_alike(*pair) for pair in pairs):
        emotions = {row.number: label.cells["emotion"] for row, label in pairs}
        return emotions, f"emotions from {disk.relative(path)}, row by row"
    by_frames = {_frames(label): label.cells["emotion"] for label in labels}
    emotions = {row.number: by_frames[_frames(row)] for row in micro if _frames(row) in by_frames}
    missing = len(micro) - len(emotions)
    return emotions, f"emotions from {disk.relative(path)}, by frames; {missing} micro-expressions have none"


def _alike(row: SheetRow, label: SheetRow) -> bool:
    """Whether two rows describe one movement: same video, and at least one equal frame (four cells are broken)."""
    return _video(row) == _video(label) and any(whole(row.cells[name]) == whole(label.cells[name]) for name in FRAMES)


def _video(row: SheetRow) -> tuple[int | None, str]:
    return subject_number(row.cells["subject"]), row.cells["clip"].lower()


def _frames(row: SheetRow) -> tuple[object, ...]:
    return (*_video(row), whole(row.cells["onset"]), whole(row.cells["offset"]))


def version(clips: Sequence[Clip], sheet: Sheet) -> str:
    """`v1` or `v2`, by the number of micro-expressions or, for a partial sheet, by its file name."""
    micro = sum(row.cells["kind"].casefold().startswith("micro") for row in sheet.rows)
    named = re.search(r"v(\d)", sheet.path.stem, re.IGNORECASE)
    return MICRO.get(micro, f"v{named[1]}" if named else "unknown")


CASME3_LV = replace(
    CASME3,
    name="casme3-lv",
    title="CAS(ME)^3 Part A with macro-expressions",
    sheets=("CAS(ME)3_part_A_v2.xls*", "CAS(ME)3_part_A_v[0-9]*.xls*", "CAS(ME)3_part_A_v[0-9]*.csv"),
    page="AU+Emotion",
    columns=sheet_columns("{}", kind=("Expression type",)),
    clip="{name}",
    clip_case=str,
    layouts=replace(CASME3.layouts, kinds={"{subject}/{video}/color": "full", "{subject}/{video}": "full"}),
    events=events,
    version=version,
    video=video,
)
