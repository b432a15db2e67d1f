"""Reading what others may have written: regular files only, of bounded size, and damage is an error with a fix.

A pipe, a device, a folder or a loop of links in place of a file is refused before it is read, so that nothing hangs.
"""

import csv
import errno
import io
import json
import os
import stat
import tokenize
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from epir.core.errors import FAULTS, EpirError, machine_fault

if TYPE_CHECKING:
    import numpy as np

MOST_SETTINGS = 16 << 20  # bytes of an index or of settings
MOST_TEXT = 1 << 30  # bytes of a table or of a fold
BAD_ARRAY = (  # what a damaged header, which is Python source, raises
    ValueError, TypeError, LookupError, OverflowError, SyntaxError, EOFError, OSError, MemoryError, RecursionError,
    tokenize.TokenError,
)  # fmt: skip


def open_regular(path: Path, *, error: type[EpirError], fix: str) -> BinaryIO:
    """A regular file, opened for reading; `FileNotFoundError` where there is none, and `error` for anything else."""
    try:
        # without waiting: a pipe that nobody writes into would block for ever
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        raise
    except OSError as fault:
        if fault.errno in FAULTS:
            raise machine_fault(fault, path) from None
        words = "is a loop of links" if fault.errno == errno.ELOOP else f"cannot be read: {fault.strerror}"
        raise error(f"{path} {words}", fix=fix) from None
    except ValueError as fault:  # a zero byte in its name
        raise error(f"{path!r} cannot be read: {fault}", fix=fix) from None
    file = os.fdopen(handle, "rb") if stat.S_ISREG(os.fstat(handle).st_mode) else None
    if file is None:
        is_folder = stat.S_ISDIR(os.fstat(handle).st_mode)
        os.close(handle)
        raise error(f"{path} is {'a folder' if is_folder else 'a pipe or a device'}, not a file", fix=fix)
    return file


def check_regular(path: Path, *, error: type[EpirError], fix: str) -> None:
    """Refuse what is no regular file before a library opens it; `FileNotFoundError` where there is nothing."""
    open_regular(path, error=error, fix=fix).close()


def read_bytes(path: Path, *, error: type[EpirError], fix: str, most: int = MOST_TEXT) -> bytes:
    """The content of a regular file of at most so many bytes."""
    with open_regular(path, error=error, fix=fix) as file:
        try:
            content = file.read(most + 1)
        except OSError as fault:
            raise machine_fault(fault, path) from None
    if len(content) > most:
        raise error(f"{path} is larger than {most >> 20} MiB, which no such file is", fix=fix)
    return content


def read_text(path: Path, *, error: type[EpirError], fix: str, most: int = MOST_TEXT) -> str:
    """The text of a regular file in UTF-8, with or without a mark at its beginning."""
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
        words = "it is nested too deep" if isinstance(fault, RecursionError) else fault
        raise error(f"{path} is damaged: {words}", fix=fix) from None
    if not isinstance(values, dict):
        raise error(f"{path} is damaged: it is not a JSON object", fix=fix)
    return values


def read_rows(path: Path, columns: Sequence[str], *, error: type[EpirError], fix: str) -> list[dict[str, str]]:
    """The rows of a CSV in a regular file, every one with a cell in each of these columns."""
    text = read_text(path, error=error, fix=fix)
    reader = csv.DictReader(io.StringIO(text, newline=""))
    try:
        found = list(reader)
    except csv.Error as fault:
        raise error(f"{path} is not a table: {fault}", fix=fix) from None
    missing = next((name for name in columns if name not in (reader.fieldnames or ())), None)
    if missing is not None:
        raise error(f"{path} lacks the column {missing!r}", fix=fix)
    for number, row in enumerate(found, start=1):
        if any(row[name] is None for name in columns):
            raise error(f"{path}, row {number} has too few cells", fix=fix)
    return found


def open_array(path: Path, *, error: type[EpirError], fix: str) -> "np.ndarray":
    """The one array in an .npy file, mapped into memory; nothing in it is ever executed."""
    from numpy.lib.format import open_memmap

    with open_regular(path, error=error, fix=fix) as file:
        start = file.read(6)
    if start.startswith(b"PK"):
        raise error(f"{path} is an archive of arrays (npz), not one array", fix=fix)
    if start != b"\x93NUMPY":
        raise error(f"{path} cannot be opened: it is not an .npy file", fix=fix)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # numpy warns of headers that Python 2 wrote
            return open_memmap(path, mode="r")
    except BAD_ARRAY as fault:
        if isinstance(fault, OSError) and fault.errno in FAULTS:
            raise machine_fault(fault, path) from None
        raise error(f"{path} cannot be opened: {fault}", fix=fix) from None
