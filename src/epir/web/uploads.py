"""Uploaded files: streamed into a private folder under generated names, typed by content, removed after use."""

import asyncio
import os
import secrets
import shutil
import tempfile
import weakref
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import BinaryIO, Literal

from epir.web.form import FormReader
from epir.web.problems import RequestError

ACCEPTED = "a video (mp4, mov, mkv, webm, avi, wmv, mpg, gif) or pictures (jpg, png, bmp, webp, avif, heic)"
SNIFF_BYTES = 200  # enough to recognise every file type: a transport stream repeats its mark after 188


@dataclass(frozen=True)
class FileType:
    """A type of file, and the suffix it is stored under."""

    kind: Literal["video", "picture"]
    suffix: str


HEIC, AVIF = FileType("picture", ".heic"), FileType("picture", ".avif")
BRANDS = {  # of the ISO container that videos and pictures share; any other is an mp4
    b"qt  ": FileType("video", ".mov"),
    **dict.fromkeys((b"avif", b"avis"), AVIF),
    **dict.fromkeys((b"heic", b"heix", b"heim", b"heis", b"mif1", b"msf1"), HEIC),
}
STARTS = {
    b"\x1a\x45\xdf\xa3": FileType("video", ".mkv"),
    b"GIF87a": FileType("video", ".gif"),
    b"GIF89a": FileType("video", ".gif"),
    b"\x30\x26\xb2\x75\x8e\x66\xcf\x11": FileType("video", ".wmv"),
    b"\0\0\x01\xba": FileType("video", ".mpg"),
    b"\0\0\x01\xb3": FileType("video", ".mpg"),
    b"FLV\x01": FileType("video", ".flv"),
    b"OggS": FileType("video", ".ogv"),
    b"YUV4MPEG2 ": FileType("video", ".y4m"),
    b"\x06\x0e\x2b\x34\x02\x05\x01\x01": FileType("video", ".mxf"),
    b"\xff\xd8\xff": FileType("picture", ".jpg"),
    b"\x89PNG\r\n\x1a\n": FileType("picture", ".png"),
}


def sniff(start: bytes) -> FileType | None:
    """The type of a file by its first bytes, whatever its name says; None if it is not one that can be read.

    The short list also keeps text formats from the video decoder, which would follow the paths written in them.
    """
    if start[4:8] == b"ftyp":
        brand = start[8:12]
        if brand == b"mif1" and b"avif" in start[16:64]:  # pictures in general; what they are in particular follows
            brand = b"avif"
        return BRANDS.get(brand, FileType("video", ".mp4"))
    if start[4:8] in (b"moov", b"mdat", b"wide", b"free", b"skip"):  # old QuickTime has no brand
        return FileType("video", ".mov")
    if start.startswith(b"RIFF") and start[8:12] in (b"AVI ", b"WEBP"):
        return FileType("video", ".avi") if start[8:12] == b"AVI " else FileType("picture", ".webp")
    if start.startswith(b"BM") and start[6:10] == b"\0\0\0\0":
        return FileType("picture", ".bmp")
    known = next((kind for first, kind in STARTS.items() if start.startswith(first)), None)
    if known is None and (start[:1] == b"G" == start[188:189] or start[4:5] == b"G" == start[196:197]):
        return FileType("video", ".ts")  # packets of 188 bytes, or with a time before each
    return known


class PrivateFolder:
    """A temporary folder that only its owner can open; it is removed with the server."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=f"epir-serve-{os.getpid()}-"))  # mode 0700
        self._remove = weakref.finalize(self, remove, self.path)  # also if a signal ends the process while it loads
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
        self._remove()


def remove(folder: Path | None) -> None:
    """Remove a folder, if there is one."""
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True)
class UploadedFile:
    """One uploaded file: where it is stored, its type, and the client's name for it."""

    path: Path
    type: FileType
    name: str


@dataclass
class Upload:
    """The fields and files of one request."""

    folder: Path
    fields: dict[str, str] = field(default_factory=dict)
    files: list[UploadedFile] = field(default_factory=list)


class FileSink:
    """Writes one file to disk, once its first bytes have given its type."""

    def __init__(self, upload: Upload, name: str) -> None:
        self._upload, self._name = upload, name
        self._start = b""
        self._file: BinaryIO | None = None

    def write(self, piece: bytes) -> None:
        """Take the next bytes."""
        if self._file is None:
            self._start += piece
            if len(self._start) >= SNIFF_BYTES:
                self._open()
        else:
            self._file.write(piece)

    def close(self) -> None:
        """End the file, which may be shorter than `SNIFF_BYTES`."""
        if self._file is None:
            self._open()
        assert self._file is not None
        self._file.close()

    def _open(self) -> None:
        if not self._start:
            raise RequestError(
                f"{self._name} is empty", fix=f"send {ACCEPTED}", status=HTTPStatus.UNSUPPORTED_MEDIA_TYPE
            )
        type_ = sniff(self._start)
        if type_ is None:
            raise RequestError(
                f"{self._name} is not a video or picture that can be read",
                fix=f"send {ACCEPTED}; the content counts, not the name",
                status=HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            )
        path = self._upload.folder / f"{len(self._upload.files):03d}{type_.suffix}"
        self._upload.files.append(UploadedFile(path, type_, self._name))
        self._file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
        self._file.write(self._start)


async def read_upload(
    body: AsyncIterator[bytes],
    content_type: str,
    folder: Path,
    *,
    file_field: str,
    fields: tuple[str, ...],
    max_files: int,
    max_bytes: int,
    seconds: float,
    stall: float,
) -> Upload:
    """Read one request into `folder`, which the caller removes, also after an error."""
    upload = Upload(folder)

    def open_sink(name: str, filename: str) -> FileSink:
        if name != file_field:
            raise RequestError(f"there is no file field {name[:40]!r}", fix=f"send files as {file_field}")
        if len(upload.files) >= max_files:
            raise RequestError(
                f"there are more than {max_files} files",
                fix=f"send at most {max_files}",
                status=HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            )
        return FileSink(upload, filename)

    reader = FormReader(content_type, fields=fields, open_sink=open_sink, max_bytes=max_bytes)
    try:
        async for piece in with_deadlines(body, seconds=seconds, stall=stall):
            reader.feed(piece)
    finally:
        with suppress(RequestError):  # the type of a half-read file matters no more
            reader.close()
    upload.fields = reader.finish()
    return upload


async def with_deadlines(body: AsyncIterator[bytes], *, seconds: float, stall: float) -> AsyncIterator[bytes]:
    """The pieces of a body, which has so many seconds as a whole, and may pause for `stall` at most."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while True:
        until = min(end, loop.time() + stall)
        try:
            async with asyncio.timeout_at(until):
                piece = await anext(body, None)
        except TimeoutError:
            late = until == end
            raise RequestError(
                f"the upload took more than {seconds:g} seconds" if late else f"no byte came for {stall:g} seconds",
                fix="send a smaller file, or over a faster connection" if late else "send it again",
                status=HTTPStatus.REQUEST_TIMEOUT,
                headers={"Connection": "close"},
            ) from None
        if piece is None:
            return
        yield piece
