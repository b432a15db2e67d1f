"""How far the scores of given weights fall when the same maps are made in another way.

    python -m epir.bench.robustness maps/casme2 maps/samm maps/smic --protocol cde

Nothing is trained: the weights (the shipped ones by default) predict every clip once, as it is and changed. Where a
change has several directions, the worst of them counts.

Axes: n clips, S map size, C classes
"""

import argparse
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from epir.evaluation.fold import one_thread
from epir.evaluation.samples import gather, read_maps
from epir.evaluation.scores import confusion_matrix, uf1
from epir.maps.mapset import load_maps
from epir.models.folder import check_fits, find_folder, load_network, read_config
from epir.training.augment import blurred, shifted, turned
from epir.training.fit import predict

Change = Callable[[Tensor], Tensor]
UNCHANGED = "as they are"


@dataclass(frozen=True)
class Fall:
    """The strict UF1 under one change, and how much of it that change costs."""

    change: str
    uf1: float
    fall: float


def changes() -> Mapping[str, tuple[Change, ...]]:
    """Every change by its name; each is one or more functions of maps (n, 3, S, S)."""
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


def robustness(maps: Sequence[str | Path], *, protocol: str, weights: str | Path | None = None) -> tuple[Fall, ...]:
    """The strict UF1 of the weights on the clips of a protocol, under each change."""
    folder = find_folder(weights)
    material = gather([load_maps(each) for each in maps], protocol)
    check_fits(folder, classes=material.classes, map_size=material.size)
    network, seen = load_network(folder), read_config(folder).views
    clips = torch.from_numpy(np.array(read_maps(material.samples)))  # (n, 3, S, S)
    truth = [sample.label for sample in material.samples]

    def judged(change: Change) -> float:
        guesses = predict(network, change(clips), **seen).argmax(1)
        return float(uf1(confusion_matrix(truth, [material.classes[guess] for guess in guesses], material.classes)))

    with one_thread():
        found = {name: min(judged(each) for each in ways) for name, ways in changes().items()}
    return tuple(Fall(name, value, found[UNCHANGED] - value) for name, value in found.items())


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


def table(falls: Iterable[Fall]) -> str:
    """The falls as a table in Markdown."""
    rows = [f"| {each.change} | {each.uf1:.3f} | {0 - each.fall:+.3f} |" for each in falls]
    return "\n".join(["| maps | UF1 (strict) | change |", "|---|---|---|", *rows])


def _turn(angle: float) -> Change:
    return lambda maps: turned(maps, torch.full((len(maps),), angle), *torch.ones(2, len(maps)))


def _size(size: float) -> Change:
    return lambda maps: turned(maps, torch.zeros(len(maps)), torch.full((len(maps),), size), torch.ones(len(maps)))


def _shift(down: int, right: int) -> Change:
    return lambda maps: shifted(maps, *torch.tensor([[down], [right]]).expand(2, len(maps)))


def main(arguments: Iterable[str] | None = None) -> None:
    """Measure some weights and write the table to stdout."""
    parser = argparse.ArgumentParser(prog="python -m epir.bench.robustness", description=robustness.__doc__)
    parser.add_argument("maps", nargs="+")
    parser.add_argument("--protocol", required=True)
    parser.add_argument("--weights", help="a model folder; the shipped weights by default")
    options = parser.parse_args(None if arguments is None else list(arguments))
    sys.stdout.write(table(robustness(options.maps, protocol=options.protocol, weights=options.weights)) + "\n")


if __name__ == "__main__":
    main()
