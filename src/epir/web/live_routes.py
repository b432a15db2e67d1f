"""The routes of a camera: begin a session, send frames, read what was found, end it."""

import asyncio
from http import HTTPStatus
from itertools import pairwise
from math import isfinite
from typing import Annotated, Any, Literal

from fastapi import FastAPI, Query, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse
from starlette.requests import ClientDisconnect

from epir.web.form import FormReader
from epir.web.live import LiveSession
from epir.web.problems import RequestError
from epir.web.requests import drain
from epir.web.schema import FRAMES_FORM, FRAMES_PROBLEMS, LiveCounts, LiveTicket, problems
from epir.web.security import limited_address
from epir.web.service import Service
from epir.web.settings import ServeSettings
from epir.web.uploads import with_deadlines

DISCONNECT_S = 0.5  # between two checks whether a waiting client is still connected
EVENTS = """Server-sent events: `status` (coverage, frame rate, whether there is a face), `motion` (the timeline in
parts), `movement` (each as `epir predict --json` gives it; times are those of the frames) and `end`. A client that
comes back sends Last-Event-ID, as browsers do, and misses nothing."""


def add_live(app: FastAPI, service: Service) -> None:
    """Add the routes of a camera."""
    settings = service.settings

    @app.post(
        "/api/live",
        summary="Begin a camera session",
        status_code=201,
        responses={201: {"model": LiveTicket, "description": "it has begun"}, **problems(403, 422, 429, 500, 503)},
        response_model=None,
    )
    async def begin(
        request: Request,
        sensitivity: Literal["low", "normal", "high"] = "normal",
        faces: Literal["largest", "all"] = "largest",
        threshold: Annotated[float | None, Query(ge=0, le=1)] = None,
    ) -> JSONResponse:
        task = {"sensitivity": sensitivity, "faces": faces, "threshold": threshold}
        session = service.live.open(task, limited_address(request))
        await begun(session, request)
        url = f"/api/live/{session.id}"
        body = {"id": session.id, "frames": f"{url}/frames", "events": f"{url}/events", "seconds": settings.live_s}
        return JSONResponse(body, status_code=HTTPStatus.CREATED, headers={"Location": url})

    @app.post(
        "/api/live/{id}/frames",
        summary="Send the next frames of a camera",
        openapi_extra=FRAMES_FORM,
        responses={200: {"model": LiveCounts, "description": "they wait to be looked at"}, **FRAMES_PROBLEMS},
        response_model=None,
    )
    async def frames(id: str, request: Request) -> JSONResponse:
        session = service.live.get(id)
        times, sent = await read_frames(request, settings)
        return JSONResponse(session.push(times, sent))

    @app.get(
        "/api/live/{id}/events",
        summary="What is found in the frames of a camera, as it is found",
        description=EVENTS,
        response_class=StreamingResponse,
        responses={
            200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}, "description": "until the end"},
            **problems(404, 422),
        },
    )
    async def events(id: str, request: Request) -> StreamingResponse:
        latest = request.headers.get("last-event-id", "")
        after = int(latest) if latest.isascii() and latest.isdigit() and len(latest) < 10 else 0
        headers = {"X-Accel-Buffering": "no"}  # nginx passes each event on at once
        messages = service.live.get(id).messages(after)
        return StreamingResponse(messages, media_type="text/event-stream", headers=headers)

    @app.delete(
        "/api/live/{id}",
        summary="End a camera session; its last movements still come as events",
        status_code=204,
        responses=problems(403, 404, 422),
    )
    async def end(id: str) -> Response:
        service.live.get(id).end()
        return Response(status_code=204)


async def begun(session: LiveSession, request: Request) -> None:
    """Wait until the process of a session is there: frames that were sent before would be dropped."""
    ready = asyncio.wrap_future(session.ready)
    try:
        while not ready.done():
            await asyncio.wait({ready}, timeout=DISCONNECT_S)
            if not ready.done() and await request.is_disconnected():
                raise RequestError("the client disconnected", fix="send it again", status=HTTPStatus.BAD_REQUEST)
    except BaseException:
        session.end()
        raise
    if session.job.problem is not None:
        raise session.job.problem.error()


class MemorySink:
    """A file that is kept in memory."""

    def __init__(self) -> None:
        self.content = bytearray()

    def write(self, piece: bytes) -> None:
        """Take the next bytes."""
        self.content += piece

    def close(self) -> None:
        """Nothing to close."""


async def read_frames(request: Request, settings: ServeSettings) -> tuple[list[float], list[bytes]]:
    """The times in seconds and the JPEGs of one request; nothing is written to disk."""
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

    body = request.stream()
    try:
        reader = FormReader(
            request.headers.get("content-type", ""),
            fields=("times",),
            open_sink=open_sink,
            max_bytes=settings.live_bytes,
        )
        async for piece in with_deadlines(body, seconds=settings.live_timeout_s, stall=settings.stall_s):
            reader.feed(piece)
        fields = reader.finish()
        return read_times(fields.get("times", ""), len(sinks)), [bytes(each.content) for each in sinks]
    except ClientDisconnect:
        raise RequestError("the request was cut short", fix="send it again", status=HTTPStatus.BAD_REQUEST) from None
    except RequestError:
        await drain(request, body)
        raise


def read_times(text: str, count: int) -> list[float]:
    """Rising times in seconds, one for each of `count` frames, from milliseconds: `0,33,67`."""
    try:
        times: list[Any] = [float(each) / 1000 for each in text.split(",")]
    except ValueError:
        times = []
    if not count or len(times) != count or not all(isfinite(each) and 0 <= each < 1e6 for each in times):
        raise RequestError(
            "the times do not match the frames",
            fix="send frames, and times=0,33,67,...: one number of milliseconds for each frame",
        )
    if not all(a < b for a, b in pairwise(times)):
        raise RequestError("the times do not rise", fix="send the frames in order, each once")
    return times
