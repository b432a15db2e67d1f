"""What a model did with the tokens of a map: which patches it merged, which tokens it selected, where it looked."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from epir.core.errors import RunError


@dataclass(frozen=True)
class Tokens:
    """What a model did with the tokens of one map."""

    groups: tuple[tuple[int, ...], ...]  # the patches that each token holds
    selected: tuple[int, ...]  # per head: an index into `groups`
    rollout: tuple[tuple[float, ...], ...]  # per head: attention on each patch

    @property
    def patches(self) -> int:
        """The number of patches of the map."""
        return sum(map(len, self.groups))

    @property
    def grid(self) -> int:
        """Patches per side."""
        return round(self.patches**0.5)

    @property
    def merged(self) -> tuple[tuple[int, ...], ...]:
        """The tokens that hold more than one patch."""
        return tuple(group for group in self.groups if len(group) > 1)

    @property
    def rate(self) -> float:
        """The share of the patch tokens that integration removed."""
        return 1 - len(self.groups) / self.patches

    @property
    def attention(self) -> tuple[float, ...]:
        """Attention on each patch, mean of the heads."""
        return tuple(sum(weights) / len(weights) for weights in zip(*self.rollout, strict=True))


def token_records(model: Any, maps: np.ndarray) -> list[dict[str, Any]]:
    """Groups, selection and rollout of each map (n, 3, S, S), as a fold stores them; empty without `explain`."""
    if not hasattr(model, "explain"):
        return []
    import torch

    device = next(model.parameters()).device
    _, record = model.explain(torch.from_numpy(np.array(maps, dtype=np.float32)).to(device))
    rollout = np.round(record.rollout.cpu().numpy().astype(float), 4)
    return [
        {
            "groups": record.groups(number),
            "selected": record.selected[number].tolist(),
            "rollout": rollout[number].tolist(),
        }
        for number in range(len(maps))
    ]


def read_tokens(record: Any, where: str) -> Tokens:
    """The tokens of one clip from a fold's file."""
    try:
        tokens = Tokens(
            groups=tuple(tuple(map(int, group)) for group in record["groups"]),
            selected=tuple(map(int, record["selected"])),
            rollout=tuple(tuple(map(float, head)) for head in record["rollout"]),
        )
        whole = sorted(patch for group in tokens.groups for patch in group) == list(range(tokens.grid**2))
        if whole and all(0 <= token < len(tokens.groups) for token in tokens.selected):
            return tokens
    except (KeyError, TypeError, ValueError):
        pass  # reported below, with the place
    raise RunError(f"{where} has damaged token records", fix="remove that file and run the same epir evaluate again")
