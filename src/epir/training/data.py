"""Clips -> tensors: maps, labels and action units, shuffled batches, and augmentation.

Axes: n clips, B clips of a batch, S map size, C classes, U action units; channels are u, v, strain
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from epir.core.config import check_known
from epir.core.errors import TrainingError
from epir.core.facs import UNITS, is_annotated, names_a_side, parse_units
from epir.core.words import counted
from epir.models.network import standardised
from epir.models.predict import mirrored
from epir.models.units import LEFT, PRESENT, RIGHT
from epir.training.recipe import TrainingSettings

UNKNOWN = float("nan")


def read_units(annotations: Sequence[str]) -> Tensor:
    """Parse annotations such as `4+L14` into (n, U, 3): present, left and right per unit; NaN where unknown.

    The sides are those of the person. In FACS a unit without a letter is on both sides. But if no annotation of the
    clips has a letter, the annotators did not record sides, and all sides are unknown.
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
    """Swap left and right in the truth (B, U, 3) of the clips that are `mirrored` (B,)."""
    return torch.where(mirrored.view(-1, 1, 1), truth[..., [PRESENT, RIGHT, LEFT]], truth)


@dataclass(frozen=True)
class LabelledMaps:
    """Clips as one tensor, with their classes: everything that training sees.

    >>> maps = np.zeros((2, 3, 28, 28), np.float32)
    >>> clips = LabelledMaps.of(maps, ["surprise", "negative"], classes=["negative", "positive", "surprise"])
    >>> clips.labels
    tensor([2, 0])
    """

    maps: Tensor  # (n, 3, S, S) float32
    labels: Tensor  # (n,) int64, class numbers
    classes: tuple[str, ...]
    units: Tensor | None = None  # (n, U, 3) action units and their sides, NaN where not annotated

    def __post_init__(self) -> None:
        assert len(self.maps) == len(self.labels), "one label per map"

    def __len__(self) -> int:
        return len(self.labels)

    @classmethod
    def of(
        cls, maps: np.ndarray, labels: Sequence[str], classes: Sequence[str], units: Sequence[str] | None = None
    ) -> "LabelledMaps":
        """Build from maps (n, 3, S, S), class names and, optionally, annotations of action units."""
        for label in labels:
            check_known(label, classes, what="class")
        numbers = [tuple(classes).index(label) for label in labels]
        tensor = torch.from_numpy(np.array(maps, dtype=np.float32))  # a copy: the file may be memory-mapped
        moved = read_units(units) if units is not None else None
        return cls(tensor, torch.tensor(numbers, dtype=torch.int64), tuple(classes), moved)

    def class_weights(self) -> Tensor:
        """Return weights (C,) that balance the classes present; their mean over the clips is 1."""
        counts = torch.bincount(self.labels, minlength=len(self.classes)).float()
        present = (counts > 0).sum()
        return torch.where(counts > 0, len(self) / (present * counts.clamp(min=1)), torch.zeros_like(counts))

    def check_enough(self) -> None:
        """Raise an error for fewer than two clips."""
        if len(self) < 2:
            raise TrainingError(f"{counted(len(self), 'clip')} to train on: too few", fix="give two clips or more")


def shuffled(count: int, batch: int, generator: torch.Generator) -> Iterator[Tensor]:
    """Yield the rows of each batch of one epoch in random order; the last batch may be smaller.

    A single clip left over joins the batch before it, because batch normalisation needs two.
    """
    order = torch.randperm(count, generator=generator, device=generator.device)
    batches = list(order.split(batch))
    if batch > 1 and len(batches) > 1 and len(batches[-1]) == 1:
        batches[-2:] = [torch.cat(batches[-2:])]
    yield from batches


def steps_per_epoch(count: int, batch: int) -> int:
    """Return the number of batches that `shuffled` yields."""
    return max(1, -(-count // batch) - (count % batch == 1 and batch > 1))


# -------------------------------------------------------------------------------------------------- augmentation


def draw_mirrored(count: int, settings: TrainingSettings, generator: torch.Generator) -> Tensor:
    """Draw which of `count` clips to mirror, (B,) of bool."""
    if not settings.mirror:
        return torch.zeros(count, dtype=torch.bool, device=generator.device)
    return torch.rand(count, generator=generator, device=generator.device) < settings.mirror


def augment(
    maps: Tensor, settings: TrainingSettings, generator: torch.Generator, *, mirror: Tensor | None = None
) -> Tensor:
    """Return randomly mirrored, shifted, turned, scaled, blurred and noisy copies of maps (B, 3, S, S).

    `mirror` (B,) says which clips to mirror, if that was already drawn.
    """
    clips = len(maps)
    if settings.mirror:
        chosen = draw_mirrored(clips, settings, generator) if mirror is None else mirror
        maps = torch.where(chosen.view(-1, 1, 1, 1), mirrored(maps), maps)
    if settings.shift:
        span = 2 * settings.shift + 1
        steps = torch.randint(span, (2, clips), generator=generator, device=maps.device) - settings.shift
        maps = shifted(maps, *steps)
    if settings.turn or settings.zoom:
        turn, size, shape = 2 * torch.rand(3, clips, generator=generator, device=maps.device) - 1  # each (B,)
        maps = warped(maps, math.radians(settings.turn) * turn, 1 + settings.zoom * size, 1 + settings.zoom / 2 * shape)
    if settings.blur and float(torch.rand(1, generator=generator, device=maps.device)) < settings.blur:
        maps = blurred(maps, 0.3 + 0.6 * float(torch.rand(1, generator=generator, device=maps.device)))
    if settings.noise:
        noise = torch.randn(maps.shape, generator=generator, device=maps.device)
        maps = maps + settings.noise * maps.std(dim=(2, 3), keepdim=True) * noise
    return maps


def mixtures(maps: Tensor, others: Tensor, generator: torch.Generator) -> Tensor:
    """Mix maps with others, both (B, 3, S, S), in random proportions, on the scale of `maps`."""
    share = torch.rand(len(maps), 1, 1, 1, generator=generator, device=maps.device)
    mean, deviation = maps.mean(dim=(-2, -1), keepdim=True), maps.std(dim=(-2, -1), correction=0, keepdim=True)
    return share * maps + (1 - share) * (mean + deviation * standardised(others))


def shifted(maps: Tensor, down: Tensor, right: Tensor) -> Tensor:
    """Shift maps (B, 3, S, S) by whole pixels (B,) down and right, with replicated edges."""
    size = maps.shape[-1]
    places = torch.arange(size, device=maps.device)
    rows = (places - down[:, None]).clamp(0, size - 1)  # (B, S)
    columns = (places - right[:, None]).clamp(0, size - 1)  # (B, S)
    clips = torch.arange(len(maps), device=maps.device)[:, None, None, None]
    channels = torch.arange(maps.shape[1], device=maps.device)[None, :, None, None]
    return maps[clips, channels, rows[:, None, :, None], columns[:, None, None, :]]


def warped(maps: Tensor, angle: Tensor, size: Tensor, shape: Tensor) -> Tensor:
    """Turn the faces in maps (B, 3, S, S) clockwise by `angle` (radians), scale by `size`, and widen by `shape`.

    All three are (B,). Edges are replicated. The vectors move but do not turn: a stretched or standardised map has lost
    the common scale of u and v, and at a few degrees the difference is small.
    """
    cos, sin = angle.cos(), angle.sin()
    rows = [torch.stack([cos / (size * shape), sin / (size * shape)], 1), torch.stack([-sin / size, cos / size], 1)]
    matrix = torch.cat([torch.stack(rows, 1), torch.zeros_like(angle)[:, None, None].expand(-1, 2, 1)], 2)  # (B, 2, 3)
    grid = functional.affine_grid(matrix, list(maps.shape), align_corners=False)
    return functional.grid_sample(maps, grid, padding_mode="border", align_corners=False)


def blurred(maps: Tensor, deviation: float) -> Tensor:
    """Blur maps (B, 3, S, S) with a Gaussian of this standard deviation in pixels, with replicated edges."""
    reach = math.ceil(3 * deviation)
    places = torch.arange(-reach, reach + 1, device=maps.device)
    kernel = torch.exp(-0.5 * (places / deviation) ** 2)
    kernel = (kernel / kernel.sum()).view(1, 1, 1, -1).expand(maps.shape[1], 1, 1, -1)
    maps = functional.pad(maps, (reach, reach, reach, reach), mode="replicate")
    maps = functional.conv2d(maps, kernel, groups=maps.shape[1])
    return functional.conv2d(maps, kernel.transpose(2, 3), groups=maps.shape[1])
