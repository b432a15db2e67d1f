import json
from dataclasses import replace

import pytest

from epir.core.errors import CheckpointError
from epir.models.folder import load_network, shipped_folder
from epir.models.registry import create_model
from epir.models.seen import Seen, read_seen, write_seen


def test_a_record_comes_back_as_it_was(tmp_path):
    seen = Seen(frozenset({"mine/Anna", "casme2/sub01"}), frozenset({1, 2**64 - 1}), frozenset({"mine/b"}), teachers=3)
    seen = replace(seen, fingerprints=frozenset({tuple(range(8)), (2**64 - 1,) * 8}))
    write_seen(tmp_path, seen)
    assert read_seen(tmp_path) == seen
    assert json.loads((tmp_path / "seen.json").read_text())["people"] == ["casme2/sub01", "mine/Anna"]


def test_a_person_is_known_under_another_spelling():
    seen = Seen(frozenset({"mine/Anna", "mine/01"}))
    assert seen.knows("mine/anna ") and seen.knows("mine/1") and not seen.knows("other/1")


def test_what_the_first_weights_have_seen_is_part_of_it():
    first = Seen(frozenset({"a"}), frozenset({1})).after_start(
        Seen(frozenset({"b"}), frozenset({2})), name="x", digest="d"
    )
    last = Seen(frozenset({"c"})).after_start(first, name="y", digest="e")
    assert last.people == {"a", "b", "c"} and last.maps == {1, 2} and last.complete
    assert [each["name"] for each in last.ancestors] == ["x", "y"]
    assert not Seen().after_start(None, name="old", digest="d").complete


def test_a_network_that_is_loaded_and_saved_again_keeps_its_record(tmp_path):
    model = create_model("ststnet", map_size=12)
    model.save_pretrained(tmp_path / "one", seen=Seen(frozenset({"a"})))
    load_network(tmp_path / "one").save_pretrained(tmp_path / "two")
    assert read_seen(tmp_path / "two") == Seen(frozenset({"a"}))
    model.save_pretrained(tmp_path / "three")
    assert read_seen(tmp_path / "three") is None


def test_a_damaged_record_is_refused(tmp_path):
    write_seen(tmp_path, Seen(frozenset({"a"}), frozenset({1})))
    (tmp_path / "seen.npy").unlink()
    with pytest.raises(CheckpointError, match=r"cannot be read: .*\n  fix: restore seen.json and seen.npy"):
        read_seen(tmp_path)


def test_the_shipped_weights_know_their_synthetic_people():
    seen = read_seen(shipped_folder())
    assert seen.knows("synthetic/s11-000001") and seen.knows("synthetic/s11-001")  # maps, and frames, of seed 11
    assert not seen.knows("synthetic/s0-000001") and not seen.knows("synthetic/s12-000001")
