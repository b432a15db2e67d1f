"""The finished clips of a preparation that has not ended, one file each.

They lie in a hidden folder beside the map set to be; the folder's name tells which recipe and which clips they belong
to. A preparation that was killed takes them up again.
"""

import hashlib
import json
import shutil
from dataclasses import asdict
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from epir.core.files import whole_file
from epir.core.records import Clip
from epir.maps.clip import PreparedClip


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
        """The finished clip called `key`; `None` if it is not done, or its file was damaged."""
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
        return self.folder / f"{hashlib.sha256(key.encode()).hexdigest()[:24]}.npz"
