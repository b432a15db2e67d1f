"""CAS(ME)^3 Part A [1]: column names, spellings and label maps.

A video holds several micro-expressions, so that the name of a clip carries its onset: `a_355`.

[1] Li et al. 2023, CAS(ME)^3: A Third Generation Facial Spontaneous Micro-Expression Database with Depth Information
    and High Ecological Validity, IEEE Transactions on Pattern Analysis and Machine Intelligence
"""

from pathlib import Path

from epir.datasets.base import Corpus
from epir.datasets.folders import Layouts
from epir.datasets.loading import SheetFormat, load_sheet

WORDS = frozenset({"disgust", "surprise", "others", "fear", "anger", "sad", "happy"})

FORMAT = SheetFormat(
    corpus="casme3",
    title="CAS(ME)^3 Part A",
    fps=30.0,
    sheets=("cas(me)3_part_A_ME_label_JpgIndex_v2.xlsx", "cas(me)3_part_A_ME_label*.xls*", "cas(me)3_part_A_ME*.csv"),
    page="label",
    columns={
        "subject": ("Subject",),
        "clip": ("Filename",),
        "onset": ("Onset",),
        "apex": ("Apex",),
        "offset": ("Offset",),
        "emotion": ("emotion",),
    },
    further={"action_units": ("AU",), "objective_class": ("Objective class",)},
    subject="spNO.{:d}".format,
    clip="{clip}_{onset}",
    clip_case=str.lower,
    words=WORDS,
    layouts=Layouts(
        {"{subject}/{clip}/color": "full", "{subject}/{clip}": "full", "{subject}_{clip}_{onset}": "clips"},
        {},
        example="part_A/spNO.1/a/color/123.jpg",
        ignored=("depth", "video"),
    ),
)


def load(root: Path, *, sheet: str | Path | None = None, tree: str | None = None) -> Corpus:
    """CAS(ME)^3 Part A as found under `root`: full sequences or trimmed clips."""
    return load_sheet(FORMAT, root, sheet=sheet, tree=tree)
