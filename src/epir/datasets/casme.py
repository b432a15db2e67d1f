"""CASME [1]: column names, spellings and label maps.

[1] Yan et al. 2013, CASME Database: A Dataset of Spontaneous Micro-Expressions Collected from Neutralized Faces, FG
"""

from collections.abc import Sequence
from pathlib import Path

from epir.core.records import Clip
from epir.datasets.base import Corpus
from epir.datasets.folders import Layouts
from epir.datasets.loading import SheetFormat, load_sheet
from epir.datasets.sheet import Table

WORDS = frozenset({"tense", "disgust", "repression", "surprise", "happiness", "fear", "contempt", "sadness"})


def version(clips: Sequence[Clip], table: Table) -> str:
    """`2019`, a sheet of 193 rows, or `2013`, of 189."""
    return "2019" if len(table.rows) == 193 or "2019" in table.path.stem else "2013"


FORMAT = SheetFormat(
    corpus="casme",
    title="CASME",
    fps=60.0,
    sheets=("CASME-coded-2*.xls*", "casme.xls*", "casme.csv", "CASME[-_ ]*.xls*", "CASME[-_ ]*.csv"),
    columns={
        "subject": ("Subject",),
        "clip": ("Filename",),
        "onset": ("OnsetF", "OnsetFrame"),  # a column Onset is a duration
        "apex": ("ApexF1", "ApexFrame"),  # a second apex stands in ApexF2
        "offset": ("OffsetF", "OffsetFrame"),
        "emotion": ("Emotion", "Estimated Emotion"),
    },
    further={"action_units": ("AU", "Action Units")},
    passed_on=("action_units",),
    subject="sub{:02d}".format,
    words=WORDS,
    layouts=Layouts(
        {"{subject}/{clip}": "frames", "{subject}/{clip}.avi": "video"},
        {"cropped": "*crop*", "selected": "*select*", "raw": "*raw*"},
        example="Cropped/sub01/EP01_5/reg_EP01_5-113.jpg",
    ),
    version=version,
    rows=189,
)


def load(root: Path, *, sheet: str | Path | None = None, tree: str | None = None) -> Corpus:
    """CASME as found under `root`."""
    return load_sheet(FORMAT, root, sheet=sheet, tree=tree)
