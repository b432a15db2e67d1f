import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from epir.core.errors import ConfigError, FrameError
from epir.core.files import (
    PICTURE_ENDINGS,
    VIDEO_ENDINGS,
    allocate,
    atomic_write,
    hidden_name,
    joined,
    read_bytes,
    read_json,
    read_rows,
    read_text,
    scratch_folder,
    utf8_name,
    write_bytes,
    write_text,
)

HOW = {"error": ConfigError, "fix": "give another"}


@pytest.mark.parametrize("ending", VIDEO_ENDINGS)
def test_every_reader_takes_the_same_endings_for_videos(tmp_path, ending):
    from epir.datasets.annotations import Clock, Tier, TierInterval, import_rows, write_textgrid
    from epir.datasets.spelling import is_video
    from epir.frames.reader import open_frames
    from epir.recognition.collect import videos_of

    video = tmp_path / f"clip{ending}"
    video.touch()
    with pytest.raises(FrameError, match=r"cannot be opened as a video|holds no frame"):
        open_frames(video).frame(0)
    assert is_video(video.name) and is_video(video.name.upper())
    smile = [Tier("micro-expression", (TierInterval(0.1, 0.5, "positive"),))]
    rows = import_rows([write_textgrid(tmp_path / "clip.TextGrid", smile, 1.0)], lambda path: Clock(30.0)).rows
    assert rows[0]["frames"] == str(video)
    assert videos_of([str(tmp_path)]) == [str(video)]


@pytest.mark.parametrize("ending", PICTURE_ENDINGS)
def test_every_reader_takes_the_same_endings_for_pictures(tmp_path, ending):
    from epir.datasets.folders import Tree
    from epir.frames.reader import open_frames

    (tmp_path / f"img7{ending}").touch()
    (tmp_path / f"img8{ending.upper()}").touch()
    assert Tree(tmp_path).listing(tmp_path).frames == open_frames(tmp_path).numbers == (7, 8)


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "deep" / "a.txt"
    write_text(path, "old")
    with pytest.raises(RuntimeError), atomic_write(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert path.read_text() == "old"
    write_bytes(path, b"new")
    assert os.listdir(path.parent) == ["a.txt"]


def test_a_path_has_no_detours_but_where_a_link_makes_them_matter(tmp_path):
    (tmp_path / "why" / "clip").mkdir(parents=True)
    assert joined(tmp_path / "why" / "clip", "../../a.mp4") == tmp_path / "a.mp4"
    assert joined(tmp_path, "/elsewhere/../a.mp4") == Path("/a.mp4")
    (tmp_path / "far" / "deep").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "far" / "deep")
    assert joined(tmp_path / "link", "../a.mp4") == tmp_path / "link" / "../a.mp4"  # far/a.mp4


def test_files_get_the_permissions_that_the_user_asked_for(tmp_path):
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "a.txt", "")
    finally:
        os.umask(before)
    assert (tmp_path / "a.txt").stat().st_mode & 0o777 == 0o640


def test_a_name_of_any_length_has_hidden_companions(tmp_path):
    longest = "x" * 250 + ".txt"
    write_text(tmp_path / longest, "1")
    assert os.listdir(tmp_path) == [longest]
    assert hidden_name(tmp_path / "maps", "lock") == ".maps.lock"


def test_a_file_has_a_name_in_utf8_whatever_it_is_called(tmp_path):
    for name in (b"plain", b"na\xffme"):
        path = tmp_path / os.fsdecode(name)
        path.write_bytes(name)
        with utf8_name(path) as usable:
            assert usable.isascii() and Path(usable).read_bytes() == name
            assert (usable == str(path)) == (name == b"plain")


def test_allocated_bytes_are_taken_from_the_disk(tmp_path):
    path = tmp_path / "large"
    path.write_bytes(b"head")
    allocate(path, 2**20)
    content = path.read_bytes()
    assert content[:4] == b"head" and content[4:] == bytes(2**20 - 4)
    assert path.stat().st_blocks * 512 >= 2**20


def test_allocation_fails_before_anything_is_written(full_disk):
    with pytest.raises(OSError, match="No space left"):
        allocate(full_disk / "large", 2**30)


def test_a_scratch_folder_goes_and_takes_those_of_dead_processes_along(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    dead, alive, other = (tmp_path / f"epir-maps-{owner}-abc" for owner in (process.pid, os.getpid(), "notes"))
    for folder in (dead, alive, other):
        folder.mkdir()
    with scratch_folder("maps") as folder:
        assert folder.is_dir() and not dead.exists()
    assert sorted(tmp_path.iterdir()) == sorted([alive, other])


def test_a_regular_file_is_read_as_it_is(tmp_path):
    path = tmp_path / "a.json"
    path.write_bytes(b'\xef\xbb\xbf{"a": 1}')
    assert read_json(path, **HOW) == {"a": 1}
    assert read_text(path, **HOW) == '{"a": 1}'
    assert read_bytes(path, **HOW).startswith(b"\xef")
    with pytest.raises(FileNotFoundError):
        read_text(tmp_path / "b", **HOW)


@pytest.mark.parametrize("kind", ["pipe", "folder", "loop", "/dev/zero", "/dev/full"])
def test_nothing_else_is_opened(tmp_path, kind):
    path = tmp_path / "a"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("a" if kind == "loop" else kind)
    with pytest.raises(
        ConfigError, match=r"/a is (a folder, not a file|a pipe or a device|a loop of links).*\n  fix: give"
    ):
        read_text(path, **HOW)


def test_a_link_to_a_file_is_followed(tmp_path):
    (tmp_path / "a").write_text("x")
    (tmp_path / "b").symlink_to("a")
    assert read_text(tmp_path / "b", **HOW) == "x"


def test_a_size_is_a_limit(tmp_path):
    (tmp_path / "a").write_bytes(bytes(1 << 20))
    assert len(read_bytes(tmp_path / "a", most=1 << 20, **HOW)) == 1 << 20
    with (tmp_path / "a").open("ab") as file:
        file.truncate(1 << 40)  # without taking space
    with pytest.raises(ConfigError, match="is larger than 1 MiB"):
        read_bytes(tmp_path / "a", most=1 << 20, **HOW)


@pytest.mark.parametrize("text", ["[" * 100_000, "{", "[]", "7", "", "9" * 5000, '{"a": ' * 100_000])
def test_json_that_is_no_object_is_refused(tmp_path, text):
    (tmp_path / "a").write_text(text)
    with pytest.raises(ConfigError, match=r"a is damaged: .*\n  fix: give another"):
        read_json(tmp_path / "a", **HOW)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a,b\n1,2\n", None),
        (b"a\n1\n", "lacks the column 'b'"),
        (b"a,b\n1\n", "row 1 has too few cells"),
        ("a,b\nü,2".encode("latin-1"), "is not UTF-8"),
        ("a,b".encode("utf-16"), "is not UTF-8"),
        (b"a,b\n" + b"x" * 200_000, "field larger than field limit"),
    ],
)
def test_a_table_has_its_columns(tmp_path, content, words):
    (tmp_path / "a").write_bytes(content)
    if words is None:
        assert read_rows(tmp_path / "a", ("a", "b"), **HOW) == [{"a": "1", "b": "2"}]
    else:
        with pytest.raises(ConfigError, match=words):
            read_rows(tmp_path / "a", ("a", "b"), **HOW)
