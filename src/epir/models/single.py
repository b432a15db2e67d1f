"""One map at a time: the blocks in as few calls as possible, where no gradient is wanted.

For the few tokens of one map most calls cost more than their arithmetic, the more so as the weights of each block push
the code of the calls out of the caches. This computes what the blocks and the selection of `Epir.represent` compute,
without what only a batch, a gradient or an export needs. Parts and parameters are read from the dictionaries in which
torch keeps them, for as attributes of a module they are looked up last of all; and `shape[0]` is asked for rather than
`len`, which torch answers in Python.

Axes: N tokens, M tokens after merging, D width, H heads, K width of one head, P patches
"""

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from epir.models.attention import Attention
from epir.models.block import Block
from epir.tokens.linear import Linear
from epir.tokens.merging import Merger
from epir.tokens.patches import PatchTokens


def can_pass(blocks: Iterable[Block]) -> bool:
    """Whether these blocks can be passed here: a merge must be one plain pair, looked up in a table."""
    return all(block.merger is None or (block.merger.has_table and not block.weighted) for block in blocks)


def patch_rows(patches: PatchTokens, map_: Tensor) -> Tensor:
    """The patch tokens (P, D) of one map, (1, 3, S, S)."""
    parts: dict[str, Any] = patches._modules
    flat = torch.cat([patches.outside, map_.reshape(-1)])
    values = flat.index_select(0, patches.sources).view(patches.patches, -1)  # (P, V)
    project = parts["project"]._parameters
    rows = torch.addmm(project["bias"], normed(parts["norm"], values), project["weight"])
    return normed(parts["second_norm"], rows)


def pass_blocks(rows: Tensor, blocks: Iterable[Any], *, rollout_from: int | None) -> Tensor:
    """The tokens (N, D) after all blocks; with a rollout, only the class token and the best of each head (1 + H, D).

    `rows` are the class token and the patch tokens (1 + P, D); the rollout covers the blocks from `rollout_from` on.
    """
    patches = rows.shape[0] - 1
    attentions: list[Tensor] = []  # (H, N, N)
    merges: list[Tensor | None] = []  # (M, N)
    moves: list[list[int]] = []  # of each merge: the new place of each token
    for block in blocks:
        rows, weights, keys = attend(block, rows)
        merge, merger = None, block._modules.get("merger")
        if merger is not None:
            merge, into = look_up(merger, keys)
            rows = torch.mm(merge, rows)  # (M, D)
            moves.append(into)
        rows = feed_forward(block, rows)
        attentions.append(weights)
        merges.append(merge)
    if rollout_from is None:
        return rows
    row = class_row(attentions[rollout_from:], merges[rollout_from:])  # (H, N of the first of these blocks)
    holder = list(range(1, row.shape[1]))  # which token holds each patch, or token, that the row covers
    if row.shape[1] > patches:
        for into in moves:
            holder = [into[place] for place in holder]
    best = [best_token(scores[1:], holder, rows.shape[0]) for scores in row.tolist()]  # of each head
    return torch.stack([rows[token] for token in (0, *best)])


def best_token(scores: Sequence[float], holder: Sequence[int], count: int) -> int:
    """The token, of this many, whose patches add up to the highest score; `holder` says which token holds each."""
    totals = [-math.inf] + [0.0] * (count - 1)  # the class token holds none
    for token, patch_score in zip(holder, scores, strict=True):
        totals[token] += patch_score
    return totals.index(max(totals))


def pass_last(rows: Tensor, block: Block) -> Tensor:
    """The class token (1, D) that leaves the last block, which tokens (N, D) enter."""
    rows, _, _ = attend(block, rows)
    return feed_forward(block, rows)[:1]


def attend(block: Block, rows: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Tokens (N, D) after attention, its weights (H, N, N), and the keys (H, N, K).

    The heads of one clip lie one stride apart, so they are done at once. Scores are kept as (key, query), for over
    short rows torch's softmax is quicker on another axis than the last.
    """
    parts: dict[str, Any] = block._modules
    attention: Attention = parts["attention"]
    layers: dict[str, Any] = attention._modules
    own: dict[str, Any] = attention._parameters
    qkv = torch.mm(normed(parts["attention_norm"], rows), layers["to_qkv"]._parameters["weight"])
    q, k, v = qkv.view(-1, 3, attention.heads, attention.head_width).permute(1, 2, 0, 3).unbind()  # each (H, N, K)
    scores = torch.bmm(k, q.mT)
    if attention.sees_itself:
        scores.div_(attention.temperature)
    else:
        torch.addcdiv(own_pairs(rows.shape[0], rows.dtype), scores, own["temperature"], out=scores)
    weights = torch.softmax(scores, 1).mT
    mixed = torch.bmm(weights, v).transpose(0, 1).flatten(1)  # (N, H * K)
    return onto(rows, mixed, layers["to_out"]), weights, k


@lru_cache(maxsize=64)
def own_pairs(count: int, dtype: torch.dtype) -> Tensor:
    """Zeros (N, N) with -inf on the diagonal: the mask of [EPIR] Eq. 11, as something to add."""
    with torch.inference_mode(mode=False):
        return torch.zeros(count, count, dtype=dtype).fill_diagonal_(-math.inf)


def look_up(merger: Merger, keys: Tensor) -> tuple[Tensor, list[int]]:
    """The merge matrix (M, N) for tokens with these keys (H, N, K), and the new place of each token."""
    keys = keys.sum(0)  # (N, K)
    keys.div_(torch.linalg.vector_norm(keys, dim=1, keepdim=True))
    found = int(torch.mm(keys[1::2], keys[2::2].t()).argmax().item())  # the most similar pair
    matrix = merger.matrices[found]
    return matrix if matrix.dtype is keys.dtype else matrix.to(keys), merger.places[found]


def feed_forward(block: Block, rows: Tensor) -> Tensor:
    """Tokens (N, D) after the feed-forward layers.

    Torch leaves the GELU of contiguous values to oneDNN, which takes longer to set up than these few take to compute;
    seen transposed they are left to torch's own kernel.
    """
    parts: dict[str, Any] = block._modules
    widen = parts["widen"]._parameters
    hidden = torch.addmm(widen["bias"], normed(parts["feed_forward_norm"], rows), widen["weight"])
    return onto(rows, functional.gelu(hidden.t()).t(), parts["narrow"])


def normed(norm: Any, rows: Tensor) -> Tensor:
    """The rows after their norm, if there is one."""
    weights: dict[str, Any] = norm._parameters
    if not weights:
        return rows
    return torch.layer_norm(rows, norm.normalized_shape, weights["weight"], weights["bias"], norm.eps)


def onto(rows: Tensor, x: Tensor, layer: Linear) -> Tensor:
    """The rows and the layer's output for x; the product is added as it is made."""
    weights: dict[str, Any] = layer._parameters
    total = rows + weights["bias"]
    return torch.addmm(total, x, weights["weight"], out=total)


def class_row(attentions: Sequence[Tensor], merges: Sequence[Tensor | None]) -> Tensor:
    """The class token's row (H, N) of the rollout, as `epir.tokens.rollout.class_row` gives it for a batch."""
    row = attentions[-1][:, :1]  # (H, 1, N)
    for attention, merge in zip(attentions[-2::-1], merges[-2::-1], strict=True):
        if merge is not None:
            row = torch.bmm(row, merge.expand(row.shape[0], -1, -1))
        row = torch.bmm(row, attention)
    return row[:, 0]
