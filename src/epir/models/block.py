"""One Transformer block, which may merge tokens between attention and feed-forward.

[EPIR] the paper, Eq. 13-16 and 5-9

Departs from [EPIR]: Eq. 13 prints no residual around the first block's attention; read as a slip, every block has both.

Axes: B clips, N tokens, M tokens after merging, D width, H heads, P patches
"""

from functools import reduce
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from epir.models.attention import Attention, InterTokenAttention
from epir.models.settings import ModelSettings
from epir.tokens.linear import Linear
from epir.tokens.merging import Merger, patches_held


class Passing(NamedTuple):
    """What one block hands on besides its tokens."""

    attention: Tensor  # (B * H, N, N)
    merge: Tensor | None  # (B, M, N), where tokens were merged
    holder: Tensor  # (B, P): which token holds each patch now


class Block(nn.Module):
    """Attention and feed-forward, each after a norm and around a residual; `pairs` of `tokens` merge in between."""

    def __init__(self, settings: ModelSettings, *, tokens: int, pairs: int = 0) -> None:
        super().__init__()
        width = settings.width
        self.attention_norm = nn.LayerNorm(width)
        self.attention = (
            InterTokenAttention(width, settings.heads)
            if settings.attention == "inter-token"
            else Attention(width, settings.heads)
        )
        self.merger = Merger(tokens, pairs) if pairs else None
        self.weighted = settings.merge == "weighted"
        self.feed_forward_norm = nn.LayerNorm(width)
        self.widen = Linear(width, settings.feed_forward)
        self.narrow = Linear(settings.feed_forward, width)
        self.dropout = settings.dropout

    def forward(self, rows: Tensor, batch: int, holder: Tensor) -> tuple[Tensor, Passing]:
        """Tokens (B * N, D) -> (B * M, D), with the attention, the merge and who holds which patch."""
        mixed, weights, keys = self.attend(rows, batch)
        rows = self._join(rows, mixed)
        merge = None
        if self.merger is not None:
            # summed over the heads: merging compares the cosine of the keys, to which the mean would be the same
            keys = reduce(torch.add, keys.detach().unbind(2))  # (B, N, K), quicker than `sum` over an axis between
            plan = self.merger(keys, patches_held(holder, keys.shape[1]) if self.weighted else None)
            merge = plan.matrix
            rows = plan.merge(rows.view(batch, -1, rows.shape[1])).flatten(0, 1)  # (B * M, D)
            holder = plan.into.gather(1, holder)
        return self._feed_forward(rows), Passing(weights, merge, holder)

    def attend(self, rows: Tensor, batch: int) -> tuple[Tensor, Tensor, Tensor]:
        """What attention mixes of tokens (B * N, D), each row for itself from here on; its weights; the keys."""
        return self.attention(self.attention_norm(rows), batch)

    def finish(self, rows: Tensor, mixed: Tensor) -> Tensor:
        """Any of the tokens that entered, (R, D), with what `attend` mixed for them (R, H * K), as they leave."""
        return self._feed_forward(self._join(rows, mixed))

    def _join(self, rows: Tensor, mixed: Tensor) -> Tensor:
        return self._drop(self.attention.project(mixed)).add_(rows)  # (R, D)

    def _feed_forward(self, rows: Tensor) -> Tensor:
        hidden = self._drop(functional.gelu(self.widen(self.feed_forward_norm(rows))))
        return self._drop(self.narrow(hidden)).add_(rows)

    def _drop(self, values: Tensor) -> Tensor:
        return functional.dropout(values, self.dropout) if self.training and self.dropout else values
