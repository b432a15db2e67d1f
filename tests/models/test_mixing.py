import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from epir.models.attention import Attention, InterTokenAttention
from epir.models.mixing import mix, softmax, without_self


def attention_of(kind, heads=3, width=4):
    """An attention in double precision whose temperatures differ from head to head."""
    attention = kind(heads * width, heads).double()
    if kind is InterTokenAttention:
        with torch.no_grad():
            attention.temperature += torch.rand(heads, 1, 1)
    return attention


@settings(max_examples=25, deadline=None)
@given(
    kind=st.sampled_from([Attention, InterTokenAttention]),
    batch=st.integers(1, 12),
    tokens=st.integers(2, 19),
    heads=st.integers(1, 4),
    seed=st.integers(0, 10**6),
)
def test_mixing_and_its_gradients_are_those_of_the_plain_operations(kind, batch, tokens, heads, seed):
    torch.manual_seed(seed)
    attention = attention_of(kind, heads)
    qkv = torch.randn(batch, tokens, 3, heads, 4, dtype=torch.double)
    towards = torch.randn(batch * tokens, heads * 4, dtype=torch.double)
    results = []
    for way in (lambda x: mix(x, attention.temperature, sees_itself=attention.sees_itself), attention.mix_plainly):
        x = qkv.clone().requires_grad_()
        attention.zero_grad()
        mixed, weights = way(x)
        mixed = mixed[:, : heads * 4]
        mixed.backward(towards)
        learned = [attention.temperature.grad] if kind is InterTokenAttention else []
        results.append([mixed, weights, x.grad, *learned])
    for ours, plain in zip(*results, strict=True):
        assert torch.allclose(ours, plain, atol=1e-10)


@pytest.mark.parametrize("gradient", [False, True])
def test_ones_stand_behind_the_mixed_values(gradient):
    mixed, _ = mix(torch.randn(2, 5, 3, 3, 4, requires_grad=gradient), 2.0, sees_itself=True)
    assert mixed.shape == (2 * 5, 3 * 4 + 1)
    assert (mixed[:, -1] == 1).all()


@pytest.mark.parametrize("learned", [False, True])
@pytest.mark.parametrize("sees_itself", [False, True])
def test_the_gradient_written_by_hand_is_the_numerical_one(learned, sees_itself):
    torch.manual_seed(0)
    qkv = torch.randn(2, 5, 3, 3, 4, dtype=torch.double, requires_grad=True)
    temperature = torch.rand(3, 1, 1, dtype=torch.double).add_(1).requires_grad_() if learned else 2.0

    def mixed(x, divisor):
        return mix(x, divisor, sees_itself=sees_itself)[0]

    assert torch.autograd.gradcheck(mixed, (qkv, temperature))
    mixed(qkv, temperature).sum().backward()  # a gradient that is one number everywhere


def test_a_second_backward_pass_gives_the_same_and_only_the_last_writes_over_the_memory():
    leaf, towards = torch.randn(4, 7, 3, 3, 5), torch.randn(4 * 7, 3 * 5 + 1)
    leaf.requires_grad_()
    qkv = leaf * 1
    mixed, _ = mix(qkv, torch.full((3, 1, 1), 2.0), sees_itself=False)
    first, second = (torch.autograd.grad(mixed, leaf, towards, retain_graph=True)[0] for _ in range(2))
    assert torch.equal(qkv, leaf)
    last = torch.autograd.grad(mixed, leaf, towards)[0]
    assert torch.equal(first, second) and torch.equal(first, last)
    assert torch.equal(qkv, first)


def test_what_was_given_is_not_written_over():
    leaf = torch.randn(4, 7, 3, 3, 5, requires_grad=True)
    strided = leaf.transpose(0, 1).contiguous().transpose(0, 1)
    before = leaf.detach().clone()
    for qkv in (leaf, strided):
        mix(qkv, 2.0, sees_itself=True)[0].sum().backward()
        assert torch.equal(qkv, before)


@pytest.mark.parametrize("batch", [1, 9])
def test_without_a_gradient_the_same_comes_out(batch):
    qkv, temperature = torch.randn(batch, 7, 3, 3, 4), torch.rand(3, 1, 1) + 1
    mixed, weights = mix(qkv, temperature, sees_itself=False)
    again, same = mix(qkv.requires_grad_(), temperature, sees_itself=False)
    assert torch.equal(mixed, again)
    assert torch.equal(weights, same)
    assert not same.requires_grad


def test_the_mask_is_minus_infinity_on_the_diagonal_only():
    assert without_self(torch.ones(1, 2, 2)).tolist() == [[[-torch.inf, 1], [1, -torch.inf]]]


def test_many_short_rows_have_torchs_own_softmax():
    scores = without_self(torch.randn(30, 5, 5).double() * 4)
    weights = softmax(scores)
    assert torch.allclose(weights, scores.softmax(-1), atol=1e-12)
    assert (weights.diagonal(dim1=1, dim2=2) == 0).all()
