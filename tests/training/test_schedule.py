import pytest
import torch
from torch import nn

from epir.training.schedule import make_optimiser, rate
from epir.training.recipe import TrainingSettings


def test_the_rate_rises_then_falls_along_half_a_cosine():
    recipe = TrainingSettings(lr=1.0, warmup=0.2)
    rates = [rate(step, 10, recipe) for step in range(10)]
    assert rates[:3] == pytest.approx([0.5, 1.0, 1.0])
    assert rates[2:] == sorted(rates[2:], reverse=True)
    assert rates[6] == pytest.approx(0.5) and 0 < rates[-1] < 0.05


def test_a_constant_rate_stays():
    recipe = TrainingSettings(lr=0.5, warmup=0.0, schedule="constant")
    assert {rate(step, 7, recipe) for step in range(7)} == {0.5}


def test_only_matrices_decay():
    layers = nn.Sequential(nn.Linear(3, 2), nn.LayerNorm(2))
    decaying, other = make_optimiser(layers.parameters(), TrainingSettings(weight_decay=0.1)).param_groups
    assert decaying["weight_decay"] == 0.1 and [tuple(each.shape) for each in decaying["params"]] == [(2, 3)]
    assert other["weight_decay"] == 0 and len(other["params"]) == 3


@pytest.mark.parametrize(("name", "kind"), [("adam", torch.optim.Adam), ("adamw", torch.optim.AdamW)])
def test_the_optimiser_has_the_name_it_is_given(name, kind):
    optimiser = make_optimiser(nn.Linear(2, 2).parameters(), TrainingSettings(optimiser=name))
    assert type(optimiser) is kind
