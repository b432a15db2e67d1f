import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from epir.model.normalise import InputNormalisation
from epir.training.augment import augment, mirrored, shifted
from epir.training.settings import TrainingSettings

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
