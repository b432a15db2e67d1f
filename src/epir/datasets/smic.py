"""SMIC [1]: folder names and label maps. It has no annotation sheet and gives no apex: a clip's folder says the rest.

The parts HS, VIS and NIR show the same people, so that a clip of VIS or NIR carries its part in its name. `hs-e`,
`vis-e` and `nir-e` are the long clips of SMIC-E, which come with a sheet.

[1] Li et al. 2013, A Spontaneous Micro-expression Database: Inducement, Collection and Baseline, FG
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from epir.core.errors import DatasetError
from epir.core.records import Clip
from epir.datasets.base import Corpus
from epir.datasets.discovery import FolderFormat, load_folders
from epir.datasets.folders import Layouts
from epir.datasets.loading import SheetFormat, load_sheet
from epir.datasets.sheet import Row, Table

WORDS = frozenset({"negative", "positive", "surprise"})
COMPOSITE = {"negative": "negative", "positive": "positive", "surprise": "surprise"}
NOT_COMPOSITE = ("smic/*/vis_*", "smic/*/nir_*")
RATES = {"hs": 100.0, "vis": 25.0, "nir": 25.0}
PARTS = (*RATES, *(f"{part}-e" for part in RATES))
TOKENS = {"ne": "negative", "po": "positive", "sur": "surprise"}

_CLIP = re.compile(r"s0*(\d+)_(ne|po|sur)_0*(\d+)", re.IGNORECASE)


def clip_name(text: str) -> str:
    """A clip's name in full, `s1_ne_01` as `s01_ne_01`; any other text in lower case."""
    found = _CLIP.fullmatch(text)
    return f"s{int(found[1]):02d}_{found[2].lower()}_{int(found[3]):02d}" if found else text.casefold()


def folder_format(part: str) -> FolderFormat:
    """The trimmed clips of one part: `HS/s1/micro/negative/s1_ne_01`."""
    return FolderFormat(
        corpus="smic",
        title="SMIC",
        example=f"{part.upper()}/s1/micro/negative/s1_ne_01",
        part=part,
        fps=RATES[part],
        parts=re.compile(r"(?:^|[^a-z])(hs|vis|nir)(?:[^a-z]|$)"),
        subject_folder=re.compile(r"s(\d+)", re.IGNORECASE),
        subject="s{:02d}",
        clip=_CLIP,
        clip_name=clip_name,
        clip_prefix="" if part == "hs" else f"{part}_",
        tokens=TOKENS,
        trees={"cropped": "crop", "raw": "raw"},
        elsewhere=re.compile(r"(hs|vis|nir)[-_ ]?long|smic[-_ ]?(hs|vis|nir)[-_ ]?e$"),
        elsewhere_fix=f"these are the long clips of SMIC-E: add --part {part}-e, or unpack SMIC_all_cropped",
    )


def long_format(part: str) -> SheetFormat:
    """The long clips of SMIC-E, one row for each: up to three micro-expressions between neutral frames."""
    prefix = "" if part == "hs" else f"{part}_"

    def events(row: Row) -> Sequence[Row]:
        name = _CLIP.fullmatch(row.cells["clip"])
        if name is None:  # remarks stand below the table
            return ()
        found = []
        for number in ("", "2", "3"):
            onset, offset = row.cells.get(f"onset{number}", ""), row.cells.get(f"offset{number}", "")
            event = {"name": "_".join([prefix + clip_name(name[0]), *number]), "onset": onset, "offset": offset}
            if not number or onset not in ("", "0"):
                found.append(replace(row, cells={**row.cells, **event, "emotion": TOKENS[name[2].lower()]}))
        return found

    def version(clips: Sequence[Clip], table: Table) -> str:
        return f"{part}-e"

    return SheetFormat(
        corpus="smic",
        title=f"SMIC-E {part.upper()}",
        fps=RATES[part],
        sheets=(f"SMIC-{part}-E_annotation*.xlsx", f"SMIC*{part}*E*annotation*.xls*"),
        columns={"subject": ("Subject",), "clip": ("Filename",), "onset": ("OnsetF",), "offset": ("OffsetF",)},
        further={f"{field}{n}": (f"{field}{n}F",) for n in (2, 3) for field in ("onset", "offset")},
        passed_on=(),
        subject="s{:02d}",
        clip="{name}",
        words=WORDS,
        layouts=Layouts({"{subject}/{clip}": "unnamed"}, {f"long {part}": f"*{part}*"}, clip_name=clip_name),
        version=version,
        events=events,
    )


def load(root: Path, *, part: str = "hs", tree: str | None = None, sheet: str | Path | None = None) -> Corpus:
    """One part of SMIC as found under `root`."""
    part = part.casefold()
    if part not in PARTS:
        raise DatasetError(f"SMIC has no part {part!r}", fix=f"use one of: {', '.join(PARTS)}")
    if part.endswith("-e"):
        return load_sheet(long_format(part.removesuffix("-e")), root, sheet=sheet, tree=tree)
    if sheet is not None:
        raise DatasetError("SMIC has no annotation sheet", fix=f"leave --sheet out, or add --part {part}-e for SMIC-E")
    return load_folders(folder_format(part), root, tree=tree)
