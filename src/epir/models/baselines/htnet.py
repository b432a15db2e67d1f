"""HTNet: transformers inside blocks of patches, merged into ever larger blocks.

Axes: B clips, S map size, G patches per side, T patches in a block, D width of a level, H heads, K width of a head
"""

from typing import Annotated

import torch
from torch import Tensor, nn
from torch.nn import functional

from epir.core.errors import ConfigError
from epir.models.arguments import Count, Dropout, Range, Width
from epir.models.network import WithFeatures

FEED_FORWARD = 4  # the hidden feed-forward layer is this many times wider


class HtnetAttention(nn.Module):
    """Multi-head attention among the patches of one block."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        inner = heads * (width // heads)  # 3 heads of 85 for a width of 256
        self.to_qkv = nn.Linear(width, 3 * inner, bias=False)
        self.to_out = nn.Sequential(nn.Linear(inner, width), nn.Dropout(dropout))

    def forward(self, tokens: Tensor) -> Tensor:
        """Tokens (B, T, D) -> mixed tokens (B, T, D)."""
        q, k, v = self.to_qkv(tokens).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)  # each (B, H, T, K)
        rate = self.dropout if self.training else 0.0
        mixed = functional.scaled_dot_product_attention(q, k, v, dropout_p=rate)  # (B, H, T, K)
        return self.to_out(mixed.transpose(1, 2).flatten(2))  # (B, T, D)


class HtnetBlock(nn.Module):
    """Pre-norm attention and feed-forward with residuals."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.attend = nn.Sequential(nn.LayerNorm(width), HtnetAttention(width, heads, dropout))
        self.feed = nn.Sequential(
            nn.LayerNorm(width),
            nn.Linear(width, FEED_FORWARD * width),
            nn.GELU(),
            nn.Dropout(dropout),
            nn.Linear(FEED_FORWARD * width, width),
            nn.Dropout(dropout),
        )

    def forward(self, tokens: Tensor) -> Tensor:
        """Tokens (B, T, D) -> tokens (B, T, D)."""
        tokens = tokens + self.attend(tokens)
        return tokens + self.feed(tokens)


class Level(nn.Module):
    """One level of the hierarchy: transformers inside `splits` x `splits` blocks of the patch grid."""

    def __init__(self, width: int, heads: int, depth: int, *, splits: int, tokens: int, dropout: float) -> None:
        super().__init__()
        self.splits = splits
        self.position = nn.Parameter(torch.randn(tokens, 1))  # one number per position, shared by all channels
        self.blocks = nn.Sequential(*[HtnetBlock(width, heads, dropout) for _ in range(depth)])

    def forward(self, grid: Tensor) -> Tensor:
        """Mix the patches (B, G, G, D) inside each block."""
        split = (self.splits, grid.shape[1] // self.splits)
        cut = grid.unflatten(2, split).unflatten(1, split).transpose(2, 3)  # (B, s, s, g, g, D)
        tokens = cut.flatten(0, 2).flatten(1, 2)  # (B * s * s, T, D)
        mixed = self.blocks(tokens + self.position).reshape(cut.shape)
        return mixed.transpose(2, 3).flatten(3, 4).flatten(1, 2)  # (B, G, G, D)


class Downsampling(nn.Module):
    """Between two levels: halves the patches per side and doubles the width."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.widen = nn.Conv2d(width, 2 * width, 3, padding=1)
        self.norm = nn.LayerNorm(2 * width)
        self.shrink = nn.MaxPool2d(3, stride=2, padding=1)

    def forward(self, grid: Tensor) -> Tensor:
        """Patches (B, G, G, D) -> (B, G / 2, G / 2, 2 D)."""
        wide = self.norm(self.widen(grid.permute(0, 3, 1, 2)).permute(0, 2, 3, 1))  # (B, G, G, 2 D)
        return self.shrink(wide.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)


class Htnet(WithFeatures):
    """Three levels of 2, 2 and 10 blocks, 256, 512 and 1024 wide.

    At the paper's sizes (28 px, 7 px patches, 3 levels) each block holds a single patch, so attention has nothing to
    choose from and patches mix only between the levels. Larger maps or smaller patches change that.

    [HTNet] Wang, Zhang, Luo, Sankaranarayana 2024, HTNet for micro-expression recognition, Neurocomputing 602,
            arXiv:2307.14637; sizes as in the authors' code.

    Departs from [HTNet]: the paper assembles its map from four 14 px windows around eyes and lips, located with
    landmarks; here the network sees the whole map, whose quarters show about the same.
    """

    recipe = "scratch"  # the training recipe of transformers

    def __init__(
        self,
        classes: int = 3,
        map_size: Annotated[int, Range(ge=8)] = 28,
        dropout: Dropout = 0.0,
        patch_size: Count = 7,
        width: Width = 256,
        heads: Count = 3,
        blocks: Annotated[tuple[int, ...], Range(ge=1, le=1000), "per level of the hierarchy"] = (2, 2, 10),
    ) -> None:
        super().__init__()
        _check_sizes(map_size, patch_size, width, heads, blocks)
        self.patch_size = patch_size
        levels = len(blocks)
        side = map_size // patch_size // 2 ** (levels - 1)  # patches per side of a block
        self.embed = nn.Linear(3 * patch_size**2, width)
        steps: list[nn.Module] = []
        for level, depth in enumerate(blocks):
            scale, splits = 2**level, 2 ** (levels - 1 - level)
            wide = width * scale
            steps.append(Level(wide, heads * scale, depth, splits=splits, tokens=side**2, dropout=dropout))
            if splits > 1:
                steps.append(Downsampling(wide))
        self.steps = nn.Sequential(*steps)
        self.norm = nn.LayerNorm(wide)
        self.head = nn.Linear(wide, classes)

    def forward_features(self, maps: Tensor) -> Tensor:
        """Normalised maps (B, 3, S, S) -> features (B, 4 D)."""
        patch = self.patch_size
        cut = maps.unflatten(3, (-1, patch)).unflatten(2, (-1, patch))  # (B, 3, G, p, G, p)
        grid = self.embed(cut.permute(0, 2, 4, 3, 5, 1).flatten(3))  # (B, G, G, D)
        return self.norm(self.steps(grid)).mean(dim=(1, 2))  # (B, 4 D)


def _check_sizes(map_size: int, patch_size: int, width: int, heads: int, blocks: tuple[int, ...]) -> None:
    if not blocks:
        raise ConfigError("htnet needs at least one level of blocks", fix="for example --set model.blocks=[2,2,10]")
    if heads > width:
        raise ConfigError(f"{heads} heads do not fit in a width of {width}", fix="use fewer heads")
    step = patch_size * 2 ** (len(blocks) - 1)
    if map_size % step:
        raise ConfigError(
            f"htnet cannot divide a {map_size} px map into {patch_size} px patches in {len(blocks)} levels",
            fix=f"use a map size that is a multiple of {step}, or another patch_size",
        )
