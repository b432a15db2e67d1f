"""Models and the user's methods, packed to be sent to other processes and machines."""

import atexit
import hashlib
import pickle
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from epir.core.errors import CheckpointError, ConfigError
from epir.core.files import scratch_folder
from epir.models.folder import WEIGHTS, find_folder
from epir.models.registry import Method, method_of
from epir.models.seen import HASHES, RECORD

FILES = ("config.json", WEIGHTS, RECORD, HASHES, "model.onnx")  # sent if they exist
KEPT = 2  # unpacked models that a process keeps


@dataclass(frozen=True)
class PackedModel:
    """The content of a model folder or ONNX file; equal models have the same digest."""

    name: str
    files: tuple[tuple[str, bytes], ...]  # name and content
    is_folder: bool
    digest: str

    def unpack(self) -> Path:
        """Write the model to disk, once per process, and return its path; it is removed when the process ends."""
        return _unpacked(self)

    def __hash__(self) -> int:
        return hash(self.digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PackedModel) and self.digest == other.digest


@dataclass(frozen=True)
class PackedMethod:
    """The user's method, pickled with its source: a worker or node needs neither the file nor the module.

    It is created and read within one evaluation and never stored.
    """

    content: bytes

    def unpack(self) -> Method:
        """Return the method, loaded once per process."""
        return _unpacked_method(self)


def pack_method(method: Method) -> PackedMethod | None:
    """Pack a method that is not part of epir; one from an installed package is sent by name."""
    if method.source is None:
        return None
    import cloudpickle

    kind = method.target if hasattr(method.target, "__module__") else type(method.target)
    module = sys.modules.get(kind.__module__)
    by_value = module is not None and kind.__module__ != "__main__" and not method.source.distribution
    by_value = by_value and not _is_installed(module)
    if by_value:
        cloudpickle.register_pickle_by_value(module)
    try:
        return PackedMethod(cloudpickle.dumps((method.target, method.name, method.source)))
    except (TypeError, AttributeError, pickle.PicklingError) as error:
        raise ConfigError(
            f"{method.name} cannot be sent to other processes: {error}",
            fix="define it at the top of a file, and give FILE.py:Name",
        ) from None
    finally:
        if by_value:
            cloudpickle.unregister_pickle_by_value(module)


def _is_installed(module: object) -> bool:
    file = getattr(module, "__file__", None)
    return file is None or "site-packages" in Path(file).parts


@lru_cache(maxsize=KEPT)
def _unpacked_method(packed: PackedMethod) -> Method:
    return method_of(*pickle.loads(packed.content))


def pack_model(model: str | Path | None) -> PackedModel:
    """Pack a model folder, an ONNX file or (None) the shipped weights."""
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
