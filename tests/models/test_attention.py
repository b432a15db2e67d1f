import pytest
import torch
from torch.nn import functional

from epir.models.attention import Attention, InterTokenAttention


@pytest.mark.parametrize("batch", [1, 2])
def test_plain_attention_is_torchs_own(batch):
    torch.manual_seed(0)
    attention, rows = Attention(12, 3), torch.randn(batch * 5, 12)
    q, k, v = attention.to_qkv(rows).view(batch, 5, 3, 3, 4).permute(2, 0, 3, 1, 4)
    expected = functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2).flatten(0, 1)
    mixed, weights, keys = attention(rows, batch)
    assert torch.allclose(attention.project(mixed), attention.to_out(expected), atol=1e-6)
    assert weights.shape == (3 * batch, 5, 5)
    assert torch.equal(keys, k.transpose(1, 2))


def test_a_token_never_sees_itself():
    attention = InterTokenAttention(12, 3)
    _, weights, _ = attention(torch.randn(2 * 5, 12), 2)
    assert (weights.diagonal(dim1=1, dim2=2) == 0).all()
    assert torch.allclose(weights.sum(2), torch.ones(6, 5), atol=1e-6)


def test_the_temperature_starts_at_the_root_of_the_head_width_and_receives_gradient():
    attention = InterTokenAttention(256, 3)
    assert attention.temperature.flatten().tolist() == pytest.approx([85**0.5] * 3, rel=1e-5)
    attention(torch.randn(2 * 4, 256), 2)[0].square().sum().backward()
    assert (attention.temperature.grad != 0).all()


def test_a_lower_temperature_makes_the_weights_sharper():
    attention, rows = InterTokenAttention(12, 3), torch.randn(5, 12)
    before = attention(rows, 1)[1].max()
    with torch.no_grad():
        attention.temperature /= 8
    assert attention(rows, 1)[1].max() > before
