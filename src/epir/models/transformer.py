"""The EPIR model: tokenization, token integration, discriminative token extraction, head.

[EPIR] the paper, Sec. 3 and its overall figure

Axes: B clips, S map size, P patches, T patch tokens at selection, N tokens with the class token, D width, H heads,
C classes
"""

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from epir.models import single
from epir.models.block import Block, Passing
from epir.models.losses import contrastive_loss
from epir.models.network import Network
from epir.models.settings import ModelSettings
from epir.tokens.linear import Linear
from epir.tokens.merging import holds
from epir.tokens.patches import PatchTokens
from epir.tokens.record import TokenRecord
from epir.tokens.rollout import best_token_per_head, class_row, gather_selected, token_scores


class Epir(Network):
    """A small Vision Transformer that merges and selects its tokens; the settings also make every rung below it."""

    settings_class = ModelSettings
    settings: ModelSettings
    patch_numbers: Tensor

    def __init__(self, settings: ModelSettings | None = None) -> None:
        settings = settings or ModelSettings()
        super().__init__(settings)
        self.patch_tokens = PatchTokens(
            map_size=settings.map_size,
            patch=settings.patch,
            width=settings.width,
            tokenization=settings.tokenization,
            shift=settings.shift,
        )
        self.class_token = nn.Parameter(torch.zeros(1, 1, settings.width))
        self.positions = nn.Parameter(torch.zeros(1, 1 + settings.patches, settings.width))
        self.dropout = nn.Dropout(settings.dropout) if settings.dropout else nn.Identity()
        blocks, tokens = [], 1 + settings.patches
        for pairs in (*settings.pairs, *[0] * settings.extractor_blocks):
            blocks.append(Block(settings, tokens=tokens, pairs=pairs))
            tokens -= pairs
        self.blocks = nn.ModuleList(blocks)
        self.last_block = Block(settings, tokens=1 + settings.heads if settings.selection else tokens)
        self.head_norm = nn.LayerNorm(settings.width)
        self.head = Linear(settings.width, settings.classes)
        self.register_buffer("patch_numbers", torch.arange(1, 1 + settings.patches).unsqueeze(0), persistent=False)
        self._blocks_are_single = single.can_pass(blocks)
        first = settings.integration_blocks if settings.rollout == "extractor" else 0
        self._rollout_from = first if settings.selection else None
        for part in (self.class_token, self.positions):
            nn.init.trunc_normal_(part, std=0.02)

    def represent(self, maps: Tensor) -> Tensor:
        """The class token (B, D) that leaves the last block, for normalised maps (B, 3, S, S)."""
        if self._is_single(maps):
            rows = torch.cat([self.class_token[0], single.patch_rows(self.patch_tokens, maps)]).add_(self.positions[0])
            rows = single.pass_blocks(rows, self.blocks, rollout_from=self._rollout_from)
            return single.pass_last(rows, self.last_block)
        tokens, passings = self._pass_blocks(maps, self.blocks)
        if self.settings.selection:
            tokens = gather_selected(tokens, self._select(passings)[0])  # (B, 1 + H, D)
        return self._pass_last(tokens)

    def represent_to_learn(self, maps: Tensor) -> Tensor:
        """What `represent` gives, without finishing tokens that nothing reads.

        Which tokens are selected is known once the last extractor block has attended, and of the last block only the
        class token is read. `represent` finishes all tokens of both, as the paper counts multiply-adds.
        """
        batch = maps.shape[0]
        if self.settings.selection:
            *blocks, block = self.blocks
            assert isinstance(block, Block)
            tokens, passings = self._pass_blocks(maps, blocks)
            mixed, weights, _ = block.attend(tokens.flatten(0, 1), batch)
            passings.append(Passing(weights, None, passings[-1].holder))
            selected = self._select(passings)[0]  # (B, H)
            parts = (tokens, mixed.unflatten(0, (batch, -1)))
            rows = block.finish(*(gather_selected(part, selected).flatten(0, 1) for part in parts))  # (B * (1 + H), D)
        else:
            rows = self._pass_blocks(maps, self.blocks)[0].flatten(0, 1)
        mixed, _, _ = self.last_block.attend(rows, batch)
        return self.last_block.finish(*(part.unflatten(0, (batch, -1))[:, 0] for part in (rows, mixed)))

    def classify(self, features: Tensor) -> Tensor:
        """Logits (B, C) of class tokens (B, D): [EPIR] Eq. 21."""
        return self.head(self.head_norm(features))

    def feature_loss(self, features: Tensor, labels: Tensor, smoothing: float, weights: Tensor | None) -> Tensor:
        """Cross-entropy and, with selection, the contrastive loss: [EPIR] Eq. 23."""
        loss = super().feature_loss(features, labels, smoothing, weights)
        if self.settings.selection and self.settings.contrastive:
            loss = loss + self.settings.contrastive * contrastive_loss(features, labels, margin=self.settings.margin)
        return loss

    @torch.no_grad()
    def explain(self, maps: Tensor) -> tuple[Tensor, TokenRecord]:
        """Logits (B, C), and what was merged, selected and attended to on the way."""
        self.check(maps)
        tokens, passings = self._pass_blocks(self.normalise(maps), self.blocks)
        selected, scores, row = self._select(passings, full=True)
        tokens = gather_selected(tokens, selected) if self.settings.selection else tokens
        holders = [passing.holder.expand(maps.shape[0], -1) for passing in passings]
        counts = [self.settings.patches - sum(self.settings.pairs[: number + 1]) for number in range(len(passings))]
        record = TokenRecord(
            grid=self.settings.grid,
            provenance=holds(holders[-1], scores.shape[2] - 1),
            history=tuple(
                holds(holder, count)
                for holder, count in zip(holders[: self.settings.integration_blocks], counts, strict=False)
            ),
            selected=selected,
            rollout=row[:, :, 1:],
        )
        return self.classify(self._pass_last(tokens)), record

    def _is_single(self, maps: Tensor) -> bool:
        """Whether this is one map to be answered on a CPU, and nothing more."""
        if torch.compiler.is_compiling() or torch.is_grad_enabled() or self.training:
            return False
        return maps.shape[0] == 1 and maps.is_cpu and self._blocks_are_single

    def _pass_blocks(self, maps: Tensor, blocks: Iterable[nn.Module]) -> tuple[Tensor, list[Passing]]:
        """Tokens (B, N, D) after these blocks, and what each block handed on."""
        patches = self.patch_tokens(maps)  # (B, P, D)
        tokens = torch.cat([self.class_token.expand(maps.shape[0], -1, -1), patches], dim=1)  # (B, 1 + P, D)
        tokens = self.dropout(tokens + self.positions)
        holder = self.patch_numbers.expand(maps.shape[0], -1)  # (B, P): at first each patch is a token of its own
        passings = []
        batch, _, width = tokens.shape
        rows = tokens.view(-1, width)  # (B * N, D)
        for block in blocks:
            rows, passing = block(rows, batch, holder)
            holder = passing.holder
            passings.append(passing)
        return rows.view(batch, -1, width), passings

    def _pass_last(self, tokens: Tensor) -> Tensor:
        """The class token (B, D) that leaves the last block, which tokens (B, N, D) enter."""
        batch, _, width = tokens.shape
        rows, _ = self.last_block(tokens.view(-1, width), batch, self.patch_numbers)
        return rows.view(batch, -1, width)[:, 0]

    @torch.no_grad()
    def _select(self, passings: list[Passing], *, full: bool = False) -> tuple[Tensor, Tensor, Tensor]:
        """The token of each head (B, H), every token's score (B, H, 1 + T), and the rollout on the map (B, H, 1 + P).

        Selection is not differentiated through. With `rollout = "extractor"` the scores are the class row of the
        extractor blocks alone, whose tokens agree; the rollout on the map is then only computed if asked for.
        """
        attentions = [passing.attention for passing in passings]
        merges = [passing.merge for passing in passings]
        tokens = self.settings.patches - sum(self.settings.pairs)
        heads = self.settings.heads
        if self.settings.rollout == "extractor":
            extractor = attentions[self.settings.integration_blocks :]
            row = class_row(extractor, [None] * len(extractor), heads)
            scores = row
            row = class_row(attentions, merges, heads) if full else row
        else:
            row = class_row(attentions, merges, heads)
            scores = token_scores(row, passings[-1].holder, tokens)
        return best_token_per_head(scores), scores, row
