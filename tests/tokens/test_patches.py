import pytest
import torch

from epir.tokens.patches import PatchTokens, into_patches, value_sources, with_shifted


def test_patches_are_cut_row_by_row_and_hold_every_value_once():
    maps = torch.arange(2 * 3 * 4 * 4.0).view(2, 3, 4, 4)
    patches = into_patches(maps, 2)
    assert patches.shape == (2, 4, 12)
    assert torch.equal(patches[0, 1], maps[0, :, :2, 2:].flatten())  # the second patch lies to the right of the first
    assert torch.equal(patches.flatten().sort().values, maps.flatten())


def test_the_copies_are_shifted_along_the_four_diagonals_and_filled_with_zeros():
    maps = torch.zeros(1, 1, 5, 5)
    maps[0, 0, 2, 2] = 1
    copies = with_shifted(maps, 1)[0]  # (5, 5, 5)
    places = [tuple(copy.nonzero()[0].tolist()) for copy in copies]
    assert places == [(2, 2), (1, 3), (1, 1), (3, 1), (3, 3)]  # right-up, left-up, left-down, right-down
    assert with_shifted(maps, 3).sum() == 1  # shifted out of the map: zeros come in


@pytest.mark.parametrize(
    ("tokenization", "shift", "pixels"), [("plain", "map", 0), ("shifted", "map", 14), ("shifted", "patch", 3)]
)
def test_the_look_up_equals_shifting_and_cutting(tokenization, shift, pixels):
    tokens = PatchTokens(map_size=28, patch=7, width=8, tokenization=tokenization, shift=shift)
    maps = torch.randn(3, 3, 28, 28)
    copies = with_shifted(maps, pixels) if pixels else maps
    rows = into_patches(copies, 7).flatten(0, 1)
    expected = tokens.second_norm(tokens.project(tokens.norm(rows))).view(3, 16, 8)
    assert torch.allclose(tokens(maps), expected, atol=1e-6)


def test_the_papers_patch_has_735_values():
    assert value_sources(28, 7, 14).shape == (16, 735)


def test_the_second_norm_gives_every_token_zero_mean_and_unit_deviation():
    tokens = PatchTokens(map_size=28, patch=7, width=64, tokenization="shifted-dual", shift="map")(
        torch.randn(2, 3, 28, 28)
    )
    assert torch.allclose(tokens.mean(-1), torch.zeros(2, 16), atol=1e-5)
    assert torch.allclose(tokens.var(-1, unbiased=False), torch.ones(2, 16), atol=1e-2)
