import pytest
import torch
from torch.nn import functional

from epir.model.attention import Attention, InterTokenAttention, without_self


def test_plain_attention_is_torchs_own():
    torch.manual_seed(0)
    attention, tokens = Attention(12, 3), torch.randn(2, 5, 12)
    q, k, v = attention.to_qkv(tokens).view(2, 5, 3, 3, 4).permute(2, 0, 3, 1, 4)
    expected = attention.to_out(functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
    mixed, weights, keys = attention(tokens, with_keys=True)
    assert torch.allclose(mixed, expected, atol=1e-6)
    assert weights.shape == (6, 5, 5)
    assert torch.allclose(keys, k.sum(1), atol=1e-6)
    assert attention(tokens)[2] is None


def test_a_token_never_sees_itself():
    attention = InterTokenAttention(12, 3, tokens=5)
    _, weights, _ = attention(torch.randn(2, 5, 12))
    assert (weights.diagonal(dim1=1, dim2=2) == 0).all()
    assert torch.allclose(weights.sum(2), torch.ones(6, 5), atol=1e-6)


def test_the_mask_is_minus_infinity_on_the_diagonal_only():
    assert without_self(2).tolist() == [[-torch.inf, 0], [0, -torch.inf]]


def test_the_temperature_starts_at_the_root_of_the_head_width_and_receives_gradient():
    attention = InterTokenAttention(256, 3, tokens=4)
    assert attention.temperature.flatten().tolist() == pytest.approx([85**0.5] * 3, rel=1e-5)
    attention(torch.randn(2, 4, 256))[0].square().sum().backward()
    assert (attention.temperature.grad != 0).all()


def test_a_lower_temperature_makes_the_weights_sharper():
    attention, tokens = InterTokenAttention(12, 3, tokens=5), torch.randn(1, 5, 12)
    before = attention(tokens)[1].max()
    with torch.no_grad():
        attention.temperature /= 8
    assert attention(tokens)[1].max() > before
