"""Maps made elsewhere -> a map set: a folder of PNG, NPY or NPZ files, one for each clip, and a table of labels.

`LAYOUTS` describes published folders. Every problem is reported with its row, and nothing is written unless everything
is right.

Axes: n maps, S map size
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import cv2
import numpy as np

from epir.core.config import check_known
from epir.core.errors import ConfigError, EpirError, MapSetError
from epir.core.files import open_array, read_bytes, read_rows
from epir.core.output import resolved
from epir.core.records import Clip
from epir.datasets.spelling import subject_number
from epir.maps.mapset import CHANNELS, LARGEST, MapSet, save_maps

ENDINGS = (".bmp", ".jpeg", ".jpg", ".png", ".npy", ".npz")
FIX = "correct the table and the folder; nothing was written"
SHOWN = 20  # problems in a message
COLUMNS = ("corpus", "subject", "clip", "emotion", "file")
SUBJECTS = {"casme2": "sub{:02d}", "samm": "{:03d}", "smic": "s{:02d}"}  # as `epir prepare` writes subjects
NUMBERS: Mapping[str, type] = {"onset": int, "apex": int, "offset": int, "fps": float}


@dataclass(frozen=True)
class Layout:
    """A published folder: where its maps and labels are, and the counts of a complete copy."""

    maps: str
    labels: str
    columns: Mapping[str, str]  # field -> column of the table
    file: str  # name of a clip's file, with the cells of its row in braces
    channels: str
    classes: tuple[str, ...]  # indexed by the numbers in the table
    size: int
    clips: Mapping[str, int] = field(default_factory=dict)  # by class
    people: Mapping[str, int] = field(default_factory=dict)  # by corpus
    licence: str = ""


LAYOUTS: Mapping[str, Layout] = {
    # the composite of MEGC 2019 as flow maps (TV-L1, each channel stretched to 0..1), published with HTNet
    "htnet": Layout(
        maps="datasets/STSNet_whole_norm_u_v_os",
        labels="combined_3_class2_for_optical_flow.csv",
        columns={"corpus": "dataset", "subject": "sub", "clip": "filename_o", "emotion": "label"},
        file="{subject}_{clip} .png",
        channels="rgb",
        classes=("negative", "positive", "surprise"),
        size=28,
        clips={"negative": 250, "positive": 109, "surprise": 83},
        people={"casme2": 24, "samm": 28, "smic": 16},
        licence="the repository of HTNet states no licence, and its maps derive from corpora that are licensed for "
        "research: use them for research only, and do not pass them on",
    )
}


@dataclass(frozen=True)
class ImportedMaps:
    """A map set made from files, and the digest of these files and their labels."""

    maps: MapSet
    digest: str
    licence: str = ""


def import_maps(
    folder: str | Path,
    out: str | Path,
    *,
    labels: str | Path | None = None,
    channels: str | None = None,
    layout: str | None = None,
    classes: Sequence[str] = (),
    corpus: str = "imported",
    force: bool = False,
) -> ImportedMaps:
    """Convert a folder of maps to a map set; `labels` is a CSV with the columns subject, clip and emotion.

    It may also have the columns `corpus`, `file` (default: the clip's name), `onset`, `apex`, `offset` and `fps`; any
    further column is kept. Emotions are words, or indices into `classes`. Pictures are scaled to 0..1; arrays are not.
    """
    folder, known = Path(folder), None
    if layout is not None:
        check_known(layout, LAYOUTS, what="layout")
        known = LAYOUTS[layout]
    table = Path(labels) if labels is not None else folder / known.labels if known else None
    if table is None:
        raise ConfigError(
            "the table of labels is missing", fix="add --labels TABLE, or --layout for a published folder"
        )
    place = folder / known.maps if known and (folder / known.maps).is_dir() else folder
    if not place.is_dir():
        raise MapSetError(f"there is no folder {place}", fix="check the path")
    if known and not any(place.glob(re.sub(r"{\w+}", "*", known.file))):
        raise MapSetError(
            f"the maps are missing: {folder / known.maps} {'holds none' if place != folder else 'is not there'}",
            fix="unpack the published maps there, or give the folder of the maps, and the table with --labels",
        )
    order = _order(channels or (known.channels if known else "u,v,strain"))
    rows = _rows(table, known)
    problems: list[str] = []
    clips, files = _clips(rows, place, known, tuple(classes) or (known.classes if known else ()), corpus, problems)
    problems += _extra_files(place, [*files.values(), Path(out)])
    maps = _read_all(files, order, known.size if known else None, problems)
    _check(problems, table)
    if known:
        _check_counts(clips, known, table)
    digest = _digest(table, files)
    recipe = {
        "name": "external",
        "layout": layout or "",
        "channels": [CHANNELS[place] for place in order],
        "files_digest": digest,
    }
    return ImportedMaps(save_maps(out, maps, clips, recipe=recipe, force=force), digest, known.licence if known else "")


def _order(channels: str) -> tuple[int, ...]:
    """Which of u, v and strain each channel of a file is."""
    names = [name.strip().casefold() for name in channels.split(",")]
    names = list(CHANNELS) if names == ["rgb"] else names
    if sorted(names) != sorted(CHANNELS):
        raise ConfigError(
            f"the channels {channels!r} are not u, v and strain",
            fix="write --channels u,v,strain in the order of the files",
        )
    return tuple(CHANNELS.index(name) for name in names)


def _rows(table: Path, layout: Layout | None) -> list[dict[str, str]]:
    """The cells of each row by field; further columns by name."""
    columns = dict(layout.columns) if layout else {name: name for name in ("subject", "clip", "emotion")}
    fix = f"give a CSV with the columns {', '.join(columns.values())}"
    try:
        rows = read_rows(table, list(columns.values()), error=MapSetError, fix=fix)
    except FileNotFoundError:
        raise MapSetError(f"there is no table {table}", fix="give it with --labels") from None
    if not rows:
        raise MapSetError(f"{table} has no rows below its header", fix=fix)
    names = {column: name for name, column in columns.items()}
    further = [name for name in rows[0] if name and name not in names] if layout is None else []
    return [
        {names[name]: row[name].strip() for name in names} | {name: (row[name] or "").strip() for name in further}
        for row in rows
    ]


def _clips(
    rows: Sequence[Mapping[str, str]],
    place: Path,
    layout: Layout | None,
    classes: Sequence[str],
    corpus: str,
    problems: list[str],
) -> tuple[list[Clip], dict[int, Path]]:
    """The clips of the table and their files by row number; problems are appended to `problems`."""
    clips: list[Clip] = []
    files: dict[int, Path] = {}
    keys: dict[str, int] = {}
    owners: dict[Path, int] = {}
    for number, cells in enumerate(rows, start=2):
        empty = [name for name in ("subject", "clip", "emotion") if not cells[name]]
        if empty:
            problems.append(f"row {number}: the {empty[0]} is empty")
            continue
        try:
            clip = _clip(cells, classes, corpus)
        except ValueError as error:
            problems.append(f"row {number}: {error}")
            continue
        if clip.key in keys:
            problems.append(f"row {number}: the clip {clip.key} is in row {keys[clip.key]} already")
            continue
        keys[clip.key] = number
        name = cells.get("file") or (layout.file.format(**cells) if layout else cells["clip"])
        path = _find(place, name)
        if path is None:
            problems.append(f"row {number}: there is no file {name}")
        elif path in owners:
            problems.append(f"row {number}: the file {name} belongs to row {owners[path]}")
        else:
            owners[path] = number
            files[number] = path
            clips.append(clip)
    return clips, files


def _clip(cells: Mapping[str, str], classes: Sequence[str], corpus: str) -> Clip:
    emotion = cells["emotion"]
    if classes and emotion not in classes:
        if not emotion.isdecimal() or not int(emotion) < len(classes):
            raise ValueError(f"the label is {emotion!r}, not 0 to {len(classes) - 1} ({', '.join(classes)})")
        emotion = classes[int(emotion)]
    numbers: dict[str, Any] = {}
    for name, kind in NUMBERS.items():
        text = cells.get(name, "")
        try:
            numbers[name] = kind(text) if text else None
            if text and not 0 <= numbers[name] <= LARGEST:
                raise ValueError(text)
        except ValueError:
            raise ValueError(f"the {name} is {text!r}, which is not a number") from None
    name = cells.get("corpus") or corpus
    return Clip(
        corpus=name,
        subject=_subject(name, cells["subject"]),
        clip=cells["clip"],
        emotion=emotion,
        extra={key: text for key, text in cells.items() if key not in COLUMNS and key not in NUMBERS and text},
        **numbers,
    )


def _subject(corpus: str, text: str) -> str:
    """A subject as `epir prepare` writes it, so that people match: `6` of SAMM is `006`."""
    number = subject_number(text)
    return SUBJECTS[corpus].format(number) if corpus in SUBJECTS and number is not None else text


def _find(place: Path, name: str) -> Path | None:
    """The file with this name, which may lack its ending; `None` if no file or several match."""
    path = place / name
    if path.suffix.casefold() in ENDINGS:
        return path if path.is_file() else None
    files = [file for ending in ENDINGS if (file := path.with_name(path.name + ending)).is_file()]
    return files[0] if len(files) == 1 else None


def _extra_files(place: Path, known: Sequence[Path]) -> Iterator[str]:
    """Name the visible files below a folder that may be maps, but are neither known nor in a known folder."""
    expected = {resolved(path) for path in known}
    for path in sorted(place.rglob("*")):
        name, real = path.relative_to(place), resolved(path)
        is_map = real.is_file() and path.suffix.casefold() in ENDINGS
        is_visible = not any(part.startswith(".") for part in name.parts)
        if is_map and is_visible and expected.isdisjoint((real, *real.parents)):
            yield f"the file {name} is in no row of the table"


def _read_all(files: Mapping[int, Path], order: Sequence[int], size: int | None, problems: list[str]) -> np.ndarray:
    """The maps (n, 3, S, S) of all files; unreadable maps and maps of another size go into `problems`."""
    maps: dict[int, np.ndarray] = {}
    for number, path in files.items():
        try:
            pixels = _read(path, order)
        except (EpirError, ValueError) as error:
            words = error.problem if isinstance(error, EpirError) else str(error)
            problems.append(f"row {number}: {path.name}: {words}")
        else:
            if not np.isfinite(pixels).all():
                problems.append(f"row {number}: {path.name} holds values that are not finite")
            maps[number] = pixels
    sizes = Counter(pixels.shape[-1] for pixels in maps.values())
    usual = size or (sizes.most_common(1)[0][0] if sizes else 0)
    for number, pixels in maps.items():
        if pixels.shape[-1] != usual:
            side = pixels.shape[-1]
            problems.append(f"row {number}: {files[number].name} is {side} x {side} px, not {usual} x {usual}")
    usable = [pixels for pixels in maps.values() if pixels.shape[-1] == usual]
    return np.stack(usable) if usable else np.zeros((0, 3, 1, 1), np.float32)


def _read(path: Path, order: Sequence[int]) -> np.ndarray:
    """One map (3, S, S) float32, with its channels in the order u, v, strain."""
    ending = path.suffix.casefold()
    if ending == ".npz":
        values, is_named = _npz(path)
        order = range(3) if is_named else order
    elif ending == ".npy":
        values = np.array(open_array(path, error=MapSetError, fix=FIX))
    else:
        content = np.frombuffer(read_bytes(path, error=MapSetError, fix=FIX), np.uint8)
        picture = cv2.imdecode(content, cv2.IMREAD_UNCHANGED) if content.size else None
        if picture is None:
            raise ValueError("it is not a picture")
        if picture.ndim != 3 or picture.shape[2] != 3:
            raise ValueError(f"it has {1 if picture.ndim == 2 else picture.shape[2]} channels, not 3")
        most = 65535 if picture.dtype == np.uint16 else 255
        values = picture[..., ::-1].astype(np.float32) / most  # OpenCV reads blue first
    if values.dtype.kind not in "fiu":
        raise ValueError(f"it holds {values.dtype}, not numbers")
    if values.ndim == 3 and values.shape[0] != 3 and values.shape[2] == 3:
        values = values.transpose(2, 0, 1)
    if values.ndim != 3 or values.shape[0] != 3 or values.shape[1] != values.shape[2]:
        raise ValueError(f"its shape is {values.shape}, not (3, S, S) or (S, S, 3)")
    placed = np.empty(values.shape, np.float32)
    placed[list(order)] = values
    return placed


def _npz(path: Path) -> tuple[np.ndarray, bool]:
    """The only array of an archive, or its arrays u, v and strain; and whether the channels were named."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as content:
            arrays = {name: content[name] for name in content.files}
    except (BadZipFile, OSError, EOFError, KeyError, AttributeError) as error:
        raise ValueError(f"it cannot be read: {error}") from None
    if set(CHANNELS) <= set(arrays):
        return np.stack([arrays[name] for name in CHANNELS]), True
    if len(arrays) != 1:
        raise ValueError(f"it holds {', '.join(arrays) or 'nothing'}, not one array, nor u, v and strain")
    return next(iter(arrays.values())), False


def _check(problems: Sequence[str], table: Path) -> None:
    if problems:
        more = f"; and {len(problems) - SHOWN} more" if len(problems) > SHOWN else ""
        raise MapSetError(f"{table} and its files do not match: {'; '.join(problems[:SHOWN])}{more}", fix=FIX)


def _check_counts(clips: Sequence[Clip], layout: Layout, table: Path) -> None:
    """Raise an error for an incomplete copy of a published folder."""
    people = Counter(corpus for corpus, _ in {(clip.corpus, clip.subject) for clip in clips})
    labels = Counter(clip.emotion for clip in clips)
    wrong = [f"{labels[name]} clips of {name}, expected {n}" for name, n in layout.clips.items() if labels[name] != n]
    wrong += [
        f"{people[name]} people of {name}, expected {n}" for name, n in layout.people.items() if people[name] != n
    ]
    if others := sorted(set(people) - set(layout.people)):
        known = ", ".join(layout.people)
        wrong.append(f"it names the corpora {', '.join(map(repr, others))}, which are none of {known}")
    if wrong:
        raise MapSetError(
            f"{table} is not the published table: {'; '.join(wrong)}",
            fix="copy the whole folder again, or leave --layout out and give --labels and --channels",
        )


def _digest(table: Path, files: Mapping[int, Path]) -> str:
    """The SHA-256 of the table and of all files with their names, independent of their order."""
    whole = hashlib.sha256(table.read_bytes())
    for path in sorted(files.values(), key=lambda path: path.name):
        whole.update(path.name.encode(errors="surrogateescape") + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()
