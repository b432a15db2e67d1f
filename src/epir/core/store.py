"""Store partial results of long work: a folder of entries, each valid only while its inputs are unchanged.

    store = Store(folder, settings=digest(settings), version=1)    # the caller holds the lock of the folder
    identities = {video: file_identity(video) for video in videos}
    missing = [video for video in videos if store.get(video.name, identities[video]) is None]
    store.warn_if_stale("spotted again")        # "b.mp4 has changed since; spotted again"
    for video in missing:
        store.put(video.name, identities[video], {"events": spot(video)})
    events = [store.get(video.name, identities[video]).content["events"] for video in videos]

An entry is one file, written atomically. It holds its key, the identity of its input, the digest of the settings, the
version of its format and a digest of itself; `get` returns it only if all of them match, and otherwise records the
reason in `store.stale`. An identity is any text that changes with the input: `file_identity` for files, folders of
pictures and videos, `config.digest([...])` for anything else, or both joined. Take it before the work starts, so that a
change during the work is noticed the next time.

Without arrays, an entry is a JSON object: the content, and `entry` with the rest. With `arrays=True` it is an .npz
file.
"""

import hashlib
import json
import os
import stat
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from zipfile import BadZipFile

from epir.core.errors import EpirError, EpirWarning
from epir.core.files import BAD_ARRAY, atomic_write, check_regular, read_json, write_text
from epir.core.output import remove_path

if TYPE_CHECKING:
    import numpy as np

ENTRY = "entry"  # the name of the header in an entry
LONGEST_NAME = 150  # characters of an entry's file name
NAMED = 3  # keys listed in a warning
SAMPLED = 1 << 20  # bytes read of a file or a folder for its identity
SMALLEST_SAMPLE = 1 << 12  # bytes read of each file of a folder, at least
BLOCKS = 16  # evenly spaced in a large file, the first at its start and the last at its end


@dataclass(frozen=True)
class Entry:
    """The content stored under a key."""

    content: Mapping[str, Any]
    arrays: Mapping[str, "np.ndarray"] = field(default_factory=dict)


class Store:
    """The entries in a folder; the caller holds its lock."""

    def __init__(self, folder: Path, *, settings: str, version: int, arrays: bool = False) -> None:
        """`settings` is a digest; increase `version` when the code computes or reads entries differently."""
        self.folder = folder
        self.stale: dict[str, str] = {}  # key -> why its entry could not be used
        self._settings, self._version, self._arrays = settings, version, arrays

    def path(self, key: str) -> Path:
        """The file of an entry."""
        return self.folder / f"{entry_name(key)}{'.npz' if self._arrays else '.json'}"

    def __contains__(self, key: str) -> bool:
        return os.path.lexists(self.path(key))

    def get(self, key: str, identity: str | None, *, source: str = "") -> Entry | None:
        """The entry of `key` if it was made from this input, with these settings and this version, and is intact.

        Otherwise `None`; if an entry exists, `stale[key]` says why, and calls the input `source`. With `None` as
        identity the input is not compared, to read results whose inputs may be gone.
        """
        self.stale.pop(key, None)
        try:
            header, entry = self._read(self.path(key))
        except FileNotFoundError:
            return None
        except _Damaged:
            self.stale[key] = f"the entry of {key} is damaged"
            return None
        if header.get("digest") != _digest(header, entry):
            self.stale[key] = f"the entry of {key} was edited by hand"
        elif header.get("key") != key:
            self.stale[key] = f"the entry of {key} belongs to {header.get('key')}"
        elif header.get("version") != self._version:
            self.stale[key] = f"the entry of {key} was made by another version of epir"
        elif header.get("settings") != self._settings:
            self.stale[key] = f"{key} was made with other settings"
        elif identity not in (None, header.get("identity")):
            self.stale[key] = f"{source or key} has changed since"
        return None if key in self.stale else entry

    def put(
        self, key: str, identity: str, content: Mapping[str, Any], arrays: Mapping[str, "np.ndarray"] | None = None
    ) -> Entry:
        """Write an entry atomically, and return it; it is no longer stale."""
        assert ENTRY not in content, f"{ENTRY!r} is the header's name"
        entry = Entry(dict(content), dict(arrays or {}))
        header = {"key": key, "identity": identity, "settings": self._settings, "version": self._version}
        header["digest"] = _digest(header, entry)
        path = self.path(key)
        if path.is_dir():
            remove_path(path)
        if self._arrays:
            import numpy as np

            text = json.dumps({ENTRY: header, **entry.content})
            with atomic_write(path) as temporary:
                np.savez(temporary, **{ENTRY: np.array(text)}, **entry.arrays)  # type: ignore[arg-type]
        else:
            assert not entry.arrays, "open the store with arrays=True"
            write_text(path, json.dumps({ENTRY: header, **entry.content}, indent=1) + "\n")
        self.stale.pop(key, None)
        return entry

    def discard(self, key: str) -> None:
        """Remove the entry of `key`, if there is one."""
        remove_path(self.path(key))

    def warn_if_stale(self, consequence: str) -> None:
        """Warn of entries that could not be used; `consequence` says what happens instead: `prepared again`."""
        reasons = list(self.stale.values())
        if reasons:
            more = f", and {len(reasons) - NAMED} more" if len(reasons) > NAMED else ""
            warnings.warn(f"{'; '.join(reasons[:NAMED])}{more}: {consequence}", EpirWarning, stacklevel=2)

    def _read(self, path: Path) -> tuple[dict[str, Any], Entry]:
        """The header and the entry in a file."""
        arrays: dict[str, Any] = {}
        if self._arrays:
            import numpy as np

            check_regular(path, error=_Damaged, fix="")
            try:
                with path.open("rb") as file, np.load(file, allow_pickle=False) as members:
                    arrays = {name: members[name] for name in members}
                content = json.loads(str(arrays.pop(ENTRY)))
            except (BadZipFile, *BAD_ARRAY) as error:
                raise _Damaged(str(error), fix="") from None
        else:
            content = read_json(path, error=_Damaged, fix="", most=1 << 30)
        header = content.pop(ENTRY, None) if isinstance(content, dict) else None
        if not isinstance(header, dict):
            raise _Damaged(f"{path} has no header", fix="")
        return header, Entry(content, arrays)


class _Damaged(EpirError):
    """An entry that cannot be read; never raised outside this module."""


def entry_name(key: str) -> str:
    """A unique file name for a key, valid on every file system: `casme2+sub01` for `casme2/sub01`."""
    name = "+".join(quote(part.encode("utf-8", "surrogateescape"), safe="") for part in key.split("/"))
    if len(name) <= LONGEST_NAME:
        return name
    return f"{name[:LONGEST_NAME]}-{hashlib.sha256(os.fsencode(key)).hexdigest()[:16]}"


def _digest(header: Mapping[str, Any], entry: Entry) -> str:
    others = {name: value for name, value in header.items() if name != "digest"}
    text = json.dumps([others, entry.content], sort_keys=True, separators=(",", ":"))
    content = hashlib.sha256(text.encode())
    for name in sorted(entry.arrays):
        array = entry.arrays[name]
        content.update(f"{name} {array.dtype.str} {array.shape}".encode("utf-8", "surrogateescape"))
        content.update(array.tobytes())
    return content.hexdigest()


# --------------------------------------------------------------------------------------------- identities of inputs


def file_identity(path: Path) -> str:
    """A text that changes with a file, or with the names and contents of the files in a folder.

    Small files are read completely. Of a large file, blocks are read, and its modification time is part of the
    identity. A missing file has an identity too.
    """
    if path.is_dir():
        names = sorted(
            os.path.relpath(Path(folder) / name, path) for folder, _, names in os.walk(path) for name in names
        )
        sample = max(SMALLEST_SAMPLE, SAMPLED // max(1, len(names)))
        parts = [os.fsencode(name) + b" " + _identity(path / name, sample) for name in names]
        return f"{len(names)} files {hashlib.sha256(b'|'.join(parts)).hexdigest()[:32]}"
    return _identity(path, SAMPLED).decode()


def _identity(path: Path, sample: int) -> bytes:
    try:
        state = path.stat()
    except OSError:
        return b"absent"
    if not stat.S_ISREG(state.st_mode):
        return b"not a file"
    content = hashlib.sha256()
    with path.open("rb") as file:
        if state.st_size <= sample:
            content.update(file.read(sample))
        else:
            block = sample // BLOCKS
            for number in range(BLOCKS):
                file.seek((state.st_size - block) * number // (BLOCKS - 1))
                content.update(file.read(block))
            content.update(b"%d" % state.st_mtime_ns)
    return f"{state.st_size} bytes {content.hexdigest()[:32]}".encode()
