import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from epir.core.files import allocate, atomic_write, hidden_name, scratch_folder, utf8_name, write_bytes, write_text


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "deep" / "a.txt"
    write_text(path, "old")
    with pytest.raises(RuntimeError), atomic_write(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert path.read_text() == "old"
    write_bytes(path, b"new")
    assert os.listdir(path.parent) == ["a.txt"]


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
        with utf8_name(path) as found:
            assert found.isascii() and Path(found).read_bytes() == name
            assert (found == str(path)) == (name == b"plain")


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
