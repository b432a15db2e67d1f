import pytest
from hypothesis import given
from hypothesis import strategies as st

from epir.frames.picture import PICTURES
from epir.frames.video import VIDEOS
from epir.web.kinds import ENOUGH, Kind, kind_of

STARTS = {
    b"\0\0\0\x20ftypisom": Kind("video", ".mp4"),
    b"\0\0\0\x14ftypqt  ": Kind("video", ".mov"),
    b"\0\0\0\x08wide\0\0\0\0": Kind("video", ".mov"),
    b"\x1a\x45\xdf\xa3\x9f": Kind("video", ".mkv"),
    b"RIFF\0\0\0\0AVI LIST": Kind("video", ".avi"),
    b"\xff\xd8\xff\xe0\0\x10JFIF": Kind("picture", ".jpg"),
    b"\x89PNG\r\n\x1a\n\0\0": Kind("picture", ".png"),
    b"BM\x36\0\0\0\0\0\0\0": Kind("picture", ".bmp"),
}


@pytest.mark.parametrize("start", STARTS)
def test_the_first_bytes_tell_the_kind(start):
    assert kind_of(start) == STARTS[start]
    assert kind_of(start.ljust(ENOUGH, b"\0")) == STARTS[start]


@pytest.mark.parametrize(
    "start",
    [
        b"",
        b"#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n",  # lists that a decoder would follow
        b"ffconcat version 1.0\nfile /etc/passwd\n",
        b"<?xml version='1.0'?><MPD></MPD>",
        b"<svg xmlns='http://www.w3.org/2000/svg'>",
        b"GIF89a",
        b"RIFF\0\0\0\0WAVEfmt ",
        b"BMP is what this text begins with",
        b"%PDF-1.7",
    ],
)
def test_everything_else_is_none_of_them(start):
    assert kind_of(start) is None


@given(st.binary(max_size=40))
def test_a_kind_is_one_that_the_reader_knows(start):
    kind = kind_of(start)
    assert kind is None or kind.ending in (VIDEOS if kind.what == "video" else PICTURES)
