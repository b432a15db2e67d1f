import numpy as np
import pytest

from epir.core.records import Clip
from epir.maps.copies import _directions, find_copies, find_copies_between, fingerprints, known_fingerprints, map_hashes


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


def smooth(count, size=28, seed=1):
    """Maps as smooth as real ones, from waves of few periods."""
    random = np.random.default_rng(seed)
    x = np.linspace(0, 2 * np.pi, size)
    waves = np.stack([np.cos(k * x + p) for k in range(4) for p in (0, 1.3)])
    return np.einsum("ncij,ia,jb->ncab", random.normal(size=(count, 3, 8, 8)), waves, waves).astype(np.float32)


def mirrored(maps):
    """The maps of mirrored frames."""
    return maps[..., ::-1] * np.array([-1, 1, 1], np.float32)[:, None, None]


def noisy(maps, noise=0.35):
    deviation = maps.std(axis=(2, 3), keepdims=True)
    return maps + noise * deviation * np.random.default_rng(2).normal(size=maps.shape).astype(np.float32)


CHANGES = {
    "noise": (noisy, ""),
    "shift": (lambda maps: np.roll(maps, 1, axis=3), "shifted by 1, 0 px"),
    "shift by two": (lambda maps: np.roll(maps, (-2, 1), axis=(2, 3)), "shifted by 1, -2 px"),
    "mirrored frames": (mirrored, "mirrored"),
    "mirrored map": (lambda maps: maps[..., ::-1], "mirrored"),
    "other scale": (lambda maps: 3 * maps + 5, ""),
    "all at once": (lambda maps: np.roll(mirrored(noisy(maps, 0.25)), 1, axis=2), "mirrored, shifted by 0, 1 px"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_copies_under_other_names_are_found_and_nothing_else(change):
    function, moved = CHANGES[change]
    maps = smooth(12)
    both = np.concatenate([maps, function(maps)])
    people = [f"a{n}" for n in range(12)] + [f"b{n}" for n in range(12)]
    copies = find_copies(both, clips_of(*people))
    assert [(one.first, one.second) for one in copies] == [
        (f"mine/a{n}/c{n}", f"mine/b{n}/c{n + 12}") for n in range(12)
    ]
    assert {one.moved for one in copies} == {moved}
    known = known_fingerprints(function(maps), fingerprints(maps[:6]))
    assert known.tolist() == [True] * 6 + [False] * 6


def test_much_noise_is_no_copy():
    maps = smooth(6)
    assert find_copies(np.concatenate([maps, noisy(maps, 0.8)]), clips_of(*"abcdefghijkl")) == []


@pytest.mark.parametrize("size", [5, 12])
def test_small_maps_are_compared_without_shifts(size):
    maps = np.random.default_rng(1).normal(size=(4, 3, size, size)).astype(np.float32)
    copies = find_copies(np.concatenate([maps, 2 * maps[..., ::-1]]), clips_of(*"abcdefgh"))
    assert [one.moved for one in copies] == ["mirrored"] * 4


def test_two_channels_alone_must_be_nearly_the_same():
    maps = smooth(1)
    maps[:, 2] = 0
    assert find_copies(np.concatenate([maps, noisy(maps, 0.4)]), clips_of("a", "b")) == []
    assert len(find_copies(np.concatenate([maps, noisy(maps, 0.1)]), clips_of("a", "b"))) == 1
    assert not known_fingerprints(maps, fingerprints(maps)).any()


def test_fingerprints_are_the_same_on_every_machine():
    assert "".join("+-"[int(side < 0)] for side in _directions(3)[0, :16]) == "++-+-+-+---+-+--"


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


def test_among_equal_maps_only_nearly_equal_ones_are_none(maps):
    sets = (maps[:2], clips_of("a", "b"), np.stack([maps[0] + 0.05, maps[1]]), clips_of("x", "y"))
    assert [copy.second for copy in find_copies_between(*sets)] == ["mine/x/c0", "mine/y/c1"]
    (copy,) = find_copies_between(*sets, only_equal=True)
    assert (copy.first, copy.second, copy.correlation) == ("mine/b/c1", "mine/y/c1", 1.0)


def test_hashes_tell_maps_apart_and_do_not_depend_on_layout(maps):
    hashes = map_hashes(maps)
    assert hashes.dtype == np.uint64 and len(set(hashes.tolist())) == 4
    assert (map_hashes(maps.astype(np.float64).astype(np.float32, order="F")) == hashes).all()
