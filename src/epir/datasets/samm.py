"""SAMM [1] and SAMM Long Videos [2]: column names, spellings and emotion words.

The micro-movements of the long videos are the clips of SAMM under the same names, with other frame numbers in 82 of 159
cases. Their sheet has no emotions: these come from the sheet of SAMM, if it is there.

[1] Davison et al. 2018, SAMM: A Spontaneous Micro-Facial Movement Dataset, IEEE Transactions on Affective Computing
[2] Yap et al. 2020, SAMM Long Videos: A Spontaneous Facial Micro- and Macro-Expressions Dataset, FG
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
from epir.datasets.sheet import Sheet, find_sheet, read_sheet

SAMM_WORDS = frozenset({"anger", "other", "happiness", "surprise", "contempt", "disgust", "fear", "sadness"})

SAMM = SheetFormat(
    corpus="samm",
    title="SAMM",
    fps=200.0,
    sheets=("SAMM_Micro_FACS_Codes_v2.xlsx", "SAMM*Micro*FACS*.xls*", "SAMM*Micro*FACS*.csv", "SAMM.xlsx"),
    page="MICRO_ONLY",
    columns=sheet_columns("{} Frame", "{}", emotion=("Estimated Emotion", "Emotion")),
    further={"action_units": ("Action Units",), "objective_class": ("Objective Classes",)},
    subject="{:03d}".format,
    words=SAMM_WORDS,
    layouts=Layouts({"{subject}/{clip}": "frames"}, {"cropped": "*crop*"}, example="006/006_1_2/006_05562.jpg"),
)
_VIDEO = re.compile(r"(\d{3})_(\d+)")
_FRACTION = re.compile(r"\d+\.\d*[1-9]\d*")


def video(path: Path) -> tuple[int, str] | None:
    """Subject and name of the video in a folder."""
    match = _VIDEO.fullmatch(path.name)
    return (int(match[1]), path.name) if match else None


def rounded(text: str) -> str:
    """A frame number of the sheet's first version, where some are fractions, rounded as the organisers do.

    >>> rounded("1487.5"), rounded("1605.0"), rounded("-1")
    ('1488', '1605.0', '-1')
    """
    return str(int(float(text) + 0.5)) if _FRACTION.fullmatch(text) else text


def events(disk: Tree, sheet: Sheet) -> Events:
    """The rows with whole frame numbers, video names, and the emotions of SAMM."""
    emotions, note = _emotions(disk)
    rows = []
    fractions = 0
    for row in sheet.rows:
        numbers = {name: rounded(row.cells[name]) for name in FRAMES}
        fractions += any(numbers[name] != row.cells[name] for name in FRAMES)
        kind = expression_kind(row, sheet) if row.cells["clip"] else ""
        micro = kind == "micro"
        changed = {
            "video": row.cells["clip"].rpartition("_")[0],
            "kind": kind,
            "name": row.cells["clip"] if micro else f"{row.cells['clip']}_macro",  # one name is used for both kinds
            "emotion": emotions.get(row.cells["clip"], "") if micro else "",
        }
        rows.append(replace(row, cells={**row.cells, **numbers, **changed}))
    if emotions:
        micro_rows = [row for row in rows if row.cells["kind"] == "micro"]
        known = sum(bool(row.cells["emotion"]) for row in micro_rows)
        note += f", for {known} of {len(micro_rows)} micro-movements"
    notes = [f"fractions of frames in {fractions} rows are rounded, as the organisers do"] if fractions else []
    return rows, (*notes, note)


def _emotions(disk: Tree) -> tuple[dict[str, str], str]:
    """Clip -> emotion for the micro-movements, and a note on their source."""
    form = SAMM
    try:
        path, _ = find_sheet(disk, form.sheets, title=form.title)
    except DatasetError:
        return {}, f"no emotions: put the sheet of SAMM ({form.sheets[0]}) beside that of the long videos"
    sheet = read_sheet(path, form.columns, page=form.page)
    return {row.cells["clip"]: row.cells["emotion"] for row in sheet.rows}, f"emotions from {disk.relative(path)}"


def version(clips: Sequence[Clip], sheet: Sheet) -> str:
    """`v1` if the sheet has fractional frames or an onset of 0, else `later`."""
    for row in sheet.rows:
        cells = [row.cells[name] for name in FRAMES]
        if any(map(_FRACTION.fullmatch, cells)) or (row.cells["clip"] and cells[0] == "0"):
            return "v1"
    return "later"


SAMM_LV = replace(
    SAMM,
    name="samm-lv",
    title="SAMM Long Videos",
    sheets=("SAMM_LongVideos_V3*.xls*", "SAMM*Long*Videos*.xls*", "SAMM*Long*Videos*.csv", "SAMM*LV*.xls*"),
    page="FACS_Movement_Only",
    columns=sheet_columns("{}", "{} Frame", kind=("Type",)),
    further={"action_units": ("Action Units",)},
    passed_on=("action_units",),
    clip="{name}",
    layouts=Layouts({"{video}": "frames"}, {}, example="SAMM_longvideos/006_1/006_1_0001.jpg"),
    events=events,
    version=version,
    video=video,
)
