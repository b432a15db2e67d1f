"""Atomic writing, and safe reading of files that others may have written.

An interruption leaves the old file or the new one, never half of one. Only regular files of bounded size are read: a
pipe, a device, a folder or a loop of links is an error before anything is read, so that nothing hangs.
"""

import csv
import errno
import hashlib
import io
import json
import os
import re
import shutil
import stat
import tempfile
import tokenize
import warnings
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from epir.core.errors import FAULTS, EpirError, machine_fault

if TYPE_CHECKING:
    import numpy as np

COPY = re.compile(r"(.*\S) ?\(\d+\)")  # without the ending
PICTURE_ENDINGS = (".jpg", ".jpeg", ".png", ".bmp", ".webp", ".avif", ".heic", ".heif")
VIDEO_ENDINGS = (  # the usual ones first; the reader also tries files with other endings
    ".mp4", ".mov", ".m4v", ".mkv", ".webm", ".avi", ".wmv", ".mpg", ".mpeg",
    ".gif", ".3gp", ".ts", ".mts", ".m2ts", ".flv", ".ogv", ".asf", ".mxf", ".y4m",
)  # fmt: skip
LONGEST_NAME = 150  # bytes of a file name that a temporary name contains
MOST_SETTINGS = 16 << 20  # bytes of an index or of settings
MOST_TEXT = 1 << 30  # bytes of a table or of a fold
BAD_ARRAY = (  # raised by a damaged header, which is Python source
    ValueError, TypeError, LookupError, OverflowError, SyntaxError, EOFError, OSError, MemoryError, RecursionError,
    tokenize.TokenError,
)  # fmt: skip


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """A temporary path to write to, which replaces `path` when the block ends without an error."""
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
    """Write `text` to `path` atomically; characters that UTF-8 lacks, as in odd file names, are escaped."""
    with atomic_write(path) as temporary:
        temporary.write_text(text, encoding="utf-8", errors="backslashreplace")


def write_bytes(path: Path, content: bytes) -> None:
    """Write `content` to `path` atomically."""
    with atomic_write(path) as temporary:
        temporary.write_bytes(content)


def csv_text(header: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A CSV with a header, in the dialect of all tables that epir writes."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([tuple(header), *rows])
    return text.getvalue()


def joined(folder: Path, name: str) -> Path:
    """The path `folder / name` without `..` in the middle: `why/clip` and `../../a.mp4` give `a.mp4`."""
    path = folder / name
    plain = Path(os.path.normpath(path))
    is_same = os.path.realpath(plain) == os.path.realpath(path)  # False if a link is on the way
    return plain if is_same else path


def readable(path: str | Path) -> str:
    """A path as printable text: bytes that are not UTF-8 become escapes."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


@contextmanager
def utf8_name(path: Path) -> Iterator[str]:
    """A name of a file for libraries that accept only UTF-8: its path, or else that of its open handle."""
    try:
        os.fsencode(path).decode("utf-8")
    except UnicodeDecodeError:
        with path.open("rb") as file:
            yield f"/dev/fd/{file.fileno()}"
    else:
        yield str(path)


def is_copy(name: str, names: Container[str]) -> bool:
    """Whether a file is the copy that a browser or a file manager makes of another one of these names.

    >>> is_copy("img46 (1).jpg", {"img46.jpg"}), is_copy("img (46).jpg", {"img (45).jpg"})
    (True, False)
    """
    stem, ending = os.path.splitext(name)
    match = COPY.fullmatch(stem) if stem.endswith(")") else None
    return match is not None and match[1] + ending in names


def hidden_name(path: Path, purpose: str) -> str:
    """The name of a hidden companion of `path`, such as `.maps.lock`."""
    name = path.name
    if len(os.fsencode(name)) > LONGEST_NAME:
        name = hashlib.sha256(os.fsencode(name)).hexdigest()[:24]
    return f".{name}.{purpose}"


def remove_partial_files(folder: Path) -> None:
    """Remove temporary files that killed processes left in a folder; the caller holds its lock."""
    for path in folder.glob(".*.tmp-*"):
        path.unlink()


def save_to_disk(path: Path, *, inside: bool = True) -> None:
    """Flush a file, or a folder and (with `inside`) everything in it, so that it survives a power cut."""
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
    """Create a file of `size` bytes and reserve its disk space.

    Writing to a memory map of a sparse file would kill the process with SIGBUS if the disk is full.
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
    """A temporary folder, removed at the end; folders left by killed processes are removed first."""
    home = Path(tempfile.gettempdir())
    for path in home.glob(f"epir-{purpose}-*-*"):
        owner = path.name.split("-")[-2]
        if owner.isdecimal() and not _is_alive(int(owner)):
            shutil.rmtree(path, ignore_errors=True)  # folders of other users stay
    with tempfile.TemporaryDirectory(prefix=f"epir-{purpose}-{os.getpid()}-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it belongs to another user
        pass
    return True


def file_digest(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def apply_umask(path: Path) -> None:
    """Give a temporary file or folder, which only its owner may read, the permissions of the user's umask."""
    mask = os.umask(0)
    os.umask(mask)
    path.chmod((0o777 if path.is_dir() else 0o666) & ~mask)


def open_regular(path: Path, *, error: type[EpirError], fix: str) -> BinaryIO:
    """Open a regular file for reading; `FileNotFoundError` if nothing is there, `error` for anything but a file."""
    try:
        # non-blocking, since opening a pipe without a writer would block forever
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        raise
    except OSError as fault:
        if fault.errno in FAULTS:
            raise machine_fault(fault, path) from None
        words = "is a loop of links" if fault.errno == errno.ELOOP else f"cannot be read: {fault.strerror}"
        raise error(f"{path} {words}", fix=fix) from None
    except ValueError as fault:  # a null byte in its name
        raise error(f"{path!r} cannot be read: {fault}", fix=fix) from None
    file = os.fdopen(handle, "rb") if stat.S_ISREG(os.fstat(handle).st_mode) else None
    if file is None:
        is_folder = stat.S_ISDIR(os.fstat(handle).st_mode)
        os.close(handle)
        raise error(f"{path} is {'a folder' if is_folder else 'a pipe or a device'}, not a file", fix=fix)
    return file


def check_regular(path: Path, *, error: type[EpirError], fix: str) -> None:
    """Raise an error, before a library opens it, for a path that is not a regular file, as `open_regular` does."""
    open_regular(path, error=error, fix=fix).close()


def read_bytes(path: Path, *, error: type[EpirError], fix: str, most: int = MOST_TEXT) -> bytes:
    """The content of a regular file of at most `most` bytes."""
    with open_regular(path, error=error, fix=fix) as file:
        try:
            content = file.read(most + 1)
        except OSError as fault:
            raise machine_fault(fault, path) from None
    if len(content) > most:
        raise error(f"{path} is larger than {most >> 20} MiB", fix=fix)
    return content


def read_text(path: Path, *, error: type[EpirError], fix: str, most: int = MOST_TEXT) -> str:
    """The text of a regular file in UTF-8, with or without a byte-order mark."""
    content = read_bytes(path, error=error, fix=fix, most=most)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise error(f"{path} is not UTF-8", fix=fix) from None


def read_json(path: Path, *, error: type[EpirError], fix: str, most: int = MOST_SETTINGS) -> dict[str, Any]:
    """The JSON object in a regular file."""
    try:
        values = json.loads(read_text(path, error=error, fix=fix, most=most))
    except (ValueError, RecursionError) as fault:
        words = "it is nested too deeply" if isinstance(fault, RecursionError) else fault
        raise error(f"{path} is damaged: {words}", fix=fix) from None
    if not isinstance(values, dict):
        raise error(f"{path} is damaged: it is not a JSON object", fix=fix)
    return values


def read_rows(path: Path, columns: Sequence[str], *, error: type[EpirError], fix: str) -> list[dict[str, str]]:
    """The rows of a CSV; it is an error if a row lacks a cell in one of `columns`."""
    text = read_text(path, error=error, fix=fix)
    reader = csv.DictReader(io.StringIO(text, newline=""))
    try:
        rows = list(reader)
    except csv.Error as fault:
        raise error(f"{path} is not a table: {fault}", fix=fix) from None
    missing = next((name for name in columns if name not in (reader.fieldnames or ())), None)
    if missing is not None:
        raise error(f"{path} lacks the column {missing!r}", fix=fix)
    for number, row in enumerate(rows, start=1):
        if any(row[name] is None for name in columns):
            raise error(f"{path}, row {number} has too few cells", fix=fix)
    return rows


def open_array(path: Path, *, error: type[EpirError], fix: str) -> "np.ndarray":
    """The array in an .npy file, memory-mapped; pickled objects are never loaded."""
    from numpy.lib.format import open_memmap

    with open_regular(path, error=error, fix=fix) as file:
        start = file.read(6)
    if start.startswith(b"PK"):
        raise error(f"{path} is an archive of arrays (npz), not one array", fix=fix)
    if start != b"\x93NUMPY":
        raise error(f"{path} cannot be opened: it is not an .npy file", fix=fix)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy warns of headers written by Python 2
            return open_memmap(path, mode="r")
    except BAD_ARRAY as fault:
        if isinstance(fault, OSError) and fault.errno in FAULTS:
            raise machine_fault(fault, path) from None
        raise error(f"{path} cannot be opened: {fault}", fix=fix) from None
