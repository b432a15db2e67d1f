"""A norm and a linear layer on values that need no gradient themselves, such as the pixels of a map.

Torch would work out the gradient of the normed values, a product as large as the layer's own, only to find the
gradients of the norm's gain and shift. These follow from the product that the layer's weights need anyway.

Axes: R rows, V values, D width
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from epir.tokens.linear import Linear


def project(values: Tensor, norm: nn.Module, layer: Linear) -> Tensor:
    """`layer(norm(values))`: (R, V) -> (R, D), for values without a gradient."""
    assert isinstance(norm, nn.LayerNorm)
    projected: Tensor = NormedProjection.apply(values, norm.weight, norm.bias, layer.weight, layer.bias, norm.eps)
    return projected


class NormedProjection(Function):
    """(unit * gain + shift) @ weight + bias, where `unit` are the values with mean 0 and deviation 1 in each row."""

    @staticmethod
    def forward(
        ctx: Any, values: Tensor, gain: Tensor, shift: Tensor, weight: Tensor, bias: Tensor, smallest: float
    ) -> Tensor:
        """What `project` says; gain and shift go into the weights, which are fewer than the values."""
        unit = torch.layer_norm(values, gain.shape, eps=smallest)  # (R, V)
        ctx.save_for_backward(unit, gain, shift, weight)
        return torch.addmm(torch.addmv(bias, weight.t(), shift), unit, gain.unsqueeze(1) * weight)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, ...]:
        """The gradients of gain, shift, weight and bias, for one (R, D) of the output."""
        unit, gain, shift, weight = ctx.saved_tensors
        total = slope.sum(dim=0)  # (D,)
        product = torch.mm(unit.t(), slope)  # (V, D)
        gains = torch.linalg.vecdot(weight, product)  # (V,)
        weights = torch.addr(product.mul_(gain.unsqueeze(1)), shift, total)
        return None, gains, torch.mv(weight, total), weights, total, None
