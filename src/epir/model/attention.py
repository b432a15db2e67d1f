"""Self-attention in which a token may look at every token but itself.

[EPIR] the paper, Eq. 10-12
[LSA]  Lee et al. 2021, Vision Transformer for Small-Size Datasets, arXiv:2112.13492, Sec. 3.2

Axes: B clips, N tokens, D model width, H heads, K width of one head (K = D // H)
"""

import math

import torch
from torch import Tensor, nn

from epir.tokens.linear import Linear

SHORTEST_VECTOR = 16  # values that torch's softmax needs in a row to work on many at once
MANY_ROWS = 24  # B * H: below, one call is quicker than five


class Attention(nn.Module):
    """Plain multi-head attention: every token looks at every token, scores divided by sqrt(K)."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.head_width = width // heads  # 85 for the paper's 3 heads in a width of 256
        inner = heads * self.head_width
        self.to_qkv = Linear(width, 3 * inner, bias=False)
        self.to_out = Linear(inner, width)

    def forward(self, tokens: Tensor, *, with_keys: bool = False) -> tuple[Tensor, Tensor, Tensor | None]:
        """Mix (B, N, D) tokens; also gives the weights (B * H, N, N), for selection, and on request the keys (B, N, K).

        The keys are summed over the heads: merging compares their cosine, to which the mean would be the same.
        """
        batch, count, _ = tokens.shape
        qkv = self.to_qkv(tokens).view(batch, count, 3, self.heads, self.head_width)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).flatten(1, 2)  # each (B * H, N, K)
        weights = softmax(self.scores(q, k.mT))  # (B * H, N, N)
        mixed = torch.bmm(weights, v).view(batch, self.heads, count, -1).transpose(1, 2).flatten(2)  # (B, N, H * K)
        keys = k.view(batch, self.heads, count, -1).sum(dim=1) if with_keys else None
        return self.to_out(mixed), weights, keys

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        """How much each token attends to each: (B * H, N, K) and (B * H, K, N) -> (B * H, N, N)."""
        return torch.bmm(q * self.head_width**-0.5, k)


class InterTokenAttention(Attention):
    """Attention with a learned temperature per head and no self-pairs: ITALS."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__(width, heads)
        start = math.sqrt(self.head_width)  # the usual scaling
        self.temperature = nn.Parameter(torch.full((heads, 1, 1), start))

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        """Divided by the learned temperature, the diagonal at -inf: [EPIR] Eq. 11-12."""
        if q.shape[1] <= self.head_width:  # divide whatever has fewer values, the scores or the queries
            return without_self(self._cooled(torch.bmm(q, k)))
        return without_self(torch.bmm(self._cooled(q), k))

    def _cooled(self, values: Tensor) -> Tensor:
        return (values.view(-1, self.heads, *values.shape[1:]) / self.temperature).view(values.shape)


def without_self(scores: Tensor) -> Tensor:
    """The scores (B * H, N, N) with their diagonal set to -inf, in place: the mask of [EPIR] Eq. 11.

    It comes after the division, for the gradient of -inf divided by a temperature is not a number.
    """
    scores.flatten(1)[:, :: scores.shape[1] + 1].fill_(-math.inf)  # a view of the diagonal that ONNX knows too
    return scores


def softmax(scores: Tensor) -> Tensor:
    """The softmax over the last axis; torch's own is slow on short rows, so many of those are done here."""
    if torch.compiler.is_compiling() or scores.shape[-1] >= SHORTEST_VECTOR or scores.shape[0] < MANY_ROWS:
        return scores.softmax(dim=-1)
    powers = (scores - scores.detach().amax(dim=-1, keepdim=True)).exp()
    return powers / powers.sum(dim=-1, keepdim=True)
