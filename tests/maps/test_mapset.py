import json
import os

import numpy as np
import pytest

from epir.core.errors import MapSetError
from epir.core.records import Clip
from epir.maps.mapset import MapSet, check_same_shape, load_maps, save_maps

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
            r"maps.npy does not match its digest in meta.json: it was changed or only half written\n  fix: prepare",
        ),
        (damage, "clips.csv", r"clips.csv does not match its digest in meta.json"),
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
        (lambda f, n: np.save(f / n, np.zeros((1, 3, 4, 4), np.float32)), "maps.npy", r"has 1 map but 2 rows"),
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


def test_sets_of_different_sizes_or_with_a_clip_twice_are_refused(folder):
    mapset = load_maps(folder)
    with pytest.raises(MapSetError, match=r"differ in size: .* has 4 px maps, map set 2 has 8 px\n  fix: .*--size 4"):
        check_same_shape([mapset, MapSet(np.zeros((1, 3, 8, 8), np.float32), CLIPS[:1], {"digest": ""})])
    with pytest.raises(MapSetError, match=r"the clip samm/006/006_1_2 is in .* and in "):
        check_same_shape([mapset, mapset])


@pytest.fixture
def four():
    people = (("a", "01"), ("a", "02"), ("b", "01"), ("b", "01"))
    clips = tuple(
        Clip(corpus, subject, f"c{row}", "happy", onset=row, extra={"action_units": "12"} if row == 2 else {})
        for row, (corpus, subject) in enumerate(people)
    )
    maps = np.arange(4, dtype=np.float32)[:, None, None, None] * np.ones((4, 3, 7, 7), np.float32)
    return MapSet(maps=maps, clips=clips, meta={"digest": "x", "recipe": {}})


def test_a_number_gives_a_map_and_its_clip(four):
    map_, clip = four[-1]
    assert map_[0, 0, 0] == 3
    assert clip.key == "b/01/c3"
    assert [clip.clip for _, clip in four] == ["c0", "c1", "c2", "c3"]


@pytest.mark.parametrize(
    "which", [slice(1, 3), [1, 2], np.array([1, 2]), [False, True, True, False], np.array([0, 1, 1, 0], bool)]
)
def test_slices_numbers_and_masks_give_a_map_set_whose_maps_and_clips_still_match(four, which):
    part = four[which]
    assert [clip.clip for clip in part.clips] == ["c1", "c2"]
    assert part.maps[:, 0, 0, 0].tolist() == [1, 2]
    assert "digest" not in part.meta  # it is no longer what the file held


def test_nothing_can_be_taken_too(four):
    assert len(four[[]]) == len(four[0:0]) == 0
    assert repr(four[[]]) == "MapSet(0 maps of 7 px, 0 people, empty)"


def test_filters_by_corpus_and_person(four):
    assert [clip.clip for clip in four.filter(corpus="b").clips] == ["c2", "c3"]
    assert [clip.clip for clip in four.filter(person="a/01").clips] == ["c0"]
    with pytest.raises(MapSetError, match="no person '01'") as caught:
        four.filter(person="01")
    assert caught.value.fix == "it has: a/01, a/02, b/01"


def test_a_table_has_a_row_per_map_and_every_further_column(four):
    table = four.to_frame()
    assert table["onset"].tolist() == [0, 1, 2, 3]
    assert table["action_units"].fillna("").tolist() == ["", "", "12", ""]
    assert len(four[[]].to_frame()) == 0
    assert repr(four) == "MapSet(4 maps of 7 px, 3 people, a, b)"


def test_a_part_of_a_set_can_be_saved_as_one(four, tmp_path):
    save_maps(tmp_path / "part", four[1:3].maps, four[1:3].clips, recipe={})
    assert [clip.clip for clip in load_maps(tmp_path / "part").clips] == ["c1", "c2"]


def change(folder, **changes):
    path = folder / "meta.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"channels": ["v", "u", "strain"]}, r"has the channels \['v', 'u', 'strain'\], not u, v, strain\n  fix: put"),
        ({"digest": None}, "digest is None, not a digest"),
        ({"clips_digest": None}, "clips_digest is None, not a digest"),
        ({"digest": ""}, "not a digest"),
        ({"digest": 7}, "not a digest"),
        ({"recipe": "epir"}, "the recipe is not an object"),
    ],
)
def test_an_index_that_says_something_else_is_refused(folder, changes, words):
    change(folder, **changes)
    with pytest.raises(MapSetError, match=words):
        load_maps(folder)


def test_a_set_that_others_wrote_without_digests_of_clips_and_meta_opens(folder):
    meta = json.loads((folder / "meta.json").read_text())
    del meta["clips_digest"], meta["meta_digest"]
    (folder / "meta.json").write_text(json.dumps(meta))
    assert len(load_maps(folder)) == 2


def test_an_index_with_another_recipe_than_its_digest_says_is_refused(folder):
    meta = json.loads((folder / "meta.json").read_text())
    meta["recipe"]["flow"] = {"window": 31}
    (folder / "meta.json").write_text(json.dumps(meta))
    with pytest.raises(
        MapSetError, match=r"meta.json was changed: its content does not match its digest\n  fix: restore"
    ):
        load_maps(folder, verify=False)


def test_one_person_is_never_two(tmp_path):
    def saved(*people):
        clips = [Clip("lab", "1", str(place), "joy", extra={"person": name}) for place, name in enumerate(people)]
        return save_maps(tmp_path / "maps", np.zeros((len(clips), 3, 4, 4)), clips, recipe={}, force=True)

    assert [clip.person for clip in saved("anna", "", " anna ").clips] == ["anna"] * 3
    with pytest.raises(MapSetError, match=r"the subject lab/1 is 'anna' and 'ben' .*\(row 2, row 4\)\n  fix: correct"):
        saved("anna", "", "ben")


def test_a_label_that_is_no_text(tmp_path):
    with pytest.raises(MapSetError, match=r"has the label '.udc80', which is not text\n  fix: correct its label"):
        save_maps(tmp_path / "maps", np.zeros((1, 3, 4, 4)), [Clip("lab", "1", "a", "\udc80")], recipe={})


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_another_encoding_is_refused(folder, encoding):
    path = folder / "clips.csv"
    path.write_bytes(path.read_text().replace("anger", "Ärger").encode(encoding))
    with pytest.raises(MapSetError, match=r"clips.csv is not UTF-8\n  fix: save it as CSV with commas, in UTF-8"):
        load_maps(folder)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("575", "1" + "0" * 20, "apex is '10{20}'"),
        ("575", "9" * 5000, "apex is"),
        ("200", "nan", "fps is 'nan'"),
        ("anger", "x" * 200_000, "is not a table: field larger than field limit"),
        ("samm,006,006_1_2,anger", "samm", "row 1 has too few cells"),
    ],
)
def test_cells_that_nobody_means_are_refused(folder, old, new, words):
    path = folder / "clips.csv"
    text = path.read_text()
    lines = text.splitlines()
    lines[1] = new if words.endswith("cells") else lines[1].replace(old, new, 1)
    path.write_text("\n".join(lines))
    with pytest.raises(MapSetError, match=words):
        load_maps(folder)


def test_an_archive_is_no_array(folder):
    np.savez(folder / "maps.npz", maps=np.zeros((2, 3, 4, 4), np.float32))
    (folder / "maps.npz").replace(folder / "maps.npy")
    with pytest.raises(MapSetError, match=r"an archive of arrays \(npz\), not one array"):
        load_maps(folder)


@pytest.mark.parametrize("name", ["maps.npy", "clips.csv", "meta.json"])
def test_a_pipe_is_not_waited_for(folder, name):
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(MapSetError, match=f"{name} is a pipe or a device, not a file"):
        load_maps(folder)


@pytest.mark.parametrize("shape", [(2, 2, 3, 4, 4), (2, 4, 4), (2, 1, 4, 4), (2, 3, 4, 5), (1, 3, 4, 4)])
def test_maps_that_are_no_set_are_not_written(tmp_path, shape):
    with pytest.raises(MapSetError, match=r"maps of 2 clips cannot be \(.*\)\n  fix: give \(2, 3, S, S\)"):
        save_maps(tmp_path / "maps", np.zeros(shape, np.float32), CLIPS, recipe={})
    assert not (tmp_path / "maps").exists()


def test_a_torch_dataset_pairs_every_map_with_its_class(four):
    from torch.utils.data import DataLoader

    dataset = four.to_torch()
    classes = sorted({clip.emotion for clip in four.clips})
    assert len(dataset) == len(four)
    for (own, clip), (seen, label) in zip(four, dataset, strict=True):
        assert np.array_equal(own, seen) and classes[label] == clip.emotion
    maps, labels = next(iter(DataLoader(dataset, batch_size=3)))
    assert len(maps) == len(labels) == 3
    with pytest.raises(MapSetError, match=r"which is none of the classes joy\n  fix: name all emotions"):
        four.to_torch(["joy"])
