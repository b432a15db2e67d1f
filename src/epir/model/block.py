"""One Transformer block, which may merge tokens between attention and feed-forward.

[EPIR] the paper, Eq. 13-16 and 5-9

Departs from [EPIR]: Eq. 13 prints no residual around the first block's attention; read as a slip, every block has both.

Axes: B clips, N tokens, M tokens after merging, D width, H heads, P patches
"""

from typing import NamedTuple

from torch import Tensor, nn
from torch.nn import functional

from epir.model.attention import Attention, InterTokenAttention
from epir.model.settings import ModelSettings
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
        mixed, weights, keys = self.attention(self.attention_norm(rows), batch)
        rows = self._drop(mixed).add_(rows)  # (B * N, D)
        merge = None
        if self.merger is not None:
            # summed over the heads: merging compares the cosine of the keys, to which the mean would be the same
            plan = self.merger(keys.sum(dim=2), patches_held(holder, keys.shape[1]) if self.weighted else None)
            merge = plan.matrix
            rows = plan.merge(rows.view(batch, -1, rows.shape[1])).flatten(0, 1)  # (B * M, D)
            holder = plan.into.gather(1, holder)
        hidden = self._drop(functional.gelu(self.widen(self.feed_forward_norm(rows))))
        return self._drop(self.narrow(hidden)).add_(rows), Passing(weights, merge, holder)

    def _drop(self, values: Tensor) -> Tensor:
        return functional.dropout(values, self.dropout) if self.training and self.dropout else values
