"""DFME [1] as the CCAC challenge released it: three sheets, for training, test A and test B; the split is fixed.

Frame numbers start at 0, and the frame rate (200, 300 or 500) varies between clips.

[1] Zhao et al. 2023, DFME: A New Benchmark for Dynamic Facial Micro-expression Recognition, IEEE Transactions on
    Affective Computing
"""

import re
from dataclasses import replace
from pathlib import Path

from epir.core.errors import DatasetError
from epir.core.words import counted
from epir.datasets.folders import Layouts, Tree
from epir.datasets.loading import Events, SheetFormat, sheet_columns
from epir.datasets.sheet import Sheet, SheetRow, find_sheet, read_sheet
from epir.datasets.spelling import units_without

SEVEN = ("anger", "contempt", "disgust", "fear", "happiness", "sadness", "surprise")  # EmotionId 0, 1, ...
WORDS = frozenset(SEVEN)
SHEETS = (
    *("*DFME*train*.xls*", "*DFME*test*.xls*", "*DFME*.xls*", "*train*.xls*", "*test*[ab]*.xls*"),
    *("*DFME*train*.csv", "*DFME*test*.csv"),
)
COLUMNS = sheet_columns("{}Frame", fps=("Fps",))
FURTHER: dict[str, tuple[str, ...]] = {"emotion": ("Emotion",), "action_units": ("AU",)}

_NO_UNIT = re.compile(r"^(AD|M)\s*\d", re.IGNORECASE)  # action descriptors (AD31) and head movements (M57)
_TEST = re.compile(r"test[\W_]*(?:data|set)?[\W_]*([ab])(?![a-z])|(?<![a-z])([ab])[\W_]*test", re.IGNORECASE)


def split_of(name: str) -> str:
    """The part of the challenge that a sheet lists, by its file name.

    >>> split_of("DFME_train.xlsx"), split_of("DFME_test_A.xlsx"), split_of("test_data_B.xlsx")
    ('train', 'test-a', 'test-b')
    """
    match = _TEST.search(Path(name).stem)
    if match:
        return f"test-{(match[1] or match[2]).lower()}"
    if "train" in name.casefold():
        return "train"
    raise DatasetError(
        f"the name of {name} does not say which part of the challenge it lists",
        fix="call the three sheets DFME_train.xlsx, DFME_test_A.xlsx and DFME_test_B.xlsx",
    )


def events(disk: Tree, sheet: Sheet) -> Events:
    """The rows of all sheets in the folder of the first, each with its part of the split."""
    path, others = find_sheet(disk, SHEETS, title="DFME") if sheet.path.is_relative_to(disk.root) else (sheet.path, ())
    beside = [one for one in (path, *others) if one.parent == sheet.path.parent and one != sheet.path]
    sheets = [sheet, *(read_sheet(one, COLUMNS | FURTHER, optional=FURTHER) for one in beside)]
    parts = {split_of(one.path.name): one for one in reversed(sheets)}
    rows: list[SheetRow] = []
    for part in ("train", "test-a", "test-b"):
        if part in parts:
            for row in parts[part].rows:
                units = units_without(row.cells.get("action_units", ""), _NO_UNIT)
                rows.append(replace(row, cells={**row.cells, "split": part, "action_units": units}))
    return rows, [
        f"{part}: {counted(len(one.rows), 'clip')} in {disk.relative(one.path)}" for part, one in sorted(parts.items())
    ]


DFME = SheetFormat(
    corpus="dfme",
    title="DFME",
    fps=200.0,
    sheets=SHEETS,
    columns=COLUMNS,
    further=FURTHER,
    passed_on=("action_units", "split"),
    subject="sub{:04d}".format,
    words=WORDS,
    layouts=Layouts({"{clip}": "frames"}, {}, example="test_data_B/sub0001_01/00020.png"),
    events=events,
    version=lambda clips, sheet: "challenge",  # no other sheets are in circulation
    first_frame=0,
)
