"""How much the score of given weights drops when the same maps are made in another way.

    epir bench --only robustness maps/casme2 maps/samm maps/smic --set protocol=cde --set weights=models/mine
    epir bench --only robustness

Without map sets synthetic people are seen through twelve ways of making maps (`ways.py`), and scores are compared with
the best. Nothing is trained: the weights (the shipped ones by default) predict every clip once, as it is and perturbed.
Where a perturbation has several directions, the worst of them counts.

Axes: n clips, S map size, C classes
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from epir.bench import ways
from epir.bench.ratio import Ratio
from epir.core.config import override
from epir.evaluation.fold import one_thread
from epir.evaluation.samples import gather, read_maps
from epir.evaluation.scores import confusion_matrix, uf1
from epir.maps.mapset import load_maps
from epir.models.folder import check_fits, find_folder, load_network, read_config
from epir.training.augment import blurred, shifted, turned
from epir.training.fit import predict

Perturbation = Callable[[Tensor], Tensor]
UNCHANGED = "as they are"


@dataclass(frozen=True)
class RobustnessBench:
    """What is scored."""

    protocol: str = "cde"
    weights: str = ""  # a model folder; the shipped weights by default
    clips: int = 480  # synthetic ones, where no map sets are given


def measure(*, quick: bool = False, inputs: Sequence[str] = (), changes: Sequence[str] = ()) -> list[Ratio]:
    """The strict UF1 under each perturbation of the map sets `inputs`, or of synthetic clips; `quick` takes fewer."""
    settings = override(RobustnessBench(clips=48 if quick else 480), changes)
    weights = settings.weights or None
    if inputs:
        found = scores(inputs, protocol=settings.protocol, weights=weights)
        reference = found[UNCHANGED]
    else:
        with one_thread():
            found = ways.scores(clips=settings.clips, weights=weights)
        reference = max(found.values())
    return [
        Ratio(f"UF1 (strict), {name}", value, None, f"{value:.3f} ({value - reference:+.3f})")
        for name, value in found.items()
    ]


def perturbations() -> Mapping[str, tuple[Perturbation, ...]]:
    """Every perturbation by its name; each is one or more functions of maps (n, 3, S, S)."""
    return {
        UNCHANGED: (lambda maps: maps,),
        "blurred by 1 px": (lambda maps: blurred(maps, 1.0),),
        "made smaller (to 20/28) and large again": (there_and_back,),
        "channels stretched to 0..1": (stretched,),
        "channels standardised": (standardised,),
        "turned by 5 degrees": tuple(_turn(sign * math.radians(5)) for sign in (-1, 1)),
        "shifted by 1 px": tuple(_shift(*step) for step in ((1, 0), (-1, 0), (0, 1), (0, -1))),
        "5 % larger or smaller": tuple(_size(size) for size in (0.95, 1.05)),
    }


def scores(maps: Sequence[str | Path], *, protocol: str, weights: str | Path | None = None) -> dict[str, float]:
    """The strict UF1 of the weights on the clips of a protocol, under each perturbation."""
    folder = find_folder(weights)
    found = gather([load_maps(each) for each in maps], protocol)
    check_fits(folder, classes=found.classes, map_size=found.size)
    network, seen = load_network(folder), read_config(folder).views
    clips = torch.from_numpy(np.array(read_maps(found.samples)))  # (n, 3, S, S)
    truth = [sample.label for sample in found.samples]

    def score(perturb: Perturbation) -> float:
        guesses = predict(network, perturb(clips), **seen).argmax(1)
        return float(uf1(confusion_matrix(truth, [found.classes[guess] for guess in guesses], found.classes)))

    with one_thread():
        return {name: min(score(perturb) for perturb in ways) for name, ways in perturbations().items()}


def there_and_back(maps: Tensor) -> Tensor:
    """The maps at 20/28 of their size, and back: the detail between is lost."""
    size = maps.shape[-1]
    small = functional.interpolate(maps, size=round(size * 20 / 28), mode="bilinear", antialias=True)
    return functional.interpolate(small, size=size, mode="bilinear", align_corners=False)


def stretched(maps: Tensor) -> Tensor:
    """Each channel of each map from 0 to 1: its zero and its strength are lost."""
    low, high = maps.amin((2, 3), keepdim=True), maps.amax((2, 3), keepdim=True)
    return (maps - low) / (high - low).clamp(min=1e-9)


def standardised(maps: Tensor) -> Tensor:
    """Each channel of each map with mean 0 and deviation 1."""
    deviation, mean = torch.std_mean(maps, dim=(2, 3), keepdim=True)
    return (maps - mean) / deviation.clamp(min=1e-9)


def _turn(angle: float) -> Perturbation:
    return lambda maps: turned(maps, torch.full((len(maps),), angle), *torch.ones(2, len(maps)))


def _size(size: float) -> Perturbation:
    return lambda maps: turned(maps, torch.zeros(len(maps)), torch.full((len(maps),), size), torch.ones(len(maps)))


def _shift(down: int, right: int) -> Perturbation:
    return lambda maps: shifted(maps, *torch.tensor([[down], [right]]).expand(2, len(maps)))
