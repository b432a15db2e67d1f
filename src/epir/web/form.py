"""A multipart body, read piece by piece: small fields are kept, files go where the caller wants them.

Every byte is counted as it arrives; what the headers of the request promise does not matter.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol

from python_multipart.exceptions import MultipartParseError
from python_multipart.multipart import MultipartParser, parse_options_header

from epir.web.problems import BAD, TOO_LARGE, WRONG_KIND, Refused

LONGEST_FIELD = 8192  # bytes
NAME_SHOWN = 120  # characters of a client's file name


class Sink(Protocol):
    """Where the bytes of one file go."""

    def write(self, piece: bytes) -> object:
        """Take the next bytes."""

    def close(self) -> None:
        """The file has ended."""


OpenSink = Callable[[str, str], Sink]  # name of the field, name of the file -> where it goes


@dataclass
class _Part:
    """The part that is being read."""

    headers: dict[str, bytes] = field(default_factory=dict)
    header: bytes = b""
    value: bytes = b""
    name: str = ""
    sink: Sink | None = None
    text: bytearray = field(default_factory=bytearray)


class FormReader:
    """Reads one body; `feed` it every piece, then `finish`."""

    def __init__(self, content_type: str, *, fields: Iterable[str], open_sink: OpenSink, most_bytes: int) -> None:
        kind, options = parse_options_header(content_type)
        boundary = options.get(b"boundary", b"")
        if kind != b"multipart/form-data" or not boundary:
            raise Refused(
                "the request is not a form with files",
                fix="send it as multipart/form-data, as curl -F and browsers do",
                status=WRONG_KIND,
            )
        self.fields: dict[str, str] = {}
        self._known, self._open, self._most = tuple(fields), open_sink, most_bytes
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
        except MultipartParseError:
            raise _damaged() from None

    def feed(self, piece: bytes) -> None:
        """Take the next bytes of the body."""
        self._bytes += len(piece)
        if self._bytes > self._most:
            raise too_large(self._most)
        try:
            self._parser.write(piece)
        except MultipartParseError:
            raise _damaged() from None

    def finish(self) -> dict[str, str]:
        """The fields, once the whole body has been fed."""
        if not self._ended:
            raise _damaged()
        return self.fields

    def close(self) -> None:
        """Close a file whose end never came."""
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
            raise _damaged()
        part.name = options[b"name"].decode("utf-8", "replace")
        if b"filename" in options:
            part.sink = self._open(part.name, shown_name(options[b"filename"].decode("utf-8", "replace")))
        elif part.name not in self._known:
            raise Refused(
                f"there is no field {part.name[:40]!r}",
                fix=f"the fields are {', '.join(self._known)}; a file needs a file name",
            )
        elif part.name in self.fields:
            raise Refused(f"the field {part.name} is given twice", fix="give it once")

    def _data(self, data: bytes, start: int, end: int) -> None:
        part = self._part
        if part.sink is not None:
            part.sink.write(data[start:end])
            return
        if len(part.text) + end - start > LONGEST_FIELD:
            raise Refused(f"the field {part.name} is too long", fix="send files as files, with a file name")
        part.text += data[start:end]

    def _end(self) -> None:
        if self._part.sink is not None:
            self.close()
        else:
            self.fields[self._part.name] = self._part.text.decode("utf-8", "replace").strip()

    def _finished(self) -> None:
        self._ended = True


def shown_name(name: str) -> str:
    """A client's file name as text to show: the last part of it, without control characters."""
    last = name.replace("\\", "/").rsplit("/", 1)[-1]
    shown = "".join(each if each.isprintable() else " " for each in last).strip()
    return shown[:NAME_SHOWN] or "the file"


def too_large(most: int) -> Refused:
    """The refusal of a body of more than so many bytes."""
    return Refused(
        f"this is larger than {most / (1 << 20):g} MiB",
        fix="cut the video around the movement, or save it smaller",
        status=TOO_LARGE,
    )


def _damaged() -> Refused:
    return Refused("the form is damaged or was cut short", fix="send it again", status=BAD)
