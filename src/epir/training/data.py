"""Clips -> tensors: the maps and labels that training is given, and the order in which it sees them.

Axes: n clips, S map size, C classes, U action units
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from epir.core.config import check_known
from epir.core.errors import TrainingError
from epir.training.action_units import read_units


@dataclass(frozen=True)
class LabelledMaps:
    """Some clips as one tensor, with their classes: all that training ever gets to see.

    >>> maps = np.zeros((2, 3, 28, 28), np.float32)
    >>> clips = LabelledMaps.of(maps, ["surprise", "negative"], classes=["negative", "positive", "surprise"])
    >>> clips.labels
    tensor([2, 0])
    """

    maps: Tensor  # (n, 3, S, S) float32
    labels: Tensor  # (n,) int64, numbers of classes
    classes: tuple[str, ...]
    units: Tensor | None = None  # (n, U, 3) action units and their sides, NaN where they are not annotated

    def __post_init__(self) -> None:
        assert len(self.maps) == len(self.labels), "one label per map"

    def __len__(self) -> int:
        return len(self.labels)

    @classmethod
    def of(
        cls, maps: np.ndarray, labels: Sequence[str], classes: Sequence[str], units: Sequence[str] | None = None
    ) -> "LabelledMaps":
        """The maps of n clips with their class names and, if given, the annotations of their action units."""
        for label in labels:
            check_known(label, classes, what="class")
        numbers = [tuple(classes).index(label) for label in labels]
        tensor = torch.from_numpy(np.array(maps, dtype=np.float32))  # a copy: the file may be memory-mapped
        moved = read_units(units) if units is not None else None
        return cls(tensor, torch.tensor(numbers, dtype=torch.int64), tuple(classes), moved)

    def class_weights(self) -> Tensor:
        """Weights (C,) under which every class present counts the same; their mean over the clips is 1."""
        counts = torch.bincount(self.labels, minlength=len(self.classes)).float()
        present = (counts > 0).sum()
        return torch.where(counts > 0, len(self) / (present * counts.clamp(min=1)), torch.zeros_like(counts))

    def check_enough(self) -> None:
        """Training has nothing to learn from fewer than two clips."""
        if len(self) < 2:
            raise TrainingError(f"{len(self)} clips are too few to train on", fix="give two clips or more")


def shuffled(count: int, batch: int, generator: torch.Generator) -> Iterator[Tensor]:
    """The rows of each batch of one epoch, in random order: full batches, and what is left over as the last one.

    A single clip that is left over joins the batch before it: batch normalisation needs two.
    """
    order = torch.randperm(count, generator=generator, device=generator.device)
    batches = list(order.split(batch))
    if batch > 1 and len(batches) > 1 and len(batches[-1]) == 1:
        batches[-2:] = [torch.cat(batches[-2:])]
    yield from batches


def steps_per_epoch(count: int, batch: int) -> int:
    """How many batches `shuffled` deals out."""
    return max(1, -(-count // batch) - (count % batch == 1 and batch > 1))
