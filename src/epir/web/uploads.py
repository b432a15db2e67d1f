"""From the body of a request to a task for a worker process.

Files are streamed into a private folder under generated names, identified by content, and removed after use. Camera
frames stay in memory.
"""

import math
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, Literal

from starlette.requests import Request

from epir.core.words import counted
from epir.frames.folder import LAST_INTEGER
from epir.spotting.decision import THRESHOLDS
from epir.web.form import FormReader, display_name, request_body, with_deadlines
from epir.web.jobs import remove_folder
from epir.web.problems import RequestError
from epir.web.security import limited_address
from epir.web.service import Service
from epir.web.settings import MAX_DIGITS, ServeSettings

ACCEPTED = "a video (mp4, mov, mkv, webm, avi, wmv, mpg, gif) or pictures (jpg, png, bmp, webp, avif, heic)"
FRAME = (int, 0, 999_999_999, "give the number of a frame, such as 12")
NUMBERS: dict[str, tuple[Callable[[str], float], float, float, str]] = {  # fields: type, minimum, maximum, fix
    "onset": FRAME,
    "apex": FRAME,
    "fps": (float, 1, 100_000, "give the frames per second of the camera, such as 200"),
    "threshold": (float, 0, 1, "give a score from 0 to 1, such as 0.6"),
}
SNIFF_BYTES = 200  # enough to identify every file type: a transport stream repeats its sync byte after 188


@dataclass(frozen=True)
class FileType:
    """A file type, and the suffix for storing it."""

    kind: Literal["video", "picture"]
    suffix: str


HEIC, AVIF = FileType("picture", ".heic"), FileType("picture", ".avif")
BRANDS = {  # of the ISO container, which videos and pictures share; any other brand is an mp4
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
    """The type of a file by its first bytes, whatever its name; None if it is not supported.

    The short list also keeps text formats away from the video decoder, which would follow the paths in them.
    """
    if start[4:8] == b"ftyp":
        brand = start[8:12]
        if brand == b"mif1" and b"avif" in start[16:64]:  # a generic brand; the compatible brands are specific
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
        return FileType("video", ".ts")  # packets of 188 bytes, or 192 with time stamps
    return known


@dataclass(frozen=True)
class UploadedFile:
    """An uploaded file: its path, its type, and the client's name for it."""

    path: Path
    type: FileType
    name: str


@dataclass
class Upload:
    """The fields and files of one request."""

    folder: Path
    fields: dict[str, str] = field(default_factory=dict)
    files: list[UploadedFile] = field(default_factory=list)
    address: str | None = None  # of the client, if its share is limited
    kept: bool = False  # a job owns the folder and removes it when it ends


class FileSink:
    """Writes one file to disk, once its first bytes identify its type."""

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
                f"{self._name} is not a supported video or picture",
                fix=f"send {ACCEPTED}; the content counts, not the name",
                status=HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            )
        path = self._upload.folder / f"{len(self._upload.files):03d}{type_.suffix}"
        self._upload.files.append(UploadedFile(path, type_, self._name))
        self._file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
        self._file.write(self._start)


@asynccontextmanager
async def receive_upload(request: Request, service: Service, *, fields: tuple[str, ...]) -> AsyncIterator[Upload]:
    """Read the fields and files of a request; removes the files afterwards unless a job set `kept`.

    An upload takes no place in the queue: its job does.
    """
    settings, address = service.settings, limited_address(request)
    folder: Path | None = None
    upload: Upload | None = None
    try:
        async with request_body(request) as body:
            with service.queue.receiving(address):
                folder = service.private.new()
                upload = Upload(folder, address=address)
                pieces = with_deadlines(
                    body, seconds=settings.receive_s, stall=settings.stall_s, rate=settings.min_rate
                )
                await _read_files(upload, pieces, request.headers.get("content-type", ""), fields, settings)
                yield upload
    finally:
        if upload is None or not upload.kept:
            remove_folder(folder)


async def _read_files(
    upload: Upload, body: AsyncIterator[bytes], content_type: str, fields: tuple[str, ...], settings: ServeSettings
) -> None:
    def open_sink(name: str, filename: str) -> FileSink:
        if name != "files":
            raise RequestError(f"there is no file field {name[:40]!r}", fix="send files as files")
        if len(upload.files) >= settings.max_pictures:
            raise RequestError(
                f"the request has more than {settings.max_pictures} files",
                fix=f"send at most {settings.max_pictures}, or make a video of them",
                status=HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            )
        return FileSink(upload, filename)

    reader = FormReader(content_type, fields=fields, open_sink=open_sink, max_bytes=settings.max_bytes)
    try:
        async for piece in body:
            reader.feed(piece)
    finally:
        with suppress(RequestError):  # the type of an incomplete file does not matter
            reader.close()
    upload.fields = reader.finish()


def predict_task(upload: Upload, examples: list[str]) -> dict[str, Any]:
    """The task for one video, two pictures, up to `max_pictures` numbered ones, or an example."""
    fields, files = upload.fields, upload.files
    options: dict[str, Any] = {
        **{name: _number(fields, name) for name in NUMBERS},
        "sensitivity": _choice(fields, "sensitivity", tuple(THRESHOLDS), default="normal"),
        "faces": _choice(fields, "faces", ("largest", "all"), default="largest"),
    }
    example = fields.get("example", "")
    if example and files:
        raise RequestError("both an example and a file were sent", fix="send one of them")
    if example:
        if example not in examples:
            raise RequestError(f"there is no example {example[:40]!r}", fix=f"use one of: {', '.join(examples)}")
        return {"type": "predict", "example": example, "name": f"example: {example}", **options}
    if not files:
        raise RequestError("no file was sent", fix=f"send {ACCEPTED} as files, or the name of an example")
    name = display_name(fields["name"]) if fields.get("name") else _clip_name([file.name for file in files])
    return {
        "type": "predict",
        "files": [str(path) for path in _one_clip(upload)],
        "folder": str(upload.folder),
        "names": {str(file.path): file.name for file in files},
        "name": name,
        **options,
    }


def _one_clip(upload: Upload) -> list[Path]:
    """The paths of one clip: a video, two pictures, or, for more pictures, a folder of numbered ones."""
    videos = [file for file in upload.files if file.type.kind == "video"]
    pictures = [file for file in upload.files if file.type.kind == "picture"]
    if len(videos) > 1:
        raise RequestError(f"the request has {len(videos)} videos", fix="send one request for each")
    if videos and pictures:
        raise RequestError(
            f"a video and {counted(len(pictures), 'picture')} were sent",
            fix="send the video and the pictures in separate requests",
        )
    if len(pictures) == 1:
        raise RequestError(
            f"{pictures[0].name} is one picture, which shows no movement",
            fix="send two pictures, onset and apex, or a video",
        )
    if len(upload.files) <= 2:
        return [file.path for file in upload.files]
    upload.files = number_frames(upload)
    return [upload.files[0].path.parent]


def number_frames(upload: Upload) -> list[UploadedFile]:
    """Move the pictures to a new folder, named by their frame number: the last integer in the client's name."""
    frames: dict[int, UploadedFile] = {}
    for file in upload.files:
        number = LAST_INTEGER.search(Path(file.name).stem)
        if number is None or len(number[1]) > MAX_DIGITS:
            raise RequestError(
                f"{file.name} has no frame number in its name", fix="name the pictures img1.jpg, img2.jpg, ..."
            )
        other = frames.setdefault(int(number[1]), file)
        if other is not file:
            raise RequestError(
                f"{other.name} and {file.name} are both frame {int(number[1])}", fix="send the pictures of one clip"
            )
    folder = upload.folder / "frames"
    folder.mkdir(mode=0o700)
    return [
        replace(file, path=file.path.rename(folder / f"{number}{file.type.suffix}"))
        for number, file in sorted(frames.items())
    ]


def _clip_name(names: Sequence[str]) -> str:
    return " ".join(names) if len(names) <= 2 else f"{names[0]} and {len(names) - 1} more"


def _number(fields: dict[str, str], name: str) -> float | None:
    """The value of a field of `NUMBERS`; None if it is empty."""
    text, (kind, low, high, fix) = fields.get(name, ""), NUMBERS[name]
    if not text:
        return None
    try:
        value = kind(text) if kind is float or text.isdigit() else math.nan
    except ValueError:
        value = math.nan
    if not (text.isascii() and low <= value <= high):
        raise RequestError(f"{name} cannot be {text[:40]!r}", fix=fix)
    return value


def _choice(fields: dict[str, str], name: str, choices: tuple[str, ...], *, default: str) -> str:
    choice = fields.get(name) or default
    if choice not in choices:
        raise RequestError(f"{name} cannot be {choice[:40]!r}", fix=f"use one of: {', '.join(choices)}")
    return choice


class MemorySink:
    """A file in memory."""

    def __init__(self) -> None:
        self.content = bytearray()

    def write(self, piece: bytes) -> None:
        """Take the next bytes."""
        self.content += piece

    def close(self) -> None:
        """Nothing to close."""


async def receive_frames(request: Request, settings: ServeSettings) -> tuple[list[float], list[bytes]]:
    """The times in seconds and the JPEGs of one camera request."""
    sinks: list[MemorySink] = []

    def open_sink(name: str, filename: str) -> MemorySink:
        if name != "frames":
            raise RequestError(f"there is no file field {name[:40]!r}", fix="send files as frames")
        if len(sinks) >= settings.live_frames:
            raise RequestError(
                f"the request has more than {settings.live_frames} frames",
                fix="send fewer frames at a time, more often",
                status=HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            )
        sinks.append(MemorySink())
        return sinks[-1]

    async with request_body(request) as body:
        content_type = request.headers.get("content-type", "")
        reader = FormReader(content_type, fields=("times",), open_sink=open_sink, max_bytes=settings.live_bytes)
        async for piece in with_deadlines(body, seconds=settings.live_timeout_s, stall=settings.stall_s):
            reader.feed(piece)
        times = read_times(reader.finish().get("times", ""), len(sinks))
    return times, [bytes(sink.content) for sink in sinks]


def read_times(text: str, count: int) -> list[float]:
    """The times of `count` frames in seconds, increasing, from text in milliseconds: `0,33,67`."""
    try:
        times: list[Any] = [float(time) / 1000 for time in text.split(",")]
    except ValueError:
        times = []
    if not count or len(times) != count or not all(math.isfinite(time) and 0 <= time < 1e6 for time in times):
        raise RequestError(
            "the times do not match the frames",
            fix="send frames, and times=0,33,67,...: one number of milliseconds for each frame",
        )
    if not all(a < b for a, b in pairwise(times)):
        raise RequestError("the times do not increase", fix="send the frames in order, each once")
    return times
