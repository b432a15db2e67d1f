"""Files from clients: streamed into a private folder under generated names, and removed after use."""

import asyncio
import os
import secrets
import shutil
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from epir.web.form import FormReader
from epir.web.kinds import ENOUGH, Kind, kind_of
from epir.web.problems import TIMEOUT, TOO_LARGE, WRONG_KIND, Refused

KINDS = "a video (mp4, mov, mkv, webm, avi) or pictures (jpg, png, bmp)"


class PrivateFolder:
    """The folder of one server, that only its user can open; it goes when the server goes."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=f"epir-serve-{os.getpid()}-"))  # mode 0700
        self.uploads = self.path / "uploads"
        self.examples = self.path / "examples"
        for folder in (self.uploads, self.examples):
            folder.mkdir(mode=0o700)

    def new(self) -> Path:
        """A new empty folder for one upload."""
        folder = self.uploads / secrets.token_hex(8)
        folder.mkdir(mode=0o700)
        return folder

    def close(self) -> None:
        """Remove everything."""
        shutil.rmtree(self.path, ignore_errors=True)


def forget(folder: Path | None) -> None:
    """Remove one upload."""
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True)
class Stored:
    """One file that a client sent: where it lies, what it is, and what the client calls it."""

    path: Path
    kind: Kind
    name: str


@dataclass
class Upload:
    """What came with one request."""

    folder: Path
    fields: dict[str, str] = field(default_factory=dict)
    files: list[Stored] = field(default_factory=list)


class DiskSink:
    """One file on its way to the disk; its first bytes decide under which ending."""

    def __init__(self, upload: Upload, name: str) -> None:
        self._upload, self._name = upload, name
        self._start = b""
        self._file: BinaryIO | None = None

    def write(self, piece: bytes) -> None:
        """Take the next bytes."""
        if self._file is None:
            self._start += piece
            if len(self._start) >= ENOUGH:
                self._begin()
        else:
            self._file.write(piece)

    def close(self) -> None:
        """The file has ended, perhaps before it began."""
        if self._file is None:
            self._begin()
        assert self._file is not None
        self._file.close()

    def _begin(self) -> None:
        if not self._start:
            raise Refused(f"{self._name} is empty", fix=f"send {KINDS}", status=WRONG_KIND)
        kind = kind_of(self._start)
        if kind is None:
            raise Refused(
                f"{self._name} is neither a video nor a picture that can be read",
                fix=f"send {KINDS}; the content counts, not the name",
                status=WRONG_KIND,
            )
        path = self._upload.folder / f"{len(self._upload.files):03d}{kind.ending}"
        self._upload.files.append(Stored(path, kind, self._name))
        self._file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
        self._file.write(self._start)


async def read_upload(
    body: AsyncIterator[bytes],
    content_type: str,
    folder: Path,
    *,
    file_field: str,
    fields: tuple[str, ...],
    most_files: int,
    most_bytes: int,
    seconds: float,
) -> Upload:
    """Read one request into `folder`; the caller removes the folder, whatever happens."""
    upload = Upload(folder)

    def open_sink(name: str, filename: str) -> DiskSink:
        if name != file_field:
            raise Refused(f"there is no field {name[:40]!r} for files", fix=f"send files as {file_field}")
        if len(upload.files) >= most_files:
            raise Refused(f"there are more than {most_files} files", fix=f"send at most {most_files}", status=TOO_LARGE)
        return DiskSink(upload, filename)

    reader = FormReader(content_type, fields=fields, open_sink=open_sink, most_bytes=most_bytes)
    try:
        async with asyncio.timeout(seconds):
            async for piece in body:
                reader.feed(piece)
    except TimeoutError:
        raise Refused(
            f"the upload took more than {seconds:g} seconds", fix="send a smaller file", status=TIMEOUT
        ) from None
    finally:
        _close(reader)
    upload.fields = reader.finish()
    return upload


def _close(reader: FormReader) -> None:
    """Close a half-read file; what is wrong with it has been said already, or is about to be."""
    try:
        reader.close()
    except Refused:
        return
