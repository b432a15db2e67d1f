import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from epir.core.errors import ConfigError
from epir.core.facs import UNITS
from epir.models.folder import load_network, read_config, start_from
from epir.models.network import InputNormalisation, standardised
from epir.models.predict import mirrored, predict_maps
from epir.models.registry import build
from epir.models.settings import SHIPPED, ModelSettings
from epir.models.units import LEFT, PRESENT, RIGHT, UnitHead
from epir.training.data import (
    LabelledMaps,
    augment,
    blurred,
    in_mirror,
    mixtures,
    read_units,
    shifted,
    shuffled,
    steps_per_epoch,
    warped,
)
from epir.training.recipe import TrainingSettings
from epir.training.train import fit

RECIPE = TrainingSettings(epochs=4, batch=8, lr=0.01)
WITH_UNITS = replace(RECIPE, action_units=1.0)


def of_unit(truth, unit):
    return truth[:, UNITS.index(unit)]


def test_what_annotations_say():
    truth = read_units(["4+L14", "R12", "", "1 + 2 + 25", "31"])
    named = [[unit for unit, there in zip(UNITS, row[:, PRESENT].tolist(), strict=True) if there == 1] for row in truth]
    assert named == [[4, 14], [12], [], [1, 2, 25], []]
    assert truth[2].isnan().all() and not truth[[0, 1, 3, 4], :, PRESENT].isnan().any()
    assert of_unit(truth, 4)[0].tolist() == [1, 1, 1]
    assert of_unit(truth, 14)[0].tolist() == [1, 1, 0] and of_unit(truth, 12)[1].tolist() == [1, 0, 1]
    assert of_unit(truth, 12)[0, [LEFT, RIGHT]].isnan().all(), "a unit that is not there has no side"
    assert read_units([]).shape == (0, len(UNITS), 3)


def test_annotators_who_write_no_sides_say_nothing_about_them():
    assert read_units(["4", "12+6"])[..., [LEFT, RIGHT]].isnan().all()
    assert of_unit(read_units(["4", "L12"]), 4)[0].tolist() == [1, 1, 1]


def test_left_and_right_change_places_in_the_mirror():
    truth = read_units(["4+L14", "R12"])
    seen = in_mirror(truth, torch.tensor([True, False]))
    assert of_unit(seen, 14)[0].tolist() == [1, 0, 1]
    torch.testing.assert_close(seen[1], truth[1], equal_nan=True)
    torch.testing.assert_close(seen[..., PRESENT], truth[..., PRESENT], equal_nan=True)


def test_clips_without_an_annotation_say_nothing():
    torch.manual_seed(0)
    head, features = UnitHead(5), torch.randn(3, 5, requires_grad=True)
    truth = read_units(["L4", "", "12"])
    loss = head.loss(features, truth)
    loss.backward()
    assert torch.isfinite(loss) and (features.grad[1] == 0).all() and (features.grad[0] != 0).any()
    torch.testing.assert_close(loss, head.loss(features[[0, 2]], truth[[0, 2]]))
    assert head.loss(features, read_units(["", "", ""])) == 0


def test_the_head_learns_and_stays_with_the_network(make_tiny, two_classes, tmp_path):
    annotated = replace(two_classes, units=read_units(["1+2" if label == 0 else "12" for label in two_classes.labels]))
    plain, helped, again = make_tiny(), make_tiny(), make_tiny()
    fit(plain, annotated, RECIPE)
    trained = fit(helped, annotated, WITH_UNITS)
    assert trained.model is helped and plain.unit_head is None
    assert set(helped.state_dict()) - set(plain.state_dict()) == {
        f"unit_head.{name}" for name in ("norm.weight", "norm.bias", "layer.weight", "layer.bias")
    }
    predicted = predict_maps(helped, two_classes.maps)
    scores, logits = predicted.scores, predicted.units
    assert (scores == predict_maps(helped, two_classes.maps, units=False).scores).all() and logits.shape == (
        20,
        3,
        len(UNITS),
    )
    smile = logits[:, PRESENT, UNITS.index(12)]
    assert smile[two_classes.labels == 1].min() > smile[two_classes.labels == 0].max()
    fit(again, annotated, WITH_UNITS, checkpoint=tmp_path / "state")
    fit(resumed := make_tiny(), annotated, WITH_UNITS, checkpoint=tmp_path / "state")
    for other in (again, resumed):
        assert (predict_maps(other, two_classes.maps).units == logits).all()


@pytest.mark.parametrize("shift", [0, 1])
def test_the_answer_for_a_mirrored_map_is_the_mirrored_answer(make_tiny, two_classes, shift):
    network = make_tiny()
    network.unit_head = UnitHead(12)
    logits = predict_maps(network, two_classes.maps, shift=shift).units
    other = predict_maps(network, mirrored(two_classes.maps), shift=shift).units
    torch.testing.assert_close(torch.from_numpy(other), torch.from_numpy(logits[:, [PRESENT, RIGHT, LEFT]]))
    assert abs(logits[:, LEFT] - logits[:, RIGHT]).max() > 0.01, "the maps are not symmetrical"


def test_sides_are_learnt_from_annotations(make_tiny):
    """Clips that move on the right of the picture, the person's left, or on the other side."""
    random = torch.Generator().manual_seed(2)
    left = torch.arange(40) % 2 == 0
    maps = 0.3 * torch.randn(40, 3, 6, 6, generator=random)
    maps[left, 1, :, 3:] -= 1
    maps[~left, 1, :, :3] -= 1
    clips = LabelledMaps.of(maps.numpy(), ["a", "b"] * 20, ("a", "b"), ["L12" if each else "R12" for each in left])
    network = make_tiny(dropout=0.0)
    fit(network, clips, replace(WITH_UNITS, epochs=30, mirror=0.5))
    logits = predict_maps(network, maps).units[..., UNITS.index(12)]
    assert (logits[left, LEFT] > logits[left, RIGHT]).all() and (logits[~left, RIGHT] > logits[~left, LEFT]).all()


def test_without_annotations_the_setting_does_nothing(make_tiny, two_classes):
    one, two, three = make_tiny(), make_tiny(), make_tiny()
    fit(one, two_classes, RECIPE)
    fit(two, two_classes, WITH_UNITS)
    fit(three, replace(two_classes, units=read_units([""] * 20)), WITH_UNITS)
    assert (predict_maps(one, two_classes.maps).scores == predict_maps(two, two_classes.maps).scores).all()
    assert two.unit_head is None and three.unit_head is None


SMALL = ModelSettings(map_size=8, patch=4, width=8, heads=2, feed_forward=8, blocks=3, integration=0.25, classes=2)


@pytest.fixture
def small_clips():
    maps = torch.randn(8, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    return LabelledMaps.of(maps.numpy(), ["a", "b"] * 4, ("a", "b"), ["L12", "4"] * 4)


def test_the_head_is_saved_loaded_and_started_from(small_clips, tmp_path):
    network = build(SMALL)
    fit(network, small_clips, replace(WITH_UNITS, epochs=1))
    network.save_pretrained(tmp_path / "model", labels=("a", "b"))
    assert read_config(tmp_path / "model").units == UNITS
    loaded = load_network(tmp_path / "model")
    assert (predict_maps(loaded, small_clips.maps).units == predict_maps(network, small_clips.maps).units).all()
    other = build(SMALL)
    assert start_from(other, tmp_path / "model", ("a", "b"))
    torch.testing.assert_close(other.state_dict(), network.state_dict())
    trained_on = build(SMALL)
    fit(trained_on, small_clips, replace(WITH_UNITS, epochs=1, start=tmp_path / "model", interpolate=1.0))
    torch.testing.assert_close(trained_on.state_dict(), network.state_dict())  # the head too goes back to the start
    forgotten = build(SMALL)
    fit(forgotten, small_clips, replace(RECIPE, epochs=1, start=tmp_path / "model"))
    assert forgotten.unit_head is None, "a head that is not trained on does not fit features that moved"


def test_a_folder_without_a_head_is_started_from_with_a_new_one(small_clips, tmp_path):
    network = build(SMALL)
    network.save_pretrained(tmp_path / "plain", labels=("a", "b"))
    assert read_config(tmp_path / "plain").units == () and load_network(tmp_path / "plain").unit_head is None
    model = build(SMALL)
    fit(model, small_clips, replace(WITH_UNITS, epochs=2, start=tmp_path / "plain", interpolate=1.0))
    body = {name: tensor for name, tensor in model.state_dict().items() if not name.startswith("unit_head")}
    torch.testing.assert_close(body, network.state_dict())
    assert model.unit_head is not None and model.unit_head.layer.bias.abs().max() > 0  # moved, not interpolated away


def test_a_frozen_model_learns_a_head_and_nothing_else(small_clips, tmp_path):
    first = build(SMALL)
    first.save_pretrained(tmp_path / "start", labels=("a", "b"))
    trained = build(SMALL)
    fit(trained, small_clips, replace(WITH_UNITS, start=tmp_path / "start", freeze=True))
    after = trained.state_dict()
    assert all(torch.equal(tensor, after[name]) for name, tensor in first.state_dict().items())
    assert trained.unit_head is not None and trained.unit_head.layer.bias.abs().max() > 0
    assert all(parameter.requires_grad for parameter in trained.parameters())


def test_a_frozen_model_needs_weights_and_something_to_learn():
    with pytest.raises(ConfigError, match="trains only a head for action units"):
        TrainingSettings(freeze=True, action_units=1.0)
    with pytest.raises(ConfigError) as caught:
        TrainingSettings(freeze=True, start=SHIPPED)
    assert caught.value.fix == "set training.start and training.action_units too"


@given(st.integers(2, 60), st.integers(1, 70))
def test_an_epoch_sees_every_clip_once_and_no_batch_has_a_single_clip(count, batch):
    parts = list(shuffled(count, batch, torch.Generator().manual_seed(3)))
    assert sorted(torch.cat(parts).tolist()) == list(range(count))
    sizes = [len(part) for part in parts]
    assert len(sizes) == steps_per_epoch(count, batch)
    assert all(size == batch for size in sizes[:-1]) and sizes[-1] <= batch + 1
    assert sizes[-1] > 1 or batch == 1


def test_full_batches_come_first_as_in_the_paper():
    assert [len(part) for part in shuffled(435, 256, torch.Generator())] == [256, 179]
    assert [len(part) for part in shuffled(65, 32, torch.Generator())] == [32, 33]  # no batch of one clip


def test_labels_become_the_numbers_of_their_classes():
    clips = LabelledMaps.of(np.zeros((3, 3, 2, 2)), ["b", "a", "b"], ("a", "b"))
    assert clips.labels.tolist() == [1, 0, 1] and clips.maps.dtype == torch.float32 and len(clips) == 3


def test_a_label_that_is_no_class_is_refused():
    with pytest.raises(ConfigError, match="there is no class 'surprize'\n  fix: did you mean 'surprise'"):
        LabelledMaps.of(np.zeros((1, 3, 2, 2)), ["surprize"], ("negative", "surprise"))


def test_class_weights_make_present_classes_count_the_same():
    clips = LabelledMaps.of(np.zeros((4, 3, 2, 2)), ["a", "a", "a", "b"], ("a", "b", "never"))
    weights = clips.class_weights()
    assert weights.tolist() == pytest.approx([2 / 3, 2, 0])
    assert weights[clips.labels].mean() == pytest.approx(1)


def test_the_file_behind_the_maps_is_not_touched():
    maps = np.zeros((1, 3, 2, 2), dtype=np.float32)
    LabelledMaps.of(maps, ["a"], ("a", "b")).maps.add_(1)
    assert not maps.any()


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
    torch.testing.assert_close(warped(maps, math.pi / 2 * one, one, one), maps.rot90(-1, (2, 3)), atol=1e-5, rtol=0)
    torch.testing.assert_close(warped(maps, 0 * one, one, one), maps, atol=1e-6, rtol=0)


def test_a_face_twice_as_large_shows_its_middle_half():
    ramp = torch.linspace(-1, 1, 16).expand(1, 3, 16, 16)
    one = torch.ones(1)
    larger = warped(ramp, 0 * one, 2 * one, one)
    torch.testing.assert_close(larger, ramp / 2, atol=1e-5, rtol=0)
    torch.testing.assert_close(warped(ramp, 0 * one, one, 2 * one), ramp / 2, atol=1e-5, rtol=0)  # wider
    upright = ramp.transpose(2, 3)
    torch.testing.assert_close(warped(upright, 0 * one, one, 2 * one), upright, atol=1e-5, rtol=0)  # not higher


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
