import os

import pytest

from epir.core.errors import EpirError
from epir.core.files import whole_file, whole_folder, write_bytes, write_text


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "deep" / "a.txt"
    write_text(path, "old")
    with pytest.raises(RuntimeError), whole_file(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert path.read_text() == "old"
    write_bytes(path, b"new")
    assert os.listdir(path.parent) == ["a.txt"]


def test_files_get_the_permissions_that_the_user_asked_for(tmp_path):
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "a.txt", "")
        with whole_folder(tmp_path / "b"):
            pass
    finally:
        os.umask(before)
    assert (tmp_path / "a.txt").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "b").stat().st_mode & 0o777 == 0o750


def test_a_folder_is_written_whole_or_not_at_all(tmp_path):
    with pytest.raises(RuntimeError), whole_folder(tmp_path / "out") as temporary:
        (temporary / "a").write_text("half")
        raise RuntimeError
    assert os.listdir(tmp_path) == []


def test_a_folder_is_replaced_only_with_force(tmp_path):
    with whole_folder(tmp_path / "out") as temporary:
        (temporary / "a").write_text("1")
    with (
        pytest.raises(EpirError, match=r"out exists already\n  fix: choose another name, or add --force"),
        whole_folder(tmp_path / "out"),
    ):
        pass
    with whole_folder(tmp_path / "out", force=True) as temporary:
        (temporary / "b").write_text("2")
    assert os.listdir(tmp_path / "out") == ["b"]
    assert os.listdir(tmp_path) == ["out"]


def test_an_empty_folder_may_be_filled(tmp_path):
    (tmp_path / "out").mkdir()
    with whole_folder(tmp_path / "out") as temporary:
        (temporary / "a").write_text("1")
    assert os.listdir(tmp_path / "out") == ["a"]
