"""Annotated action units as a second thing to learn: what moved, besides what it means.

An annotation such as `4+L14` names them (`epir.core.facs`); the head that learns them (`epir.models.units`) stays with
the network. A clip without an annotation says nothing about them, and a unit that is not there nothing about sides.
A unit without a letter is on both sides, as [FACS] has it, if any annotation of the clips has a letter; if none has,
the annotators did not write down sides, and nothing is learnt about them.

Axes: n clips, U action units
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from epir.core.facs import UNITS, is_annotated, names_a_side, parse_units
from epir.models.units import LEFT, PRESENT, RIGHT

UNKNOWN = float("nan")


def read_units(annotations: Sequence[str]) -> Tensor:
    """What each annotation says of each unit, (n, U, 3): there, on the left, on the right; NaN where it does not say.

    The sides are those of the person, and are given for units that are there alone.
    """
    sided = any(map(names_a_side, annotations))
    truth = torch.full((len(annotations), len(UNITS), 3), UNKNOWN)
    for row, annotation in zip(truth, annotations, strict=True):
        if not is_annotated(annotation):
            continue
        found = parse_units(annotation)
        row[:, PRESENT] = 0.0
        for column, unit in enumerate(UNITS):
            if unit in found:
                side = found[unit]
                row[column, PRESENT] = 1.0
                if sided:
                    row[column, LEFT], row[column, RIGHT] = float(side != "right"), float(side != "left")
    return truth


def in_mirror(truth: Tensor, mirrored: Tensor) -> Tensor:
    """The truth (B, U, 3) of clips of which some (B,) are seen in a mirror: left and right change places there."""
    return torch.where(mirrored.view(-1, 1, 1), truth[..., [PRESENT, RIGHT, LEFT]], truth)
