"""Taking in the body of a request: a place in the queue first, then the bytes, and nothing left behind."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from starlette.requests import ClientDisconnect, Request

from epir.web.problems import BAD, Refused
from epir.web.service import Service
from epir.web.uploads import Upload, forget, read_upload

DRAIN_S, DRAIN_BYTES = 5.0, 256 << 20  # how long and how much of a refused body is read on


@dataclass
class Received(Upload):
    """An upload that is removed unless somebody keeps it."""

    kept: bool = False

    def keep(self) -> Path:
        """Leave the files to a job, which removes them when it ends."""
        self.kept = True
        return self.folder


@asynccontextmanager
async def received(
    request: Request,
    service: Service,
    reserve: Callable[[], None],
    *,
    file_field: str,
    fields: tuple[str, ...],
    most_files: int,
    most_bytes: int,
) -> AsyncIterator[Received]:
    """The files and fields of a request, while there is a place in the queue for it."""
    body = request.stream()
    folder: Path | None = None
    upload: Received | None = None
    reserved = False
    try:
        reserve()
        reserved = True
        folder = service.private.new()
        read = await read_upload(
            body,
            request.headers.get("content-type", ""),
            folder,
            file_field=file_field,
            fields=fields,
            most_files=most_files,
            most_bytes=most_bytes,
            seconds=service.settings.receive_s,
        )
        upload = Received(read.folder, read.fields, read.files)
        yield upload
    except ClientDisconnect:
        raise Refused("the request was cut short", fix="send it again", status=BAD) from None
    except Refused:
        await drain(request, body)
        raise
    finally:
        if upload is None or not upload.kept:
            forget(folder)
            if reserved:
                service.queue.release()


async def drain(request: Request, body: AsyncIterator[bytes]) -> None:
    """Read a refused body to its end, within bounds: a client that still sends does not hear the answer otherwise."""
    if "expect" in request.headers:  # it waits for leave to send, and gets the answer instead
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
