import numpy as np
import pytest
import torch

from epir.bench.robustness import (
    UNCHANGED,
    Computation,
    clip_map,
    computations,
    downsample_and_restore,
    measure,
    perturbations,
    scores,
    share_when_slow,
    smoothed_8_bit,
    stretched,
    synthetic_scores,
)
from epir.core.errors import ConfigError
from epir.core.seeds import generator
from epir.maps.mapset import save_maps
from epir.models.network import standardised
from epir.models.registry import create_model
from epir.synthetic.maps import synthetic_maps


@pytest.fixture(scope="module")
def maps(tmp_path_factory):
    drawn = synthetic_maps(48, "direct", seed=4)
    folder = tmp_path_factory.mktemp("robustness") / "maps"
    save_maps(folder, drawn.maps, drawn.clips, recipe=drawn.meta["recipe"])
    return folder


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    torch.manual_seed(2)
    folder = tmp_path_factory.mktemp("robustness") / "model"
    labels = ("negative", "positive", "surprise")
    create_model("epir", width=24, feed_forward=24, heads=2, blocks=3).save_pretrained(folder, labels=labels)
    return folder


def test_every_change_keeps_the_shape_and_all_but_one_change_the_maps():
    maps = torch.randn(3, 3, 28, 28)
    for name, changes in perturbations().items():
        for change in changes:
            changed = change(maps)
            assert changed.shape == maps.shape and torch.isfinite(changed).all()
            assert torch.equal(changed, maps) == (name == UNCHANGED), name


def test_a_smooth_map_survives_being_made_smaller_and_detail_does_not():
    ramp = torch.linspace(0, 1, 28).expand(1, 3, 28, 28)
    torch.testing.assert_close(downsample_and_restore(ramp)[..., 3:-3], ramp[..., 3:-3], atol=0.01, rtol=0)
    board = (torch.arange(28)[:, None] + torch.arange(28)) % 2 * torch.ones(1, 3, 28, 28)
    assert downsample_and_restore(board).std() < 0.4 * board.std()


def test_stretched_and_standardised_maps():
    maps = 5 * torch.randn(2, 3, 8, 8) + 3
    assert stretched(maps).amin() == 0 and stretched(maps).amax() == 1
    assert torch.allclose(standardised(maps).mean((2, 3)), torch.zeros(2, 3), atol=1e-5)


def test_scaling_costs_nothing_where_maps_are_normalised_one_by_one(maps, weights):
    measured = scores([maps], protocol="sde", weights=weights)
    assert list(measured) == list(perturbations())
    assert 0 <= measured[UNCHANGED] <= 1
    assert measured["channels stretched to 0..1"] == measured["channels standardised"] == measured[UNCHANGED]


def test_the_area_gives_scores_and_how_much_they_drop(maps, weights):
    lines = measure(inputs=[str(maps)], changes=["protocol=sde", f"weights={weights}"])
    assert lines[0].name == f"UF1 (strict), {UNCHANGED}"
    assert lines[0].detail.endswith("(+0.000)")
    blurred = next(line for line in lines if "blurred" in line.name)
    assert blurred.detail == f"{blurred.value:.3f} ({blurred.value - lines[0].value:+.3f})"


def test_without_map_sets_synthetic_clips_are_computed_in_thirteen_ways(weights):
    lines = measure(changes=["clips=3", f"weights={weights}"])
    assert len(lines) == 13
    best = max(line.value for line in lines)
    for line in lines:
        assert line.detail == f"{line.value:.3f} ({line.value - best:+.3f})"


def test_every_computation_gives_another_map_of_the_same_clip():
    by_name = {name: clip_map(2, computation) for name, computation in computations().items()}
    maps = list(by_name.values())
    assert len(maps) == 13 and all(each.shape == (3, 28, 28) and np.isfinite(each).all() for each in maps)
    for number, one in enumerate(maps):
        assert not any(np.array_equal(one, other) for other in maps[:number])
    np.testing.assert_array_equal(maps[0], clip_map(2, Computation()))


def test_a_slow_camera_sees_a_part_of_the_expression():
    shares = [share_when_slow(generator(0, "slow", number)) for number in range(200)]
    assert all(0 < share <= 1 for share in shares)
    assert 0.5 < np.mean(shares) < 0.98


def test_eight_bits_have_256_steps_at_most():
    smooth = smoothed_8_bit(generator(0, "map").normal(size=(3, 28, 28)).astype(np.float32))
    assert smooth.min() == 0 and smooth.max() == 1
    np.testing.assert_allclose(smooth * 255, (smooth * 255).round(), atol=1e-4)


def test_too_few_clips_are_refused():
    with pytest.raises(ConfigError, match=r"clips cannot be 2\n  fix: give --set clips=3 or more"):
        synthetic_scores(clips=2)
