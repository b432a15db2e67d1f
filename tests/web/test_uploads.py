"""File types by content, and from the files of a request to a clip."""

import av
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from epir.core.files import PICTURE_ENDINGS, VIDEO_ENDINGS
from epir.frames.picture import read_picture
from epir.frames.reader import open_frames
from epir.web.problems import RequestError
from epir.web.uploads import SNIFF_BYTES, FileType, Upload, UploadedFile, predict_task, read_times, sniff

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
    kind = sniff(start)
    assert kind is None or kind.suffix in (VIDEO_ENDINGS if kind.kind == "video" else PICTURE_ENDINGS)


PICTURE, VIDEO = FileType("picture", ".png"), FileType("video", ".mp4")


@pytest.fixture
def upload(tmp_path):
    """Makes an upload of files with these names; those ending in mp4 are videos."""

    def make(*names, **fields):
        files = []
        for number, name in enumerate(names):
            kind = VIDEO if name.endswith("mp4") else PICTURE
            path = tmp_path / f"{number:03d}{kind.suffix}"
            path.write_bytes(name.encode())
            files.append(UploadedFile(path, kind, name))
        return Upload(tmp_path, fields, files)

    return make


def test_two_pictures_keep_the_order_they_are_sent_in(upload, tmp_path):
    task = predict_task(upload("b2.png", "a1.png"), [])
    assert task["files"] == [str(tmp_path / "000.png"), str(tmp_path / "001.png")]
    assert task["name"] == "b2.png a1.png"


def test_more_pictures_are_the_frames_that_their_names_number(upload):
    task = predict_task(upload("img10.png", "img9.png", "s01_img0011.png", name="s01"), [])
    assert task["name"] == "s01"
    with open_frames(task["files"][0]) as frames:
        assert frames.numbers == (9, 10, 11)
        assert [path.read_text() for path in sorted(frames.path.iterdir(), key=lambda each: int(each.stem))] == [
            "img9.png",
            "img10.png",
            "s01_img0011.png",
        ]
    assert set(task["names"].values()) == {"img10.png", "img9.png", "s01_img0011.png"}


def test_many_pictures_are_called_by_the_first(upload):
    assert predict_task(upload("a1.png", "a2.png", "a3.png"), [])["name"] == "a1.png and 2 more"


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a.png"], r"a.png is one picture, which shows no movement\n  fix: send two pictures, onset and apex"),
        (["a.mp4", "b.mp4"], r"the request has 2 videos\n  fix: send one request for each"),
        (["a.mp4", "b.png"], r"a video and 1 picture were sent\n  fix: send .* in separate requests"),
        (["a.mp4", "1.png", "2.png"], r"a video and 2 pictures were sent"),
        (["a1.png", "a2.png", "b2.png"], r"a2.png and b2.png are both frame 2\n  fix: send the pictures of one clip"),
        (["a1.png", "a2.png", "a.png"], r"a.png has no frame number in its name\n  fix: name the pictures img1.jpg"),
        (["1.png", "2.png", "1234567890123456.png"], r"1234567890123456.png has no frame number in its name"),
    ],
)
def test_files_without_a_clip_are_refused_with_a_fix(upload, names, message):
    with pytest.raises(RequestError, match=message):
        predict_task(upload(*names), [])


@pytest.mark.parametrize("text", ["", "1", "1,2", "0,1,x", "0,1,inf", "0,1,nan", "-1,0,1", "0,1,1e12"])
def test_times_must_match_the_frames(text):
    with pytest.raises(RequestError, match=r"the times do not match the frames\n  fix: send frames, and times=0,33,67"):
        read_times(text, 3)


def test_times_must_rise():
    assert read_times("0, 33.5,67", 3) == [0.0, 0.0335, 0.067]
    with pytest.raises(RequestError, match=r"the times do not increase\n  fix: send the frames in order"):
        read_times("0,33,33", 3)


@pytest.mark.parametrize(
    ("field", "text", "value"),
    [("onset", "12", 12), ("apex", "", None), ("fps", "29.97", 29.97), ("fps", "1e2", 100), ("threshold", "0", 0)],
)
def test_numbers_of_the_form(upload, field, text, value):
    assert predict_task(upload("a.mp4", **{field: text}), [])[field] == value


@pytest.mark.parametrize(
    ("field", "text"),
    [("onset", "-1"), ("apex", "1e3"), ("apex", "+5"), ("onset", "1_0"), ("onset", "٣"), ("onset", "9" * 10)]
    + [("fps", text) for text in ("nan", "0", "inf", "fast")]
    + [("threshold", text) for text in ("1.1", "-0.1", "nan")],
)
def test_impossible_numbers_are_refused(upload, field, text):
    with pytest.raises(RequestError, match=rf"{field} cannot be .*\n  fix: give .*, such as"):
        predict_task(upload("a.mp4", **{field: text}), [])
