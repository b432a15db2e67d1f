"""Action units: which part of the skin each of them moves, and where to.

[FACS] Ekman, Friesen and Hager 2002, Facial Action Coding System

`action_units.csv` holds one row per push of the skin: its centre and radii in face units (`drawing/canvas.py`), its
direction (to the right and down, for the right side of the picture) and its strength against the unit's other pushes.
A push on both sides is mirrored across the midline. Nothing in the table depends on the size of a picture.
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

BLINK = 45


@dataclass(frozen=True)
class Push:
    """One part of an action unit: a patch of skin and the way it goes."""

    both: bool  # on both sides, mirrored; else once, on the midline
    x: float
    y: float
    radius_x: float
    radius_y: float
    right: float
    down: float
    weight: float


@dataclass(frozen=True)
class ActionUnit:
    """An action unit and its pushes."""

    number: int
    name: str
    pushes: tuple[Push, ...]


@cache
def action_units() -> Mapping[int, ActionUnit]:
    """Every action unit by its number."""
    units: dict[int, ActionUnit] = {}
    with files("epir.synthetic").joinpath("action_units.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            number = int(row["unit"])
            measures = {
                name: float(row[name]) for name in ("x", "y", "radius_x", "radius_y", "right", "down", "weight")
            }
            push = Push(both=row["sides"] == "both", **measures)
            known = units.get(number, ActionUnit(number, row["name"], ()))
            units[number] = ActionUnit(number, known.name, (*known.pushes, push))
    return units
