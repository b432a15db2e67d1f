"""Atomic writing: an interruption leaves the old file or the new one, never half of one."""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LONGEST_NAME = 150  # bytes of a name that temporary names repeat


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """A temporary name beside `path` to write to; it becomes `path`, on disk, when the block ends well."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=hidden_name(path, "tmp-"), suffix=path.suffix, dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        apply_umask(temporary)
        save_to_disk(temporary)
        temporary.replace(path)
        save_to_disk(path.parent, inside=False)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write `text` to `path` in one step; the name of a file that is not UTF-8 may be part of it."""
    with atomic_write(path) as temporary:
        temporary.write_text(text, encoding="utf-8", errors="backslashreplace")


def write_bytes(path: Path, content: bytes) -> None:
    """Write `content` to `path` in one step."""
    with atomic_write(path) as temporary:
        temporary.write_bytes(content)


def readable(path: str | Path) -> str:
    """A path as text that can be printed and drawn: bytes that are not UTF-8 become escapes."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


@contextmanager
def utf8_name(path: Path) -> Iterator[str]:
    """A name for libraries that take UTF-8 only: that of the file, or else that of its open handle."""
    try:
        os.fsencode(path).decode("utf-8")
    except UnicodeDecodeError:
        with path.open("rb") as file:
            yield f"/dev/fd/{file.fileno()}"
    else:
        yield str(path)


def hidden_name(path: Path, purpose: str) -> str:
    """The name of a hidden companion of `path`, such as `.maps.lock`."""
    name = path.name
    if len(os.fsencode(name)) > LONGEST_NAME:
        name = hashlib.sha256(os.fsencode(name)).hexdigest()[:24]
    return f".{name}.{purpose}"


def remove_partial_files(folder: Path) -> None:
    """Remove what processes that were killed while writing left in a folder; its lock is held."""
    for left in folder.glob(".*.tmp-*"):
        left.unlink()


def save_to_disk(path: Path, *, inside: bool = True) -> None:
    """Wait until a file, or a folder and (with `inside`) all that is in it, would survive a power cut."""
    if inside and path.is_dir():
        for folder, _, names in os.walk(path):
            for name in names:
                _flush(Path(folder) / name)
            _flush(Path(folder))
    else:
        _flush(path)


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def allocate(path: Path, size: int) -> None:
    """Make a file of `size` bytes whose place on the disk is really taken.

    A file with holes, opened as a memory map, would kill the process with SIGBUS when the disk is full.
    """
    with path.open("r+b" if path.exists() else "w+b") as file:
        present = file.seek(0, os.SEEK_END)
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, max(size, 1))
        else:
            for start in range(present, size, 2**20):
                file.write(bytes(min(2**20, size - start)))
        file.truncate(size)


@contextmanager
def scratch_folder(purpose: str) -> Iterator[Path]:
    """A folder below the system's temporary one, removed at the end; those of killed processes are removed first."""
    home = Path(tempfile.gettempdir())
    for left in home.glob(f"epir-{purpose}-*-*"):
        owner = left.name.split("-")[-2]
        if owner.isdecimal() and not _is_alive(int(owner)):
            shutil.rmtree(left, ignore_errors=True)  # another user's stays
    with tempfile.TemporaryDirectory(prefix=f"epir-{purpose}-{os.getpid()}-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def file_digest(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def apply_umask(path: Path) -> None:
    """Give a temporary file or folder, which only its owner may read, the permissions that the user asked for."""
    mask = os.umask(0)
    os.umask(mask)
    path.chmod((0o777 if path.is_dir() else 0o666) & ~mask)
