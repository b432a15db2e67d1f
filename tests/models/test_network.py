import numpy as np
import pytest
import torch

from epir.models.epir import Epir
from epir.models.network import InputNormalisation
from epir.models.settings import preset


def test_distillation_learns_probabilities_in_place_of_labels():
    torch.manual_seed(0)
    model = Epir(preset("epir", width=24, feed_forward=32)).eval()
    maps = torch.randn(5, 3, 28, 28)
    target = torch.rand(5, 3).softmax(-1)
    expected = -(target * model(maps).log_softmax(-1)).sum(-1).mean()
    torch.testing.assert_close(model.loss(maps, target), expected)
    torch.testing.assert_close(model.loss(maps, target, smoothing=0.5, weights=torch.rand(3)), expected)


def stretched(maps):
    low, high = maps.amin((2, 3), keepdim=True), maps.amax((2, 3), keepdim=True)
    return (maps - low) / (high - low)


def test_map_makes_raw_flow_and_stretched_maps_the_same():
    maps = torch.randn(4, 3, 8, 8) * 3 + 1
    normalise = InputNormalisation("map")
    assert torch.allclose(normalise(maps), normalise(stretched(maps)), atol=1e-5)
    assert np.allclose(normalise(maps).mean((2, 3)), 0, atol=1e-6)


@pytest.mark.parametrize("mode", ["map", "squash"])
def test_a_channel_without_motion_stays_at_zero(mode):
    assert (InputNormalisation(mode)(torch.full((1, 3, 4, 4), 7.0)) == 0).all()


def test_squash_keeps_one_wild_pixel_from_hiding_the_rest():
    maps = torch.randn(1, 3, 28, 28)
    wild = maps.clone()
    wild[:, :, 3, 4] = 60
    rest = torch.ones(28, 28, dtype=torch.bool)
    rest[3, 4] = False
    for mode, left in (("map", (0.2, 0.6)), ("squash", (0.9, 1.1))):
        normalise = InputNormalisation(mode)
        ratio = float(normalise(wild)[0, 0][rest].std() / normalise(maps)[0, 0][rest].std())
        assert left[0] < ratio < left[1], mode
    squash = InputNormalisation("squash")
    assert torch.allclose(
        squash(maps), squash(stretched(maps)), atol=1e-5
    )  # as `map`, scale and zero are of no account
    assert torch.allclose(squash(maps).std((2, 3), correction=0), torch.ones(1, 3), atol=1e-5)


def test_none_changes_nothing():
    maps = torch.randn(1, 3, 4, 4)
    assert InputNormalisation("none")(maps) is maps
