import torch
from torch.nn import functional

from epir.tokens.linear import Linear


def test_it_computes_what_torchs_own_layer_computes():
    x = torch.randn(5, 6)
    for bias in (True, False):
        layer = Linear(6, 4, bias=bias)
        assert torch.allclose(layer(x), functional.linear(x, layer.weight.T, layer.bias), atol=1e-6)
    assert "6, 4, bias=False" in repr(layer)
