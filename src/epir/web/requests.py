"""From the body of a request to a task for the worker process."""

import asyncio
import math
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from http import HTTPStatus
from pathlib import Path
from typing import Any

from starlette.requests import ClientDisconnect, Request

from epir.frames.folder import LAST_INTEGER
from epir.spotting.settings import THRESHOLDS
from epir.web.form import display_name
from epir.web.problems import RequestError
from epir.web.security import limited_address
from epir.web.service import Service
from epir.web.uploads import ACCEPTED, Upload, UploadedFile, read_upload, remove

DRAIN_S, DRAIN_BYTES = 5.0, 256 << 20  # limits for reading on after a refusal
MOST_DIGITS = 15  # of a frame number


@dataclass
class ReceivedUpload(Upload):
    """An upload that is removed unless a job takes it over."""

    address: str | None = None  # of the client, where its share is limited
    kept: bool = False

    def keep(self) -> None:
        """Leave the files to a job, which removes them when it ends."""
        self.kept = True


@asynccontextmanager
async def receive_upload(
    request: Request,
    service: Service,
    *,
    file_field: str,
    fields: tuple[str, ...],
    max_files: int,
    max_bytes: int,
) -> AsyncIterator[ReceivedUpload]:
    """Read the files and fields of a request; the place in the queue is taken afterwards, by the job."""
    body = request.stream()
    folder: Path | None = None
    upload: ReceivedUpload | None = None
    address = limited_address(request)
    try:
        with service.queue.receiving(address):
            folder = service.private.new()
            read = await read_upload(
                body,
                request.headers.get("content-type", ""),
                folder,
                file_field=file_field,
                fields=fields,
                max_files=max_files,
                max_bytes=max_bytes,
                seconds=service.settings.receive_s,
                stall=service.settings.stall_s,
            )
            upload = ReceivedUpload(read.folder, read.fields, read.files, address)
            yield upload
    except ClientDisconnect:
        raise RequestError("the request was cut short", fix="send it again", status=HTTPStatus.BAD_REQUEST) from None
    except RequestError:
        await drain(request, body)
        raise
    finally:
        if upload is None or not upload.kept:
            remove(folder)


async def drain(request: Request, body: AsyncIterator[bytes]) -> None:
    """Read a refused body to its end, within limits: a client that is still sending would not read the response."""
    if "expect" in request.headers:  # it waits for 100 Continue and gets the response instead
        return
    left = DRAIN_BYTES
    try:
        async with asyncio.timeout(DRAIN_S):
            async for piece in body:
                left -= len(piece)
                if left < 0:
                    return
    except (TimeoutError, ClientDisconnect):
        return


def predict_task(upload: Upload, examples: list[str]) -> dict[str, Any]:
    """The task for one video, two pictures, up to `max_pictures` numbered ones, or an example."""
    fields, files = upload.fields, upload.files
    options: dict[str, Any] = {
        "onset": _frame_number(fields, "onset"),
        "apex": _frame_number(fields, "apex"),
        "fps": _frame_rate(fields.get("fps", "")),
        "threshold": _threshold(fields.get("threshold", "")),
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
    given = display_name(fields["name"]) if fields.get("name") else ""
    return {
        "type": "predict",
        "files": [str(path) for path in _one_clip(upload)],
        "folder": str(upload.folder),
        "names": {str(each.path): each.name for each in files},
        "name": given or _clip_name([each.name for each in files]),
        **options,
    }


def _one_clip(upload: Upload) -> list[Path]:
    """The paths of one clip: a video, two pictures, or the folder of numbered pictures that more of them become."""
    videos = [each for each in upload.files if each.type.kind == "video"]
    pictures = [each for each in upload.files if each.type.kind == "picture"]
    if len(videos) > 1:
        raise RequestError(f"these are {len(videos)} videos", fix="send each of them in a request of its own")
    if videos and pictures:
        raise RequestError(
            f"a video and {len(pictures)} picture{'' if len(pictures) == 1 else 's'} were sent",
            fix="send the video in a request of its own, and the pictures in another",
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
    """The pictures in a folder of their own, named by the last integer of the client's names: their frame number."""
    frames: dict[int, UploadedFile] = {}
    for each in upload.files:
        found = LAST_INTEGER.search(Path(each.name).stem)
        if found is None or len(found[1]) > MOST_DIGITS:
            raise RequestError(
                f"{each.name} has no frame number in its name", fix="name the pictures img1.jpg, img2.jpg, ..."
            )
        other = frames.setdefault(int(found[1]), each)
        if other is not each:
            raise RequestError(
                f"{other.name} and {each.name} are both frame {int(found[1])}", fix="send the pictures of one clip"
            )
    folder = upload.folder / "frames"
    folder.mkdir(mode=0o700)
    moved = [(each, folder / f"{number}{each.type.suffix}") for number, each in sorted(frames.items())]
    return [replace(each, path=each.path.rename(path)) for each, path in moved]


def _clip_name(names: Sequence[str]) -> str:
    return " ".join(names) if len(names) <= 2 else f"{names[0]} and {len(names) - 1} more"


def _frame_number(fields: dict[str, str], name: str) -> int | None:
    text = fields.get(name, "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 9):
        raise RequestError(f"{name} cannot be {text[:40]!r}", fix="give the number of a frame, such as 12")
    return int(text)


def _frame_rate(text: str) -> float | None:
    if not text:
        return None
    rate = _number(text)
    if not 1 <= rate <= 100_000:
        raise RequestError(f"fps cannot be {text[:40]!r}", fix="give the frames per second of the camera, such as 200")
    return rate


def _threshold(text: str) -> float | None:
    if not text:
        return None
    score = _number(text)
    if not 0 <= score <= 1:
        raise RequestError(f"threshold cannot be {text[:40]!r}", fix="give a score from 0 to 1, such as 0.6")
    return score


def _number(text: str) -> float:
    """The number that a text gives; nan if it gives none."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def _choice(fields: dict[str, str], name: str, choices: tuple[str, ...], *, default: str) -> str:
    given = fields.get(name) or default
    if given not in choices:
        raise RequestError(f"{name} cannot be {given[:40]!r}", fix=f"use one of: {', '.join(choices)}")
    return given
