"""Copies of the releases: real sheets with the defects that the real ones have, and empty files for frames.

Subjects are invented except where counts of people are asserted. Frames may be empty: nothing here opens a picture.
"""

from itertools import cycle
from pathlib import Path
from types import SimpleNamespace

import openpyxl
import pytest
import xlwt

CASME2_HEADER = [
    "Subject", "Filename", "", "OnsetFrame", "ApexFrame", "OffsetFrame", "", "Action Units", "Estimated Emotion",
]  # fmt: skip
SAMM_HEADER = [
    "Subject", "Filename", "Inducement Code", "Onset Frame", "Apex Frame", "Offset Frame", "Duration", "Micro",
    "Action Units", "Estimated Emotion", "Objective Classes", "Notes",
]  # fmt: skip
CASME3_HEADER = ["Subject", "Filename", "Onset", "Apex", "Offset", "AU", "Objective class", "emotion"]
SMIC_E_HEADER = [
    "Subject", "Filename", "OnsetF", "OffsetF", "TotalMF1", "Onset2F", "Offset2F", "TotalMF2", "Onset3F", "Offset3F",
    "TotalMF3", "Emotion", "FirstF", "LastF", "TotalVL",
]  # fmt: skip
MOVED = [("24", "EP07_01"), ("24", "EP07_04f"), ("24", "EP10_03")]


def workbook(path, header, rows, *, page="Sheet1", above=(), further_pages=()):
    """A real .xlsx with rows above the header and further pages."""
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = page
    for row in (*above, header, *rows):
        sheet.append([cell if cell != "" else None for cell in row])
    for name, cells in further_pages:
        other = book.create_sheet(name)
        for row in cells:
            other.append(list(row))
    path.parent.mkdir(parents=True, exist_ok=True)
    book.save(path)
    return path


def old_workbook(path, pages):
    """A real .xls: pages of rows of cells."""
    book = xlwt.Workbook()
    for name, rows in pages.items():
        page = book.add_sheet(name)
        for number, row in enumerate(rows):
            for place, cell in enumerate(row):
                if cell not in ("", None):
                    page.write(number, place, cell)
    path.parent.mkdir(parents=True, exist_ok=True)
    book.save(str(path))
    return path


def frames(folder, numbers, name="img{}.jpg"):
    """A folder of empty files."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in numbers:
        (folder / name.format(number)).touch()
    return folder


def casme2_rows(version):
    """255 rows with the classes of that version, and all the special clips."""
    special = [
        ("04", "EP12_01f", 243, "/", 340, "disgust"),
        ("05", "EP09_05f", 69, 69, 115, "disgust"),
        ("16", "EP01_08", 40, 70, 110, "disgust"),
        ("09", "EP13_02", 10, 20, 30, "fear"),
        ("10", "EP13_01", 10, 20, 30, "fear"),
        *((subject, clip, 10, 20, 30, "sadness") for subject, clip in
          (("17", "EP15_01"), ("17", "EP15_03"), ("19", "EP19_04"), ("26", "EP15_01"))),
        *((subject, clip, 10, 20, 30, "sadness" if version == "2014" else "surprise") for subject, clip in MOVED),
    ]  # fmt: skip
    usual = [f"{n:02d}" for n in range(1, 27) if n not in (10, 18)]
    everyone, people = cycle([*usual, "10", "18"]), cycle(usual)
    rows = list(special)
    for emotion, number in {"others": 99, "disgust": 60, "happiness": 32, "repression": 27, "surprise": 25}.items():
        for _ in range(number):
            subject = next(everyone if emotion == "others" else people)
            rows.append((subject, f"EP{50 + len(rows) // 100}_{len(rows) % 100:02d}", 46, 59, 97, emotion))
    return [(s, c, None, on, apex, off, None, "4+L10", emotion) for s, c, on, apex, off, emotion in rows]


def casme2_sheet(path, version, rows=None):
    """The sheet of one version; the one of 2019 has a further column."""
    rows = casme2_rows(version) if rows is None else rows
    if version == "2019":
        return workbook(path, [*CASME2_HEADER, "Objective Classes"], [(*row, 3) for row in rows])
    return workbook(path, CASME2_HEADER, rows)


def samm_rows():
    """159 rows; 024 and 036 have rare emotions only, 025 has Other only."""
    subjects = [f"{n:03d}" for n in range(6, 38) if n not in (8, 27, 29)]  # 29 of them
    usual = cycle([s for s in subjects if s not in ("024", "025", "036")])
    rows = [
        ("028", "028_4_1", 1089, 1143, 1134, "Anger"),
        ("032", "032_3_1", 4896, 1930, 4960, "Anger"),
        ("024", "024_1_1", 10, 20, 30, "Fear"),
        ("036", "036_1_1", 10, 20, 30, "Sadness"),
        ("025", "025_1_1", 10, 20, 30, "Other"),
    ]
    counts = {"Anger": 55, "Other": 25, "Happiness": 26, "Surprise": 15}
    counts |= {"Contempt": 12, "Disgust": 9, "Fear": 7, "Sadness": 5}
    for emotion, number in counts.items():
        for i in range(number):
            subject = next(usual)
            rows.append((subject, f"{subject}_{emotion[:2]}_{i}", 5562, 5588, 5632, emotion))
    return [
        (s, c, 2, on, apex, off, 71, "Micro - 1/2", "L12A", emotion, 7, None) for s, c, on, apex, off, emotion in rows
    ]


def samm_sheet(path, rows=None):
    """The sheet with its 13 rows of preamble."""
    above = [["SAMM: Micro-movements"], *[[f"remark {n}"] for n in range(12)]]
    return workbook(path, SAMM_HEADER, samm_rows() if rows is None else rows, page="MICRO_ONLY", above=above)


def casme3_rows():
    """860 rows of text; six subjects have others only; every broken row of the real sheet."""
    special = [
        ("spNO.149", "d", 112, 83, 358, "fear"),
        ("spNO.214", "c", 5, 5, 3460, "disgust"),
        ("spNO.216", "d", 3647, 2668, 2694, "others"),
        ("spNO.216", "e", 0, 0, 25, "others"),
        ("spNO.40", "e", 1812, 1820, 0, "others"),
        ("spNO.40", "e", 2327, 2335, 0, "others"),
        ("spNO.14", "J", 100, 105, 120, "Others"),
        ("spNO.14", "a", 200, 205, 220, "Others"),
        ("spNO.14", "b", 200, 205, 220, "Others"),
        *((f"spNO.{n}", "a", 30, 35, 40, "others") for n in range(1, 7)),
    ]
    named = {"spNO.149", "spNO.214", "spNO.216", "spNO.40", "spNO.14"}
    usual = [f"spNO.{n}" for n in range(7, 14)] + sorted(named) + [f"spNO.{n}" for n in range(50, 126)]
    people = cycle(usual)  # 88 of them
    counts = {"disgust": 249, "surprise": 187, "others": 148, "fear": 85, "anger": 64, "sad": 57, "happy": 55}
    rows = list(special)
    for emotion, number in counts.items():
        rows += [(next(people), "k", 5000 + len(rows) + i, 9000, 9900, emotion) for i in range(number)]
    return [(s, c, *map(str, (on, apex, off)), "4+14", "VII", emotion) for s, c, on, apex, off, emotion in rows]


def casme3_sheet(path, rows=None):
    """All cells text, on the page `label`, beside a page of junk."""
    junk = ("Sheet1", [["x", i] for i in range(40)])
    rows = casme3_rows() if rows is None else rows
    return workbook(path, CASME3_HEADER, rows, page="label", further_pages=[junk, ("Sheet3", [])])


def smic_tree(home, *, length=11):
    """164 clips of 16 people, as folders; every first frame has a number of six or seven digits."""
    subjects = cycle([1, 2, 3, 4, 5, 6, 8, 9, 11, 12, 13, 14, 15, 18, 19, 20])
    for token, word, number in (("ne", "negative", 70), ("po", "positive", 51), ("sur", "surprise", 43)):
        for i in range(number):
            subject = next(subjects)
            folder = home / f"s{subject}" / "micro" / word / f"s{subject}_{token}_{i + 1:02d}"
            frames(folder, range(559740, 559740 + length), "reg_image{:06d}.bmp")
    return home


@pytest.fixture(scope="session")
def release():
    """Everything that builds a copy of a release."""
    return SimpleNamespace(
        workbook=workbook,
        old_workbook=old_workbook,
        frames=frames,
        casme2_rows=casme2_rows,
        casme2_sheet=casme2_sheet,
        samm_rows=samm_rows,
        samm_sheet=samm_sheet,
        casme3_rows=casme3_rows,
        casme3_sheet=casme3_sheet,
        smic_tree=smic_tree,
        SMIC_E_HEADER=SMIC_E_HEADER,
        CASME2_HEADER=CASME2_HEADER,
    )


@pytest.fixture
def casme2_small(tmp_path: Path, release):
    """Four clips of CASME II, three of them special, cropped, in a folder as unpacked."""
    rows = [
        ("01", "EP02_01f", None, 46, 59, 86, None, "12", "happiness"),
        ("04", "EP12_01f", None, 243, "/", 340, None, "4?", "disgust"),
        ("05", "EP09_05f", None, 69, 69, 115, None, 4, "disgust"),
        ("16", "EP01_08", None, 40, 70, 110, None, 4, "disgust"),
    ]
    release.casme2_sheet(tmp_path / "CASME2-coding-20140508.xlsx", "2014", rows)
    home = tmp_path / "Cropped-updated" / "Cropped"
    folders = {
        "sub01/EP02_01f": (46, 86),
        "sub04/EP12_01f": (243, 340),
        "sub05/EP09_05f": (69, 115),
        "sub16/EP01_08": (40, 96),
    }
    for folder, (first, last) in folders.items():
        release.frames(home / folder, range(first, last + 1), "reg_img{}.jpg")
    return tmp_path
