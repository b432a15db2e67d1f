import os
import subprocess
import sys

import pytest

from epir.core import output
from epir.core.errors import EpirError, OutputError
from epir.core.output import (
    ANSWER,
    MAP_SET,
    MODEL,
    check_folder,
    claimed,
    claimed_file,
    kind_of,
    mark,
    new_folder,
    remove_leftovers,
)


def make(path, text="1", kind=MAP_SET, **options):
    with new_folder(path, kind, **options) as folder:
        (folder / "a").write_text(text)


def test_a_folder_is_written_whole_or_not_at_all(tmp_path):
    with pytest.raises(RuntimeError), new_folder(tmp_path / "out", MAP_SET) as folder:
        (folder / "a").write_text("half")
        raise RuntimeError
    assert os.listdir(tmp_path) == []


def test_a_folder_is_replaced_only_with_force_and_leaves_nothing_beside_it(tmp_path):
    make(tmp_path / "out")
    with pytest.raises(
        EpirError,
        match=r"out exists already\n  fix: choose another name, or replace it with --force \(force=True in Python\)",
    ):
        make(tmp_path / "out")
    make(tmp_path / "out", "2", force=True)
    assert (tmp_path / "out" / "a").read_text() == "2"
    assert os.listdir(tmp_path) == ["out"]
    assert kind_of(tmp_path / "out") == MAP_SET


def test_a_folder_may_be_empty_and_gets_the_permissions_that_the_user_asked_for(tmp_path):
    (tmp_path / "out").mkdir()
    before = os.umask(0o027)
    try:
        make(tmp_path / "out")
    finally:
        os.umask(before)
    assert (tmp_path / "out" / "a").exists() and (tmp_path / "out").stat().st_mode & 0o777 == 0o750


def test_only_a_folder_of_its_kind_is_ever_replaced(tmp_path):
    (tmp_path / "mine").mkdir()
    for file in ("mine/thesis.txt", "file"):
        (tmp_path / file).write_text("years")
    make(tmp_path / "maps")
    for name, words in (
        ("mine", r"exists already and is not .* that epir made\n  fix: choose another name"),
        ("maps", r"is a map set, not a model folder\n  fix: choose another name"),
        ("file", "is a file, not a folder"),
        ("file/deep", r"file/deep cannot be written: .*file is a file"),
    ):
        with pytest.raises(EpirError, match=words):
            make(tmp_path / name, kind=MODEL, force=True)
    assert (tmp_path / "mine" / "thesis.txt").read_text() == (tmp_path / "file").read_text() == "years"


@pytest.mark.parametrize(
    ("out", "words"),
    [("corpus", "is an input"), (".", "contains an input"), ("corpus/deep/maps", "lies inside an input")],
)
def test_inputs_are_no_place_for_a_folder(tmp_path, out, words):
    (tmp_path / "corpus").mkdir()
    mark(tmp_path, MAP_SET)
    mark(tmp_path / "corpus", MAP_SET)
    with pytest.raises(EpirError, match=f"{words} of this command"):
        make(tmp_path / out, force=True, inputs=[tmp_path / "corpus"])


def test_a_link_is_followed_and_stays(tmp_path):
    make(tmp_path / "real")
    (tmp_path / "link").symlink_to("real")
    with pytest.raises(EpirError, match="is an input"):
        make(tmp_path / "link", force=True, inputs=[tmp_path / "real"])
    make(tmp_path / "link", "2", force=True)
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real" / "a").read_text() == "2"


@pytest.mark.parametrize(
    "claim", [lambda path: claimed(path, MAP_SET, force=True), lambda path: claimed_file(path, force=True)]
)
def test_a_loop_of_links_a_pipe_and_a_device_are_never_replaced(tmp_path, claim):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    os.mkfifo(tmp_path / "pipe")
    for path, words in ((tmp_path / "loop", "a loop of links"), (tmp_path / "pipe", "a "), (os.devnull, "a ")):
        with pytest.raises(EpirError, match=rf"{path} is {words}.*\n  fix: choose another name"), claim(path):
            pass


def test_a_place_that_is_read_only_is_refused_before_the_work(small_disk):
    place = small_disk(65536, read_only=True)
    with pytest.raises(EpirError, match=r"out cannot be written: no permission to write in .*\n  fix: choose a place"):
        make(place / "deep" / "out")


def test_a_disk_that_is_too_small_is_refused_before_the_work(tmp_path):
    with pytest.raises(EpirError, match=r"needs 1000 TB, but .* are free there\n  fix: free disk space"):
        make(tmp_path / "out", needs=10**15)


def test_a_file_is_replaced_only_with_force_and_never_an_input(tmp_path):
    path = tmp_path / "a.html"
    path.write_text("1")
    for claim, words in (
        (claimed_file(path), "exists already"),
        (claimed_file(path, force=True, inputs=[path]), "is an input"),
        (claimed_file(tmp_path, force=True), "is a folder, not a file"),
    ):
        with pytest.raises(EpirError, match=words), claim:
            pass
    with claimed_file(path, force=True):
        pass
    assert os.listdir(tmp_path) == ["a.html"]


HOLD = """
import sys, time
from epir.core.output import claimed
with claimed(sys.argv[1], "map set"):
    print("held", flush=True)
    time.sleep(60)
"""


def test_two_at_once_and_a_killed_process_holds_nothing(tmp_path):
    other = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path / "out")], stdout=subprocess.PIPE, text=True)
    try:
        assert other.stdout.readline() == "held\n"
        with pytest.raises(EpirError, match=r"another process is writing .*out\n  fix: wait for it, stop it"):
            make(tmp_path / "out")
    finally:
        other.kill()
        other.communicate()
    make(tmp_path / "out")
    assert os.listdir(tmp_path) == ["out"]


def test_the_same_thread_may_claim_twice(tmp_path):
    with claimed(tmp_path / "out", MAP_SET):
        make(tmp_path / "out")
        make(tmp_path / "out", "2", force=True)


def test_what_killed_processes_left_is_swept(tmp_path):
    make(tmp_path / "out")
    (tmp_path / ".out.tmp-1").mkdir()
    (tmp_path / ".out.tmp-1" / "large").write_text("")
    (tmp_path / ".out.old-1").mkdir()
    (tmp_path / ".outer.tmp-1").mkdir()
    make(tmp_path / "out", force=True)
    assert sorted(os.listdir(tmp_path)) == [".outer.tmp-1", "out"]


def test_a_folder_that_was_moved_aside_comes_back(tmp_path):
    make(tmp_path / "out")
    (tmp_path / "out").rename(tmp_path / ".out.old-1")
    remove_leftovers(tmp_path / "out")
    assert (tmp_path / "out" / "a").read_text() == "1"


def test_a_crash_at_every_step_of_a_replacement_loses_nothing(tmp_path, crash_at):
    """Old or new afterwards, and the same command finishes."""
    for number in range(1, 100):
        place = tmp_path / str(number)
        make(place / "out", "old")
        crashed = crash_at(number, lambda place=place: make(place / "out", "new", force=True))
        remove_leftovers(place / "out")
        assert (place / "out" / "a").read_text() in (("old", "new") if crashed else ("new",))
        make(place / "out", "new", force=True)
        assert sorted(os.listdir(place)) == ["out"] and (place / "out" / "a").read_text() == "new"
        if not crashed:
            break
    assert number > 8


def test_folders_without_a_mark_are_known_by_their_index(tmp_path):
    for name, file, content, kind in (
        ("a", "meta.json", '{"format": "epir-maps/1"}', MAP_SET),
        ("b", "config.json", '{"format": "epir-model/2"}', MODEL),
        ("c", "config.json", '{"format": "another"}', None),
        ("d", "answer.json", '{"answers": []}', output.ANSWER),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_text(content)
        assert kind_of(tmp_path / name) == kind
    (tmp_path / "d" / "img1.png").write_text("a frame")
    assert kind_of(tmp_path / "d") is None


def test_an_answer_is_never_written_into_a_corpus(tmp_path):
    (tmp_path / "corpus.toml").touch()
    (tmp_path / "annotations.csv").touch()
    with pytest.raises(OutputError, match=r"would lie inside .*, which is a synthetic corpus\n  fix: choose another"):
        check_folder(tmp_path / "a", ANSWER)
    check_folder(tmp_path / "maps", MAP_SET)
