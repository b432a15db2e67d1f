import numpy as np
import pytest
import torch

from epir.core.errors import ConfigError, RunError, TrainingError
from epir.models.predict import (
    Tokens,
    find_device,
    mirrored,
    predict_maps,
    read_tokens,
    tensor_with_temperature,
    views,
    with_temperature,
)
from epir.models.registry import create_model


@pytest.fixture
def model():
    torch.manual_seed(0)
    return create_model("ststnet", map_size=14)


@pytest.fixture
def maps():
    return torch.randn(4, 3, 14, 14, generator=torch.Generator().manual_seed(1))


def test_views_are_the_map_its_shifts_and_their_mirror_images():
    maps = torch.randn(2, 3, 6, 6)
    assert [len(views(maps, mirror=m, shift=s)) for m, s in ((False, 0), (True, 0), (False, 1), (True, 1))] == [
        1,
        2,
        5,
        10,
    ]
    seen = views(maps, mirror=True, shift=1)
    assert torch.equal(seen[0], maps) and torch.equal(seen[5], mirrored(maps))
    assert torch.equal(seen[1][..., 1:], maps[..., :-1]) and torch.equal(seen[4][:, :, :-1], maps[:, :, 1:])
    assert len({float(each.sum()) for each in seen}) == 10


def test_mirror_averaging_is_the_mean_of_both_sides(model, maps):
    plain = predict_maps(model, maps, mirror=False).scores
    other = predict_maps(model, mirrored(maps), mirror=False).scores
    assert np.allclose(predict_maps(model, maps, mirror=True).scores, (plain + other) / 2)
    assert np.allclose(plain.sum(1), 1)


def test_many_clips_are_predicted_in_parts(model, maps):
    many = maps.repeat(70, 1, 1, 1)
    assert np.allclose(predict_maps(model, many).scores, np.tile(predict_maps(model, maps).scores, (70, 1)), atol=1e-6)
    assert predict_maps(model, many[:0].numpy()).scores.shape == (0, 3)


def test_an_answer_is_the_mean_over_the_views(model, maps):
    alone = [predict_maps(model, each, mirror=False).scores for each in views(maps, mirror=True, shift=1)]
    np.testing.assert_allclose(predict_maps(model, maps, shift=1).scores, np.mean(alone, axis=0), atol=1e-6)


def test_scores_that_are_no_numbers_are_no_answer(model, maps):
    next(model.parameters()).data.fill_(float("nan"))
    with pytest.raises(TrainingError, match=r"scores that are not finite\n  fix: its training diverged"):
        predict_maps(model, maps)


def test_the_graph_applies_temperature_and_highest_score_as_numpy_does():
    scores = torch.rand(50, 3, generator=torch.Generator().manual_seed(2), dtype=torch.float64).softmax(-1) ** 4
    scores = scores / scores.sum(-1, keepdim=True)
    for temperature, highest in ((1.0, 1.0), (0.4, 1.0), (0.3, 0.6)):
        expected = with_temperature(scores.numpy(), temperature, highest)
        assert tensor_with_temperature(scores, temperature, highest).numpy() == pytest.approx(expected, abs=1e-9)
        assert expected.max() <= highest + 1e-12 and expected.sum(-1) == pytest.approx(np.ones(50))


def test_an_unknown_device_is_named():
    with pytest.raises(ConfigError, match=r"there is no device 'abacus' here\n  fix: use --set training.device=cpu"):
        find_device("abacus")


def test_a_record_is_read_and_counted():
    tokens = read_tokens({"groups": [[0, 1], [2], [3]], "selected": [1], "rollout": [[0.25] * 4]}, "here")
    assert (tokens.grid, tokens.patches, tokens.merged, tokens.rate) == (2, 4, ((0, 1),), 0.25)


@pytest.mark.parametrize(
    "record",
    [
        {},
        None,
        {"groups": [[0], [0], [1], [2]], "selected": [0], "rollout": []},
        {"groups": [[0], [1], [2], [3]], "selected": [4], "rollout": []},
        {"groups": [["x"]], "selected": [0], "rollout": []},
    ],
)
def test_a_damaged_record_is_named_with_its_place(record):
    with pytest.raises(RunError, match=r"the fold f has damaged token records\n  fix: remove that file"):
        read_tokens(record, "the fold f")


def test_attention_is_the_mean_of_the_heads():
    tokens = Tokens(((0,), (1,), (2,), (3,)), (), ((1.0, 0.0, 0.0, 0.0), (0.0, 0.5, 0.5, 0.0)))
    assert tokens.attention == (0.5, 0.25, 0.25, 0.0)
