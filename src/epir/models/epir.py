"""The EPIR model, in the order of the paper; its settings also build every rung of the ablation ladder.

[EPIR]    the paper: tokenization Eq. 3-4, token integration Eq. 5-9, attention Eq. 10-12, blocks Eq. 13-16,
          token selection Eq. 17-20, head and loss Eq. 21-23
[SPT]     Lee et al. 2021, Vision Transformer for Small-Size Datasets, arXiv:2112.13492, Sec. 3.1; [LSA] Sec. 3.2
[TransFG] He et al. 2022, arXiv:2103.07976, Sec. 3.3

Axes: B clips, S map size, P patches of a map, N tokens with the class token (token 0), M tokens after a merge,
      K merged pairs, D width, H heads, W width of one head, C classes
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from epir.models.network import Network
from epir.models.settings import ModelSettings

DIAGONALS = ((-1, 1), (-1, -1), (1, -1), (1, 1))  # right-up, left-up, left-down, right-down, as (down, right)

# ----------------------------------------------------------------------------------------- tokenization, Eq. 3-4


def with_shifted(maps: Tensor, pixels: int) -> Tensor:
    """Stack the maps with copies shifted along the four diagonals, zero-filled: (B, 3, S, S) -> (B, 15, S, S)."""
    size = maps.shape[-1]
    padded = functional.pad(maps, (pixels,) * 4)  # (B, 3, S + 2 pixels, S + 2 pixels)
    copies = [maps]
    for down, right in DIAGONALS:
        top, left = pixels - down * pixels, pixels - right * pixels
        copies.append(padded[..., top : top + size, left : left + size])
    return torch.cat(copies, dim=1)


def into_patches(maps: Tensor, patch: int) -> Tensor:
    """Cut maps into patches, row by row, and flatten each: (B, 3, S, S) -> (B, P, 3 * patch * patch)."""
    tiles = maps.unflatten(3, (-1, patch)).unflatten(2, (-1, patch))  # (B, 3, rows, patch, columns, patch)
    return tiles.permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)


class PatchTokens(nn.Module):
    """Turns maps into patch tokens; `shifted-dual` is the dual norm shifted tokenization of [EPIR] Eq. 3.

    The shift is half a map (the literal reading of [EPIR]) or half a patch (as in [SPT]).
    """

    def __init__(self, settings: ModelSettings) -> None:
        super().__init__()
        kind = settings.tokenization
        self.patch = settings.patch
        self.shift = 0 if kind == "plain" else (settings.map_size if settings.shift == "map" else settings.patch) // 2
        values = (3 if kind == "plain" else 15) * settings.patch**2  # 735 for the paper's sizes
        self.norm = nn.Identity() if kind == "plain" else nn.LayerNorm(values)
        self.project = nn.Linear(values, settings.width)
        self.second_norm = nn.LayerNorm(settings.width) if kind == "shifted-dual" else nn.Identity()

    def forward(self, maps: Tensor) -> Tensor:
        """Maps (B, 3, S, S) -> tokens (B, P, D)."""
        maps = with_shifted(maps, self.shift) if self.shift else maps
        patches = self.norm(into_patches(maps, self.patch))  # (B, P, 735)
        return self.second_norm(self.project(patches))


# --------------------------------------------------------------------------- attention between tokens, Eq. 10-12


class Attention(nn.Module):
    """Multi-head attention: plain, or inter-token (ITALS) with a learned temperature per head and no self-pairs."""

    def __init__(self, width: int, heads: int, *, inter_token: bool) -> None:
        super().__init__()
        self.heads, self.inter_token = heads, inter_token
        inner = heads * (width // heads)  # 3 heads of 85 for the paper's width of 256
        self.to_qkv = nn.Linear(width, 3 * inner, bias=False)
        self.to_out = nn.Linear(inner, width)
        scale = torch.full((heads, 1, 1), math.sqrt(width // heads))  # the usual scaling; [EPIR] Eq. 12 learns it
        if inter_token:
            self.temperature = nn.Parameter(scale)
        else:
            self.register_buffer("temperature", scale, persistent=False)

    def forward(self, tokens: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return mixed tokens (B, N, D), attention (B, H, N, N) for selection and mean keys (B, N, W) for merging."""
        q, k, v = self.to_qkv(tokens).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)  # each (B, H, N, W)
        scores = q @ k.mT / self.temperature  # (B, H, N, N)
        if self.inter_token:
            scores = without_self(scores)
        weights = scores.softmax(dim=-1)
        mixed = (weights @ v).transpose(1, 2).flatten(2)  # (B, N, H * W)
        return self.to_out(mixed), weights, k.mean(dim=1)


def without_self(scores: Tensor) -> Tensor:
    """Set the diagonal of the scores (B, H, N, N) to -inf: the mask of [EPIR] Eq. 11."""
    itself = torch.eye(scores.shape[-1], dtype=torch.bool, device=scores.device)
    return scores.masked_fill(itself, -math.inf)


# ------------------------------------------------------------------------------------ token integration, Eq. 5-9


class MergePlan(NamedTuple):
    """Which tokens merge, and with what weights; tokens, provenance and rollout all follow one plan."""

    into: Tensor  # (B, N) int64: the new index of each token
    matrix: Tensor  # (B, M, N): new tokens = matrix @ old tokens; rows sum to 1


def most_similar_pairs(keys: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return the indices (B, K) of the first and of the second token of each most similar pair, by cosine of keys.

    The patch tokens are split alternately into two halves. A pair takes one token from each half, and no token is in
    two pairs.
    """
    unit = functional.normalize(keys, dim=-1)  # (B, N, W)
    similarity = unit[:, 1::2] @ unit[:, 2::2].mT  # (B, rows, columns)
    rows, columns = similarity.shape[1:]
    row_of = torch.arange(rows, device=keys.device)
    column_of = torch.arange(columns, device=keys.device)
    first, second = [], []
    for _ in range(count):
        best = similarity.flatten(1).argmax(dim=1, keepdim=True)  # (B, 1)
        row, column = best // columns, best % columns
        first.append(2 * row + 1)
        second.append(2 * column + 2)
        paired = (row_of == row).unsqueeze(2) | (column_of == column).unsqueeze(1)  # (B, rows, columns)
        similarity = similarity.masked_fill(paired, -math.inf)
    return torch.cat(first, dim=1), torch.cat(second, dim=1)


@torch.no_grad()
def plan_merge(keys: Tensor, pairs: int, *, merged_first: bool = False) -> MergePlan:
    """Plan to merge the `pairs` most similar pairs of tokens, each into its mean, by their keys (B, N, W).

    Departs from [EPIR] unless `merged_first`: Eq. 9 puts merged tokens first; here a merged token takes the position of
    its first half, so that the next alternate split still compares neighbours. Attention ignores the order.
    """
    first, second = most_similar_pairs(keys, pairs)  # (B, K) each
    batch, tokens = keys.shape[:2]
    places = torch.arange(tokens, device=keys.device).expand(batch, -1)  # (B, N)
    removed = torch.zeros_like(places).scatter(1, second, 1)
    if merged_first:  # class token, then merged tokens, then the others
        others = 1 - removed.scatter(1, first, 1)
        into = places[:, :pairs] + 1  # (B, K)
        into = (others.cumsum(1) - 1 + pairs * (places > 0)).scatter(1, first, into).scatter(1, second, into)
    else:
        into = places - removed.cumsum(1)
        into = into.scatter(1, second, into.gather(1, first))
    onehot = functional.one_hot(into, tokens - pairs).mT  # (B, M, N)
    return MergePlan(into, onehot.to(keys.dtype) / onehot.sum(dim=2, keepdim=True))


# --------------------------------------------------------------------------------------------- blocks, Eq. 13-16


class BlockOutput(NamedTuple):
    """The tokens after a block, and the attention and merges that token selection needs."""

    tokens: Tensor  # (B, M, D)
    attention: Tensor  # (B, H, N, N)
    merge: MergePlan | None


class Block(nn.Module):
    """Pre-norm attention and feed-forward with residuals; tokens may merge in between.

    Departs from [EPIR]: Eq. 13 prints no residual around the attention of the first extractor block. We treat that as a
    misprint unless `settings.first_residual` is off.
    """

    def __init__(self, settings: ModelSettings, *, pairs: int = 0, residual: bool = True) -> None:
        super().__init__()
        width = settings.width
        self.pairs, self.residual, self.merged_first = pairs, residual, settings.merged_first
        self.attention_norm = nn.LayerNorm(width)
        self.attention = Attention(width, settings.heads, inter_token=settings.attention == "inter-token")
        self.feed_forward_norm = nn.LayerNorm(width)
        self.widen = nn.Linear(width, settings.feed_forward)
        self.narrow = nn.Linear(settings.feed_forward, width)
        self.dropout = nn.Dropout(settings.dropout)

    def forward(self, tokens: Tensor) -> BlockOutput:
        """Tokens (B, N, D) -> (B, M, D)."""
        mixed, attention, keys = self.attention(self.attention_norm(tokens))
        tokens = tokens + self.dropout(mixed) if self.residual else self.dropout(mixed)
        merge = None
        if self.pairs:
            merge = plan_merge(keys, self.pairs, merged_first=self.merged_first)
            tokens = merge.matrix @ tokens  # (B, M, D)
        hidden = self.dropout(functional.gelu(self.widen(self.feed_forward_norm(tokens))))
        return BlockOutput(tokens + self.dropout(self.narrow(hidden)), attention, merge)


# ------------------------------------------------------------------------ rollout and token selection, Eq. 17-20


def class_row(blocks: list[BlockOutput]) -> Tensor:
    """Return how much the class token attends to each token entering the first block, per head: (B, H, N).

    With the merge matrices M the rollout is A_12 ... A_7 (M_6 A_6) ... (M_1 A_1). Only the class row is needed, so we
    multiply that row through from the left.
    """
    row = blocks[-1].attention[:, :, :1]  # (B, H, 1, N)
    for block in reversed(blocks[:-1]):
        if block.merge is not None:
            row = row @ block.merge.matrix.unsqueeze(1)
        row = row @ block.attention
    return row.squeeze(2)


def provenance(holder: Tensor, tokens: int) -> Tensor:
    """Return which patches each patch token holds, (B, N - 1, P) of 0 and 1; `holder` (B, P) is each patch's token."""
    return functional.one_hot(holder - 1, tokens - 1).mT


@dataclass(frozen=True)
class TokenRecord:
    """What was merged, selected and attended to in a batch of maps, for pictures and tests.

    Axes: T patch tokens at selection, T_l after integration block l
    """

    grid: int  # patches per side: P = grid * grid, row by row
    provenance: Tensor  # (B, T, P) 0 or 1: which patches each token holds
    history: tuple[Tensor, ...]  # after each integration block: (B, T_l, P)
    selected: Tensor  # (B, H): the token that each head chose, an index into T
    rollout: Tensor  # (B, H, P): how much the class token attends to each patch

    def groups(self, clip: int) -> list[list[int]]:
        """Return the patches that each token of one clip holds."""
        return [row.nonzero().flatten().tolist() for row in self.provenance[clip]]


# ----------------------------------------------------------------------------------- the model, Eq. 21-23


class Epir(Network):
    """A small Vision Transformer that merges and selects its tokens."""

    settings_class = ModelSettings
    settings: ModelSettings

    def __init__(self, settings: ModelSettings | None = None) -> None:
        settings = settings or ModelSettings()
        super().__init__(settings)
        self.patch_tokens = PatchTokens(settings)
        self.class_token = nn.Parameter(torch.empty(1, 1, settings.width))
        self.positions = nn.Parameter(torch.empty(1, 1 + settings.patches, settings.width))
        self.dropout = nn.Dropout(settings.dropout)
        pairs = (*settings.pairs, *[0] * settings.extractor_blocks)
        no_residual = None if settings.first_residual else settings.integration_blocks  # index of that block
        self.blocks = nn.ModuleList(
            [Block(settings, pairs=count, residual=number != no_residual) for number, count in enumerate(pairs)]
        )
        self.last_block = Block(settings)
        self.head_norm = nn.LayerNorm(settings.width) if settings.head_norm else nn.Identity()
        self.head = nn.Linear(settings.width, settings.classes)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
        nn.init.trunc_normal_(self.class_token, std=0.02)
        nn.init.trunc_normal_(self.positions, std=0.02)

    def forward_features(self, maps: Tensor) -> Tensor:
        """Return the class token (B, D) after the last block; with `readout = "all"`, all its tokens (B, T * D)."""
        blocks, holders = self._run_blocks(maps)
        return self._finish(blocks[-1].tokens, self._select(blocks, holders[-1]) if self.settings.selection else None)

    def forward_head(self, features: Tensor) -> Tensor:
        """Class tokens (B, D) -> logits (B, C): [EPIR] Eq. 21; the logits of all tokens (B, T * D) are averaged."""
        if self.settings.readout == "class":
            return self.head(self.head_norm(features))
        tokens = features.unflatten(1, (-1, self.settings.width))  # (B, T, D)
        return self.head(self.head_norm(tokens)).mean(dim=1)

    def loss_of_features(self, features: Tensor, labels: Tensor, smoothing: float, weights: Tensor | None) -> Tensor:
        """Return the cross-entropy plus, with selection, the contrastive loss: [EPIR] Eq. 23."""
        loss = super().loss_of_features(features, labels, smoothing, weights)
        if self.settings.selection and self.settings.contrastive:
            # A slice that is not needed would change the order in which gradients are summed, and the weights in bits.
            token = features if self.settings.readout == "class" else features[:, : self.settings.width]  # (B, D)
            loss = loss + self.settings.contrastive * contrastive_loss(token, labels, margin=self.settings.margin)
        return loss

    @torch.no_grad()
    def explain(self, maps: Tensor) -> tuple[Tensor, TokenRecord]:
        """Return logits (B, C), and a record of what was merged, selected and attended to."""
        self.check(maps)
        blocks, holders = self._run_blocks(self.normalise(maps))
        selected = self._select(blocks, holders[-1])
        counts = [block.tokens.shape[1] for block in blocks]  # N after each block
        integrated = self.settings.integration_blocks
        history = zip(holders[:integrated], counts[:integrated], strict=True)
        record = TokenRecord(
            grid=self.settings.grid,
            provenance=provenance(holders[-1], counts[-1]),
            history=tuple(provenance(holder, count) for holder, count in history),
            selected=selected,
            rollout=class_row(blocks)[:, :, 1:],
        )
        features = self._finish(blocks[-1].tokens, selected if self.settings.selection else None)
        return self.forward_head(features), record

    def no_weight_decay(self) -> set[str]:
        """Name the parameters that have several axes but are not weight matrices."""
        names = {"class_token", "positions"}
        return names | {name for name, _ in self.named_parameters() if name.endswith("temperature")}

    def _tokens(self, maps: Tensor) -> Tensor:
        """Return the class token and the patch tokens, with their positions added, (B, 1 + P, D)."""
        first, positions = self.positions[:, :1], self.positions[:, 1:]
        patches = self.patch_tokens(maps) + positions
        return torch.cat([(self.class_token + first).expand(patches.shape[0], -1, -1), patches], dim=1)

    def _run_blocks(self, maps: Tensor) -> tuple[list[BlockOutput], list[Tensor]]:
        """Run all blocks but the last; return the output of each, and which token then holds each patch (B, P)."""
        tokens = self.dropout(self._tokens(maps))
        holder = torch.arange(1, tokens.shape[1], device=maps.device).expand(tokens.shape[0], -1)  # (B, P)
        blocks, holders = [], []
        for module in self.blocks:
            block = module(tokens)
            holder = holder if block.merge is None else block.merge.into.gather(1, holder)
            tokens = block.tokens
            blocks.append(block)
            holders.append(holder)
        return blocks, holders

    @torch.no_grad()
    def _select(self, blocks: list[BlockOutput], holder: Tensor) -> Tensor:
        """Return the best patch token of each head, (B, H): [EPIR] Eq. 17-20, without gradient.

        A token scores the sum of the rollout over its patches. With `rollout = "extractor"` it scores the class row of
        the extractor blocks alone, which merge nothing.
        """
        if self.settings.rollout == "extractor":
            scores = class_row(blocks[self.settings.integration_blocks :])[:, :, 1:]  # (B, H, T)
        else:
            held = provenance(holder, blocks[-1].tokens.shape[1])  # (B, T, P)
            row = class_row(blocks)[:, :, 1:]  # (B, H, P)
            scores = row @ held.mT.to(row.dtype)  # (B, H, T)
        return scores.argmax(dim=2)

    def _finish(self, tokens: Tensor, selected: Tensor | None) -> Tensor:
        """Run the last block on the class token and the selected tokens (or all); return what the head reads."""
        if selected is not None:
            index = (selected + 1).unsqueeze(2).expand(-1, -1, tokens.shape[2])  # (B, H, D)
            tokens = torch.cat([tokens[:, :1], tokens.gather(1, index)], dim=1)  # (B, 1 + H, D)
        tokens = self.last_block(tokens).tokens
        return tokens.flatten(1) if self.settings.readout == "all" else tokens[:, 0]


def contrastive_loss(tokens: Tensor, labels: Tensor, *, margin: float) -> Tensor:
    """Pull class tokens (B, D) of one class together, push others apart above the margin: [EPIR] Eq. 22, [TransFG]."""
    unit = functional.normalize(tokens, dim=1)
    similarity = unit @ unit.T  # (B, B)
    same = labels.unsqueeze(0) == labels.unsqueeze(1)
    return torch.where(same, 1 - similarity, (similarity - margin).clamp(min=0)).mean()
