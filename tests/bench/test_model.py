import torch

from epir.bench.model import count_multiply_adds, training_step
from epir.models.epir import Epir
from epir.models.settings import preset


def test_multiply_adds_of_one_linear_layer():
    layer = torch.nn.Linear(5, 7)
    assert count_multiply_adds(layer, torch.randn(2, 5)) == 2 * 5 * 7
    assert layer.training


def test_a_timed_training_step_really_trains():
    model = Epir(preset("epir", width=24, feed_forward=32))
    before = model.head.weight.detach().clone()
    training_step(model, torch.randn(6, 3, 28, 28))()
    assert not torch.equal(model.head.weight, before)
