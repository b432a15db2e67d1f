import shutil
from pathlib import Path

import cv2
import numpy as np
import pytest

from epir.core.errors import FrameError
from epir.frames.folder import FolderFrames, fingerprint, numbered_pictures
from epir.frames.reader import missing_frame


def fill(folder, names):
    folder.mkdir(exist_ok=True)
    for shade, name in enumerate(names):
        cv2.imwrite(str(folder / name), np.full((4, 6, 3), shade, np.uint8))
    return folder


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("img46.jpg", 46),  # CASME II
        ("reg_img7.jpg", 7),
        ("006_05562.jpg", 5562),  # SAMM
        ("reg_image559740.bmp", 559740),  # SMIC
        ("EP01_5-113.jpg", 113),  # CASME
        ("123.png", 123),  # CAS(ME)^3
        ("00020.PNG", 20),  # DFME
        ("frame12b.jpeg", 12),
    ],
)
def test_the_last_integer_of_a_name_is_the_number(tmp_path, name, number):
    assert list(numbered_pictures(fill(tmp_path, [name]))) == [number]


def test_frames_are_read_by_number_whatever_the_order_of_names(tmp_path):
    frames = FolderFrames(fill(tmp_path, ["img9.png", "img10.png", "img100.png", "img11.png"]))
    assert frames.numbers == (9, 10, 11, 100)
    assert [frames.read(number)[0, 0, 0] for number in (9, 10, 100, 11)] == [0, 1, 2, 3]
    assert [(frame.number, frame.pixels[0, 0, 0]) for frame in frames] == [(9, 0), (10, 1), (11, 3), (100, 2)]
    assert [frame.number for frame in frames.between(10, 99)] == [10, 11]
    assert len(frames) == 4
    assert frames.fps is None
    timed = FolderFrames(tmp_path, fps=50)  # time begins with the first picture
    assert [frame.seconds for frame in timed] == pytest.approx([0, 0.02, 0.04, 1.82])


def test_only_the_frames_asked_for_are_read(tmp_path):
    folder = fill(tmp_path, ["img1.png", "img2.png"])
    (folder / "img3.png").write_bytes(b"not a picture")
    with FolderFrames(folder) as frames:
        assert frames.numbers == (1, 2, 3)
        assert frames.read(2)[0, 0, 0] == 1
        with pytest.raises(FrameError, match=r"img3.png cannot be read as a picture"):
            frames.read(3)


def test_other_files_are_passed_over(tmp_path):
    folder = fill(tmp_path, ["img1.png", "cover.png", "._img2.png"])
    (folder / "Thumbs.db").write_bytes(b"x")
    (folder / "notes3.txt").write_text("x")
    assert FolderFrames(folder).numbers == (1,)
    (folder / "img1.png").unlink()
    with pytest.raises(FrameError, match=r"holds no numbered pictures\n  fix: it should hold files such as img1"):
        FolderFrames(folder)


def test_a_missing_frame_tells_what_is_there(tmp_path):
    frames = FolderFrames(fill(tmp_path, ["img51.png", "img52.png", "img54.png", "img96.png"]))
    with pytest.raises(
        FrameError, match=r"has no frame 110: it holds frames 51 to 96; 42 of these are missing\n.*nearest frame is 96"
    ):
        frames.read(110)
    with pytest.raises(FrameError, match=r"has no frame 53: .*\n.*nearest frame is 52"):
        frames.read(53)
    assert "missing" not in missing_frame(Path("a"), 4, (1, 2, 3)).problem


def test_two_pictures_for_one_number_are_refused_when_read(tmp_path):
    frames = FolderFrames(fill(tmp_path, ["img1.png", "img01.png", "img2.png"]))
    assert frames.read(2)[0, 0, 0] == 2
    with pytest.raises(FrameError, match=r"2 pictures for frame 1: img01.png and img1.png\n  fix: keep one"):
        frames.read(1)


def test_a_constant_number_behind_the_counter_gets_a_short_error_whose_fix_helps(tmp_path):
    folder = tmp_path / "scaled"
    folder.mkdir()
    for number in range(300):
        (folder / f"frame_{number:04d}_x4.png").touch()
    with pytest.raises(FrameError) as error:
        FolderFrames(folder).read(4)
    assert error.value.problem == (
        f"{folder} has 300 pictures for frame 4: frame_0000_x4.png, frame_0001_x4.png and 298 more"
    )
    assert "a counter must come last: x4_frame_0001.png" in error.value.fix
    for path in list(folder.iterdir()):
        frame, counter, scale = path.stem.split("_")
        path.rename(folder / f"{scale}_{frame}_{counter}.png")
    assert FolderFrames(folder).numbers == tuple(range(300))


@pytest.fixture
def clip(tmp_path):
    folder = tmp_path / "clip"
    folder.mkdir()
    for number in range(1, 5):
        (folder / f"img{number}.jpg").write_bytes(bytes([number]) * 9)
    return folder


def test_the_same_pictures_under_other_names_are_equal(clip, tmp_path):
    other = shutil.copytree(clip, tmp_path / "other")
    (other / "img1.jpg").rename(other / "reg_0001.jpg")
    assert fingerprint(clip, 1, 3) == fingerprint(other, 1, 3) != fingerprint(clip, 1, 4)


@pytest.mark.parametrize(("onset", "apex"), [(1, 1), (1, None), (1, 9)])
def test_nothing_is_said_without_two_different_pictures(clip, onset, apex):
    assert fingerprint(clip, onset, apex) is None
    (clip / "img3.jpg").write_bytes(b"")
    assert fingerprint(clip, 1, 3) is None  # an empty picture


def test_a_video_is_told_by_its_content_and_key_frames(tmp_path):
    (tmp_path / "a.mp4").write_bytes(b"x" * 3_000_000)
    (tmp_path / "b.mp4").write_bytes(b"x" * 3_000_000)
    (tmp_path / "c.mp4").write_bytes(b"x" * 2_999_999 + b"y")
    one, same, other = (fingerprint(tmp_path / name, 1, 5) for name in ("a.mp4", "b.mp4", "c.mp4"))
    assert one == same != other and fingerprint(tmp_path / "a.mp4", 2, 5) != one
