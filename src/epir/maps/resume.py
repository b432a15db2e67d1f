"""What a preparation finds when it starts again: finished clips, clips left out, a map set that is there already.

Finished clips lie one file each in a hidden folder beside the map set to be. The folder is named after the
flow recipe and the clips, so that a preparation that was killed resumes where it stopped.
"""

import csv
import hashlib
import io
import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from epir.core.config import differences, from_dict
from epir.core.errors import ConfigError, EpirError, MapSetError
from epir.core.files import whole_file, write_text
from epir.core.reading import read_rows
from epir.core.records import Clip
from epir.flow.recipe import FlowRecipe
from epir.maps.mapset import MapSet, load_maps

LEFT_OUT = "left_out.csv"
COLUMNS = ("corpus", "subject", "clip", "problem", "fix")


@dataclass(frozen=True)
class PreparedClip:
    """A map and its clip, whose `extra` holds `frames`, `crop`, `apex_source` and, of several views, `frame_pairs`."""

    clip: Clip
    map: np.ndarray  # (3, S, S) or, of several views, (V, 3, S, S) float32


class FinishedClips:
    """A folder with one file per finished clip; each file is whole or absent."""

    def __init__(self, out: Path, request: str) -> None:
        self.out = out
        self.folder = out.parent / f".{out.name}-work-{request}"

    def add(self, done: PreparedClip) -> None:
        """Keep a finished clip."""
        row = {**asdict(done.clip), "frames": None, "extra": dict(done.clip.extra)}
        with whole_file(self._file(done.clip.key)) as temporary:
            np.savez(temporary, map=done.map, clip=np.array(json.dumps(row)))

    def get(self, key: str) -> PreparedClip | None:
        """The finished clip called `key`; `None` if it is not done, or its file is damaged."""
        try:
            with self._file(key).open("rb") as file, np.load(file, allow_pickle=False) as content:
                return PreparedClip(Clip(**json.loads(str(content["clip"]))), content["map"])
        except (FileNotFoundError, BadZipFile, ValueError, EOFError, KeyError):
            return None  # it is simply done again

    def remove(self) -> None:
        """Remove this folder, and those that earlier preparations of the same map set left behind."""
        for folder in self.out.parent.glob(f".{self.out.name}-work-*"):
            shutil.rmtree(folder, ignore_errors=True)

    def _file(self, key: str) -> Path:
        return self.folder / f"{hashlib.sha256(os.fsencode(key)).hexdigest()[:24]}.npz"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A clip that could not be prepared, and why: one row of `left_out.csv` in a map set."""

    corpus: str
    subject: str
    clip: str
    problem: str
    fix: str

    @classmethod
    def because(cls, clip: Clip, error: Exception) -> "LeftOut":
        """The clip that `error` stopped."""
        problem, fix = str(error), "check the frames of this clip"
        if isinstance(error, EpirError):
            problem, fix = error.problem, error.fix
        return cls(clip.corpus, clip.subject, clip.clip, " ".join(problem.split()), " ".join(fix.split()))

    @property
    def key(self) -> str:
        """The clip's name, as in `Clip.key`."""
        return f"{self.corpus}/{self.subject}/{self.clip}"


def write_left_out(folder: Path, clips: Sequence[LeftOut]) -> None:
    """Write the list into a map set's folder; a set that lacks nothing has an empty list."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(COLUMNS)
    rows.writerows([getattr(clip, name) for name in COLUMNS] for clip in clips)
    write_text(folder / LEFT_OUT, text.getvalue())


def read_left_out(folder: Path | None) -> tuple[LeftOut, ...]:
    """The list of a map set; nothing if the set was not made by `prepare`."""
    if folder is None or not (folder / LEFT_OUT).is_file():
        return ()
    rows = read_rows(folder / LEFT_OUT, COLUMNS, error=MapSetError, fix="prepare the map set again")
    return tuple(LeftOut(**{name: row[name] for name in COLUMNS}) for row in rows)


def existing_set(
    out: Path, recipe: FlowRecipe, size: int, request: str, *, force: bool, views: Sequence[str] = ("apex",)
) -> MapSet | None:
    """The map set at `out` if it answers the same request; `None` if there is nothing, or it may be replaced.

    Anything else there is refused, with what differs.
    """
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return None
    if force:
        return None
    try:
        found = load_maps(out)
    except MapSetError as error:
        raise MapSetError(error.problem, fix="add --force to prepare it again") from None
    if found.meta["recipe"].get("request") == request:
        return found
    raise MapSetError(
        f"{out} exists already, with {departure(found, recipe, size, views)}",
        fix="choose another name for --out, or add --force to replace it",
    )


def departure(found: MapSet, recipe: FlowRecipe, size: int, views: Sequence[str] = ("apex",)) -> str:
    """In words, how a map set differs from what is asked for."""
    if found.size != size:
        return f"{found.size} px maps instead of {size} px"
    if found.view_names != tuple(views):
        return f"the views {', '.join(found.view_names)} instead of {', '.join(views)}"
    written = found.meta["recipe"]
    if written.get("digest") == recipe.digest:
        return "maps of other clips, or of another version of the annotations"
    try:
        old = from_dict(
            FlowRecipe, {field.name: written[field.name] for field in fields(FlowRecipe) if field.name in written}
        )
    except (ConfigError, TypeError):  # a flow recipe of another version, or maps from elsewhere
        return f"the flow recipe {written.get('name')!r}"
    changes = differences(old, recipe)
    return (
        f"another flow recipe ({'; '.join(changes)})" if changes else "maps of an earlier version of this flow recipe"
    )
