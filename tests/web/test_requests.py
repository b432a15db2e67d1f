"""From the files of a request to a clip."""

import pytest

from epir.frames.reader import open_frames
from epir.web.problems import RequestError
from epir.web.requests import predict_task
from epir.web.uploads import FileType, Upload, UploadedFile

PICTURE, VIDEO = FileType("picture", ".png"), FileType("video", ".mp4")


@pytest.fixture
def upload(tmp_path):
    """Makes an upload of files with these names; what ends in mp4 is a video."""

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
        (
            ["a.png"],
            r"a.png is one picture, which shows no movement\n  fix: send two pictures, onset and apex, or a video",
        ),
        (["a.mp4", "b.mp4"], r"these are 2 videos\n  fix: send each of them in a request of its own"),
        (["a.mp4", "b.png"], r"a video and 1 picture were sent\n  fix: send the video in a request of its own"),
        (["a.mp4", "1.png", "2.png"], r"a video and 2 pictures were sent"),
        (["a1.png", "a2.png", "b2.png"], r"a2.png and b2.png are both frame 2\n  fix: send the pictures of one clip"),
        (["a1.png", "a2.png", "a.png"], r"a.png has no frame number in its name\n  fix: name the pictures img1.jpg"),
        (["1.png", "2.png", "1234567890123456.png"], r"1234567890123456.png has no frame number in its name"),
    ],
)
def test_files_that_make_no_clip_are_refused_with_what_to_do(upload, names, message):
    with pytest.raises(RequestError, match=message):
        predict_task(upload(*names), [])
