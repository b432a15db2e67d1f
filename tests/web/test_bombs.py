"""Small files that promise or unpack to something huge: refused in words, and the child survives them."""

import struct
import zlib

import cv2
import httpx
import numpy as np
import pytest


@pytest.fixture(scope="module")
def served(serving):
    with serving(max_pixels=1_000_000, examples_ahead=False) as started:
        yield started


def post(served, *files):
    reply = httpx.post(f"{served[1]}/api/predict", files=[("files", each) for each in files], timeout=120)
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


def test_bombs_of_every_kind(served, tmp_path):
    pid = served[0].workers[0].pid
    picture = ("a.png", black_png(1200, 1000))
    assert post(served, picture, picture) == (422, "a.png is not a picture that can be read")
    large = ("b.avi", bytes(avi(tmp_path / "b.avi", (1200, 1000))))
    assert post(served, large) == (413, "the frames are 1200 x 1000 px")
    lying = avi(tmp_path / "c.avi", (64, 64))
    struct.pack_into("<I", lying, lying.find(b"avih") + 8 + 16, 2_000_000_000)  # frames, says the file
    struct.pack_into("<I", lying, lying.find(b"strh") + 8 + 32, 2_000_000_000)
    said = post(served, ("c.avi", bytes(lying)))
    assert said == (413, "this needs more memory than the server gives to one input")
    assert served[0].workers[0].pid == pid


def test_lists_that_lead_elsewhere_never_reach_the_decoder(served):
    playlist = b"#EXTM3U\n#EXT-X-MEDIA-SEQUENCE:0\n#EXTINF:10.0,\nfile:///etc/hostname\n#EXT-X-ENDLIST\n"
    assert post(served, ("film.mp4", playlist)) == (415, "film.mp4 is neither a video nor a picture that can be read")
