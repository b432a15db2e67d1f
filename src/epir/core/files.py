"""Atomic writing: an interruption leaves the old file or the new one, never half of one."""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from epir.core.errors import EpirError


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A temporary name beside `path` to write to; it becomes `path` when the block ends well."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.stem}-", suffix=path.suffix, dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write `text` to `path` in one step."""
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_bytes(path: Path, content: bytes) -> None:
    """Write `content` to `path` in one step."""
    with whole_file(path) as temporary:
        temporary.write_bytes(content)


@contextmanager
def whole_folder(path: Path, *, force: bool = False) -> Iterator[Path]:
    """A temporary folder to fill; it becomes `path` when the block ends well."""
    refuse_overwrite(path, force=force)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent))
    try:
        yield temporary
        temporary.chmod(0o777 & ~_umask())
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.exists():
            path.unlink()
        temporary.replace(path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def refuse_overwrite(path: Path, *, force: bool) -> None:
    """Raise if `path` exists already, unless the user gave `--force`."""
    empty = path.is_dir() and not any(path.iterdir())
    if path.exists() and not force and not empty:
        raise EpirError(f"{path} exists already", fix="choose another name, or add --force to replace it")


def file_digest(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
