import pytest
import torch
from torch.nn import functional

from epir.model.attention import Attention, InterTokenAttention, softmax, without_self


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
    attention = InterTokenAttention(12, 3)
    _, weights, _ = attention(torch.randn(2, 5, 12))
    assert (weights.diagonal(dim1=1, dim2=2) == 0).all()
    assert torch.allclose(weights.sum(2), torch.ones(6, 5), atol=1e-6)


def test_the_mask_is_minus_infinity_on_the_diagonal_only():
    assert without_self(torch.ones(1, 2, 2)).tolist() == [[[-torch.inf, 1], [1, -torch.inf]]]


def test_the_temperature_starts_at_the_root_of_the_head_width_and_receives_gradient():
    attention = InterTokenAttention(256, 3)
    assert attention.temperature.flatten().tolist() == pytest.approx([85**0.5] * 3, rel=1e-5)
    attention(torch.randn(2, 4, 256))[0].square().sum().backward()
    assert (attention.temperature.grad != 0).all()


def test_a_lower_temperature_makes_the_weights_sharper():
    attention, tokens = InterTokenAttention(12, 3), torch.randn(1, 5, 12)
    before = attention(tokens)[1].max()
    with torch.no_grad():
        attention.temperature /= 8
    assert attention(tokens)[1].max() > before


def test_short_rows_have_the_same_softmax_and_gradient_as_torchs_own():
    scores = torch.randn(30, 5, 5).double() * 4
    scores[:, range(5), range(5)] = -torch.inf
    ours, torchs = scores.clone().requires_grad_(), scores.clone().requires_grad_()
    weights = softmax(ours)
    assert torch.allclose(weights, torchs.softmax(-1), atol=1e-12)
    assert (weights.diagonal(dim1=1, dim2=2) == 0).all()
    towards = torch.randn_like(scores)
    weights.backward(towards)
    torchs.softmax(-1).backward(towards)
    assert torch.allclose(ours.grad, torchs.grad, atol=1e-12)


def test_many_tokens_take_another_way_to_the_same_scores():
    torch.manual_seed(0)
    attention = InterTokenAttention(12, 3)  # more tokens than the 4 values of a head
    with torch.no_grad():
        attention.temperature += torch.rand(3, 1, 1)
    q, k = torch.randn(6, 9, 4), torch.randn(6, 4, 9)
    scores = ((q @ k).view(2, 3, 9, 9) / attention.temperature).flatten(0, 1)
    assert torch.allclose(attention.scores(q, k), without_self(scores), atol=1e-5)
