from dataclasses import replace

import numpy as np
import pytest

from epir.core.errors import EpirError, EpirWarning, FrameError, MapSetError
from epir.core.records import Clip
from epir.flow.recipe import flow_recipe
from epir.maps.mapset import save_maps
from epir.maps.prepare import prepare
from epir.maps.resume import (
    FinishedClips,
    LeftOut,
    PreparedClip,
    clip_identity,
    existing_set,
    read_left_out,
    write_left_out,
)


def prepared(name="c1", **changes):
    clip = Clip("casme2", "sub01", name, "surprise", 1, 6, None, 59.94, None, {"crop": "x=1", "frames": "/über/a,b"})
    return PreparedClip(replace(clip, **changes), np.arange(12, dtype=np.float32).reshape(3, 2, 2), clip_identity(clip))


def test_a_finished_clip_comes_back_as_it_was(tmp_path):
    finished, done = FinishedClips(tmp_path / "maps", "abc"), prepared()
    finished.add(done)
    back = FinishedClips(tmp_path / "maps", "abc").get(done.clip)
    assert back.clip == done.clip
    assert np.array_equal(back.map, done.map)
    assert back.map.dtype == np.float32
    assert finished.get(prepared("c2").clip) is None


def test_other_settings_and_another_annotation_are_told(tmp_path):
    FinishedClips(tmp_path / "maps", "abc").add(prepared())
    for settings, clip, words in (
        ("abd", prepared().clip, "casme2/sub01/c1 was made with other settings: prepared again"),
        ("abc", prepared(apex=7).clip, r"c1 \(its frames or its annotation\) has changed since: prepared again"),
    ):
        finished = FinishedClips(tmp_path / "maps", settings)
        assert finished.get(clip) is None
        with pytest.warns(EpirWarning, match=words):
            finished.warn_if_stale()


def test_what_a_killed_process_left_half_is_removed(tmp_path):
    finished = FinishedClips(tmp_path / "maps", "abc")
    finished.add(prepared())
    (finished.folder / ".c2.npz.tmp-x.npz").touch()
    FinishedClips(tmp_path / "maps", "abc")
    assert len(list(finished.folder.iterdir())) == 1


def test_removing_leaves_other_sets_alone(tmp_path):
    for name in ("maps", "maps2"):
        FinishedClips(tmp_path / name, "abc").add(prepared())
    FinishedClips(tmp_path / "maps", "abc").remove()
    assert [path.name for path in tmp_path.iterdir()] == [".maps2-work"]


CLIP = Clip("casme2", "sub16", "EP01_08", "others")


def test_the_list_survives_being_written(tmp_path):
    clips = [
        LeftOut.because(CLIP, FrameError('no frame 110, "here"', fix="look,\nthen correct")),
        LeftOut.because(CLIP, OSError("disk on fire")),
    ]
    assert clips[0].fix == "look, then correct"
    assert (clips[1].problem, clips[1].fix) == ("disk on fire", "check the frames of this clip")
    write_left_out(tmp_path, clips)
    assert read_left_out(tmp_path) == tuple(clips)
    assert (tmp_path / "left_out.csv").read_text().startswith("corpus,subject,clip,problem,fix\n")
    assert clips[0].key == CLIP.key


def test_a_set_from_elsewhere_has_no_list(tmp_path):
    assert read_left_out(tmp_path) == ()
    assert read_left_out(None) == ()


RECIPE = flow_recipe()


@pytest.fixture
def out(tmp_path):
    meta = {**RECIPE.to_meta(), "request": "abc"}
    save_maps(tmp_path / "maps", np.zeros((1, 3, 28, 28)), [Clip("a", "b", "c", "d")], recipe=meta)
    return tmp_path / "maps"


def test_the_same_request_finds_its_set(out):
    assert len(existing_set(out, RECIPE, 28, "abc", force=False)) == 1


def test_nothing_there_or_force_is_nothing(tmp_path, out):
    (tmp_path / "empty").mkdir()
    for place in ("nowhere", "empty"):
        assert existing_set(tmp_path / place, RECIPE, 28, "abc", force=False) is None
    assert existing_set(out, RECIPE, 28, "other", force=True) is None


@pytest.mark.parametrize(
    ("changes", "size", "words"),
    [
        ((), 28, r"maps of other clips, or of another version"),
        ((), 56, r"28 px maps instead of 56 px"),
        (
            ("flow.size=96", "strain=tensor"),
            28,
            r"another flow recipe \(flow.size: 168 -> 96; strain: paper -> tensor\)",
        ),
    ],
)
def test_another_request_is_refused_with_what_differs(out, changes, size, words):
    with pytest.raises(
        MapSetError, match=rf"maps exists already, with {words}.*\n  fix: .*--force \(force=True in Python\)"
    ):
        existing_set(out, flow_recipe("epir", changes), size, "other", force=False)


def test_maps_from_elsewhere_are_refused_too(tmp_path):
    save_maps(
        tmp_path / "maps",
        np.zeros((1, 3, 28, 28)),
        [Clip("a", "b", "c", "d")],
        recipe={"name": "external", "flow": "tv-l1"},
    )
    with pytest.raises(MapSetError, match=r"with the flow recipe 'external'"):
        existing_set(tmp_path / "maps", RECIPE, 28, "abc", force=False)


def test_a_damaged_set_is_named(out):
    content = bytearray((out / "maps.npy").read_bytes())
    content[-1] ^= 1
    (out / "maps.npy").write_bytes(content)
    with pytest.raises(
        MapSetError, match=r"maps.npy does not match its digest in meta.json: .*half written\n  fix: add --force"
    ):
        existing_set(out, RECIPE, 28, "abc", force=False)


def test_a_folder_of_other_things_is_not_touched(tmp_path):
    (tmp_path / "thesis.txt").write_text("x")
    for place in (tmp_path, tmp_path / "thesis.txt"):
        for force in (False, True):
            with pytest.raises(EpirError, match=r"(that epir made|not a folder)\n  fix: choose another name"):
                prepare([Clip("a", "b", "c", "surprise")], None, place, force=force)
