"""Whom a model folder has seen: the people and a hash of every map that its weights were trained on.

`seen.json` lists the people by the names that the map sets gave them, `seen.npy` the hashes. What the weights that
training started from have seen is part of it, and so are the synthetic faces of a replay.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from epir.core.errors import CheckpointError
from epir.core.people import plain_name
from epir.core.reading import MOST_TEXT, open_array, read_json

FORMAT = "epir-seen/1"
RECORD, HASHES = "seen.json", "seen.npy"
FIX = f"restore {RECORD} and {HASHES} from a copy, or train again"
UNKNOWN = "it is not known whom these weights have seen"


@dataclass(frozen=True)
class Seen:
    """The people and maps behind the weights of a model folder."""

    people: frozenset[str] = frozenset()
    maps: frozenset[int] = frozenset()  # the first 64 bits of the SHA-256 of each map
    calibrated_on: frozenset[str] = frozenset()  # people that only the temperature was fitted on
    ancestors: tuple[Mapping[str, Any], ...] = ()  # the weights that training started from: name, digest, people, maps
    teachers: int = 0  # networks that were trained on the same clips and taught this one
    complete: bool = True  # false where it started from weights without a record
    _plain: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_plain", frozenset(plain_name(person) for person in self.people))

    def knows(self, person: str) -> bool:
        """Whether this person, however it is spelt, was trained on."""
        return plain_name(person) in self._plain

    def after_start(self, start: "Seen | None", *, name: str, digest: str) -> "Seen":
        """What has been seen when training began with the weights of a folder with the record `start`."""
        known = start or Seen(complete=False)
        entry = {"name": name, "digest": digest, "people": len(known.people), "maps": len(known.maps)}
        return Seen(
            people=self.people | known.people,
            maps=self.maps | known.maps,
            calibrated_on=self.calibrated_on,
            ancestors=(*known.ancestors, entry if start else {**entry, "people": None, "maps": None}),
            teachers=self.teachers,
            complete=self.complete and known.complete,
        )


def write_seen(folder: Path, seen: Seen) -> None:
    """Write the record into a model folder."""
    values = {
        "format": FORMAT,
        "complete": seen.complete,
        "people": sorted(seen.people),
        "maps": len(seen.maps),
        "calibrated_on": sorted(seen.calibrated_on),
        "ancestors": [dict(each) for each in seen.ancestors],
        "teachers": seen.teachers,
    }
    (folder / RECORD).write_text(json.dumps(values, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    np.save(folder / HASHES, np.array(sorted(seen.maps), dtype="<u8"), allow_pickle=False)


def read_seen(folder: str | Path) -> Seen | None:
    """The record of a model folder; `None` where an older version, or somebody else, wrote the folder."""
    folder = Path(folder)
    if not (folder / RECORD).exists():
        return None
    try:
        values = read_json(folder / RECORD, error=CheckpointError, fix=FIX, most=MOST_TEXT)
        hashes = open_array(folder / HASHES, error=CheckpointError, fix=FIX)
        if values["format"] != FORMAT or len(hashes) != values["maps"]:
            raise ValueError(f"not {FORMAT}, or {len(hashes)} hashes instead of {values.get('maps')}")
        return Seen(
            people=_names(values["people"]),
            maps=frozenset(hashes.astype(np.uint64).tolist()),
            calibrated_on=_names(values["calibrated_on"]),
            ancestors=tuple(dict(each) for each in values["ancestors"]),
            teachers=int(values["teachers"]),
            complete=bool(values["complete"]),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, EOFError, OverflowError) as error:
        raise CheckpointError(
            f"the record of whom {folder} has seen cannot be read: {error}",
            fix=FIX,
        ) from None


def _names(values: Iterable[str]) -> frozenset[str]:
    return frozenset(str(value) for value in values)
