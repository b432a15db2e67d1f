import numpy as np
import pytest

from epir.core.errors import MapSetError
from epir.core.records import Clip
from epir.flow.recipe import get_recipe
from epir.maps.existing import existing_set
from epir.maps.mapset import save_maps

RECIPE = get_recipe()


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
        ((), 56, r"28 px maps in place of 56 px"),
        (("flow.size=96", "strain=tensor"), 28, r"another recipe \(flow.size: 168 -> 96; strain: paper -> tensor\)"),
    ],
)
def test_another_request_is_refused_with_what_differs(out, changes, size, words):
    with pytest.raises(MapSetError, match=rf"maps exists already, with {words}.*\n  fix: .*--force"):
        existing_set(out, get_recipe("epir", changes), size, "other", force=False)


def test_maps_from_elsewhere_are_refused_too(tmp_path):
    save_maps(
        tmp_path / "maps",
        np.zeros((1, 3, 28, 28)),
        [Clip("a", "b", "c", "d")],
        recipe={"name": "external", "flow": "tv-l1"},
    )
    with pytest.raises(MapSetError, match=r"with the recipe 'external'"):
        existing_set(tmp_path / "maps", RECIPE, 28, "abc", force=False)


def test_a_damaged_set_is_named(out):
    content = bytearray((out / "maps.npy").read_bytes())
    content[-1] ^= 1
    (out / "maps.npy").write_bytes(content)
    with pytest.raises(MapSetError, match=r"maps.npy is not what meta.json says: .*half written\n  fix: add --force"):
        existing_set(out, RECIPE, 28, "abc", force=False)


def test_a_folder_of_other_things_is_not_touched(tmp_path):
    (tmp_path / "thesis.txt").write_text("x")
    for place in (tmp_path, tmp_path / "thesis.txt"):
        for force in (False, True):
            with pytest.raises(MapSetError, match=r"is there already, and is no map set\n  fix: choose another name"):
                existing_set(place, RECIPE, 28, "abc", force=force)
