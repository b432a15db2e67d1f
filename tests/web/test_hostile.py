"""Any input gets a documented status, no local path in the reply, and leaves no file on the disk."""

import os
import struct
import zlib

import cv2
import httpx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from epir.frames.film import write_film
from epir.frames.reader import open_frames

DOCUMENTED = {200, 400, 404, 413, 415, 422}  # never 500, 503 or 504 for a wrong input
STARTS = (
    b"",
    b"\0\0\0\x18ftypmp42",
    b"\x1a\x45\xdf\xa3",
    b"RIFF\0\0\0\0AVI ",
    b"\xff\xd8\xff\xe0",
    b"\x89PNG\r\n\x1a\n",
)
NAMES = ("a.mp4", "../../etc/passwd", "/etc/shadow", "..\\..\\x.avi", "\0", 'a;b="c', "%2e%2e/x", "ü😀.png", "x" * 3000)
QUIET = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture
def post_and_check(service, client):
    """Posts something and checks the reply."""

    def post(path, **sent):
        reply = client.post(path, **sent)
        assert reply.status_code in DOCUMENTED, reply.text
        body = reply.json()
        if reply.status_code != 200:
            assert set(body) == {"problem", "fix"}
            assert all(isinstance(each, str) and each for each in body.values())
        assert str(service.private.path) not in reply.text
        assert "uploads" not in reply.text
        assert list(service.private.uploads.iterdir()) == []
        left = {name for _, _, names in os.walk(service.private.path) for name in names}
        assert all(name.endswith(".webm") for name in left)  # the examples

    return post


@pytest.fixture(scope="module")
def film(clip, tmp_path_factory):
    """The bytes of a short part of the clip."""
    with open_frames(clip) as frames:
        part = [frame.pixels for frame in frames.between(40, 48)]
    return write_film(tmp_path_factory.mktemp("film") / "short.mp4", part, 100).read_bytes()


@st.composite
def contents(draw, whole):
    kind = draw(st.sampled_from(["bytes", "start", "cut", "spoilt"]))
    if kind == "bytes":
        return draw(st.binary(max_size=200))
    if kind == "start":
        return draw(st.sampled_from(STARTS)) + draw(st.binary(max_size=400))
    if kind == "cut":
        return whole[: draw(st.integers(0, len(whole) - 1))]
    place = draw(st.integers(0, len(whole) - 9))
    return whole[:place] + draw(st.binary(min_size=8, max_size=8)) + whole[place + 8 :]


def fields():
    values = st.one_of(
        st.text(max_size=30), st.sampled_from(["0", "1", "12", "-1", "1e9", "nan", "inf", "smile", "99999"])
    )
    names = st.one_of(st.sampled_from(["onset", "apex", "fps", "example", "times", "files"]), st.text(max_size=8))
    return st.lists(st.tuples(names, values), max_size=3)


def form(parts):
    """A hand-made multipart body: httpx would correct the names."""
    body = b""
    for name, filename, content in parts:
        head = b'Content-Disposition: form-data; name="' + name.encode("utf-8", "replace") + b'"'
        if filename is not None:
            head += b'; filename="' + filename.encode("utf-8", "replace") + b'"'
        body += b"--edge\r\n" + head + b"\r\n\r\n" + content + b"\r\n"
    return {"content": body + b"--edge--\r\n", "headers": {"Content-Type": "multipart/form-data; boundary=edge"}}


@QUIET
@given(data=st.data())
def test_any_form_to_predict(post_and_check, film, data):
    files = data.draw(st.lists(st.tuples(st.sampled_from(NAMES), contents(film)), max_size=3))
    parts = [("files", name, content) for name, content in files]
    parts += [(name, None, value.encode("utf-8", "replace")) for name, value in data.draw(fields())]
    post_and_check("/api/predict", **form(data.draw(st.permutations(parts))))


@pytest.mark.slow
@settings(QUIET, max_examples=8)
@given(data=st.data())
def test_any_damaged_video(post_and_check, film, data):
    content = data.draw(contents(film).filter(lambda each: len(each) > 1000))
    post_and_check("/api/predict", **form([("files", "a.mp4", content)]))


@pytest.fixture(scope="module")
def camera(server):
    """The address for the frames of a session."""
    ticket = httpx.post(f"{server}/api/live", timeout=None).json()
    yield ticket["frames"]
    httpx.delete(f"{server}/api/live/{ticket['id']}", timeout=None)


@QUIET
@given(data=st.data())
def test_any_form_to_live(post_and_check, camera, film, data):
    files = data.draw(st.lists(st.tuples(st.sampled_from(NAMES), contents(film)), max_size=5))
    times = data.draw(st.one_of(st.just(",".join(str(33 * n) for n in range(len(files)))), st.text(max_size=40)))
    parts = [("frames", name, content) for name, content in files] + [("times", None, times.encode("utf-8", "replace"))]
    post_and_check(camera, **form(parts))


@QUIET
@given(
    body=st.binary(max_size=500),
    kind=st.sampled_from(["multipart/form-data; boundary=edge", "multipart/form-data; boundary=", "text/plain", ""]),
    live=st.booleans(),
)
def test_any_body(post_and_check, camera, body, kind, live):
    post_and_check(camera if live else "/api/predict", content=body, headers={"Content-Type": kind})


@QUIET
@given(id=st.text(max_size=30), picture=st.sampled_from(["", "/why.png", "/../x", "/..%2f..%2fetc%2fpasswd"]))
def test_any_unknown_result(client, id, picture):
    from urllib.parse import quote

    reply = client.get(f"/api/results/{quote(id, safe='')}{picture}")
    assert reply.status_code in (404, 405)
    assert set(reply.json()) == {"problem", "fix"}


def post(client, *files):
    reply = client.post("/api/predict", files=[("files", each) for each in files])
    return reply.status_code, reply.json()["problem"]


def black_png(width, height):
    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = zlib.compress(bytes((1 + 3 * width) * height), 1)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def avi(path, size, frames=6):
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*"MJPG"), 30, size)
    for number in range(frames):
        writer.write(np.full((size[1], size[0], 3), number, np.uint8))
    writer.release()
    return bytearray(path.read_bytes())


def test_bombs_of_every_kind(service, client, tmp_path):
    pid = service.workers[0].pid
    picture = ("a.png", black_png(1200, 1000))
    assert post(client, picture, picture) == (413, "a picture has 1200 x 1000 px")
    large = ("b.avi", bytes(avi(tmp_path / "b.avi", (1200, 1000))))
    assert post(client, large) == (413, "the frames have 1200 x 1000 px")
    lying = avi(tmp_path / "c.avi", (64, 64))
    struct.pack_into("<I", lying, lying.find(b"avih") + 8 + 16, 2_000_000_000)  # the announced number of frames
    struct.pack_into("<I", lying, lying.find(b"strh") + 8 + 32, 2_000_000_000)
    reply = post(client, ("c.avi", bytes(lying)))
    assert reply == (422, "no face was found")  # frames are counted while they are read
    assert service.workers[0].pid == pid


def test_a_large_picture_in_few_bytes_is_cheap(client):
    """A bitmap of one kilobyte that is 1,000 x 1,000 px: every face is looked for in a reduced frame first."""
    header = struct.pack("<IiiHHIIiiII", 40, 1000, 1000, 1, 8, 1, 4, 0, 0, 1, 0)
    content = b"BM" + struct.pack("<IHHI", 62, 0, 0, 58) + header + bytes(4) + b"\0\1\0\1"
    assert post(client, ("a.bmp", content), ("b.bmp", content)) == (422, "no face was found")


def test_playlists_never_reach_the_decoder(client):
    playlist = b"#EXTM3U\n#EXT-X-MEDIA-SEQUENCE:0\n#EXTINF:10.0,\nfile:///etc/hostname\n#EXT-X-ENDLIST\n"
    assert post(client, ("film.mp4", playlist)) == (415, "film.mp4 is not a supported video or picture")
