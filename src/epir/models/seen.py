"""The record of what a model folder was trained on: the people, and a hash of every map.

`seen.json` lists the people by their names in the map sets; `seen.npy` has the hashes, followed by the fingerprints of
real people's maps (`epir.maps.copies`), which survive shifts, mirror images and noise. The record includes that of the
weights that training started from.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from epir.core.config import digest
from epir.core.errors import CheckpointError
from epir.core.files import MOST_TEXT, file_digest, open_array, read_json, write_text
from epir.core.records import plain_name

FORMAT = "epir-seen/1"
RECORD, HASHES = "seen.json", "seen.npy"
FIX = f"restore {RECORD} and {HASHES} from a copy, or train again"
WORDS = 8  # 64-bit numbers in a fingerprint
UNKNOWN = "it is not known whom these weights have seen"
UNSEEN = "not known whom they have seen"  # the same, in a table cell
BLIND = "its record has no fingerprints, so shifted or mirrored copies of its maps are not recognised"
SYNTHETIC = "synthetic"  # the corpus of rendered people
FITTED_ON = "fitted_on"  # like `calibrated_on`, in the notes that epir calibrate writes


@dataclass(frozen=True)
class Seen:
    """The people and maps that the weights of a model folder were trained on."""

    people: frozenset[str] = frozenset()
    maps: frozenset[int] = frozenset()  # the first 64 bits of the SHA-256 of each map
    calibrated_on: frozenset[str] = frozenset()  # people used to fit the temperature only
    ancestors: tuple[Mapping[str, Any], ...] = ()  # the weights that training started from: name, digest, people, maps
    teachers: int = 0  # teacher networks, trained on the same clips
    complete: bool = True  # false if training started from weights without a record
    fingerprints: frozenset[tuple[int, ...]] = frozenset()  # 512 bits per map, as eight numbers
    _plain: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_plain", frozenset(plain_name(person) for person in self.people))

    def knows(self, person: str) -> bool:
        """Whether this person, under any spelling, was trained on."""
        return plain_name(person) in self._plain

    @property
    def is_synthetic(self) -> bool:
        """Whether every person of the record is synthetic."""
        return all(person.startswith(f"{SYNTHETIC}/") for person in self.people)

    def after_start(self, start: "Seen | None", *, name: str, digest: str) -> "Seen":
        """Return this record combined with `start`, that of the weights that training started from."""
        known = start or Seen(complete=False)
        entry = {"name": name, "digest": digest, "people": len(known.people), "maps": len(known.maps)}
        return Seen(
            people=self.people | known.people,
            maps=self.maps | known.maps,
            fingerprints=self.fingerprints | known.fingerprints,
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
        "fingerprints": len(seen.fingerprints),
        "calibrated_on": sorted(seen.calibrated_on),
        "ancestors": [dict(ancestor) for ancestor in seen.ancestors],
        "teachers": seen.teachers,
    }
    write_text(folder / RECORD, json.dumps(values, indent=1, ensure_ascii=False) + "\n")
    words = [*sorted(seen.maps), *(word for fingerprint in sorted(seen.fingerprints) for word in fingerprint)]
    np.save(folder / HASHES, np.array(words, dtype="<u8"), allow_pickle=False)


def record_digest(folder: Path) -> str:
    """Return the digest of the record in a model folder, or '' without one."""
    if not (folder / RECORD).exists():
        return ""
    return digest([file_digest(folder / name) if (folder / name).is_file() else "" for name in (RECORD, HASHES)])


def read_seen(folder: str | Path) -> Seen | None:
    """Read the record of a model folder; return None if it has none."""
    folder = Path(folder)
    if not (folder / RECORD).exists():
        return None
    try:
        values = read_json(folder / RECORD, error=CheckpointError, fix=FIX, most=MOST_TEXT)
        hashes = open_array(folder / HASHES, error=CheckpointError, fix=FIX)
        maps, prints = int(values["maps"]), int(values.get("fingerprints", 0))
        if values["format"] != FORMAT or hashes.shape != (maps + WORDS * prints,):
            raise ValueError(f"not {FORMAT}, or {len(hashes)} numbers instead of {maps} + {WORDS} x {prints}")
        return Seen(
            people=_names(values["people"]),
            maps=frozenset(hashes[:maps].astype(np.uint64).tolist()),
            fingerprints=frozenset(map(tuple, hashes[maps:].astype(np.uint64).reshape(-1, WORDS).tolist())),
            calibrated_on=_names(values["calibrated_on"]),
            ancestors=tuple(dict(ancestor) for ancestor in values["ancestors"]),
            teachers=int(values["teachers"]),
            complete=bool(values["complete"]),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, EOFError, OverflowError) as error:
        raise CheckpointError(f"the record of whom {folder} has seen cannot be read: {error}", fix=FIX) from None


def _names(values: Iterable[str]) -> frozenset[str]:
    return frozenset(str(value) for value in values)
