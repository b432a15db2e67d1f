"""Forms parse the same whatever pieces they arrive in, and every byte is counted."""

import asyncio
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epir.web.form import FormReader, display_name, with_deadlines
from epir.web.problems import RequestError

TYPE = "multipart/form-data; boundary=edge"


class Kept:
    def __init__(self):
        self.content, self.closed = b"", 0

    def write(self, piece):
        self.content += piece

    def close(self):
        self.closed += 1


def reader(files, max_bytes=10_000, content_type=TYPE):
    def open_sink(name, filename):
        files.append((name, filename, Kept()))
        return files[-1][2]

    return FormReader(content_type, fields=("fps", "onset"), open_sink=open_sink, max_bytes=max_bytes)


def body(*parts):
    return b"".join(b"--edge\r\n" + head + b"\r\n\r\n" + content + b"\r\n" for head, content in parts) + b"--edge--\r\n"


def field(name, value):
    return f'Content-Disposition: form-data; name="{name}"'.encode(), value


def file(name, filename, content):
    return f'Content-Disposition: form-data; name="{name}"; filename="{filename}"'.encode(), content


WHOLE = body(field("fps", b" 200 "), file("files", "a.mp4", b"\r\n--edg\0\xff" * 9), field("onset", b"4"))


@given(st.lists(st.integers(0, len(WHOLE)), max_size=8))
def test_the_pieces_do_not_matter(cuts):
    files = []
    read = reader(files)
    edges = [0, *sorted(cuts), len(WHOLE)]
    for low, high in pairwise(edges):
        read.feed(WHOLE[low:high])
    assert read.finish() == {"fps": "200", "onset": "4"}
    assert [(name, filename, kept.content, kept.closed) for name, filename, kept in files] == [
        ("files", "a.mp4", b"\r\n--edg\0\xff" * 9, 1)
    ]


@given(st.integers(0, len(WHOLE) - 1))
def test_an_incomplete_body_is_an_error(end):
    read = reader([])
    read.feed(WHOLE[:end])
    if end < len(WHOLE) - 4:  # complete after the last dash
        with pytest.raises(RequestError, match="the form is malformed or was cut short\n  fix: send it again"):
            read.finish()


@given(st.integers(0, len(WHOLE) - 1))
def test_a_file_that_is_cut_short_is_closed(end):
    files = []
    read = reader(files)
    read.feed(WHOLE[:end])
    read.close()
    read.close()
    assert all(kept.closed == 1 for _, _, kept in files)


@given(st.binary(max_size=300))
def test_garbage_is_refused_and_never_crashes(content):
    read = reader([])
    try:
        read.feed(content)
        read.finish()
    except RequestError as error:
        assert error.status in (400, 422)


def test_bytes_are_counted_as_they_come():
    read = reader([], max_bytes=3 << 20)
    start = body(file("files", "a", b""))[:-12]
    read.feed(start)
    read.feed(bytes((3 << 20) - len(start)))
    with pytest.raises(
        RequestError, match=r"the request is larger than 3 MiB\n  fix: cut the video, .* max_bytes=6291456"
    ) as refused:
        read.feed(b"\0")
    assert refused.value.status == 413


@pytest.mark.parametrize("content_type", ["", "text/plain", "multipart/form-data", "multipart/mixed; boundary=x", "\0"])
def test_other_types_are_refused(content_type):
    with pytest.raises(RequestError, match=r"the request is not multipart/form-data\n  fix: send it as a form"):
        reader([], content_type=content_type)


@pytest.mark.parametrize("length", [257, 5000])
def test_a_long_boundary_is_a_malformed_request(length):
    with pytest.raises(
        RequestError, match=rf"boundary of the form has {length} characters\n  fix: use at most"
    ) as refused:
        reader([], content_type=f"multipart/form-data; boundary={'x' * length}")
    assert refused.value.status == 400


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a.mp4", "a.mp4"),
        ("../../etc/passwd", "passwd"),
        ("C:\\films\\me.mp4", "me.mp4"),
        ("a\r\nSet-Cookie: x", "a  Set-Cookie: x"),
        ("/", "the file"),
        ("", "the file"),
        ("x" * 500 + "_img0046.jpg", "x" * 59 + "…" + "x" * 48 + "_img0046.jpg"),
    ],
)
def test_a_name_is_shown_as_text(name, shown):
    assert display_name(name) == shown


@given(st.text())
def test_a_display_name_is_short_and_printable(name):
    shown = display_name(name)
    assert 1 <= len(shown) <= 120
    assert shown.isprintable()
    assert "/" not in shown and "\\" not in shown


class Clock(asyncio.SelectorEventLoop):
    """An event loop with a simulated clock: waiting takes no time."""

    def __init__(self):
        super().__init__()
        self.now = 0.0

    def time(self):
        return self.now

    def _run_once(self):
        timers = [each.when() for each in self._scheduled if not each.cancelled()]
        if not self._ready and timers:
            self.now = max(self.now, min(timers))
        super()._run_once()


def arrives(*pieces, **limits):
    """The number of bytes that arrive of a body given as pieces (seconds to wait, bytes)."""

    async def body():
        for seconds, size in pieces:
            await asyncio.sleep(seconds)
            yield bytes(size)

    async def read():
        return sum([len(piece) async for piece in with_deadlines(body(), **{"seconds": 600, "stall": 20, **limits})])

    with asyncio.Runner(loop_factory=Clock) as runner:
        return runner.run(read())


def test_a_body_within_its_time_limits_arrives():
    assert arrives(*[(1.0, 20_000)] * 100, rate=16_384) == 2_000_000


@pytest.mark.parametrize(
    ("pieces", "message"),
    [
        ([(1.0, 1)] * 100, "the upload is slower than 16 KiB per second\n  fix: send a smaller file, or use a faster"),
        ([(5.0, 100_000)] * 200, "the upload took more than 600 seconds\n  fix: send a smaller file"),
        ([(1.0, 500_000), (21.0, 1)], "no byte came for 20 seconds\n  fix: send"),
    ],
)
def test_a_body_that_is_too_slow_is_refused(pieces, message):
    with pytest.raises(RequestError, match=message) as refused:
        arrives(*pieces, rate=16_384)
    assert refused.value.status == 408
