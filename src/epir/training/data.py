"""Clips -> tensors: maps, labels and action units to learn from, and the order in which training sees them.

Axes: n clips, S map size, C classes, U action units
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from epir.core.config import check_known
from epir.core.errors import TrainingError
from epir.core.facs import UNITS, is_annotated, names_a_side, parse_units
from epir.core.words import counted
from epir.models.units import LEFT, PRESENT, RIGHT

UNKNOWN = float("nan")


def read_units(annotations: Sequence[str]) -> Tensor:
    """What each annotation such as `4+L14` says of each unit, (n, U, 3): there, left, right; NaN where it does not say.

    The sides are those of the person. A unit without a letter is on both sides, as FACS has it, if any annotation of
    the clips has a letter; if none has, the annotators did not write down sides, and nothing is learnt about them.
    """
    sided = any(map(names_a_side, annotations))
    truth = torch.full((len(annotations), len(UNITS), 3), UNKNOWN)
    for row, annotation in zip(truth, annotations, strict=True):
        if not is_annotated(annotation):
            continue
        units = parse_units(annotation)
        row[:, PRESENT] = 0.0
        for column, unit in enumerate(UNITS):
            if unit in units:
                side = units[unit]
                row[column, PRESENT] = 1.0
                if sided:
                    row[column, LEFT], row[column, RIGHT] = float(side != "right"), float(side != "left")
    return truth


def in_mirror(truth: Tensor, mirrored: Tensor) -> Tensor:
    """The truth (B, U, 3) of clips of which some (B,) are seen in a mirror: left and right change places there."""
    return torch.where(mirrored.view(-1, 1, 1), truth[..., [PRESENT, RIGHT, LEFT]], truth)


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
            raise TrainingError(f"{counted(len(self), 'clip')} to train on: too few", fix="give two clips or more")


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
