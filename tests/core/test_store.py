import json
import os

import numpy as np
import pytest

from epir.core.errors import EpirWarning
from epir.core.store import SAMPLED, Store, entry_name, file_identity


@pytest.fixture(params=[False, True], ids=["json", "npz"])
def store(tmp_path, request):
    return Store(tmp_path / "entries", settings="abc", version=1, arrays=request.param)


def again(store, **changes):
    usual = {"settings": "abc", "version": 1, "arrays": store.path("a").suffix == ".npz"}
    return Store(store.folder, **usual | changes)


def test_an_entry_comes_back_as_it_was(tmp_path):
    with_arrays = Store(tmp_path, settings="abc", version=1, arrays=True)
    with_arrays.put("casme2/über", "1", {"n": [1.5, None]}, {"map": np.eye(3, dtype=np.float32)})
    entry = with_arrays.get("casme2/über", "1")
    assert entry.content == {"n": [1.5, None]}
    assert np.array_equal(entry.arrays["map"], np.eye(3)) and entry.arrays["map"].dtype == np.float32
    assert (with_arrays.get("nothing", "1"), with_arrays.stale) == (None, {})

    plain = Store(tmp_path, settings="abc", version=1)
    plain.put("a", "1", {"n": 0.1 + 0.2})
    assert plain.get("a", "1").content == {"n": 0.1 + 0.2}
    assert json.loads(plain.path("a").read_text())["n"] == 0.1 + 0.2  # readable by anybody
    assert "a" in plain and "b" not in plain
    plain.discard("a")
    assert "a" not in plain


@pytest.mark.parametrize(
    ("changes", "identity", "words"),
    [
        ({}, "2", "b.mp4 has changed since"),
        ({"settings": "abd"}, "1", "a was made with other settings"),
        ({"version": 2}, "1", "the entry of a was made by another version of epir"),
    ],
)
def test_what_does_not_fit_is_not_returned_and_told(store, changes, identity, words):
    store.put("a", "1", {"n": 1})
    changed = again(store, **changes)
    assert changed.get("a", identity, source="b.mp4") is None
    assert changed.stale == {"a": words}
    with pytest.warns(EpirWarning, match=f"^{words}: made again$"):
        changed.warn_if_stale("made again")
    changed.put("a", identity, {"n": 2})
    assert changed.stale == {}
    assert changed.get("a", identity).content == {"n": 2}


def test_an_entry_that_was_edited_or_renamed_is_noticed(store):
    store.put("a", "1", {"n": 1})
    store.put("b", "1", {"n": 2})
    store.path("b").write_bytes(store.path("a").read_bytes())
    assert store.get("b", "1") is None
    assert store.stale == {"b": "the entry of b belongs to a"}
    if store.path("a").suffix == ".json":
        text = store.path("a").read_text()
        store.path("a").write_text(json.dumps(json.loads(text)))  # other spaces, the same values
        assert store.get("a", "1").content == {"n": 1}
        store.path("a").write_text(text.replace('"n": 1', '"n": 3'))
    else:
        with np.load(store.path("a")) as members:
            text = str(members["entry"])
        np.savez(store.path("a"), entry=np.array(text.replace('"n": 1', '"n": 3')))
    assert store.get("a", "1") is None
    assert store.stale["a"] == "the entry of a was edited by hand"


def test_an_array_that_was_edited_is_noticed(tmp_path):
    store = Store(tmp_path, settings="abc", version=1, arrays=True)
    store.put("a", "1", {}, {"map": np.zeros(4)})
    with np.load(store.path("a")) as members:
        np.savez(store.path("a"), entry=members["entry"], map=np.ones(4))
    assert store.get("a", "1") is None


def test_a_damaged_entry_counts_as_not_made(store):
    store.put("a", "1", {"n": 1})
    content = store.path("a").read_bytes()
    for damaged in (b"", content[: len(content) // 2], b"x" * 100, b"[]", b"{}"):
        store.path("a").write_bytes(damaged)
        assert store.get("a", "1") is None
        assert store.stale == {"a": "the entry of a is damaged"}
    store.path("a").unlink()
    for make in (os.mkdir, os.mkfifo):
        make(store.path("a"))
        assert store.get("a", "1") is None
        store.put("a", "1", {"n": 1})
        assert store.get("a", "1").content == {"n": 1}
        store.path("a").unlink()


def test_many_stale_entries_are_told_in_one_line(tmp_path, recwarn):
    store = Store(tmp_path, settings="abc", version=1)
    store.warn_if_stale("made again")
    for key in "abcde":
        store.put(key, "1", {})
        store.get(key, "2")
    store.warn_if_stale("made again")
    (warning,) = recwarn
    assert str(warning.message) == (
        "a has changed since; b has changed since; c has changed since, and 2 more: made again"
    )


def test_names_of_entries_are_readable_short_and_different():
    assert entry_name("casme2/sub01") == "casme2+sub01"
    keys = ["a/b", "a+b", "a b", "ä", "x" * 500, "x" * 501, "../a"]
    names = {entry_name(key) for key in keys}
    assert len(names) == len(keys)
    assert all(len(name) < 200 and "/" not in name for name in names)


def test_the_identity_of_a_small_file_is_its_content(tmp_path):
    path = tmp_path / "a.txt"
    identities = [file_identity(path)]  # of nothing
    for text in ("one", "two", "longer"):
        path.write_text(text)
        identities.append(file_identity(path))
    assert len(set(identities)) == 4
    os.utime(path, ns=(0, 0))
    assert file_identity(path) == identities[-1]


def test_the_identity_of_a_large_file_is_its_size_its_time_and_some_blocks(tmp_path):
    path = tmp_path / "a.mp4"
    path.write_bytes(bytes(3 * SAMPLED))
    os.utime(path, ns=(0, 0))
    before = file_identity(path)
    for place in (0, 3 * SAMPLED // 15, 3 * SAMPLED - 1):
        with path.open("r+b") as file:
            file.seek(place)
            file.write(b"x")
        os.utime(path, ns=(0, 0))
        assert file_identity(path) != before
        before = file_identity(path)
    os.utime(path, ns=(0, 1))
    assert file_identity(path) != before


def test_the_identity_of_a_folder_is_that_of_its_files(tmp_path):
    folder = tmp_path / "clip"
    folder.mkdir()
    seen = {file_identity(folder)}
    for change in (
        lambda: (folder / "1.jpg").write_text("a"),
        lambda: (folder / "2.jpg").write_text("b"),
        lambda: (folder / "2.jpg").write_text("c"),
        lambda: (folder / "2.jpg").rename(folder / "3.jpg"),
        lambda: (folder / "1.jpg").unlink(),
        lambda: os.mkfifo(folder / "1.jpg"),
    ):
        change()
        seen.add(file_identity(folder))
    assert len(seen) == 7
