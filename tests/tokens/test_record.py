import torch

from epir.tokens.merging import holds
from epir.tokens.record import TokenRecord


def test_groups_lists_the_patches_of_each_token():
    record = TokenRecord(
        grid=2,
        provenance=holds(torch.tensor([[1, 2, 1, 3]]), 3),
        history=(),
        selected=torch.tensor([[0]]),
        rollout=torch.zeros(1, 1, 4),
    )
    assert record.groups(0) == [[0, 2], [1], [3]]
