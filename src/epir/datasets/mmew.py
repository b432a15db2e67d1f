"""MMEW [1]: column names, spellings and emotion words. The macro-expressions of this corpus are still pictures.

A clip's folder holds the clip alone. The frame numbers of the sheet are those of the files; if the folder does not hold
them, they are renumbered from its first picture.

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
    layouts=Layouts(  # below subject and emotion, or below emotion alone (where others is called repression)
        {"{clip}": "frames"},
        {},
        example="Micro_Expression/happiness/S03-01-002/1.jpg",
        ignored=("macro_expression",),
    ),
    version=lambda clips, sheet: "v2" if "_v2" in sheet.path.stem.casefold() else "v1",  # both have the same counts
    rows=300,
    trimmed=True,
)
