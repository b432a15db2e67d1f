"""Attention rollout across merges, and the selection that rests on it.

[EPIR] the paper, Eq. 17-20. With the merge matrices M the product reads A_12 ... A_7 (M_6 A_6) ... (M_1 A_1); only its
class row is ever used, so a row vector is multiplied through from the left and no product of matrices is formed.

Axes: B clips, H heads, N tokens with the class token (fewer after each merge), P patches, T patch tokens at selection,
D width
"""

from collections.abc import Sequence

import torch
from torch import Tensor


def class_row(attentions: Sequence[Tensor], merges: Sequence[Tensor | None], heads: int) -> Tensor:
    """The class token's row (B, H, N) of the product, over the tokens that entered the first of these blocks.

    `attentions` are the weights (H * B, N, N) of each block, first to last; `merges` holds after each block its merge
    matrix (B, M, N), or None where nothing was merged.
    """
    row = attentions[-1][:, :1]  # (H * B, 1, N)
    for attention, merge in zip(reversed(attentions[:-1]), reversed(merges[:-1]), strict=True):
        if merge is not None:
            by_clip = row.view(heads, -1, row.shape[2]).transpose(0, 1)  # (B, H, M)
            row = torch.bmm(by_clip, merge).transpose(0, 1).reshape(row.shape[0], 1, -1)  # N before the merge
        row = torch.bmm(row, attention)
    return row.view(heads, -1, row.shape[2]).transpose(0, 1)


def token_scores(row: Tensor, holder: Tensor, tokens: int) -> Tensor:
    """The score (B, H, 1 + T) of each token: the sum of the row over the patches it holds; the class token has none.

    `row` (B, H, 1 + P) has the class token first; `holder` (B, P) says which token holds each patch.
    """
    index = holder.unsqueeze(1).expand(-1, row.shape[1], -1)  # (B, H, P)
    return row.new_zeros(row.shape[0], row.shape[1], 1 + tokens).scatter_add(2, index, row[:, :, 1:])


def best_token_per_head(scores: Tensor) -> Tensor:
    """Dynamic token selection: the best-scoring patch token of each head, (B, H, 1 + T) -> (B, H). [EPIR] Eq. 20."""
    return scores[:, :, 1:].argmax(dim=2)


def gather_selected(tokens: Tensor, selected: Tensor) -> Tensor:
    """The class token and the selected ones: (B, N, D) and (B, H) -> (B, 1 + H, D)."""
    index = (selected + 1).unsqueeze(2).expand(-1, -1, tokens.shape[2])  # (B, H, D)
    return torch.cat([tokens[:, :1], tokens.gather(1, index)], dim=1)
