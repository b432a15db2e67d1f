"""CAS(ME)^2 [1]: long videos with micro- and macro-expressions. Columns, spellings, and what the sheet leaves out.

The sheet has no header. It numbers subjects from 1, while folders are called `s15`, and names videos `anger1`, while
folders carry a code: `15_0401girlcrashing`. 44 of 300 macro-expressions have no offset; they end at their apex, as the
organisers of MEGC 2020 score them. The sheet says whether a movement is micro or macro; its length does not.

[1] Qu et al. 2018, CAS(ME)^2: A Database for Spontaneous Macro-expression and Micro-expression Spotting and
    Recognition, IEEE Transactions on Affective Computing
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from epir.core.errors import DatasetError
from epir.core.records import Clip
from epir.datasets.folders import Layouts, Tree
from epir.datasets.loading import Events, SheetFormat, expression_kind, sheet_columns
from epir.datasets.sheet import Sheet, SheetRow
from epir.datasets.spelling import frame_number, subject_number

WORDS = frozenset({"negative", "positive", "surprise", "others"})
SUBJECTS = (15, 16, 19, 20, 21, 22, 23, 24, 25, 26, 27, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 40)  # 1, 2, ... there
VIDEO_NAMES = {  # code of a folder -> name in the sheet
    "0101": "disgust1",
    "0102": "disgust2",
    "0401": "anger1",
    "0402": "anger2",
    "0502": "happy1",
    "0503": "happy2",
    "0505": "happy3",
    "0507": "happy4",
    "0508": "happy5",
}
HEADER = ("Subject", "Filename", "Onset", "Apex", "Offset", "AU", "Valence", "Type", "Self-report")
RICH_UNITS = "4+10+14+15"  # the units of the first row in the later version of the column

_FOLDER = re.compile(r"(\d+)_(\d{4}).*")


def video_name(text: str) -> str:
    """The sheet's name of a video: `anger1` for the folder `15_0401girlcrashing`; any other text in lower case.

    Only the code counts: the release misspells one of the names after it.
    """
    match = _FOLDER.fullmatch(text)
    return VIDEO_NAMES.get(match[2], text) if match else text.casefold()


def video(path: Path) -> tuple[int, str] | None:
    """Subject and name of the video in a folder or file."""
    match = _FOLDER.fullmatch(path.stem if path.suffix else path.name)
    return (int(match[1]), VIDEO_NAMES[match[2]]) if match and match[2] in VIDEO_NAMES else None


def events(disk: Tree, sheet: Sheet) -> Events:
    """The rows with the subject numbers of the folders, video names, and an offset for each movement."""
    rows = [_event(row, sheet) for row in sheet.rows]
    ended = sum(
        _end(row) is None and event.cells["kind"] == "macro" for row, event in zip(sheet.rows, rows, strict=True)
    )
    note = f"{ended} macro-expressions without an offset end at their apex, as in the organisers' ground truth"
    return rows, (note,) if ended else ()


def _event(row: SheetRow, sheet: Sheet) -> SheetRow:
    number = subject_number(row.cells["subject"])
    if number is None or not 1 <= number <= len(SUBJECTS):
        raise DatasetError(
            f"{sheet.path}, row {row.number}: the subject is {row.cells['subject']!r}, not a number from 1 to 22",
            fix="correct that cell of the sheet",
        )
    name = row.cells["clip"].rpartition("_")[0].casefold()
    if name not in VIDEO_NAMES.values():
        raise DatasetError(
            f"{sheet.path}, row {row.number}: there is no video {name!r}",
            fix=f"use one of: {', '.join(VIDEO_NAMES.values())}, then _ and a number",
        )
    kind = expression_kind(row, sheet)
    end = row.cells["apex"] if kind == "macro" and _end(row) is None else row.cells["offset"]
    changed = {"subject": f"s{SUBJECTS[number - 1]}", "video": name, "kind": kind, "offset": end}
    return replace(row, cells={**row.cells, **changed})


def _end(row: SheetRow) -> str | None:
    try:
        return row.cells["offset"] if frame_number(row.cells["offset"]) is not None else None
    except ValueError:
        return row.cells["offset"]  # the loader says what is wrong with it


def version(clips: Sequence[Clip], sheet: Sheet) -> str:
    """`updated` (more action units in 216 rows) or `final`, by the first row or else by the file name."""
    first = next((row.cells.get("action_units", "") for row in sheet.rows if row.cells["clip"] == "anger1_1"), "")
    return "updated" if first == RICH_UNITS or "updated" in sheet.path.name.casefold() else "final"


CASME_SQ = SheetFormat(
    corpus="casme-sq",
    title="CAS(ME)^2",
    fps=30.0,
    sheets=(
        "CAS(ME)^2code_final*.xls*",
        "CAS*ME*2*code*final*.xls*",
        "CAS*ME*2*code*final*.csv",
        "code_final.xls*",
    ),
    header=HEADER,
    columns=sheet_columns("{}", emotion=("Valence",), kind=("Type",)),
    further={"action_units": ("AU",), "self_report": ("Self-report",)},
    passed_on=("action_units", "self_report"),
    subject="s{:d}".format,
    words=WORDS,
    layouts=Layouts(
        {"{subject}/{video}": "frames", "{subject}/{video}.avi": "video"},
        {"raw": "*raw*", "cropped": "*crop*"},
        example="rawpic/s15/15_0401girlcrashing/img001.jpg",
        ignored=("selectedpic",),
        clip_name=video_name,
    ),
    events=events,
    version=version,
    video=video,
)
