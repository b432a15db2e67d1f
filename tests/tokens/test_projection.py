import torch
from torch import nn

from epir.tokens.linear import Linear
from epir.tokens.patches import PatchTokens
from epir.tokens.projection import project


def a_norm_and_a_layer(values=6, width=4):
    torch.manual_seed(0)
    norm, layer = nn.LayerNorm(values).double(), Linear(values, width).double()
    with torch.no_grad():
        for parameter in (*norm.parameters(), layer.bias):
            parameter += torch.rand_like(parameter)
    return norm, layer


def test_values_and_gradients_are_those_of_the_two_layers():
    norm, layer = a_norm_and_a_layer()
    values, towards = torch.randn(9, 6).double() * 3 + 1, torch.randn(9, 4).double()
    parameters = (*norm.parameters(), *layer.parameters())
    ours, torchs = project(values, norm, layer), layer(norm(values))
    assert torch.allclose(ours, torchs, atol=1e-12)
    expected = torch.autograd.grad(torchs, parameters, towards)
    for gradient, right in zip(torch.autograd.grad(ours, parameters, towards), expected, strict=True):
        assert torch.allclose(gradient, right, atol=1e-12)


def test_maps_that_want_a_gradient_receive_it():
    tokens = PatchTokens(map_size=14, patch=7, width=8, tokenization="shifted-dual", shift="map").double()
    maps = torch.randn(1, 3, 14, 14, dtype=torch.double)
    without = tokens(maps)
    assert torch.allclose(without, tokens(maps.requires_grad_()), atol=1e-12)
    tokens(maps).square().sum().backward()
    assert maps.grad.abs().sum() > 0
