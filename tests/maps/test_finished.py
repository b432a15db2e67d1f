import numpy as np

from epir.core.records import Clip
from epir.maps.clip import PreparedClip
from epir.maps.finished import FinishedClips


def prepared(name="c1"):
    clip = Clip("casme2", "sub01", name, "surprise", 1, 6, None, 59.94, None, {"crop": "x=1", "frames": "/über/a,b"})
    return PreparedClip(clip, np.arange(12, dtype=np.float32).reshape(3, 2, 2))


def test_a_finished_clip_comes_back_as_it_was(tmp_path):
    finished = FinishedClips(tmp_path / "maps", "abc")
    finished.add(prepared())
    back = FinishedClips(tmp_path / "maps", "abc").get("casme2/sub01/c1")
    assert back.clip == prepared().clip
    assert np.array_equal(back.map, prepared().map)
    assert back.map.dtype == np.float32
    assert finished.get("casme2/sub01/c2") is None


def test_another_request_sees_nothing(tmp_path):
    FinishedClips(tmp_path / "maps", "abc").add(prepared())
    assert FinishedClips(tmp_path / "maps", "abd").get("casme2/sub01/c1") is None


def test_a_damaged_file_counts_as_not_done(tmp_path):
    finished = FinishedClips(tmp_path / "maps", "abc")
    finished.add(prepared())
    (file,) = finished.folder.iterdir()
    content = file.read_bytes()
    for damaged in (b"", content[: len(content) // 2], b"x" * 100):
        file.write_bytes(damaged)
        assert finished.get("casme2/sub01/c1") is None


def test_removing_clears_all_that_was_left_behind_for_this_set_only(tmp_path):
    for name, request in (("maps", "abc"), ("maps", "old"), ("maps2", "abc")):
        FinishedClips(tmp_path / name, request).add(prepared())
    FinishedClips(tmp_path / "maps", "abc").remove()
    assert [path.name for path in tmp_path.iterdir()] == [".maps2-work-abc"]
