"""Maps that could have been: mirrored, shifted, turned, larger, blurred, noisy. All of it vectorised over the batch.

Axes: B clips, S map size; channels are u, v, strain
"""

import math

import torch
from torch import Tensor
from torch.nn import functional

from epir.models.network import standardised
from epir.models.predict import mirrored
from epir.training.recipe import TrainingSettings


def draw_mirrored(count: int, settings: TrainingSettings, generator: torch.Generator) -> Tensor:
    """Which of so many clips are seen in the mirror, (B,) of bool."""
    if not settings.mirror:
        return torch.zeros(count, dtype=torch.bool, device=generator.device)
    return torch.rand(count, generator=generator, device=generator.device) < settings.mirror


def augment(
    maps: Tensor, settings: TrainingSettings, generator: torch.Generator, *, in_mirror: Tensor | None = None
) -> Tensor:
    """Randomly changed copies of maps (B, 3, S, S), as the recipe has it.

    Who is `in_mirror` (B,) may be given.
    """
    clips = len(maps)
    if settings.mirror:
        chosen = draw_mirrored(clips, settings, generator) if in_mirror is None else in_mirror
        maps = torch.where(chosen.view(-1, 1, 1, 1), mirrored(maps), maps)
    if settings.shift:
        span = 2 * settings.shift + 1
        steps = torch.randint(span, (2, clips), generator=generator, device=maps.device) - settings.shift
        maps = shifted(maps, *steps)
    if settings.turn or settings.zoom:
        turn, size, shape = 2 * torch.rand(3, clips, generator=generator, device=maps.device) - 1  # each (B,)
        maps = turned(maps, math.radians(settings.turn) * turn, 1 + settings.zoom * size, 1 + settings.zoom / 2 * shape)
    if settings.blur and float(torch.rand(1, generator=generator, device=maps.device)) < settings.blur:
        maps = blurred(maps, 0.3 + 0.6 * float(torch.rand(1, generator=generator, device=maps.device)))
    if settings.noise:
        noise = torch.randn(maps.shape, generator=generator, device=maps.device)
        maps = maps + settings.noise * maps.std(dim=(2, 3), keepdim=True) * noise
    return maps


def mixtures(maps: Tensor, others: Tensor, generator: torch.Generator) -> Tensor:
    """Weighted means of maps and others, both (B, 3, S, S), with any share of each; on the scale of `maps`."""
    share = torch.rand(len(maps), 1, 1, 1, generator=generator, device=maps.device)
    mean, deviation = maps.mean(dim=(-2, -1), keepdim=True), maps.std(dim=(-2, -1), correction=0, keepdim=True)
    return share * maps + (1 - share) * (mean + deviation * standardised(others))


def shifted(maps: Tensor, down: Tensor, right: Tensor) -> Tensor:
    """Maps (B, 3, S, S) moved by whole pixels (B,) down and to the right; the edges are replicated."""
    size = maps.shape[-1]
    places = torch.arange(size, device=maps.device)
    rows = (places - down[:, None]).clamp(0, size - 1)  # (B, S)
    columns = (places - right[:, None]).clamp(0, size - 1)  # (B, S)
    clips = torch.arange(len(maps), device=maps.device)[:, None, None, None]
    channels = torch.arange(maps.shape[1], device=maps.device)[None, :, None, None]
    return maps[clips, channels, rows[:, None, :, None], columns[:, None, None, :]]


def turned(maps: Tensor, angle: Tensor, size: Tensor, shape: Tensor) -> Tensor:
    """Maps (B, 3, S, S) of faces turned clockwise by `angle` (radians), `size` times as large and `shape` as wide.

    All three are (B,). The vectors themselves are only moved: a map that was stretched or standardised has lost the
    common scale of u and v, and at a few degrees the difference is small. The edges are replicated.
    """
    cos, sin = angle.cos(), angle.sin()
    rows = [torch.stack([cos / (size * shape), sin / (size * shape)], 1), torch.stack([-sin / size, cos / size], 1)]
    matrix = torch.cat([torch.stack(rows, 1), torch.zeros_like(angle)[:, None, None].expand(-1, 2, 1)], 2)  # (B, 2, 3)
    grid = functional.affine_grid(matrix, list(maps.shape), align_corners=False)
    return functional.grid_sample(maps, grid, padding_mode="border", align_corners=False)


def blurred(maps: Tensor, deviation: float) -> Tensor:
    """Maps (B, 3, S, S) blurred by a Gaussian of this many pixels; the edges are replicated."""
    reach = math.ceil(3 * deviation)
    places = torch.arange(-reach, reach + 1, device=maps.device)
    kernel = torch.exp(-0.5 * (places / deviation) ** 2)
    kernel = (kernel / kernel.sum()).view(1, 1, 1, -1).expand(maps.shape[1], 1, 1, -1)
    maps = functional.pad(maps, (reach, reach, reach, reach), mode="replicate")
    maps = functional.conv2d(maps, kernel, groups=maps.shape[1])
    return functional.conv2d(maps, kernel.transpose(2, 3), groups=maps.shape[1])
