"""The body of a request: a streaming multipart/form-data parser, and time limits.

Small fields stay in memory, files go to a sink. Bytes are counted as they arrive; Content-Length is not trusted.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Protocol

from python_multipart.exceptions import FormParserError, MultipartParseError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import ClientDisconnect, Request

from epir.web.problems import RequestError
from epir.web.settings import DRAIN_BYTES, DRAIN_S, MAX_BOUNDARY, MAX_FIELD, MAX_NAME, RATE_GRACE_S


class Sink(Protocol):
    """Where the bytes of one file go."""

    def write(self, piece: bytes) -> object:
        """Take the next bytes."""

    def close(self) -> None:
        """End the file."""


OpenSink = Callable[[str, str], Sink]  # (field name, file name) -> sink


@dataclass
class _Part:
    """The part being read."""

    headers: dict[str, bytes] = field(default_factory=dict)
    header: bytes = b""
    value: bytes = b""
    name: str = ""
    sink: Sink | None = None
    text: bytearray = field(default_factory=bytearray)


class FormReader:
    """Parses one body: `feed` every piece, then `finish`."""

    def __init__(self, content_type: str, *, fields: Iterable[str], open_sink: OpenSink, max_bytes: int) -> None:
        kind, options = parse_options_header(content_type)
        boundary = options.get(b"boundary", b"")
        if len(boundary) > MAX_BOUNDARY:
            raise RequestError(
                f"the boundary of the form has {len(boundary)} characters",
                fix=f"use at most {MAX_BOUNDARY}; RFC 2046 allows 70",
                status=HTTPStatus.BAD_REQUEST,
            )
        if kind != b"multipart/form-data" or not boundary:
            raise RequestError(
                "the request is not multipart/form-data",
                fix="send it as a form, as curl -F and browsers do",
                status=HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            )
        self.fields: dict[str, str] = {}
        self._field_names, self._open, self._max_bytes = tuple(fields), open_sink, max_bytes
        self._bytes, self._ended = 0, False
        self._part = _Part()
        try:
            self._parser = MultipartParser(
                boundary,
                {
                    "on_part_begin": self._begin,
                    "on_header_field": self._header_field,
                    "on_header_value": self._header_value,
                    "on_header_end": self._header_end,
                    "on_headers_finished": self._headers_finished,
                    "on_part_data": self._data,
                    "on_part_end": self._end,
                    "on_end": self._finished,
                },
            )
        except FormParserError:
            raise _malformed() from None

    def feed(self, piece: bytes) -> None:
        """Parse the next bytes of the body."""
        self._bytes += len(piece)
        if self._bytes > self._max_bytes:
            raise _too_large(self._max_bytes)
        try:
            self._parser.write(piece)
        except MultipartParseError:
            raise _malformed() from None

    def finish(self) -> dict[str, str]:
        """The fields; raises if the body is incomplete."""
        if not self._ended:
            raise _malformed()
        return self.fields

    def close(self) -> None:
        """Close the file of an incomplete part."""
        if self._part.sink is not None:
            self._part.sink.close()
            self._part.sink = None

    def _begin(self) -> None:
        self._part = _Part()

    def _header_field(self, data: bytes, start: int, end: int) -> None:
        self._part.header += data[start:end]

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._part.value += data[start:end]

    def _header_end(self) -> None:
        part = self._part
        part.headers[part.header.decode("latin-1").lower()] = part.value
        part.header = part.value = b""

    def _headers_finished(self) -> None:
        part = self._part
        kind, options = parse_options_header(part.headers.get("content-disposition", b""))
        if kind != b"form-data" or b"name" not in options:
            raise _malformed()
        part.name = options[b"name"].decode("utf-8", "replace")
        if b"filename" in options:
            part.sink = self._open(part.name, display_name(options[b"filename"].decode("utf-8", "replace")))
        elif part.name not in self._field_names:
            raise RequestError(
                f"there is no field {part.name[:40]!r}",
                fix=f"use {', '.join(self._field_names)}; a file needs a file name",
            )
        elif part.name in self.fields:
            raise RequestError(f"the field {part.name} is given twice", fix="give it once")

    def _data(self, data: bytes, start: int, end: int) -> None:
        part = self._part
        if part.sink is not None:
            part.sink.write(data[start:end])
            return
        if len(part.text) + end - start > MAX_FIELD:
            raise RequestError(f"the field {part.name} is too long", fix="send a file with a file name")
        part.text += data[start:end]

    def _end(self) -> None:
        if self._part.sink is not None:
            self.close()
        else:
            self.fields[self._part.name] = self._part.text.decode("utf-8", "replace").strip()

    def _finished(self) -> None:
        self._ended = True


def display_name(name: str) -> str:
    """The last part of a client's file name, without control characters.

    A long name keeps its beginning and its end, which holds the frame number and the extension.
    """
    last = name.replace("\\", "/").rsplit("/", 1)[-1]
    shown = "".join(letter if letter.isprintable() else " " for letter in last).strip()
    if len(shown) > MAX_NAME:
        shown = f"{shown[: MAX_NAME // 2 - 1]}…{shown[-MAX_NAME // 2 :]}"
    return shown or "the file"


async def with_deadlines(
    body: AsyncIterator[bytes], *, seconds: float, stall: float, rate: float = 0.0
) -> AsyncIterator[bytes]:
    """The pieces of a body; raises if it takes more than `seconds`, pauses for `stall`, or is below `rate` bytes/s."""
    loop = asyncio.get_running_loop()
    began, received = loop.time(), 0
    while True:
        now = loop.time()
        limits = {
            began + seconds: f"the upload took more than {seconds:g} seconds",
            now + stall: f"no byte came for {stall:g} seconds",
        }
        if rate:
            enough = began + RATE_GRACE_S + received / rate  # until then, the rate is high enough
            limits.setdefault(enough, f"the upload is slower than {rate / 1024:g} KiB per second")
        until = min(limits)
        try:
            async with asyncio.timeout_at(until):
                piece = await anext(body, None)
        except TimeoutError:
            raise RequestError(
                limits[until],
                fix="send a smaller file, or use a faster connection",
                status=HTTPStatus.REQUEST_TIMEOUT,
                headers={"Connection": "close"},
            ) from None
        if piece is None:
            return
        received += len(piece)
        yield piece


@asynccontextmanager
async def request_body(request: Request) -> AsyncIterator[AsyncIterator[bytes]]:
    """The body of a request. After an error it is still drained, within limits: a sending client reads no response."""
    body = request.stream()
    try:
        yield body
    except ClientDisconnect:
        raise RequestError("the request was cut short", fix="send it again", status=HTTPStatus.BAD_REQUEST) from None
    except RequestError:
        if "expect" not in request.headers:  # a client that waits for 100 Continue sends no body
            await _drain(body)
        raise


async def _drain(body: AsyncIterator[bytes]) -> None:
    left = DRAIN_BYTES
    with suppress(TimeoutError, ClientDisconnect):
        async with asyncio.timeout(DRAIN_S):
            async for piece in body:
                left -= len(piece)
                if left < 0:
                    return


def _too_large(max_bytes: int) -> RequestError:
    return RequestError(
        f"the request is larger than {max_bytes / (1 << 20):g} MiB",
        fix=f"cut the video, analyse it with `epir predict`, or start `epir serve --set max_bytes={2 * max_bytes}`",
        status=HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    )


def _malformed() -> RequestError:
    return RequestError("the form is malformed or was cut short", fix="send it again", status=HTTPStatus.BAD_REQUEST)
