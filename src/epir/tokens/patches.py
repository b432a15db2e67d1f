"""From a map to patch tokens: shifted copies, patches, projection with one norm or two.

[EPIR] the paper, Eq. 3-4
[SPT]  Lee et al. 2021, Vision Transformer for Small-Size Datasets, arXiv:2112.13492, Sec. 3.1

Axes: B clips, C channels, S map size, P patches, V values of one patch, D token width
"""

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from epir.tokens.linear import Linear
from epir.tokens.projection import project

Tokenization = Literal["plain", "shifted", "shifted-dual"]
Shift = Literal["map", "patch"]

DIAGONALS = ((-1, 1), (-1, -1), (1, -1), (1, 1))  # right-up, left-up, left-down, right-down, as (down, right)


def with_shifted(maps: Tensor, pixels: int) -> Tensor:
    """The maps and their copies shifted along the four diagonals, zero-filled: (B, C, S, S) -> (B, 5 C, S, S)."""
    size = maps.shape[-1]
    padded = functional.pad(maps, (pixels,) * 4)  # (B, C, S + 2 pixels, S + 2 pixels)
    copies = [maps]
    for down, right in DIAGONALS:
        top, left = pixels - down * pixels, pixels - right * pixels
        copies.append(padded[..., top : top + size, left : left + size])
    return torch.cat(copies, dim=1)


def into_patches(maps: Tensor, patch: int) -> Tensor:
    """Patches row by row, each flattened: (B, C, S, S) -> (B, P, C * patch * patch)."""
    tiles = maps.unflatten(2, (-1, patch)).unflatten(4, (-1, patch))  # (B, C, rows, patch, columns, patch)
    return tiles.permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)


def value_sources(map_size: int, patch: int, shift: int) -> Tensor:
    """Where each value of each patch lies in a flat map with one zero put before it: (P, V) int64."""
    places = torch.arange(1, 1 + 3 * map_size**2).view(1, 3, map_size, map_size)
    return into_patches(with_shifted(places, shift) if shift else places, patch)[0]


class PatchTokens(nn.Module):
    """Patch tokens of a map; `shifted-dual` is the dual norm shifted tokenization of [EPIR] Eq. 3.

    The shift is half a map (the letter of [EPIR]) or half a patch (as in [SPT]). Shifting and cutting into patches are
    one look-up, by sources that are worked out once.
    """

    sources: Tensor
    outside: Tensor

    def __init__(self, *, map_size: int, patch: int, width: int, tokenization: Tokenization, shift: Shift) -> None:
        super().__init__()
        pixels = 0 if tokenization == "plain" else (map_size if shift == "map" else patch) // 2
        sources = value_sources(map_size, patch, pixels)
        self.patches, values = sources.shape  # 16 and 735 for the paper's sizes
        self.register_buffer("sources", sources.flatten(), persistent=False)
        self.register_buffer("outside", torch.zeros(1), persistent=False)  # what lies beyond the edges of a map
        self.has_norm = tokenization != "plain"
        self.norm = nn.LayerNorm(values) if self.has_norm else nn.Identity()
        self.project = Linear(values, width)
        self.second_norm = nn.LayerNorm(width) if tokenization == "shifted-dual" else nn.Identity()

    def forward(self, maps: Tensor) -> Tensor:
        """Tokens (B, P, D) of maps (B, 3, S, S)."""
        flat = torch.cat([self.outside.expand(maps.shape[0], 1), maps.flatten(1)], dim=1)  # (B, 1 + 3 S S)
        patches = flat.index_select(1, self.sources).view(maps.shape[0] * self.patches, -1)  # (B * P, V)
        if self.has_norm and torch.is_grad_enabled() and not (maps.requires_grad or torch.compiler.is_compiling()):
            rows = project(patches, self.norm, self.project)
        else:
            rows = self.project(self.norm(patches))  # (B * P, D)
        return self.second_norm(rows).view(maps.shape[0], self.patches, -1)
