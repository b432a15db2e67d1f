"""The contrastive loss on class tokens.

[EPIR] the paper, Eq. 22; [TransFG] He et al. 2022, arXiv:2103.07976, Sec. 3.3, whose margin of 0.4 is used

Axes: B clips, D width
"""

import torch
from torch import Tensor
from torch.nn import functional


def contrastive_loss(tokens: Tensor, labels: Tensor, *, margin: float) -> Tensor:
    """Pull class tokens (B, D) of one class together; push others apart where their cosine exceeds the margin."""
    unit = functional.normalize(tokens, dim=1)
    similarity = unit @ unit.T  # (B, B)
    same = labels.unsqueeze(0) == labels.unsqueeze(1)
    apart = (similarity - margin).clamp(min=0)
    return torch.where(same, 1 - similarity, apart).mean()
