"""What a model did with the tokens of a map, for pictures and tests."""

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class TokenRecord:
    """Merging, selection and rollout of a batch of maps.

    Axes: B clips, T patch tokens at selection, T_l after integration block l, P patches of the map, H heads
    """

    grid: int  # patches per side: P = grid * grid, row by row
    provenance: Tensor  # (B, T, P) 0 or 1: which patches each token holds
    history: tuple[Tensor, ...]  # after each integration block: (B, T_l, P)
    selected: Tensor  # (B, H): the token that each head chose, an index into T
    rollout: Tensor  # (B, H, P): how much the class token draws on each patch

    def groups(self, clip: int) -> list[list[int]]:
        """The patches that each token of one clip holds."""
        return [row.nonzero().flatten().tolist() for row in self.provenance[clip]]
