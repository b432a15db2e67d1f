"""One map at a time: the blocks in as few calls as possible, where no gradient is wanted.

For the few tokens of one map most calls cost more than their arithmetic. This computes what the blocks and the
selection of `Epir.represent` compute, without what only a batch, a gradient or an export needs. Parts and parameters
are read from the dictionaries in which torch keeps them, for as attributes of a module they are looked up last of all.

Axes: N tokens, M tokens after merging, D width, H heads, K width of one head, P patches
"""

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from epir.model.attention import Attention
from epir.model.block import Block
from epir.tokens.linear import Linear
from epir.tokens.merging import SMALLEST_NORM, Merger
from epir.tokens.patches import PatchTokens


def can_pass(blocks: Iterable[Block]) -> bool:
    """Whether these blocks can be passed here: a merge must be one plain pair, looked up in a table."""
    return all(block.merger is None or (block.merger.has_table and not block.weighted) for block in blocks)


def patch_rows(patches: PatchTokens, map_: Tensor) -> Tensor:
    """The patch tokens (P, D) of one map, (1, 3, S, S)."""
    parts: dict[str, Any] = patches._modules
    values = (
        functional.pad(map_.reshape(-1), (1, 0)).index_select(0, patches.sources).view(patches.patches, -1)
    )  # (P, V)
    project = parts["project"]._parameters
    rows = torch.addmm(project["bias"], normed(parts["norm"], values), project["weight"])
    return normed(parts["second_norm"], rows)


def pass_blocks(rows: Tensor, blocks: Iterable[Any], *, rollout_from: int | None) -> Tensor:
    """The tokens (N, D) after all blocks; with a rollout, only the class token and the best of each head (1 + H, D).

    `rows` are the class token and the patch tokens (1 + P, D); the rollout covers the blocks from `rollout_from` on.
    """
    attentions: list[Tensor] = []  # (H, N, N)
    merges: list[Tensor | None] = []  # (M, N)
    holder = list(range(1, rows.shape[0]))  # which token holds each patch
    for block in blocks:
        rows, weights, keys = attend(block, rows)
        merge, merger = None, block._modules.get("merger")
        if merger is not None:
            merge, into = look_up(merger, keys)
            rows = torch.mm(merge, rows)  # (M, D)
            holder = [into[place] for place in holder]
        rows = feed_forward(block, rows)
        attentions.append(weights)
        merges.append(merge)
    if rollout_from is None:
        return rows
    row = class_row(attentions[rollout_from:], merges[rollout_from:])  # (H, N of the first of these blocks)
    if any(merge is not None for merge in merges[rollout_from:]):
        index = torch.tensor(holder)
        row = row.new_zeros(row.shape[0], rows.shape[0]).index_add_(1, index, row[:, 1:])  # sums over patches
    best = row[:, 1:].argmax(dim=1)  # (H,)
    return torch.cat([rows[:1], rows[1:].index_select(0, best)])


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
    if attention.sees_itself:
        scores = torch.bmm(k, q.mT).div_(attention.temperature)
    else:
        scores = torch.baddbmm(own_pairs(len(rows), rows.dtype), k, q.mT).div_(own["temperature"])
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
    keys.div_(torch.linalg.vector_norm(keys, dim=1, keepdim=True).clamp_(min=SMALLEST_NORM))
    found = int(torch.mm(keys[1::2], keys[2::2].t()).argmax())  # the most similar pair
    tables: dict[str, Any] = merger._buffers
    return tables["table_matrix"][found], merger.places[found]


def feed_forward(block: Block, rows: Tensor) -> Tensor:
    """Tokens (N, D) after the feed-forward layers."""
    parts: dict[str, Any] = block._modules
    widen = parts["widen"]._parameters
    hidden = functional.gelu(torch.addmm(widen["bias"], normed(parts["feed_forward_norm"], rows), widen["weight"]))
    return onto(rows, hidden, parts["narrow"])


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
            row = torch.mm(row[:, 0], merge).unsqueeze(1)
        row = torch.bmm(row, attention)
    return row[:, 0]
