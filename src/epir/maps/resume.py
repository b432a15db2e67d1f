"""Resuming `prepare`: finished clips, clips left out, and an existing map set.

Finished clips are the entries of a store (`epir.core.store`) in a hidden folder beside the future map set, so that
`prepare` resumes after a kill. A complete set keeps the identities of its clips in `inputs.csv`. Either way, a clip
whose frames or annotation have changed is prepared again.
"""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np

from epir.core.config import differences, digest, from_dict
from epir.core.errors import ConfigError, EpirError, MapSetError
from epir.core.files import csv_text, read_rows, remove_partial_files, write_text
from epir.core.output import REPLACE
from epir.core.records import Clip
from epir.core.store import Store, file_identity
from epir.flow.recipe import FlowRecipe
from epir.maps.mapset import MapSet, load_maps

LEFT_OUT = "left_out.csv"
COLUMNS = ("corpus", "subject", "clip", "problem", "fix")
PARTS = "its frames or its annotation"  # whose identity is compared
INPUTS = "inputs.csv"
INPUT_COLUMNS = ("clip", "identity")
VERSION = 1  # of finished clips: raise it when the same frames and settings give another map


@dataclass(frozen=True)
class PreparedClip:
    """A map and its clip, whose `extra` holds `frames`, `crop` and `apex_source`."""

    clip: Clip
    map: np.ndarray  # (3, S, S) float32
    identity: str = ""  # of the clip's frames and annotation, taken before the work started


def clip_identity(clip: Clip) -> str:
    """A text that changes with the clip's annotation, the path of its frames, and their content."""
    row = [clip.emotion, clip.onset, clip.apex, clip.offset, clip.fps, dict(clip.extra), str(clip.frames)]
    return f"{digest(row)} {file_identity(clip.frames) if clip.frames is not None else 'no frames'}"


class FinishedClips:
    """The clips finished so far; the caller holds the lock of the map set."""

    def __init__(self, out: Path, settings: str) -> None:
        """`settings` is the digest of everything that the maps depend on except the clips."""
        self.folder = out.parent / f".{out.name}-work"
        self._store = Store(self.folder, settings=settings, version=VERSION, arrays=True)
        self._identities: dict[str, str] = {}
        remove_partial_files(self.folder)

    def add(self, done: PreparedClip) -> None:
        """Store a finished clip."""
        row = {**asdict(done.clip), "frames": None, "extra": dict(done.clip.extra)}
        self._store.put(done.clip.key, done.identity, {"clip": row}, {"map": done.map})
        self._identities[done.clip.key] = done.identity

    def get(self, clip: Clip) -> PreparedClip | None:
        """The finished clip; `None` if it is not finished or its entry is stale."""
        key = clip.key
        if key not in self._store:
            return None
        identity = self._identities[key] = self._identities.get(key) or clip_identity(clip)
        entry = self._store.get(key, identity, source=f"{key} ({PARTS})")
        if entry is None:
            return None
        return PreparedClip(Clip(**entry.content["clip"]), entry.arrays["map"], identity)

    def is_unchanged(self, clip: Clip, identity: str) -> bool:
        """Whether a clip still has the identity with which its map in a complete set was made; if not, it is stale.

        A set made by an earlier version has no identities, and frames that are gone replace nothing.
        """
        if not identity or clip.frames is None or not clip.frames.exists() or clip_identity(clip) == identity:
            return True
        self._store.stale[clip.key] = f"{clip.key} ({PARTS}) has changed since"
        return False

    def warn_if_stale(self) -> None:
        """Warn which clips are prepared again, and why."""
        self._store.warn_if_stale("prepared again")

    def remove(self) -> None:
        """Remove the folder: the map set is complete."""
        shutil.rmtree(self.folder, ignore_errors=True)


def write_inputs(folder: Path, identities: Mapping[str, str]) -> None:
    """Write the identities of the clips of a map set, by key, into its folder: no digest of the set covers them."""
    write_text(folder / INPUTS, csv_text(INPUT_COLUMNS, identities.items()))


def read_inputs(mapset: MapSet | None) -> dict[str, str]:
    """The identities of the clips of a map set, by key; nothing if an earlier version made the set."""
    if mapset is None or mapset.folder is None or not (mapset.folder / INPUTS).is_file():
        return {}
    rows = read_rows(mapset.folder / INPUTS, INPUT_COLUMNS, error=MapSetError, fix="add --force to prepare it again")
    return {row["clip"]: row["identity"] for row in rows}


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
        """The row for a clip that failed with `error`."""
        problem, fix = str(error), "check the frames of this clip"
        if isinstance(error, EpirError):
            problem, fix = error.problem, error.fix
        return cls(clip.corpus, clip.subject, clip.clip, " ".join(problem.split()), " ".join(fix.split()))

    @property
    def key(self) -> str:
        """The clip's name, as in `Clip.key`."""
        return f"{self.corpus}/{self.subject}/{self.clip}"


def write_left_out(folder: Path, clips: Sequence[LeftOut]) -> None:
    """Write `left_out.csv` into a map set's folder, also if no clip was left out."""
    write_text(folder / LEFT_OUT, csv_text(COLUMNS, ([getattr(clip, name) for name in COLUMNS] for clip in clips)))


def read_left_out(folder: Path | None) -> tuple[LeftOut, ...]:
    """The clips left out of a map set; nothing if `prepare` did not make the set."""
    if folder is None or not (folder / LEFT_OUT).is_file():
        return ()
    rows = read_rows(folder / LEFT_OUT, COLUMNS, error=MapSetError, fix="prepare the map set again")
    return tuple(LeftOut(**{name: row[name] for name in COLUMNS}) for row in rows)


def existing_set(out: Path, recipe: FlowRecipe, size: int, request: str, *, force: bool) -> MapSet | None:
    """The map set at `out` if it was made for the same request; `None` if nothing is there or `force` replaces it.

    A set made for another request is an error that names the difference.
    """
    if force or not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return None
    try:
        mapset = load_maps(out)
    except MapSetError as error:
        raise MapSetError(error.problem, fix="add --force to prepare it again") from None
    if mapset.meta["recipe"].get("request") == request:
        return mapset
    raise MapSetError(
        f"{out} exists already, with {mismatch(mapset, recipe, size)}",
        fix=REPLACE,
    )


def mismatch(mapset: MapSet, recipe: FlowRecipe, size: int) -> str:
    """How a map set differs from the one requested, in words."""
    if mapset.size != size:
        return f"{mapset.size} px maps instead of {size} px"
    written = mapset.meta["recipe"]
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
