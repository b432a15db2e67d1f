"""The settings of the EPIR model, validated on construction, and the rungs of the paper's ablation ladder."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from epir.core.config import check_known, check_ranges, setting
from epir.core.errors import ConfigError

Normalisation = Literal["map", "squash", "none"]

SHIPPED = Path("shipped")  # stands for the model folder that comes with the package, wherever it is installed
MOST = {  # upper limits, far above what anybody trains on maps
    "map_size": 1024,
    "patch": 1024,
    "width": 16_384,
    "heads": 1024,
    "feed_forward": 65_536,
    "blocks": 1000,
    "margin": 1000,
    "contrastive": 1e6,
    "classes": 10_000,
}
MOST_PATCHES = 4096  # per map: attention is quadratic in the patches
MOST_WEIGHTS = 2_000_000_000
FEWEST_TOKENS = 2  # a lone token has no other to attend to


@dataclass(frozen=True)
class ModelSettings:
    """Settings of the model; the defaults are the paper's, and each rung of its ablation ladder changes one."""

    name: str = "epir"
    map_size: int = 28
    patch: int = 7
    width: int = 256
    heads: int = 3
    feed_forward: int = 512
    blocks: int = setting(13, "integration and extractor blocks in equal parts, and the last one")
    tokenization: Literal["plain", "shifted", "shifted-dual"] = "shifted-dual"
    shift: Literal["map", "patch"] = "map"
    attention: Literal["plain", "inter-token"] = "inter-token"
    integration: float = setting(0.375, "share of the patch tokens that merging removes: 6 of 16")
    selection: bool = setting(True, "dynamic token selection before the last block, and the contrastive loss")
    rollout: Literal["full", "extractor"] = "full"
    margin: float = setting(0.4, "margin of the contrastive loss")
    contrastive: float = setting(1.0, "weight of the contrastive loss")
    head_norm: bool = setting(True, "a norm before the last layer; Eq. 21 prints none")
    first_residual: bool = setting(True, "around the attention of the first extractor block; Eq. 13 prints none")
    merged_first: bool = setting(
        False, "put merged tokens before the others, as Eq. 9 prints, not at the position of their first half"
    )
    readout: Literal["class", "all"] = setting(
        "class", "the last layer classifies the class token, or every token of Y_final, and averages"
    )
    dropout: float = 0.0
    classes: int = 3
    normalise: Normalisation = "map"

    def __post_init__(self) -> None:
        check_ranges(self, MOST, section="model")
        for name in ("map_size", "patch", "width", "heads", "feed_forward"):
            if getattr(self, name) < 1:
                raise ConfigError(f"model.{name} is {getattr(self, name)}", fix="give a whole number of 1 or more")
        if self.map_size % self.patch:
            fits = [n for n in range(2, self.map_size + 1) if self.map_size % n == 0]
            raise ConfigError(
                f"a {self.map_size} px map cannot be cut into {self.patch} px patches",
                fix=f"set model.patch to a divisor of {self.map_size}: {_listed(fits)}",
            )
        if self.heads > self.width:
            raise ConfigError(
                f"{self.heads} heads do not fit in a width of {self.width}", fix="use fewer heads or a larger width"
            )
        if self.blocks < 3:
            raise ConfigError(f"model.blocks is {self.blocks}", fix="use 3 or more: integration, extractor, last")
        if self.classes < 2:
            raise ConfigError(f"model.classes must be at least 2, not {self.classes}", fix="set model.classes=3")
        if self.patches > MOST_PATCHES:
            raise ConfigError(
                f"{self.patch} px patches cut a {self.map_size} px map into {self.patches} of them",
                fix=f"use larger patches: {MOST_PATCHES} or fewer per map",
            )
        weights = self.blocks * self.width * (4 * self.width + 2 * self.feed_forward)  # roughly
        if weights > MOST_WEIGHTS:
            raise ConfigError(
                f"a model of these sizes has about {weights / 1e9:.3g} billion weights",
                fix="lower model.blocks, model.width or model.feed_forward",
            )
        if not 0 <= self.dropout < 1:
            raise ConfigError(
                f"model.dropout is {self.dropout}", fix="give a number from 0 up to, but not including, 1"
            )
        self._check_integration()

    def _check_integration(self) -> None:
        if not 0 <= self.integration < 1:
            raise ConfigError(
                f"model.integration is {self.integration}", fix="give a share from 0 up to, but not including, 1"
            )
        tokens = self.patches
        for number, pairs in enumerate(self.pairs, start=1):
            if pairs > tokens // 2 or tokens - pairs < FEWEST_TOKENS:
                raise ConfigError(
                    f"integration {self.integration:g} merges {pairs} pairs in block {number}, "
                    f"which has only {tokens} patch tokens",
                    fix=f"set model.integration to {_max_share(self.patches, self.integration_blocks):g} or less, "
                    "or use more blocks",
                )
            tokens -= pairs

    @property
    def grid(self) -> int:
        """Patches per side of a map."""
        return self.map_size // self.patch

    @property
    def patches(self) -> int:
        """Patches of a map."""
        return self.grid**2

    @property
    def integration_blocks(self) -> int:
        """The first blocks, which may merge tokens: half of all but the last, rounded up."""
        return self.blocks // 2

    @property
    def extractor_blocks(self) -> int:
        """The blocks after them, before selection."""
        return self.blocks - 1 - self.integration_blocks

    @property
    def pairs(self) -> tuple[int, ...]:
        """Pairs merged in each integration block, spread evenly; earlier blocks take the remainder."""
        return spread(round(self.integration * self.patches), self.integration_blocks)


def spread(total: int, parts: int) -> tuple[int, ...]:
    """Split `total` into `parts` whole numbers that differ by at most 1, larger ones first.

    >>> spread(8, 3)
    (3, 3, 2)
    """
    return tuple(total // parts + (number < total % parts) for number in range(parts))


def _max_share(patches: int, blocks: int) -> float:
    """Return the largest share of `patches` that `blocks` can merge away, rounded down to a hundredth."""
    for total in range(patches - FEWEST_TOKENS, 0, -1):
        left, possible = patches, True
        for pairs in spread(total, blocks):
            possible = possible and pairs <= left // 2
            left -= pairs
        if possible:
            return int(100 * total / patches) / 100
    return 0.0


def _listed(numbers: list[int]) -> str:
    words = [str(number) for number in numbers]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _ladder() -> dict[str, ModelSettings]:
    """Build the rungs of Tables 4 and 5; each differs from the next in one setting."""
    epir = ModelSettings()
    dual = replace(epir, name="vit+dtsm+itals+dnspt", integration=0.0)
    shifted = replace(dual, name="vit+dtsm+itals+spt", tokenization="shifted")
    inter_token = replace(shifted, name="vit+dtsm+itals", tokenization="plain")
    selecting = replace(inter_token, name="vit+dtsm", attention="plain")
    vit = replace(selecting, name="vit", selection=False)
    return {rung.name: rung for rung in (vit, selecting, inter_token, shifted, dual, epir)}


PRESETS: dict[str, ModelSettings] = _ladder()  # from the plain Vision Transformer up to EPIR
ABOUT = {  # one line each, for lists
    "vit": "the plain Vision Transformer, first rung of the ladder",
    "vit+dtsm": "with discriminative token selection",
    "vit+dtsm+itals": "and inter-token attention with learned temperatures",
    "vit+dtsm+itals+spt": "and shifted patch tokenization",
    "vit+dtsm+itals+dnspt": "and dual norm shifted patch tokenization",
    "epir": "the paper's model: all of them, and token integration",
    "paper": "epir exactly as the paper prints it, where the other presets depart from it",
}

LITERAL: dict[str, Any] = {  # the paper as printed, where the presets depart from it
    "first_residual": False,
    "merged_first": True,
    "readout": "all",
    "head_norm": False,
    "normalise": "none",
}
PAPER = replace(PRESETS["epir"], name="paper", **LITERAL)
NAMED: dict[str, ModelSettings] = {**PRESETS, PAPER.name: PAPER}


def preset(name: str, **changes: Any) -> ModelSettings:
    """Return the preset `name` with changes; the error for an unknown name suggests the nearest one."""
    check_known(name, NAMED, what="model")
    return replace(NAMED[name], **changes)
