import numpy as np
import pytest

from epir.core.errors import ConfigError, EpirError
from epir.core.seeds import generator
from epir.flow.recipe import flow_recipe
from epir.maps.mapset import load_maps
from epir.synthetic import maps as module
from epir.synthetic.expressions import ActiveUnit
from epir.synthetic.maps import (
    PER_PERSON,
    MapSettings,
    draw_crop,
    draw_states,
    find_recipe,
    make_maps,
    photograph_pair,
    read_shares,
    synthetic_maps,
    write_maps,
)
from epir.synthetic.movement import draw_movement

QUICK = "epir:flow.size=56,flow.context=0.0"


def test_any_number_of_workers_makes_the_same_maps(monkeypatch):
    monkeypatch.setattr(module, "CHUNK", 1)  # three people are three pieces of work
    settings = MapSettings(20, (QUICK, "direct"))
    one, two = make_maps(settings), make_maps(settings, workers=2)
    np.testing.assert_array_equal(one.maps, two.maps)
    assert one.clips == two.clips and one.digest == two.digest


def test_a_smaller_set_is_the_beginning_of_a_larger_one():
    small, large = synthetic_maps(10, "direct", seed=5), synthetic_maps(30, "direct", seed=5)
    np.testing.assert_array_equal(small.maps, large.maps[:10])
    assert small.clips == large.clips[:10]
    other = synthetic_maps(10, "direct", seed=6)
    assert not np.array_equal(small.maps, other.maps)
    assert not {clip.key for clip in small.clips} & {clip.key for clip in other.clips}, "they can be used together"


def test_every_map_has_its_annotation():
    mapset = synthetic_maps(32, (QUICK, "direct"), classes=5)
    assert mapset.maps.shape == (32, 3, 28, 28) and mapset.maps.dtype == np.float32 and np.isfinite(mapset.maps).all()
    assert mapset.maps[:, 2].min() >= 0, "strain"
    for clip in mapset.clips:
        assert clip.corpus == "synthetic" and clip.onset < clip.apex < clip.offset
        assert clip.extra["action_units"] and 0 < float(clip.extra["intensity"]) < 1
    assert len({clip.subject for clip in mapset.clips}) == 32 // PER_PERSON
    assert {clip.extra["recipe"] for clip in mapset.clips} == {QUICK, "direct"}
    assert len({clip.emotion for clip in mapset.clips}) == 5
    assert mapset.meta["recipe"]["name"] == "mixed" and len(mapset.meta["recipe"]["recipes"]) == 2


def test_classes_come_in_equal_parts():
    words = [clip.emotion for clip in synthetic_maps(60, "direct").clips]
    assert {word: words.count(word) for word in words} == {"negative": 20, "positive": 20, "surprise": 20}


@pytest.mark.parametrize("recipe", ["direct", QUICK])
def test_surprise_raises_the_brows_and_smiles_the_mouth_corners(recipe):
    mapset = synthetic_maps(96, recipe, seed=1)
    words = np.array([clip.emotion for clip in mapset.clips])
    maps = mapset.maps - np.median(mapset.maps, axis=(2, 3), keepdims=True)
    brows = {word: maps[words == word, 1, 1:6, 3:25].mean() for word in set(words)}
    corners = {word: maps[words == word, 1, 16:21, 5:23].mean() for word in set(words)}
    assert brows["surprise"] < min(brows["negative"], brows["positive"])
    assert brows["negative"] == max(brows.values())
    assert corners["positive"] == min(corners.values())


def test_maps_grow_with_their_size():
    small, large = synthetic_maps(8, QUICK, size=14), synthetic_maps(8, QUICK, size=28)
    assert small.size == 14
    ratio = np.abs(large.maps[:, :2]).mean() / np.abs(small.maps[:, :2]).mean()
    assert ratio == pytest.approx(2, rel=0.1), "u and v are in pixels of the map"


def test_a_set_on_disk_is_a_map_set(tmp_path):
    mapset = write_maps(tmp_path / "maps", MapSettings(9, ("direct",)))
    again = load_maps(tmp_path / "maps")
    np.testing.assert_array_equal(mapset.maps, again.maps)
    assert again.clips[0].extra["recipe"] == "direct" and again.meta["recipe"]["seed"] == 0
    assert again.digest == mapset.digest
    with pytest.raises(EpirError, match="exists already"):
        write_maps(tmp_path / "maps", MapSettings(9, ("direct",)))
    write_maps(tmp_path / "maps", MapSettings(4, ("direct",)), force=True)
    assert len(load_maps(tmp_path / "maps")) == 4


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"count": 0}, r"--maps must be at least 1, not 0\n  fix: give --maps 1 or more"),
        ({"size": 2}, r"a map cannot be 2 px wide\n  fix: give --size from 4 to 512"),
        ({"shares": (1, 2)}, r"--shares cannot be 1,2 for negative, positive, surprise\n  fix: give 3 numbers above 0"),
        ({"recipes": ()}, r"no flow recipe is given\n  fix: give one"),
        ({"recipes": ("epri",)}, r"there is no flow recipe 'epri'\n  fix: did you mean 'epir'\?; or 'direct'"),
        ({"recipes": ("epir:flow.sise=3",)}, r"\[flow\] has no setting 'sise'"),
        ({"classes": 4}, r"there is no list of 4 classes"),
    ],
)
def test_impossible_maps_are_refused(changes, words):
    with pytest.raises(ConfigError, match=words):
        MapSettings(**{"count": 5, **changes})


def test_recipes_are_named_with_their_changes():
    recipe = find_recipe("epir:flow.method=dis,flow.context=0.125")
    assert recipe.flow.method == "dis" and recipe.flow.context == 0.125
    assert find_recipe("direct").name == "direct"


def test_emotions_follow_their_shares():
    mapset = make_maps(MapSettings(200, ("direct",), size=8, shares=(250, 109, 83)))
    words = [clip.emotion for clip in mapset.clips]
    counts = np.array([words.count(word) for word in ("negative", "positive", "surprise")])
    expected = 200 * np.array([250, 109, 83]) / 442
    assert (np.abs(counts - expected) < 4 * np.sqrt(expected)).all()
    assert mapset.meta["recipe"]["shares"] == [250, 109, 83]
    assert read_shares("250, 109,83") == (250, 109, 83) and read_shares(None) == ()
    with pytest.raises(ConfigError, match="cannot read --shares 'half'\n  fix: give numbers separated by commas"):
        read_shares("half")


@pytest.mark.parametrize("context", [0.0, 0.125])
def test_faces_have_the_size_of_the_recipe(person, context):
    recipe = flow_recipe("epir", ["flow.size=56", f"flow.context={context}"])
    movement = draw_movement((ActiveUnit(12, 1.0, 1.0),), person.geometry, generator(0))
    onset, apex = photograph_pair(draw_crop(person, recipe), person.geometry, movement, 0.5, 0.0, recipe, generator(1))
    side = 56 + 2 * recipe.flow.border
    assert onset.shape == apex.shape == (side, side, 3) and onset.dtype == np.uint8
    assert 0 < np.abs(onset.astype(int) - apex).mean() < 20


def test_only_the_apex_has_the_expression_and_the_head_moves_a_little():
    for number in range(50):
        before, after = draw_states(0.4, 0.0, generator(0, number))
        assert before.intensity == 0 and after.intensity == 0.4
        assert abs(after.shift_x - before.shift_x) < 1 and abs(after.roll - before.roll) < 0.05
        assert before.closure == after.closure == 0


def test_lids_close_more_often_than_they_open():
    pairs = [draw_states(0.4, 1.0, generator(0, number)) for number in range(200)]
    closing = np.mean([after.closure > before.closure for before, after in pairs])
    assert 0.65 < closing < 0.85
    assert all(0 < max(before.closure, after.closure) < 0.95 for before, after in pairs)


@pytest.mark.parametrize("recipe", ["direct", QUICK])
def test_the_letter_of_a_one_sided_unit_is_the_side_of_the_person(recipe):
    """The person's left is on the right of the picture, in the field as in drawn pictures."""
    settings = MapSettings(240 if recipe == "direct" else 104, (recipe,), seed=2)
    mapset = make_maps(settings)
    moved = {"L": [], "R": []}  # motion on the right of the picture against all
    for each, clip in zip(mapset.maps, mapset.clips, strict=True):
        if clip.extra["action_units"] in ("L12", "R12", "L14", "R14"):
            u, v = (channel - np.median(channel) for channel in each[:2])
            mouth = np.hypot(u, v)[14:24] ** 2
            moved[clip.extra["action_units"][0]].append(mouth[:, 14:].sum() / mouth.sum())
    assert min(map(len, moved.values())) >= 3
    assert np.mean(moved["L"]) > 0.6 and np.mean(moved["R"]) < 0.4


def test_tables_change_the_movement_and_not_the_people():
    plain, textbook = (make_maps(MapSettings(16, ("direct",), tables=tables)) for tables in ("annotated", "textbook"))
    assert [clip.person for clip in plain.clips] == [clip.person for clip in textbook.clips]
    assert not np.array_equal(plain.maps, textbook.maps)
    assert (plain.meta["recipe"]["tables"], textbook.meta["recipe"]["tables"]) == ("annotated", "textbook")
