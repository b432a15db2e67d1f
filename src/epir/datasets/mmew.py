"""MMEW [1]: column names, spellings and label maps. Macro-expressions of this corpus are still pictures.

Clip folders hold the clip alone. The frames of the sheet are numbers of files; where a folder does not hold them, they
are counted from its first picture instead.

[1] Ben et al. 2021, Video-based Facial Micro-Expression Analysis: A Survey of Datasets, Features and Algorithms,
    IEEE Transactions on Pattern Analysis and Machine Intelligence
"""

from epir.datasets.folders import Layouts
from epir.datasets.loading import SheetFormat, sheet_columns

SIX = ("happiness", "surprise", "anger", "disgust", "fear", "sadness")
WORDS = frozenset({*SIX, "others"})


MMEW = SheetFormat(
    corpus="mmew",
    title="MMEW",
    fps=90.0,
    sheets=("MMEW_Micro_Exp_v2.xlsx", "MMEW_Micro_Exp*.xls*", "MMEW*Micro*.csv"),
    columns=sheet_columns("{}Frame", "{}", emotion=("Estimated Emotion", "Emotion")),
    further={"action_units": ("Action Units",)},
    passed_on=("action_units",),
    subject="S{:02d}".format,
    words=WORDS,
    layouts=Layouts(  # below a subject and an emotion, or below an emotion (called repression for others) alone
        {"{clip}": "frames"},
        {},
        example="Micro_Expression/happiness/S03-01-002/1.jpg",
        ignored=("macro_expression",),
    ),
    version=lambda clips, sheet: "v2" if "_v2" in sheet.path.stem.casefold() else "v1",  # of the same counts
    rows=300,
    trimmed=True,
)
