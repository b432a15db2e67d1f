"""From the body of a request to a task for a worker process.

Files are streamed into a private folder under generated names, typed by content, and removed after use. The frames of a
camera stay in memory.
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
from epir.web.jobs import remove
from epir.web.problems import RequestError
from epir.web.security import limited_address
from epir.web.service import Service
from epir.web.settings import MAX_DIGITS, ServeSettings

ACCEPTED = "a video (mp4, mov, mkv, webm, avi, wmv, mpg, gif) or pictures (jpg, png, bmp, webp, avif, heic)"
FRAME = (int, 0, 999_999_999, "give the number of a frame, such as 12")
NUMBERS: dict[str, tuple[Callable[[str], float], float, float, str]] = {  # fields: type, least, most, and what to do
    "onset": FRAME,
    "apex": FRAME,
    "fps": (float, 1, 100_000, "give the frames per second of the camera, such as 200"),
    "threshold": (float, 0, 1, "give a score from 0 to 1, such as 0.6"),
}
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
    address: str | None = None  # of the client, if its share is limited
    kept: bool = False  # by a job, which removes the folder when it ends


class FileSink:
    """Writes one file to disk, once its type is known from the first bytes."""

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


@asynccontextmanager
async def receive_upload(request: Request, service: Service, *, fields: tuple[str, ...]) -> AsyncIterator[Upload]:
    """Read the fields and files of a request; they are removed afterwards unless a job has set `kept`.

    The place in the queue is taken afterwards, by the job.
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
            remove(folder)


async def _read_files(
    upload: Upload, body: AsyncIterator[bytes], content_type: str, fields: tuple[str, ...], settings: ServeSettings
) -> None:
    def open_sink(name: str, filename: str) -> FileSink:
        if name != "files":
            raise RequestError(f"there is no file field {name[:40]!r}", fix="send files as files")
        if len(upload.files) >= settings.max_pictures:
            raise RequestError(
                f"there are more than {settings.max_pictures} files",
                fix=f"send at most {settings.max_pictures}, or make a video of them",
                status=HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            )
        return FileSink(upload, filename)

    reader = FormReader(content_type, fields=fields, open_sink=open_sink, max_bytes=settings.max_bytes)
    try:
        async for piece in body:
            reader.feed(piece)
    finally:
        with suppress(RequestError):  # the type of a half-read file matters no more
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
    name = display_name(fields["name"]) if fields.get("name") else _clip_name([each.name for each in files])
    return {
        "type": "predict",
        "files": [str(path) for path in _one_clip(upload)],
        "folder": str(upload.folder),
        "names": {str(each.path): each.name for each in files},
        "name": name,
        **options,
    }


def _one_clip(upload: Upload) -> list[Path]:
    """The paths of one clip: a video, two pictures, or the folder of numbered pictures that more of them become."""
    videos = [each for each in upload.files if each.type.kind == "video"]
    pictures = [each for each in upload.files if each.type.kind == "picture"]
    if len(videos) > 1:
        raise RequestError(f"these are {len(videos)} videos", fix="send one request for each")
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
        return [each.path for each in upload.files]
    upload.files = number_frames(upload)
    return [upload.files[0].path.parent]


def number_frames(upload: Upload) -> list[UploadedFile]:
    """The pictures in a new folder, named by the last integer of the client's names: their frame number."""
    frames: dict[int, UploadedFile] = {}
    for each in upload.files:
        number = LAST_INTEGER.search(Path(each.name).stem)
        if number is None or len(number[1]) > MAX_DIGITS:
            raise RequestError(
                f"{each.name} has no frame number in its name", fix="name the pictures img1.jpg, img2.jpg, ..."
            )
        other = frames.setdefault(int(number[1]), each)
        if other is not each:
            raise RequestError(
                f"{other.name} and {each.name} are both frame {int(number[1])}", fix="send the pictures of one clip"
            )
    folder = upload.folder / "frames"
    folder.mkdir(mode=0o700)
    moved = [(each, folder / f"{number}{each.type.suffix}") for number, each in sorted(frames.items())]
    return [replace(each, path=each.path.rename(path)) for each, path in moved]


def _clip_name(names: Sequence[str]) -> str:
    return " ".join(names) if len(names) <= 2 else f"{names[0]} and {len(names) - 1} more"


def _number(fields: dict[str, str], name: str) -> float | None:
    """The value of a field of `NUMBERS`; None where it is empty."""
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
    """A file that is kept in memory."""

    def __init__(self) -> None:
        self.content = bytearray()

    def write(self, piece: bytes) -> None:
        """Take the next bytes."""
        self.content += piece

    def close(self) -> None:
        """Nothing to close."""


async def receive_frames(request: Request, settings: ServeSettings) -> tuple[list[float], list[bytes]]:
    """The times in seconds and the JPEGs of one request of a camera."""
    sinks: list[MemorySink] = []

    def open_sink(name: str, filename: str) -> MemorySink:
        if name != "frames":
            raise RequestError(f"there is no file field {name[:40]!r}", fix="send files as frames")
        if len(sinks) >= settings.live_frames:
            raise RequestError(
                f"there are more than {settings.live_frames} frames",
                fix="send them more often, a few at a time",
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
    return times, [bytes(each.content) for each in sinks]


def read_times(text: str, count: int) -> list[float]:
    """Rising times in seconds, one for each of `count` frames, from milliseconds: `0,33,67`."""
    try:
        times: list[Any] = [float(each) / 1000 for each in text.split(",")]
    except ValueError:
        times = []
    if not count or len(times) != count or not all(math.isfinite(each) and 0 <= each < 1e6 for each in times):
        raise RequestError(
            "the times do not match the frames",
            fix="send frames, and times=0,33,67,...: one number of milliseconds for each frame",
        )
    if not all(a < b for a, b in pairwise(times)):
        raise RequestError("the times do not rise", fix="send the frames in order, each once")
    return times
