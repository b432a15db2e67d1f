import shutil

import pytest

from epir.frames.fingerprint import fingerprint


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


def test_empty_pictures_say_nothing(clip):
    (clip / "img3.jpg").write_bytes(b"")
    assert fingerprint(clip, 1, 3) is None


def test_a_video_is_told_by_its_content_and_key_frames(tmp_path):
    (tmp_path / "a.mp4").write_bytes(b"x" * 3_000_000)
    (tmp_path / "b.mp4").write_bytes(b"x" * 3_000_000)
    (tmp_path / "c.mp4").write_bytes(b"x" * 2_999_999 + b"y")
    one, same, other = (fingerprint(tmp_path / name, 1, 5) for name in ("a.mp4", "b.mp4", "c.mp4"))
    assert one == same != other and fingerprint(tmp_path / "a.mp4", 2, 5) != one
