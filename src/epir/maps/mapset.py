"""Map sets: the flow maps of many clips in one folder, memory-mapped.

A folder holds `maps.npy` (float32), `clips.csv` (one row per clip, same order) and `meta.json` (how they were made).

Axes: n clips, S map size; channels are always u, v, strain
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from epir.core.config import digest
from epir.core.errors import MapSetError
from epir.core.files import allocate, csv_text, file_digest, open_array, read_json, read_rows
from epir.core.output import MAP_SET, new_folder
from epir.core.records import Clip, fill_people
from epir.core.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from torch.utils.data import TensorDataset

FORMAT = "epir-maps/1"
CHANNELS = ("u", "v", "strain")
COLUMNS = ("corpus", "subject", "clip", "emotion", "onset", "apex", "offset", "fps")

AGAIN = "prepare the map set again"
LARGEST = 1_000_000_000  # frame number or rate


@dataclass(frozen=True, repr=False)
class MapSet:
    """Maps and the clips they belong to.

    >>> clips = (Clip("casme2", "01", "a", "happiness"), Clip("casme2", "02", "b", "fear"))
    >>> maps = MapSet(np.zeros((2, 3, 28, 28), np.float32), clips, meta={})
    >>> maps
    MapSet(2 maps of 28 px, 2 people, casme2)
    >>> maps[0][1].emotion, len(maps[1:]), len(maps.filter(person="casme2/02"))
    ('happiness', 1, 1)
    >>> maps.to_frame()["emotion"].tolist()
    ['happiness', 'fear']
    >>> one, label = maps.to_torch()[0]  # for torch.utils.data.DataLoader
    >>> one.shape, label.item()
    (torch.Size([3, 28, 28]), 1)
    """

    maps: np.ndarray  # (n, 3, S, S) float32; memory-mapped if the set is on disk
    clips: tuple[Clip, ...]
    meta: Mapping[str, Any]
    folder: Path | None = None

    def __len__(self) -> int:
        return len(self.clips)

    def __iter__(self) -> Iterator[tuple[np.ndarray, Clip]]:
        return zip(self.maps, self.clips, strict=True)

    @overload
    def __getitem__(self, which: int) -> tuple[np.ndarray, Clip]: ...

    @overload
    def __getitem__(self, which: slice | Sequence[int] | Sequence[bool] | np.ndarray) -> "MapSet": ...

    def __getitem__(self, which: Any) -> Any:
        """The map and the clip at an index; a smaller map set for a slice, a list of indices or a mask.

        `maps[0]`, `maps[:10]`, `maps[[3, 5]]` and `maps[[clip.emotion == "surprise" for clip in maps.clips]]` work.
        """
        if isinstance(which, int | np.integer):
            return self.maps[which], self.clips[which]
        if not isinstance(which, slice) and len(which) == 0:
            return self._take(np.zeros(0, np.int64))
        return self._take(np.arange(len(self))[which if isinstance(which, slice) else np.asarray(which)])

    def filter(self, *, corpus: str | None = None, person: str | None = None) -> "MapSet":
        """The maps of one corpus or one person: `maps.filter(person="casme2/01")`."""
        for name, known, what in (
            (corpus, {clip.corpus for clip in self.clips}, "corpus"),
            (person, {clip.person for clip in self.clips}, "person"),
        ):
            if name is not None and name not in known:
                raise MapSetError(
                    f"this map set has no {what} {name!r}", fix=f"it has: {', '.join(sorted(known)) or 'no clips'}"
                )
        return self[[corpus in (None, clip.corpus) and person in (None, clip.person) for clip in self.clips]]

    def to_frame(self) -> "pd.DataFrame":
        """The clips as a DataFrame, one row per map in the same order, with all columns of `clips.csv`."""
        import pandas as pd

        rows = [{name: getattr(clip, name) for name in COLUMNS} | dict(clip.extra) for clip in self.clips]
        return pd.DataFrame(rows, columns=None if rows else list(COLUMNS))

    def to_torch(self, classes: Sequence[str] | None = None) -> "TensorDataset":
        """A torch Dataset of pairs: map (3, S, S) and index of its emotion in `classes`.

        `classes` defaults to the emotions of this set in alphabetical order. The classes of a protocol differ from the
        words of the annotation: `epir.evaluate` takes care of that.
        """
        import torch
        from torch.utils.data import TensorDataset

        classes = sorted({clip.emotion for clip in self.clips}) if classes is None else list(classes)
        other = next((clip for clip in self.clips if clip.emotion not in classes), None)
        if other is not None:
            raise MapSetError(
                f"the clip {other.key} is {other.emotion!r}, which is none of the classes {', '.join(classes)}",
                fix="name all emotions, or choose clips: maps[[clip.emotion in classes for clip in maps.clips]]",
            )
        numbers = torch.tensor([classes.index(clip.emotion) for clip in self.clips], dtype=torch.int64)
        return TensorDataset(torch.from_numpy(np.array(self.maps, dtype=np.float32)), numbers)

    def __repr__(self) -> str:
        people = len({clip.person for clip in self.clips})
        corpora = ", ".join(sorted({clip.corpus for clip in self.clips}))
        count = f"{counted(len(self), 'map')} of {self.size} px, {counted(people, 'person', 'people')}"
        return f"MapSet({count}, {corpora or 'empty'})"

    def _take(self, rows: np.ndarray) -> "MapSet":
        """The maps in these rows, in memory; the new set has no folder and therefore no file digests."""
        return MapSet(
            maps=np.ascontiguousarray(self.maps[rows]),
            clips=tuple(self.clips[row] for row in rows),
            meta={name: value for name, value in self.meta.items() if "digest" not in name},
        )

    @property
    def size(self) -> int:
        """Width and height of a map."""
        return int(self.maps.shape[-1])

    @property
    def digest(self) -> str:
        """The digest of `maps.npy` when the set was written."""
        return str(self.meta["digest"])


def load_maps(folder: str | Path, *, verify: bool = True) -> MapSet:
    """Open a map set; `verify` reads the whole file once to check its digest against `meta.json`.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     clips = [Clip("casme2", "sub01", "EP02_01f", "happiness")]
    ...     saved = save_maps(Path(folder) / "maps", np.zeros((1, 3, 28, 28), np.float32), clips, recipe={})
    ...     load_maps(f"{folder}/maps")
    MapSet(1 map of 28 px, 1 person, casme2)
    """
    folder = Path(folder)
    meta = _read_meta(folder)
    clips = _read_clips(folder / "clips.csv")
    clips = fill_people(clips, error=MapSetError, first_row=2)
    maps = _open_maps(folder / "maps.npy")
    if maps.dtype != np.float32 or maps.ndim != 4 or maps.shape[1] != 3 or maps.shape[2] != maps.shape[3]:
        raise MapSetError(
            f"{folder / 'maps.npy'} holds {maps.dtype} {maps.shape}, not float32 (n, 3, S, S)",
            fix="write it with epir prepare, or convert it to that shape",
        )
    if len(maps) != len(clips):
        raise MapSetError(
            f"{folder} has {counted(len(maps), 'map')} but {counted(len(clips), 'row')} in clips.csv",
            fix="prepare it again",
        )
    if meta.get("meta_digest", _meta_digest(meta)) != _meta_digest(meta):  # sets that others wrote have none
        raise MapSetError(
            f"{folder / 'meta.json'} was changed: its content does not match its digest",
            fix="restore it from a copy, or prepare the map set again",
        )
    if verify:
        _verify(folder, meta)
    return MapSet(maps=maps, clips=clips, meta=meta, folder=folder)


def save_maps(
    folder: str | Path,
    maps: np.ndarray,
    clips: Sequence[Clip],
    *,
    recipe: Mapping[str, Any],
    force: bool = False,
) -> MapSet:
    """Write maps (n, 3, S, S) and their clips as a map set, and open it; `recipe` records how they were made.

    >>> from tempfile import TemporaryDirectory
    >>> maps = np.zeros((1, 3, 28, 28), np.float32)  # u, v and strain
    >>> with TemporaryDirectory() as folder:
    ...     save_maps(f"{folder}/maps", maps, [Clip("mine", "01", "a", "happiness")], recipe={"name": "my flow"})
    MapSet(1 map of 28 px, 1 person, mine)
    """
    if maps.shape != (len(clips), len(CHANNELS), maps.shape[-1], maps.shape[-1]):
        raise MapSetError(
            f"the maps of {len(clips)} clips cannot be {maps.shape}",
            fix=f"give ({len(clips)}, 3, S, S): u, v and strain of each clip",
        )
    folder = Path(folder)
    with new_folder(folder, MAP_SET, force=force, needs=maps.size * 4) as temporary:
        np.save(temporary / "maps.npy", np.ascontiguousarray(maps, dtype=np.float32))
        finish_maps(temporary, clips, recipe=recipe)
    return load_maps(folder, verify=False)


def finish_maps(folder: Path, clips: Sequence[Clip], *, recipe: Mapping[str, Any]) -> None:
    """Write `clips.csv` and `meta.json` beside a complete `maps.npy`."""
    check_labels(clips)
    (folder / "clips.csv").write_text(_clips_csv(clips), encoding="utf-8", errors="backslashreplace")
    meta = {
        "format": FORMAT,
        "size": int(_open_maps(folder / "maps.npy").shape[-1]),
        "channels": list(CHANNELS),
        "recipe": dict(recipe),
        "digest": file_digest(folder / "maps.npy"),
        "clips_digest": file_digest(folder / "clips.csv"),
    }
    meta["meta_digest"] = _meta_digest(meta)
    (folder / "meta.json").write_text(json.dumps(meta, indent=1) + "\n", encoding="utf-8")


def check_labels(clips: Iterable[Clip]) -> None:
    """Raise an error for a label with lone surrogates, which a UTF-8 file cannot hold."""
    for clip in clips:
        if any("\ud800" <= letter <= "\udfff" for letter in clip.emotion):
            raise MapSetError(
                f"the clip {clip.key!a} has the label {clip.emotion!a}, which is not text", fix="correct its label"
            )


def new_maps(path: Path, shape: tuple[int, ...]) -> np.memmap:
    """A memory map of zeros to fill; its disk space is reserved, so that no write into it can fail."""
    with path.open("wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)
        start = file.tell()
    allocate(path, start + 4 * math.prod(shape))
    return np.memmap(path, np.float32, "r+", start, shape)


def check_same_shape(sets: Iterable[MapSet]) -> None:
    """Raise an error if the maps of an evaluation differ in size, or if a clip occurs twice."""
    seen: dict[str, str] = {}
    sizes: dict[int, str] = {}
    for number, mapset in enumerate(sets, start=1):
        name = str(mapset.folder or f"map set {number}")
        sizes.setdefault(mapset.size, name)
        if len(sizes) > 1:
            (a, first), (b, second) = list(sizes.items())[:2]
            raise MapSetError(
                f"the map sets differ in size: {first} has {a} px maps, {second} has {b} px",
                fix=f"prepare both with the same --size, for example --size {a}",
            )
        for clip in mapset.clips:
            if clip.key in seen:
                raise MapSetError(
                    f"the clip {clip.key} is in {seen[clip.key]} and in {name}", fix="give each clip once"
                )
            seen[clip.key] = name


def _read_meta(folder: Path) -> dict[str, Any]:
    if not folder.is_dir():
        raise MapSetError(f"there is no map set {folder}", fix="check the path, or make one with epir prepare")
    try:
        meta = read_json(folder / "meta.json", error=MapSetError, fix=AGAIN)
    except FileNotFoundError:
        raise MapSetError(f"{folder} is not a map set: it has no meta.json", fix="make one with epir prepare") from None
    version = meta.get("format")
    if version != FORMAT:
        raise MapSetError(
            f"{folder} has the format {version!r}, not {FORMAT!r}", fix="prepare it with this version of epir"
        )
    for name in ("digest", "recipe", "size"):
        if name not in meta:
            raise MapSetError(f"{folder / 'meta.json'} lacks {name!r}", fix=AGAIN)
    for name in ("digest", "clips_digest"):
        if not isinstance(meta.get(name, ""), str) or meta.get(name) == "":
            raise MapSetError(f"{folder / 'meta.json'}: {name} is {meta[name]!r}, not a digest", fix=AGAIN)
    if not isinstance(meta["recipe"], dict):
        raise MapSetError(f"{folder / 'meta.json'}: the recipe is not an object", fix=AGAIN)
    if meta.get("channels", list(CHANNELS)) != list(CHANNELS):
        raise MapSetError(
            f"{folder} has the channels {meta['channels']!r}, not {', '.join(CHANNELS)}",
            fix="put them in that order, and write the map set with epir.save_maps",
        )
    return meta


def _meta_digest(meta: Mapping[str, Any]) -> str:
    """The digest of `meta.json` without this digest."""
    return digest({name: value for name, value in meta.items() if name != "meta_digest"})


def _open_maps(path: Path) -> np.ndarray:
    try:
        return open_array(path, error=MapSetError, fix=AGAIN)
    except FileNotFoundError:
        raise MapSetError(f"{path.parent} has no {path.name}", fix=AGAIN) from None


def _verify(folder: Path, meta: Mapping[str, Any]) -> None:
    expected = {"maps.npy": meta["digest"], "clips.csv": meta.get("clips_digest")}  # other tools may write none
    for name, known in expected.items():
        if known is not None and file_digest(folder / name) != known:
            raise MapSetError(
                f"{folder / name} does not match its digest in meta.json: it was changed or only half written",
                fix="prepare the map set again, or restore it from a copy",
            )


def _read_clips(path: Path) -> tuple[Clip, ...]:
    fix = f"save it as CSV with commas, in UTF-8, with the columns {','.join(COLUMNS)}"
    try:
        rows = read_rows(path, COLUMNS[:4], error=MapSetError, fix=fix)
    except FileNotFoundError:
        raise MapSetError(f"{path.parent} has no clips.csv", fix=AGAIN) from None
    missing = next((name for name in COLUMNS if rows and name not in rows[0]), None)
    if missing is not None:
        raise MapSetError(f"{path} lacks the column {missing!r}", fix=fix)
    return tuple(_clip(row, path, line) for line, row in enumerate(rows, start=2))


def _clip(row: Mapping[str, str], path: Path, line: int) -> Clip:
    def number(name: str, kind: type) -> Any:
        text = (row[name] or "").strip()  # a short row ends before its numbers
        try:
            value = kind(text) if text else None
            if value is not None and not abs(value) <= LARGEST:  # also true for nan
                raise ValueError(text)
            return value
        except ValueError:
            raise MapSetError(
                f"{path}, line {line}: {name} is {text[:40]!r}", fix="write a number, or leave it empty"
            ) from None

    return Clip(
        corpus=row["corpus"],
        subject=row["subject"],
        clip=row["clip"],
        emotion=row["emotion"],
        onset=number("onset", int),
        apex=number("apex", int),
        offset=number("offset", int),
        fps=number("fps", float),
        extra={name: value for name, value in row.items() if name not in COLUMNS and name is not None and value},
    )


def _clips_csv(clips: Sequence[Clip]) -> str:
    further = sorted({name for clip in clips for name in clip.extra})
    rows = []
    for clip in clips:
        fps = "" if clip.fps is None else f"{clip.fps:g}"
        places = ["" if value is None else value for value in (clip.onset, clip.apex, clip.offset)]
        extra = [clip.extra.get(name, "") for name in further]
        rows.append([clip.corpus, clip.subject, clip.clip, clip.emotion, *places, fps, *extra])
    return csv_text([*COLUMNS, *further], rows)
