"""The grey videos of 4DME [1]: column names, spellings and emotion words.

A clip may have several of the five classes. Its label is then `negative+surprise`, for example, and protocols with one
class per clip leave it out.

[1] Li et al. 2022, 4DME: A Spontaneous 4D Micro-Expression Dataset with Multimodalities, IEEE Transactions on Affective
    Computing
"""

import re
from dataclasses import replace
from itertools import combinations

from epir.core.words import counted
from epir.datasets.folders import Layouts, Tree
from epir.datasets.loading import Events, SheetFormat, sheet_columns
from epir.datasets.sheet import Sheet, SheetRow
from epir.datasets.spelling import units_without

FIVE = ("positive", "negative", "surprise", "repression", "others")
WORDS = frozenset("+".join(words) for size in range(1, 6) for words in combinations(FIVE, size))

_STATIC = re.compile(r"\(k\)", re.IGNORECASE)  # marks a unit that is present but does not move


def events(disk: Tree, sheet: Sheet) -> Events:
    """The rows with one label, joined from the columns of the classes, and without static units."""
    rows = [_event(row) for row in sheet.rows]
    several = sum("+" in row.cells["emotion"] for row in rows)
    static = sum(bool(_STATIC.search(row.cells.get("action_units", ""))) for row in sheet.rows)
    notes = [f"more than one class: {counted(several, 'clip')}"] if several else []
    notes += [f"static action units, marked (k), dropped: {counted(static, 'clip')}"] if static else []
    return rows, notes


def _event(row: SheetRow) -> SheetRow:
    marked = [name for name in FIVE if row.cells.get(name, "") not in ("", "0")]
    words = "+".join(marked) or row.cells.get("emotion", "")
    units = units_without(row.cells.get("action_units", ""), _STATIC)
    return replace(row, cells={**row.cells, "emotion": words, "action_units": units})


FOURDME = SheetFormat(
    corpus="4dme",
    title="4DME",
    fps=60.0,
    sheets=("4DME_Labelling_Micro_release*.xls*", "4DME*Micro*release*.xls*", "4DME*.xls*", "4DME*.csv"),
    columns=sheet_columns("{}", subject=("sub_ID", "Subject"), clip=("fold_name", "Filename")),
    further={"emotion": ("Emotion",), "action_units": ("AUs",), **{name: (name.capitalize(),) for name in FIVE}},
    passed_on=("action_units",),
    subject="{:02d}".format,
    words=WORDS,
    layouts=Layouts(
        {"{subject}/{clip}": "gray"},
        {"cropped": "*crop*"},
        example="gray_micro/1/clip_name/1.jpg",
    ),
    events=events,
    version=lambda clips, sheet: "v1",  # as the release calls its sheet
    rows=267,
)
