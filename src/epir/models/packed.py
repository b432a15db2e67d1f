"""A model that travels: the files of a model folder, or of an ONNX file, for a machine that does not see them."""

import atexit
import hashlib
from contextlib import ExitStack
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from epir.core.errors import CheckpointError
from epir.core.files import scratch_folder
from epir.models.folder import WEIGHTS, find_folder
from epir.models.seen import HASHES, RECORD

FILES = ("config.json", WEIGHTS, RECORD, HASHES, "model.onnx")  # those that are there
KEPT = 2  # unpacked models that a process keeps


@dataclass(frozen=True)
class PackedModel:
    """The content of a model folder or file; equal models have the same digest."""

    name: str
    files: tuple[tuple[str, bytes], ...]  # one without a folder is the model itself
    is_folder: bool
    digest: str

    def unpack(self) -> Path:
        """The model as a folder or file of this machine, written once by each process and removed when it ends."""
        return _unpacked(self)

    def __hash__(self) -> int:
        return hash(self.digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PackedModel) and self.digest == other.digest


def pack_model(model: str | Path | None) -> PackedModel:
    """The model folder, the ONNX file or (without a name) the shipped weights, ready to be sent."""
    place = find_folder(model)
    paths = [place] if place.is_file() else [place / name for name in FILES if (place / name).is_file()]
    if not paths:
        raise CheckpointError(f"there is no model folder {place}", fix="check the path, or make one with epir train")
    files = tuple((path.name, path.read_bytes()) for path in paths)
    digest = hashlib.sha256()
    for name, content in files:
        digest.update(f"{name} {len(content)}\n".encode() + content)
    return PackedModel(place.name, files, place.is_dir(), digest.hexdigest())


@lru_cache(maxsize=KEPT)
def _unpacked(model: PackedModel) -> Path:
    stack = ExitStack()
    folder = stack.enter_context(scratch_folder("model")) / (Path(model.name).name or "model")
    atexit.register(stack.close)
    home = folder if model.is_folder else folder.parent
    home.mkdir(exist_ok=True)
    for name, content in model.files:
        (home / name).write_bytes(content)
    return folder
