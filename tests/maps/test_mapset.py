import json

import numpy as np
import pytest

from epir.core.errors import EpirError, MapSetError
from epir.core.records import Clip
from epir.maps.mapset import MapSet, load_maps, refuse_mixed_sizes, save_maps

CLIPS = (
    Clip("samm", "006", "006_1_2", "anger", 562, 575, 588, 200.0, extra={"au": "4+7"}),
    Clip("smic", "s01", 'odd, "name"', "negative"),
)


@pytest.fixture
def folder(tmp_path):
    save_maps(tmp_path / "maps", np.random.default_rng(0).normal(size=(2, 3, 4, 4)), CLIPS, recipe={"name": "epir"})
    return tmp_path / "maps"


def test_a_map_set_survives_the_way_to_disk(folder):
    mapset = load_maps(folder)
    assert mapset.clips == CLIPS
    assert (len(mapset), mapset.size, mapset.maps.dtype) == (2, 4, np.float32)
    assert isinstance(mapset.maps, np.memmap)  # a set larger than memory works
    meta = json.loads((folder / "meta.json").read_text())
    assert meta["format"] == "epir-maps/1"
    assert meta["channels"] == ["u", "v", "strain"]
    assert mapset.digest == meta["digest"]


def damage(folder, name):
    path = folder / name
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def truncate(folder, name):
    path = folder / name
    path.write_bytes(path.read_bytes()[:-40])


@pytest.mark.parametrize(
    ("spoil", "name", "words"),
    [
        (
            damage,
            "maps.npy",
            r"maps.npy is not what meta.json says: it was changed or only half written\n  fix: prepare",
        ),
        (damage, "clips.csv", r"clips.csv is not what meta.json says"),
        (truncate, "maps.npy", r"maps.npy cannot be opened"),
        (truncate, "meta.json", r"meta.json is damaged"),
        (lambda f, n: (f / n).unlink(), "maps.npy", r"has no maps.npy"),
        (lambda f, n: (f / n).unlink(), "clips.csv", r"has no clips.csv"),
        (lambda f, n: (f / n).unlink(), "meta.json", r"is not a map set: it has no meta.json"),
        (lambda f, n: (f / n).write_text("{}"), "meta.json", r"has the format None, not 'epir-maps/1'"),
        (lambda f, n: (f / n).write_text("corpus,subject\n"), "clips.csv", r"lacks the column 'clip'"),
        (
            lambda f, n: np.save(f / n, np.zeros((2, 3, 4, 5), np.float32)),
            "maps.npy",
            r"float32 \(2, 3, 4, 5\), not float32 \(n, 3, S, S\)",
        ),
        (lambda f, n: np.save(f / n, np.zeros((1, 3, 4, 4), np.float32)), "maps.npy", r"has 1 maps but 2 rows"),
        (
            lambda f, n: (f / n).write_text((f / n).read_text().replace("575", "5x5")),
            "clips.csv",
            r"clips.csv, line 2: apex is '5x5'",
        ),
    ],
)
def test_a_damaged_set_is_named(folder, spoil, name, words):
    spoil(folder, name)
    with pytest.raises(MapSetError, match=words):
        load_maps(folder)


def test_what_is_not_there_is_named(tmp_path):
    with pytest.raises(
        MapSetError, match=r"there is no map set .*nowhere\n  fix: check the path, or make one with epir prepare"
    ):
        load_maps(tmp_path / "nowhere")


def test_nothing_is_overwritten_without_force(folder):
    with pytest.raises(EpirError, match="exists already"):
        save_maps(folder, np.zeros((2, 3, 4, 4)), CLIPS, recipe={})


def test_sets_of_different_sizes_or_with_a_clip_twice_are_refused(folder):
    mapset = load_maps(folder)
    with pytest.raises(MapSetError, match=r"differ in size: .* has 4 px maps, map set 2 has 8 px\n  fix: .*--size 4"):
        refuse_mixed_sizes([mapset, MapSet(np.zeros((1, 3, 8, 8), np.float32), CLIPS[:1], {"digest": ""})])
    with pytest.raises(MapSetError, match=r"the clip samm/006/006_1_2 is in .* and in "):
        refuse_mixed_sizes([mapset, mapset])


def test_clips_saved_in_another_encoding_give_two_lines(tmp_path):
    save_maps(tmp_path / "maps", np.zeros((1, 3, 4, 4)), [Clip("a", "b", "c", "d")], recipe={})
    path = tmp_path / "maps" / "clips.csv"
    path.write_text(path.read_text(encoding="utf-8"), encoding="utf-16")
    with pytest.raises(MapSetError, match=r"clips.csv is not UTF-8\n  fix: save it as CSV with commas, in UTF-8"):
        load_maps(tmp_path / "maps", verify=False)
