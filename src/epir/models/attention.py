"""Self-attention in which a token may look at every token but itself.

[EPIR] the paper, Eq. 10-12
[LSA]  Lee et al. 2021, Vision Transformer for Small-Size Datasets, arXiv:2112.13492, Sec. 3.2

Axes: B clips, N tokens, D model width, H heads, K width of one head (K = D // H)
"""

import math

import torch
from torch import Tensor, nn

from epir.models.mixing import mix
from epir.tokens.linear import Linear


class Attention(nn.Module):
    """Plain multi-head attention: every token looks at every token, scores divided by sqrt(K)."""

    sees_itself = True
    temperature: Tensor | float

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.head_width = width // heads  # 85 for the paper's 3 heads in a width of 256
        inner = heads * self.head_width
        self.to_qkv = Linear(width, 3 * inner, bias=False)
        self.to_out = Linear(inner, width)
        self.set_temperature()

    def set_temperature(self) -> None:
        """What the scores are divided by: the usual scaling."""
        self.temperature = math.sqrt(self.head_width)

    def forward(self, rows: Tensor, batch: int) -> tuple[Tensor, Tensor, Tensor]:
        """Mix the tokens of each clip, all in rows (B * N, D): the heads side by side, for `project`.

        Also gives the weights (H * B, N, N), for selection, and the keys (B, N, H, K), for merging.
        """
        qkv = self.to_qkv(rows).view(batch, -1, 3, self.heads, self.head_width)
        if torch.compiler.is_compiling():
            mixed, weights = self.mix_plainly(qkv)
        else:
            mixed, weights = mix(qkv, self.temperature, sees_itself=self.sees_itself)
        return mixed, weights, qkv[:, :, 1]

    def project(self, mixed: Tensor) -> Tensor:
        """The mixed values of any tokens, as `forward` gives them, in the model's width: (R, D)."""
        return self.to_out(mixed) if torch.compiler.is_compiling() else self.to_out.of_ones(mixed)

    def mix_plainly(self, qkv: Tensor) -> tuple[Tensor, Tensor]:
        """What `mix` gives, but the ones, in operations that can be exported and differentiated by torch itself."""
        q, k, v = qkv.permute(2, 3, 0, 1, 4)  # each (H, B, N, K)
        temperature = self.temperature.unsqueeze(1) if isinstance(self.temperature, Tensor) else self.temperature
        scores = torch.matmul(q, k.mT) / temperature  # (H, B, N, N)
        if not self.sees_itself:
            own = torch.eye(qkv.shape[1], dtype=torch.bool, device=qkv.device)
            scores = scores.masked_fill(own, -math.inf)
        weights = scores.softmax(dim=-1)
        mixed = torch.matmul(weights, v).permute(1, 2, 0, 3)  # (B, N, H, K)
        return mixed.flatten(2).flatten(0, 1), weights.flatten(0, 1)


class InterTokenAttention(Attention):
    """Attention with a learned temperature per head and no self-pairs, the mask of [EPIR] Eq. 11: ITALS."""

    sees_itself = False

    def set_temperature(self) -> None:
        """Learned, one for each head, from the usual scaling on: [EPIR] Eq. 12."""
        self.temperature = nn.Parameter(torch.full((self.heads, 1, 1), math.sqrt(self.head_width)))
