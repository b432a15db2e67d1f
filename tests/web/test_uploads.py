"""File types by content."""

import av
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from epir.frames.picture import PICTURES, read_picture
from epir.frames.reader import open_frames
from epir.frames.video import VIDEOS
from epir.web.uploads import SNIFF_BYTES, FileType, sniff

STARTS = {
    b"\0\0\0\x20ftypisom": FileType("video", ".mp4"),
    b"\0\0\0\x14ftypqt  ": FileType("video", ".mov"),
    b"\0\0\0\x08wide\0\0\0\0": FileType("video", ".mov"),
    b"\x1a\x45\xdf\xa3\x9f": FileType("video", ".mkv"),
    b"RIFF\0\0\0\0AVI LIST": FileType("video", ".avi"),
    b"\xff\xd8\xff\xe0\0\x10JFIF": FileType("picture", ".jpg"),
    b"\x89PNG\r\n\x1a\n\0\0": FileType("picture", ".png"),
    b"BM\x36\0\0\0\0\0\0\0": FileType("picture", ".bmp"),
    b"\0\0\0\x1cftypavif\0\0\0\0": FileType("picture", ".avif"),
    b"\0\0\0\x18ftypheic\0\0\0\0": FileType("picture", ".heic"),
    b"\0\0\0\x1cftypmif1\0\0\0\0mif1heic": FileType("picture", ".heic"),
    b"\0\0\0\x1cftypmif1\0\0\0\0mif1avif": FileType("picture", ".avif"),
}
CODECS = {  # container -> codec, and the type that its first bytes give
    "gif": ("gif", FileType("video", ".gif")),
    "mpeg": ("mpeg2video", FileType("video", ".mpg")),
    "mpegts": ("mpeg2video", FileType("video", ".ts")),
    "asf": ("wmv2", FileType("video", ".wmv")),
    "flv": ("flv", FileType("video", ".flv")),
    "matroska": ("mpeg4", FileType("video", ".mkv")),
    "avi": ("mpeg4", FileType("video", ".avi")),
    "mov": ("mpeg4", FileType("video", ".mov")),
    "mp4": ("mpeg4", FileType("video", ".mp4")),
    "yuv4mpegpipe": ("rawvideo", FileType("video", ".y4m")),
}


@pytest.mark.parametrize("start", STARTS)
def test_the_first_bytes_give_the_type(start):
    assert sniff(start) == STARTS[start]
    assert sniff(start.ljust(SNIFF_BYTES, b"\0")) == STARTS[start]


@pytest.mark.parametrize("container", CODECS)
def test_a_video_of_any_container_is_recognised_and_can_be_opened(container, tmp_path):
    codec, expected = CODECS[container]
    path = tmp_path / f"video{expected.suffix}"
    with av.open(str(path), "w", format=container) as opened:
        stream = opened.add_stream(codec, 25)
        stream.width, stream.height, stream.pix_fmt = 64, 64, "rgb8" if codec == "gif" else "yuv420p"
        for shade in range(50):
            picture = av.VideoFrame.from_ndarray(np.full((64, 64, 3), 5 * shade, np.uint8), format="rgb24")
            opened.mux(stream.encode(picture))
        opened.mux(stream.encode(None))
    assert sniff(path.read_bytes()[:SNIFF_BYTES]) == expected
    with open_frames(path) as frames:
        assert len(frames) == 50


@pytest.mark.parametrize(("kind", "suffix"), [("WEBP", ".webp"), ("AVIF", ".avif"), ("JPEG", ".jpg"), ("PNG", ".png")])
def test_a_picture_of_any_kind_is_recognised_and_can_be_read(kind, suffix, tmp_path):
    path = tmp_path / f"picture{suffix}"
    Image.new("RGB", (48, 32), (200, 30, 30)).save(path, kind)
    assert sniff(path.read_bytes()[:SNIFF_BYTES]) == FileType("picture", suffix)
    assert read_picture(path).shape == (32, 48, 3)


@pytest.mark.parametrize(
    "start",
    [
        b"",
        b"#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n",  # playlists that a decoder would follow
        b"ffconcat version 1.0\nfile /etc/passwd\n",
        b"<?xml version='1.0'?><MPD></MPD>",
        b"<svg xmlns='http://www.w3.org/2000/svg'>",
        b"GIF is what this text begins with",
        b"RIFF\0\0\0\0WAVEfmt ",
        b"BMP is what this text begins with",
        b"%PDF-1.7",
    ],
)
def test_everything_else_is_refused(start):
    assert sniff(start) is None


@given(st.binary(max_size=220))
def test_a_type_is_one_that_the_reader_knows(start):
    found = sniff(start)
    assert found is None or found.suffix in (VIDEOS if found.kind == "video" else PICTURES)
