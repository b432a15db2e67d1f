"""CASME [1] and CASME II [2]: column names, spellings and emotion words.

The sheet of CASME II exists in two versions, told apart by their content: three clips of sub24 are sadness in the
version of 2014, surprise in that of 2019.

[1] Yan et al. 2013, CASME Database: A Dataset of Spontaneous Micro-Expressions Collected from Neutralized Faces, FG
[2] Yan et al. 2014, CASME II: An Improved Spontaneous Micro-Expression Database and the Baseline Evaluation, PLoS ONE
"""

from collections.abc import Sequence
from dataclasses import replace

from epir.core.records import Clip
from epir.datasets.folders import Layouts
from epir.datasets.loading import SheetFormat, sheet_columns
from epir.datasets.sheet import Sheet
from epir.datasets.spelling import column

CASME_WORDS = frozenset({"tense", "disgust", "repression", "surprise", "happiness", "fear", "contempt", "sadness"})
CASME2_WORDS = frozenset({"others", "disgust", "happiness", "repression", "surprise", "sadness", "fear"})
CASME2_MOVED = ("casme2/sub24/EP07_01", "casme2/sub24/EP07_04f", "casme2/sub24/EP10_03")
LAYOUTS = Layouts(
    {"{subject}/{clip}": "frames", "{subject}/{clip}.avi": "video"},
    {"cropped": "*crop*", "selected": "*select*", "raw": "*raw*"},
    example="Cropped/sub01/EP01_5/reg_EP01_5-113.jpg",
)


CASME = SheetFormat(
    corpus="casme",
    title="CASME",
    fps=60.0,
    sheets=("CASME-coded-2*.xls*", "casme.xls*", "casme.csv", "CASME[-_ ]*.xls*", "CASME[-_ ]*.csv"),
    columns=sheet_columns(
        *("{}F", "{}Frame"),  # the column Onset holds a duration
        apex=("ApexF1", "ApexFrame"),  # ApexF2 holds a second apex
        emotion=("Emotion", "Estimated Emotion"),
    ),
    further={"action_units": ("AU", "Action Units")},
    passed_on=("action_units",),
    subject="sub{:02d}".format,
    words=CASME_WORDS,
    layouts=LAYOUTS,
    version=lambda clips, sheet: "2019" if len(sheet.rows) == 193 or "2019" in sheet.path.stem else "2013",
    rows=189,
)


def casme2_version(clips: Sequence[Clip], sheet: Sheet) -> str:
    """`2014` or `2019`, by the three relabelled clips or, if the sheet lacks them, by its columns and file name."""
    moved = {clip.emotion for clip in clips if clip.key in CASME2_MOVED}
    if moved == {"sadness"}:
        return "2014"
    if moved == {"surprise"}:
        return "2019"
    if "2019" in sheet.path.name or "objectiveclasses" in map(column, sheet.columns):
        return "2019"
    return "2014" if "2014" in sheet.path.name else "unknown"


CASME2 = SheetFormat(
    corpus="casme2",
    title="CASME II",
    fps=200.0,
    sheets=(
        "CASME2-coding-2*.xlsx",
        "CASME2-coding*.xlsx",
        "CASME2-coding*.csv",
        "CASME2-coding*.xls",
        "CASME2*label*.xls*",
    ),
    columns=sheet_columns("{}Frame", "{}", emotion=("Estimated Emotion", "Emotion")),
    further={"action_units": ("Action Units",), "objective_class": ("Objective Classes",)},
    subject="sub{:02d}".format,
    words=CASME2_WORDS,
    layouts=replace(LAYOUTS, example="Cropped/sub01/EP02_01f/reg_img46.jpg"),
    version=casme2_version,
)
