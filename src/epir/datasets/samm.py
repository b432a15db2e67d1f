"""SAMM [1]: column names, spellings and label maps.

[1] Davison et al. 2018, SAMM: A Spontaneous Micro-Facial Movement Dataset, IEEE Transactions on Affective Computing
"""

from pathlib import Path

from epir.datasets.base import Corpus
from epir.datasets.folders import Layouts
from epir.datasets.loading import SheetFormat, load_sheet

WORDS = frozenset({"anger", "other", "happiness", "surprise", "contempt", "disgust", "fear", "sadness"})

FORMAT = SheetFormat(
    corpus="samm",
    title="SAMM",
    fps=200.0,
    sheets=("SAMM_Micro_FACS_Codes_v2.xlsx", "SAMM*Micro*FACS*.xls*", "SAMM*Micro*FACS*.csv", "SAMM.xlsx"),
    page="MICRO_ONLY",
    columns={
        "subject": ("Subject",),
        "clip": ("Filename",),
        "onset": ("Onset Frame", "Onset"),
        "apex": ("Apex Frame", "Apex"),
        "offset": ("Offset Frame", "Offset"),
        "emotion": ("Estimated Emotion", "Emotion"),
    },
    further={"action_units": ("Action Units",), "objective_class": ("Objective Classes",)},
    subject="{:03d}".format,
    words=WORDS,
    layouts=Layouts({"{subject}/{clip}": "frames"}, {"cropped": "*crop*"}, example="006/006_1_2/006_05562.jpg"),
)


def load(root: Path, *, sheet: str | Path | None = None, tree: str | None = None) -> Corpus:
    """SAMM as found under `root`."""
    return load_sheet(FORMAT, root, sheet=sheet, tree=tree)
