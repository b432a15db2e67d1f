import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from epir.models.network import InputNormalisation, standardised
from epir.models.predict import mirrored
from epir.training.augment import augment, blurred, mixtures, shifted, turned
from epir.training.recipe import TrainingSettings

STILL = TrainingSettings(mirror=0.0, shift=0, noise=0.0)


def flows(seed, count=4, size=5):
    """Raw maps: signed u and v, strain from 0 up."""
    maps = torch.randn(count, 3, size, size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    maps[:, 2].abs_()
    return maps


def stretched(maps):
    """Each channel of each map to 0..1, as published map sets have it."""
    low, high = maps.amin((2, 3), keepdim=True), maps.amax((2, 3), keepdim=True)
    return (maps - low) / (high - low)


def test_a_mirror_changes_sides_and_the_sign_of_u_alone():
    maps = torch.zeros(1, 3, 2, 2)
    maps[0, :, 0, 0] = torch.tensor([-2.0, 3.0, 5.0])  # up left: towards the left, down, strained
    expected = torch.zeros(1, 3, 2, 2)
    expected[0, :, 0, 1] = torch.tensor([2.0, 3.0, 5.0])
    assert torch.equal(mirrored(maps), expected)


@given(st.integers(0, 1000))
def test_mirroring_and_stretching_commute(seed):
    maps = flows(seed)
    torch.testing.assert_close(mirrored(stretched(maps)), stretched(mirrored(maps)))


@given(st.integers(0, 1000), st.booleans())
def test_mirroring_and_normalising_commute(seed, is_stretched):
    maps = stretched(flows(seed)) if is_stretched else flows(seed)
    normalise = InputNormalisation("map")
    torch.testing.assert_close(mirrored(normalise(maps)), normalise(mirrored(maps)))


@given(st.integers(0, 1000), st.booleans())
def test_a_mirror_image_of_a_mirror_image_is_the_map(seed, is_stretched):
    maps = stretched(flows(seed)) if is_stretched else flows(seed)
    torch.testing.assert_close(mirrored(mirrored(maps)), maps)


def test_a_map_without_motion_stays_without_motion():
    assert torch.equal(mirrored(torch.zeros(1, 3, 4, 4)), torch.zeros(1, 3, 4, 4))


@given(st.integers(-3, 3), st.integers(-3, 3))
def test_a_shift_replicates_the_edges(down, right):
    maps = flows(0, count=2, size=6)
    moved = shifted(maps, torch.tensor([down, 0]), torch.tensor([right, 0]))
    padded = np.pad(maps[0].numpy(), [(0, 0), (3, 3), (3, 3)], mode="edge")
    assert np.array_equal(moved[0].numpy(), padded[:, 3 - down : 9 - down, 3 - right : 9 - right])
    assert torch.equal(moved[1], maps[1])


def test_nothing_changes_when_the_recipe_has_nothing():
    maps = flows(0)
    assert torch.equal(augment(maps, STILL, torch.Generator().manual_seed(0)), maps)


def test_the_noise_goes_with_the_size_of_the_motion():
    maps = flows(0).float()
    noisy = TrainingSettings(mirror=0.0, shift=0, noise=0.2)
    small, large = (augment(scale * maps, noisy, torch.Generator().manual_seed(7)) for scale in (0.01, 1.0))
    torch.testing.assert_close(100 * small, large, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("chance", [0.0, 0.3, 1.0])
def test_clips_are_mirrored_as_often_as_the_recipe_says(chance):
    maps = torch.tensor([1.0, -1.0]).expand(500, 3, 2, 2)
    seen = augment(maps, TrainingSettings(mirror=chance, shift=0, noise=0.0), torch.Generator().manual_seed(0))
    share = (seen[:, 1, 0, 0] != maps[:, 1, 0, 0]).float().mean()
    assert share == pytest.approx(chance, abs=0.07)


def test_a_quarter_turn_is_exact_and_clockwise():
    maps = torch.randn(2, 3, 6, 6)
    one = torch.ones(2)
    torch.testing.assert_close(turned(maps, math.pi / 2 * one, one, one), maps.rot90(-1, (2, 3)), atol=1e-5, rtol=0)
    torch.testing.assert_close(turned(maps, 0 * one, one, one), maps, atol=1e-6, rtol=0)


def test_a_face_twice_as_large_shows_its_middle_half():
    ramp = torch.linspace(-1, 1, 16).expand(1, 3, 16, 16)
    one = torch.ones(1)
    larger = turned(ramp, 0 * one, 2 * one, one)
    torch.testing.assert_close(larger, ramp / 2, atol=1e-5, rtol=0)
    torch.testing.assert_close(turned(ramp, 0 * one, one, 2 * one), ramp / 2, atol=1e-5, rtol=0)  # wider
    upright = ramp.transpose(2, 3)
    torch.testing.assert_close(turned(upright, 0 * one, one, 2 * one), upright, atol=1e-5, rtol=0)  # not higher


def test_blur_keeps_the_level_and_spreads_a_point_as_a_gaussian():
    point = torch.zeros(1, 3, 15, 15)
    point[:, :, 7, 7] = 1
    soft = blurred(point, 0.9)
    assert torch.allclose(soft.sum((2, 3)), torch.ones(1, 3), atol=1e-5)
    row = soft[0, 0].sum(0)
    spread = float((row * (torch.arange(15) - 7.0) ** 2).sum()) ** 0.5
    assert 0.85 < spread < 0.95
    assert torch.allclose(blurred(torch.full((1, 3, 5, 5), 2.0), 0.5), torch.full((1, 3, 5, 5), 2.0))


def test_turn_zoom_and_blur_follow_the_recipe_and_its_random_numbers():
    maps = torch.randn(8, 3, 14, 14)
    for changes in ({"turn": 5.0}, {"zoom": 0.1}, {"blur": 1.0}):
        recipe = replace(STILL, **changes)
        one, two, other = (augment(maps, recipe, torch.Generator().manual_seed(seed)) for seed in (1, 1, 2))
        assert torch.equal(one, two) and not torch.equal(one, other) and one.shape == maps.shape
        assert 0.01 < (one - maps).abs().mean() < 0.9
    assert torch.equal(augment(maps, STILL, torch.Generator()), maps)


@given(st.integers(0, 1000))
def test_a_mixture_lies_between_its_maps_on_the_scale_of_the_first(seed):
    first, second = flows(seed), 50 * flows(seed + 1) + 3
    mixed = mixtures(first, second, torch.Generator().manual_seed(seed))
    moved = first.mean((2, 3), keepdim=True) + first.std((2, 3), correction=0, keepdim=True) * standardised(second)
    share = ((mixed - moved) / (first - moved)).flatten(1)  # (B, 3 * S * S): the same everywhere in a map
    torch.testing.assert_close(share, share[:, :1].expand_as(share), rtol=1e-5, atol=1e-5)
    assert share.min() >= 0 and share.max() <= 1 and len(set(share[:, 0].tolist())) == len(share)
    torch.testing.assert_close(mixtures(first, 2 * first + 1, torch.Generator()), first)
