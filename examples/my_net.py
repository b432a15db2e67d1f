"""A network of your own, for `epir evaluate MAPS --protocol sde --model examples/my_net.py:MyNet`."""

import torch
from torch import nn


class MyNet(nn.Module):
    """Two convolutions and a linear layer; `--set model.width=32` changes the width."""

    def __init__(self, classes: int, width: int = 16) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, width, 5, stride=2), nn.ReLU(), nn.Conv2d(width, 2 * width, 3, stride=2), nn.ReLU(),
            nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(8 * width, classes),
        )  # fmt: skip

    def forward(self, maps: torch.Tensor) -> torch.Tensor:
        """Maps of u, v and strain (B, 3, 28, 28) -> logits (B, classes)."""
        return self.layers(maps)
