"""How attention mixes values, with its gradient written by hand so that heads need not be copied apart.

Head by head, queries, keys and values are matrices with a stride, which a batched matrix product reads as they lie; all
heads at once would have to be copied first, and their gradients copied back.

[EPIR] the paper, Eq. 10-12

Axes: B clips, N tokens, H heads, K width of one head
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

SHORTEST_VECTOR = 16  # values that torch's softmax needs in a row to work on many at once
MANY_ROWS = 24  # H * B: below, one call is quicker than four

# Whether the backward pass that runs may be asked for again. The name is private to torch; without it, assume so.
graph_is_kept: Callable[[], bool] = getattr(torch._C._autograd, "_get_current_graph_task_keep_graph", lambda: True)


def mix(qkv: Tensor, temperature: Tensor | float, *, sees_itself: bool) -> tuple[Tensor, Tensor]:
    """Mixed values (B * N, H * K + 1) and the weights (H * B, N, N) of queries, keys and values (B, N, 3, H, K).

    The scores are divided by the temperature, one for each head (H, 1, 1) or a number for all. Behind the mixed values
    stands a column of ones, for the bias of the layer that follows (`Linear.of_ones`): in the paper's model H * K is
    255, and matrices with 256 columns are multiplied faster.

    The backward pass leaves the gradient of `qkv` in the memory of `qkv`, which the caches still hold; unless that is
    a leaf of the graph, or the graph is kept for another backward pass.
    """
    if torch.is_grad_enabled() and qkv.requires_grad:
        mixed, weights = Mixing.apply(qkv, temperature, sees_itself)
        return mixed, weights
    weights = softmax(score(qkv, temperature, sees_itself=sees_itself))
    return weigh(weights, qkv), weights


def score(qkv: Tensor, temperature: Tensor | float, *, sees_itself: bool) -> Tensor:
    """How much each token attends to each, before the softmax: (H * B, N, N)."""
    batch, count, _, heads, _ = qkv.shape
    q, k, _ = by_part_and_head(qkv)
    by_head = qkv.new_empty(heads, batch, count, count)
    for queries, keys, product in zip(q, k, by_head.unbind(), strict=True):
        torch.bmm(queries, keys.mT, out=product)
    by_head.div_(temperature.unsqueeze(1) if isinstance(temperature, Tensor) else temperature)
    scores = by_head.view(-1, count, count)
    return scores if sees_itself else without_self(scores)


def without_self(scores: Tensor, value: float = -math.inf) -> Tensor:
    """The scores (H * B, N, N) with their diagonal set to -inf, in place: the mask of [EPIR] Eq. 11.

    It comes after the division, for the gradient of -inf divided by a temperature is not a number.
    """
    scores.diagonal(dim1=1, dim2=2).fill_(value)
    return scores


def softmax(scores: Tensor) -> Tensor:
    """The softmax over the last axis; torch's own is slow on short rows, so many of those are done here."""
    if scores.shape[-1] >= SHORTEST_VECTOR or scores.shape[0] < MANY_ROWS:
        return scores.softmax(dim=-1)
    powers = scores.sub(scores.amax(dim=-1, keepdim=True)).exp_()
    return powers.div_(powers.sum(dim=-1, keepdim=True))


def weigh(weights: Tensor, qkv: Tensor) -> Tensor:
    """The values of the tokens, mixed by weights (H * B, N, N), and ones: (B * N, H * K + 1)."""
    batch, count, _, heads, _ = qkv.shape
    _, _, v = by_part_and_head(qkv)
    of_heads = weights.view(heads, batch, count, count).unbind()
    mixed = [torch.bmm(of_head, values) for of_head, values in zip(of_heads, v, strict=True)]
    return side_by_side([*mixed, weights.new_ones(batch, count, 1)])


def by_part_and_head(qkv: Tensor) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Queries, keys and values, each by head, (B, N, K), as they lie in (B, N, 3, H, K)."""
    heads = qkv.shape[3]
    each = qkv.flatten(2, 3).unbind(2)
    return each[:heads], each[heads : 2 * heads], each[2 * heads :]


def side_by_side(by_head: list[Tensor]) -> Tensor:
    """Contiguous (B, N, K) of several heads as one (B * N, heads * K): quicker than writing each with a stride."""
    return torch.cat(by_head, dim=2).flatten(0, 1)


class Mixing(Function):
    """`mix` with its gradient; the weights are for reading only."""

    @staticmethod
    def forward(ctx: Any, qkv: Tensor, temperature: Tensor | float, sees_itself: bool) -> tuple[Tensor, Tensor]:
        """What `mix` says."""
        scores = score(qkv, temperature, sees_itself=sees_itself)
        weights = softmax(scores)
        ctx.learned = isinstance(temperature, Tensor)
        ctx.temperature = None if ctx.learned else temperature
        if ctx.learned:
            scores = scores if sees_itself else without_self(scores, 0)  # where the gradient is 0
            ctx.save_for_backward(qkv, weights, temperature, scores)
        else:
            ctx.save_for_backward(qkv, weights)
        ctx.mark_non_differentiable(weights)
        ctx.spare = not qkv.is_leaf and qkv.is_contiguous()
        return weigh(weights, qkv), weights

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor, _: Tensor) -> tuple[Tensor, Tensor | None, None]:
        """The gradients of queries, keys and values, and of the temperature, for that of what `mix` gives."""
        qkv, weights, *rest = ctx.saved_tensors
        batch, count, _, heads, width = qkv.shape
        q, k, v = by_part_and_head(qkv)
        mixed = slope[:, :-1].unflatten(1, (heads, width)).unflatten(0, (batch, count)).unbind(2)  # each (B, N, K)
        weights = weights.view(heads, batch, count, count)
        scores = torch.empty_like(weights)  # at first the gradient of the weights
        for of_head, values, score_slope in zip(mixed, v, scores.unbind(), strict=True):
            torch.bmm(of_head, values.mT, out=score_slope)
        v_slopes = [torch.bmm(of_head, slopes) for of_head, slopes in zip(weights.mT.unbind(), mixed, strict=True)]
        scores.mul_(weights)
        scores.addcmul_(weights, scores.sum(dim=-1, keepdim=True), value=-1)  # of the softmax: 0 where a weight is 0
        cooling = None
        if ctx.learned:
            temperature, before = rest
            scores.div_(temperature.unsqueeze(1))
            cooling = -torch.linalg.vecdot(scores.flatten(1), before.view(heads, -1)).view_as(temperature)
        else:
            scores.div_(ctx.temperature)
        q_slopes = [torch.bmm(of_head, keys) for of_head, keys in zip(scores.unbind(), k, strict=True)]
        k_slopes = [torch.bmm(of_head, queries) for of_head, queries in zip(scores.mT.unbind(), q, strict=True)]
        slopes = [*q_slopes, *k_slopes, *v_slopes]
        if ctx.spare and not torch.compiler.is_compiling() and not graph_is_kept():
            torch.cat(slopes, dim=2, out=qkv.view(batch, count, -1))
            return qkv.detach(), cooling, None
        return side_by_side(slopes).view_as(qkv), cooling, None
