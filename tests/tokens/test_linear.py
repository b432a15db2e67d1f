import pytest
import torch
from torch.nn import functional

from epir.tokens.linear import Linear


def test_it_computes_what_torchs_own_layer_computes():
    x = torch.randn(5, 6)
    for bias in (True, False):
        layer = Linear(6, 4, bias=bias)
        assert torch.allclose(layer(x), functional.linear(x, layer.weight.T, layer.bias), atol=1e-6)
    assert "6, 4, bias=False" in repr(layer)


def test_a_column_of_ones_takes_the_bias_into_the_product_and_its_gradient():
    layer = Linear(6, 4).double()
    torch.nn.init.normal_(layer.bias)
    x, towards = torch.randn(5, 6, dtype=torch.double), torch.randn(5, 4, dtype=torch.double)
    gradients = []
    for given in (layer(x), layer.of_ones(torch.cat([x, torch.ones(5, 1, dtype=torch.double)], dim=1))):
        assert torch.allclose(given, x @ layer.weight + layer.bias, atol=1e-12)
        gradients.append(torch.autograd.grad(given, (layer.weight, layer.bias), towards))
    for plain, ours in zip(*gradients, strict=True):
        assert torch.allclose(ours, plain, atol=1e-12)


def test_ones_are_of_no_use_without_a_bias():
    with pytest.raises(AssertionError, match="without a bias"):
        Linear(6, 4, bias=False).of_ones(torch.ones(5, 7))
