import numpy as np
import pytest

from epir.core.records import Clip
from epir.maps.copies import NEARLY_EQUAL, find_copies, find_copies_between, map_hashes, standardised


def clips_of(*people):
    return [Clip("mine", person, f"c{number}", "negative") for number, person in enumerate(people)]


@pytest.fixture
def maps():
    return np.random.default_rng(0).normal(size=(4, 3, 12, 12)).astype(np.float32)


def test_equal_maps_are_found_whoever_they_are_of(maps):
    maps[2] = maps[0]
    (copy,) = find_copies(maps, clips_of("a", "b", "a", "c"))
    assert (copy.first, copy.second, copy.correlation) == ("mine/a/c0", "mine/a/c2", 1)
    assert str(copy) == "mine/a/c0 and mine/a/c2 (equal maps)"


@pytest.mark.parametrize("size", [5, 12, 28])
@pytest.mark.parametrize("noise", [0.1, 0.2, 0.25, 0.4, 0.6])
def test_nearly_equal_maps_of_different_people_are_those_above_the_limit(noise, size):
    """Against the correlation itself: the search at low resolution loses nothing."""
    random = np.random.default_rng(1)
    maps = random.normal(size=(6, 3, size, size))
    maps = np.concatenate([maps, 3 * maps + noise * 3 * random.normal(size=maps.shape) + 5]).astype(np.float32)
    clips = clips_of(*"abcdefghijkl")
    unit = standardised(maps)
    wanted = {(n, k) for n in range(12) for k in range(n + 1, 12) if unit[n] @ unit[k] >= NEARLY_EQUAL}
    found = {(copy.first, copy.second) for copy in find_copies(maps, clips)}
    assert found == {(clips[n].key, clips[k].key) for n, k in wanted}
    assert bool(wanted) == (noise <= 0.25)


def test_nearly_equal_maps_of_one_person_are_two_clips(maps):
    maps[1] = maps[0] + 0.05
    maps[1, 0, 0, 0] += 0.5
    assert find_copies(maps, clips_of("a", "a", "b", "c")) == []
    assert len(find_copies(maps, clips_of("a", "d", "b", "c"))) == 1


def test_maps_without_any_motion_are_nobody_s():
    assert find_copies(np.zeros((3, 3, 8, 8), np.float32), clips_of(*"abc")) == []


def test_copies_between_two_sets(maps):
    (copy,) = find_copies_between(maps[:2], clips_of("a", "b"), maps[1:2], clips_of("x"))
    assert (copy.first, copy.second) == ("mine/b/c1", "mine/x/c0")


def test_hashes_tell_maps_apart_and_do_not_depend_on_layout(maps):
    hashes = map_hashes(maps)
    assert hashes.dtype == np.uint64 and len(set(hashes.tolist())) == 4
    assert (map_hashes(maps.astype(np.float64).astype(np.float32, order="F")) == hashes).all()
