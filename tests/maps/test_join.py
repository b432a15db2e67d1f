from dataclasses import replace

import numpy as np
import pytest

from epir.core.errors import MapSetError
from epir.core.records import Clip
from epir.maps.join import join_maps
from epir.maps.mapset import load_maps, save_maps

CLIPS = tuple(
    Clip("own", f"{n}", f"c{n}", "anger" if n % 2 else "joy", 5, 9, extra={"action_units": "4"}) for n in range(4)
)


@pytest.fixture
def made(tmp_path):
    """Two sets of the same four clips, the second in another order and with a stretched u."""
    random = np.random.default_rng(0)
    maps = random.normal(size=(4, 3, 8, 8)).astype(np.float32)
    others = random.uniform(size=(4, 3, 8, 8)).astype(np.float32)
    save_maps(tmp_path / "a", maps, CLIPS, recipe={"name": "epir"})
    turned = [replace(clip, apex=None) for clip in reversed(CLIPS)]
    save_maps(tmp_path / "b", others[::-1], turned, recipe={"name": "other"})
    return tmp_path, maps, others


def test_views_are_matched_by_the_name_of_the_clip(made):
    home, maps, others = made
    joined = join_maps([home / "a", home / "b"], home / "ab")
    assert (joined.views, joined.view_names, joined.size, len(joined)) == (2, ("a", "b"), 8, 4)
    assert np.array_equal(joined.maps, np.stack([maps, others], axis=1))
    assert [clip.key for clip in joined.clips] == [clip.key for clip in CLIPS]
    assert joined.clips[0].extra == {"action_units": "4", "frame_pairs": "5-9;"}
    assert joined.meta["format"] == "epir-maps/2"
    assert [each["name"] for each in joined.meta["recipe"]["recipes"]] == ["epir", "other"]
    assert load_maps(home / "ab").digest == joined.digest


def test_views_of_views_keep_their_names(made):
    home, maps, others = made
    join_maps([home / "a", home / "b"], home / "ab")
    joined = join_maps([home / "ab", home / "a"], home / "aba")
    assert joined.view_names == ("ab/a", "ab/b", "a")
    assert np.array_equal(joined.maps, np.stack([maps, others, maps], axis=1))
    assert joined.clips[0].extra["frame_pairs"] == "5-9;;5-9"


def test_the_signs_of_a_reversed_view_are_turned(made):
    """Where u and v have signs they change; where they were stretched to 0..1, they are reflected."""
    home, maps, others = made
    joined = join_maps([home / "a", home / "b"], home / "ab", reverse=[home / "a", home / "b"]).maps
    assert np.allclose(joined[:, 0, :2], -maps[:, :2])
    low, high = (getattr(others[:, :2], end)(axis=(2, 3), keepdims=True) for end in ("min", "max"))
    assert np.allclose(joined[:, 1, :2], low + high - others[:, :2])
    assert np.array_equal(joined[:, 1, 2], others[:, 2])


def test_sets_that_do_not_belong_together_are_refused(made):
    home, maps, _ = made
    save_maps(home / "fewer", maps[:3], CLIPS[:3], recipe={})
    save_maps(home / "small", maps[..., :4, :4], CLIPS, recipe={})
    save_maps(home / "others", maps, [replace(clip, emotion="fear") for clip in CLIPS], recipe={})
    for names, words in (
        (["a", "fewer"], r"the clip own/3/c3 is in .*a but not in .*fewer \(1 such clips\)"),
        (["fewer", "a"], r"the clip own/3/c3 is in .*a but not in .*fewer"),
        (["a", "small"], r"a has 8 px maps, .*small has 4 px\n  fix: prepare both with the same --size"),
        (["a", "others"], r"own/0/c0 is 'joy' in .*a and 'fear' in .*others"),
        (["a"], r"1 views cannot be joined"),
    ):
        with pytest.raises(MapSetError, match=words):
            join_maps([home / name for name in names], home / "out")
    with pytest.raises(MapSetError, match=r"fewer is not one of the map sets to join"):
        join_maps([home / "a", home / "b"], home / "out", reverse=[home / "fewer"])
    assert not (home / "out").exists()
