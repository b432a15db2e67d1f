"""A linear layer whose weights lie input first.

With the few tokens of one map, `x @ W` on weights stored as (in, out) is up to twice as fast on a CPU as torch's own
layer, which stores them as (out, in); for large batches there is no difference.

Axes: R rows, the tokens of all clips
"""

import torch
from torch import Tensor, nn


class Linear(nn.Module):
    """`x @ weight + bias` on rows, with `weight` (in, out)."""

    def __init__(self, inputs: int, outputs: int, *, bias: bool = True) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(inputs, outputs))
        self.bias = nn.Parameter(torch.zeros(outputs)) if bias else None
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        """(R, in) -> (R, out)."""
        return torch.mm(x, self.weight) if self.bias is None else torch.addmm(self.bias, x, self.weight)

    def of_ones(self, x: Tensor) -> Tensor:
        """(R, in + 1) -> (R, out), where the last column of x is ones.

        The bias is then one more row of the weights: the product adds it, and the product's gradient is its gradient.
        """
        assert self.bias is not None, "without a bias there is no use for the ones"
        return torch.mm(x, torch.cat([self.weight, self.bias.unsqueeze(0)]))

    def extra_repr(self) -> str:
        """Its sizes, for printing a model."""
        inputs, outputs = self.weight.shape
        return f"{inputs}, {outputs}, bias={self.bias is not None}"
