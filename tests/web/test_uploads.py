"""File types by content."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epir.frames.picture import PICTURES
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
}


@pytest.mark.parametrize("start", STARTS)
def test_the_first_bytes_give_the_type(start):
    assert sniff(start) == STARTS[start]
    assert sniff(start.ljust(SNIFF_BYTES, b"\0")) == STARTS[start]


@pytest.mark.parametrize(
    "start",
    [
        b"",
        b"#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n",  # playlists that a decoder would follow
        b"ffconcat version 1.0\nfile /etc/passwd\n",
        b"<?xml version='1.0'?><MPD></MPD>",
        b"<svg xmlns='http://www.w3.org/2000/svg'>",
        b"GIF89a",
        b"RIFF\0\0\0\0WAVEfmt ",
        b"BMP is what this text begins with",
        b"%PDF-1.7",
    ],
)
def test_everything_else_is_refused(start):
    assert sniff(start) is None


@given(st.binary(max_size=40))
def test_a_type_is_one_that_the_reader_knows(start):
    found = sniff(start)
    assert found is None or found.suffix in (VIDEOS if found.kind == "video" else PICTURES)
