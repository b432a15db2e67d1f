"""CASME II [1]: column names, spellings and label maps.

The sheet exists in two versions, recognised by content: three clips of sub24 are sadness in 2014, surprise in 2019.

[1] Yan et al. 2014, CASME II: An Improved Spontaneous Micro-Expression Database and the Baseline Evaluation, PLoS ONE
"""

from collections.abc import Sequence
from pathlib import Path

from epir.core.records import Clip
from epir.datasets.base import Corpus
from epir.datasets.folders import Layouts
from epir.datasets.loading import SheetFormat, load_sheet
from epir.datasets.sheet import Table
from epir.datasets.spelling import column

WORDS = frozenset({"others", "disgust", "happiness", "repression", "surprise", "sadness", "fear"})
MOVED = ("casme2/sub24/EP07_01", "casme2/sub24/EP07_04f", "casme2/sub24/EP10_03")


def version(clips: Sequence[Clip], table: Table) -> str:
    """`2014` or `2019`: by the clips that moved, or, in a part of the sheet, by its columns and its name."""
    moved = {clip.emotion for clip in clips if clip.key in MOVED}
    if moved == {"sadness"}:
        return "2014"
    if moved == {"surprise"}:
        return "2019"
    if "2019" in table.path.name or "objectiveclasses" in map(column, table.columns):
        return "2019"
    return "2014" if "2014" in table.path.name else "unknown"


FORMAT = SheetFormat(
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
    columns={
        "subject": ("Subject",),
        "clip": ("Filename",),
        "onset": ("OnsetFrame", "Onset"),
        "apex": ("ApexFrame", "Apex"),
        "offset": ("OffsetFrame", "Offset"),
        "emotion": ("Estimated Emotion", "Emotion"),
    },
    further={"action_units": ("Action Units",), "objective_class": ("Objective Classes",)},
    subject="sub{:02d}".format,
    words=WORDS,
    layouts=Layouts(
        {"{subject}/{clip}": "frames", "{subject}/{clip}.avi": "video"},
        {"cropped": "*crop*", "selected": "*select*", "raw": "*raw*"},
        example="Cropped/sub01/EP02_01f/reg_img46.jpg",
    ),
    version=version,
)


def load(root: Path, *, sheet: str | Path | None = None, tree: str | None = None) -> Corpus:
    """CASME II as found under `root`."""
    return load_sheet(FORMAT, root, sheet=sheet, tree=tree)
