"""Token integration: which tokens are merged is planned once, then anything per token can follow the plan.

[EPIR] the paper, Eq. 5-9

The class token is token 0 and never takes part. The patch tokens are split alternately into two halves; the most
similar pairs across them, each token in one pair at the most, become one token each.

Departs from [EPIR]: Eq. 9 puts merged tokens first; here a merged token stands where its first half stood and the order
is kept, so that the alternate split goes on to compare neighbours. Attention itself does not depend on the order.

Axes: B clips, N tokens with the class token, K pairs, M tokens after merging (N - K), P patches, T patch tokens,
D width
"""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

MOST_TABLE_VALUES = 1 << 18  # a table of every single merge stays below 1 MiB
FEW_TOKENS = 64  # up to here a small matrix product is quicker than indices, and a batch at once than clip by clip


class MergePlan(NamedTuple):
    """Where each token goes, and what each new token is made of."""

    into: Tensor  # (B, N) int64: the new place of each token
    matrix: Tensor  # (B, M, N): tokens after = matrix @ tokens before; its rows sum to 1
    kept: Tensor | None = None  # (B, M) int64: the token that each new one continues
    joining: Tensor | None = None  # (B, K) int64: the tokens that join others

    def merge(self, tokens: Tensor) -> Tensor:
        """The tokens after the merge: (B, N, D) -> (B, M, D)."""
        if self.kept is None or self.joining is None or tokens.shape[1] <= FEW_TOKENS:
            return torch.bmm(self.matrix, tokens)
        batch, left, count = self.matrix.shape
        clip = torch.arange(batch, device=tokens.device).unsqueeze(1)  # (B, 1)
        rows = tokens.reshape(-1, tokens.shape[2])  # (B * N, D)
        places = self.into.gather(1, self.joining)  # (B, K)
        joined = (places + clip * left).flatten()
        share = self.matrix.flatten(1).gather(1, places * count + self.joining)  # (B, K)
        after = rows.index_select(0, (self.kept + clip * count).flatten())  # (B * M, D)
        partners = rows.index_select(0, (self.joining + clip * count).flatten())  # (B * K, D)
        merged = torch.lerp(after.index_select(0, joined), partners, share.view(-1, 1))
        return after.index_copy_(0, joined, merged).view(batch, left, -1)


class Merger(nn.Module):
    """Plans the merge of the `pairs` most similar pairs among a fixed number of tokens.

    With a single pair there are few possible plans; they are made once and looked up, which for the few tokens of a
    small map is several times faster than working the plan out.
    """

    table_into: Tensor
    table_matrix: Tensor

    def __init__(self, tokens: int, pairs: int) -> None:
        super().__init__()
        self.pairs = pairs
        self.columns = (tokens - 1) // 2  # patch tokens 1, 3, 5, ...
        rows = tokens - 1 - self.columns  # patch tokens 0, 2, 4, ...
        self.has_table = pairs == 1 and rows * self.columns * (tokens - 1) * tokens <= MOST_TABLE_VALUES
        if self.has_table:
            every_pair = torch.arange(rows * self.columns).unsqueeze(1)
            plan = plan_pairs(*positions(every_pair, self.columns), tokens)
            self.register_buffer("table_into", plan.into, persistent=False)
            self.register_buffer("table_matrix", plan.matrix, persistent=False)
            self.places: list[list[int]] = plan.into.tolist()  # of each pair: the new place of each token,
            self.matrices: list[Tensor] = list(plan.matrix)  # and the merge matrix, both for one map on a CPU

    def forward(self, keys: Tensor, sizes: Tensor | None = None) -> MergePlan:
        """The plan for tokens with these keys, (B, N, D), through which nothing is differentiated.

        A merged token is the plain mean of its two tokens, or, if `sizes` (B, N) says how many patches each holds,
        their weighted mean.
        """
        found = most_similar_pairs(keys.detach(), self.pairs)  # (B, K)
        if self.has_table and sizes is None:
            found = found.view(-1)
            return MergePlan(self.table_into.index_select(0, found), self.table_matrix.index_select(0, found))
        plan = plan_pairs(*positions(found, self.columns), keys.shape[1], sizes)
        return plan._replace(matrix=plan.matrix.to(keys.dtype))


def most_similar_pairs(keys: Tensor, pairs: int) -> Tensor:
    """The numbers (B, K) of the K most similar disjoint pairs of patch tokens, by the cosine of their keys (B, N, D).

    Pair number r * columns + c joins token r of the patch tokens 0, 2, 4, ... and token c of 1, 3, 5, ... Keys of
    length zero have no cosine; such a token is merged first, since torch takes what is not a number for the largest.
    """
    unit = keys / torch.linalg.vector_norm(keys, dim=-1, keepdim=True)  # (B, N, D)
    similarity = torch.bmm(unit[:, 1::2], unit[:, 2::2].mT)  # (B, rows, columns)
    if pairs == 1:
        return similarity.flatten(1).argmax(dim=1, keepdim=True)
    if keys.shape[1] > FEW_TOKENS and keys.is_cpu and not torch.compiler.is_compiling():
        return torch.from_numpy(largest_one_by_one(similarity.numpy(), pairs))
    return largest_at_once(similarity, pairs)


def largest_one_by_one(similarity: np.ndarray, pairs: int) -> np.ndarray:
    """The numbers (B, K) of the K largest values (B, rows, columns), of each row and column one at the most.

    Overwrites the values. Clip by clip: NumPy finds the largest of many faster than torch those of all clips at once.
    """
    columns = similarity.shape[2]
    found = np.empty((len(similarity), pairs), np.int64)
    for values, numbers in zip(similarity, found, strict=True):
        for place in range(pairs):
            numbers[place] = values.argmax()
            row, column = divmod(numbers[place], columns)
            values[row] = values[:, column] = -np.inf  # both tokens are taken
    return found


def largest_at_once(similarity: Tensor, pairs: int) -> Tensor:
    """What `largest_one_by_one` gives, for all clips at once on any device, and in an exported graph."""
    rows, columns = similarity.shape[1:]
    found = []
    for _ in range(pairs):
        row = similarity.amax(dim=2).argmax(dim=1).view(-1, 1, 1)
        one_row = row.expand(-1, 1, columns)
        column = similarity.gather(1, one_row).argmax(dim=2, keepdim=True)  # (B, 1, 1)
        found.append(row * columns + column)
        similarity.scatter_(1, one_row, -torch.inf)  # both tokens are taken
        similarity.scatter_(2, column.expand(-1, rows, 1), -torch.inf)
    return torch.cat(found, dim=1).squeeze(2)


def positions(found: Tensor, columns: int) -> tuple[Tensor, Tensor]:
    """The places among all N tokens of the two tokens of each numbered pair."""
    first = torch.div(found, columns, rounding_mode="floor")
    return first * 2 + 1, (found - first * columns) * 2 + 2


def plan_pairs(first: Tensor, second: Tensor, tokens: int, sizes: Tensor | None = None) -> MergePlan:
    """The plan that merges token `second` into token `first`, (B, K) places each, out of N tokens."""
    batch, left = first.shape[0], tokens - first.shape[1]
    places = torch.arange(tokens, device=first.device).expand(batch, -1)  # (B, N)
    gone = torch.zeros_like(places).scatter(1, second, 1)
    into = places - gone.cumsum(1)
    beyond = into.scatter(1, second, left)  # tokens that go are put behind the end, and cut off
    kept = torch.zeros_like(places[:, : left + 1]).scatter(1, beyond, places)[:, :left]
    goal = into.gather(1, first)  # (B, K)
    into = into.scatter(1, second, goal)
    if sizes is None:
        share = torch.ones(batch, tokens, device=first.device).scatter(1, torch.cat([first, second], dim=1), 0.5)
    else:
        a, b = sizes.gather(1, first), sizes.gather(1, second)
        share = torch.ones_like(sizes).scatter(1, first, a / (a + b)).scatter(1, second, b / (a + b))
    matrix = share.new_zeros(batch, left, tokens).scatter(1, into.unsqueeze(1), share.unsqueeze(1))
    return MergePlan(into, matrix, kept, second)


def holds(holder: Tensor, tokens: int) -> Tensor:
    """Provenance as 0 and 1: (B, T, P), which of the P patches each of the T patch tokens holds.

    `holder` (B, P) says which token holds each patch, and counts the class token as token 0.
    """
    return functional.one_hot(holder - 1, tokens).transpose(1, 2)


def patches_held(holder: Tensor, tokens: int) -> Tensor:
    """How many patches each of N tokens holds, (B, N); the class token counts as one."""
    held = torch.zeros(holder.shape[0], tokens, device=holder.device)
    return held.scatter_add(1, holder, torch.ones_like(holder, dtype=held.dtype)).clamp(min=1)
