"""Action units and expressions: which skin a unit moves, and which units make up an emotion.

[FACS] Ekman, Friesen and Hager 2002, Facial Action Coding System

`action_units.csv` holds one row per push of the skin: its centre and radii in face units (`drawing/canvas.py`), its
direction (to the right and down, for the right side of the picture) and its strength against the unit's other pushes.
A push on both sides is mirrored across the midline. Nothing in the table depends on the size of a picture.

`expressions.csv` holds one row per combination of units, for each of three lists of emotion words: 3 classes (those of
the composite), 5 (those of CASME II) and 7 (those of CAS(ME)^3). One unit serves several emotions, as on real faces.
Chances of the 3 classes lie half-way between textbook combinations and how often units 5, 6, 9, 12 and 1+2+5 occur in
2,629 annotated clips of 259 people.

`*_textbook.csv` hold earlier tables: textbook combinations, and pushes of smaller patches. They are less true to real
faces, but networks that were trained on such maps recognise real people better (docs/log.md).
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

import numpy as np

from epir.core.errors import ConfigError

Tables = Literal["annotated", "textbook"]

BLINK = 45
EXTRA_UNIT = 0.10  # chance of one further, weak action unit
EXTRA_AMPLITUDE = (0.1, 0.35)
OTHER_SIDE = (0.0, 0.25)  # what is left on the other side of a one-sided expression


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
def action_units(tables: Tables = "annotated") -> Mapping[int, ActionUnit]:
    """Every action unit by its number."""
    units: dict[int, ActionUnit] = {}
    for row in _rows("action_units", tables):
        number = int(row["unit"])
        measures = {name: float(row[name]) for name in ("x", "y", "radius_x", "radius_y", "right", "down", "weight")}
        push = Push(both=row["sides"] == "both", **measures)
        known = units.get(number, ActionUnit(number, row["name"], ()))
        units[number] = ActionUnit(number, known.name, (*known.pushes, push))
    return units


def _rows(name: str, tables: Tables) -> list[dict[str, str]]:
    """The rows of one of the tables."""
    ending = "" if tables == "annotated" else f"_{tables}"
    text = files("epir.synthetic").joinpath(f"{name}{ending}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


@dataclass(frozen=True)
class Combination:
    """One row of the table."""

    units: tuple[tuple[int, float, float], ...]  # number, least and greatest amplitude
    chance: float
    one_sided: float

    @property
    def numbers(self) -> frozenset[int]:
        """The units alone."""
        return frozenset(number for number, _, _ in self.units)


@dataclass(frozen=True)
class Action:
    """One action unit in a face, with its amplitude on the left and right of the picture (0 none, 1 full)."""

    unit: int
    left: float
    right: float

    @property
    def amplitude(self) -> float:
        """The stronger side."""
        return max(self.left, self.right)


@dataclass(frozen=True)
class Expression:
    """An emotion as a face shows it."""

    emotion: str
    actions: tuple[Action, ...]
    certainty: float = 1.0  # how often the units mean this emotion, if all emotions are equally common

    @property
    def units(self) -> str:
        """The action units as annotators write them: `4+L14`, where left is the person's."""
        return "+".join(f"{_side(action)}{action.unit}" for action in self.actions)

    @property
    def amplitudes(self) -> str:
        """The amplitude of each action unit, in the order of `units`."""
        return "+".join(f"{action.amplitude:.2f}" for action in self.actions)


def _side(action: Action) -> str:
    """The letter of a one-sided action: the person's left is on the right of the picture."""
    if action.left < 0.4 * action.right:
        return "L"
    return "R" if action.right < 0.4 * action.left else ""


@cache
def expression_table(tables: Tables = "annotated") -> Mapping[int, Mapping[str, tuple[Combination, ...]]]:
    """Number of classes -> emotion -> its combinations; the textbook tables differ for 3 classes only."""
    table: dict[int, dict[str, tuple[Combination, ...]]] = {}
    for row in _rows("expressions", tables):
        emotions = table.setdefault(int(row["classes"]), {})
        combination = Combination(_read_units(row["units"]), float(row["chance"]), float(row["one_sided"]))
        emotions[row["emotion"]] = (*emotions.get(row["emotion"], ()), combination)
    return table if tables == "annotated" else {**expression_table(), **table}


def _read_units(text: str) -> tuple[tuple[int, float, float], ...]:
    units = []
    for part in text.split():
        number, amplitudes = part.split(":")
        low, high = amplitudes.split("-")
        units.append((int(number), float(low), float(high)))
    return tuple(units)


def emotions(classes: int) -> tuple[str, ...]:
    """The emotion words of a list of `classes` classes."""
    table = expression_table()
    if classes not in table:
        known = ", ".join(map(str, table))
        raise ConfigError(f"there is no list of {classes} classes", fix=f"use one of: {known}")
    return tuple(table[classes])


def draw_expression(
    classes: int, emotion: str, random: np.random.Generator, tables: Tables = "annotated"
) -> Expression:
    """One way in which this emotion may show."""
    combinations = expression_table(tables)[classes][emotion]
    chances = np.array([combination.chance for combination in combinations])
    chosen = combinations[int(random.choice(len(combinations), p=chances / chances.sum()))]
    amplitudes = {unit: float(random.uniform(low, high)) for unit, low, high in chosen.units}
    if random.random() < EXTRA_UNIT:
        others = [unit for unit in action_units(tables) if unit != BLINK and unit not in amplitudes]
        amplitudes[int(random.choice(others))] = float(random.uniform(*EXTRA_AMPLITUDE))
    left = right = 1.0
    if random.random() < chosen.one_sided:
        weak = float(random.uniform(*OTHER_SIDE))
        left, right = (weak, 1.0) if random.random() < 0.5 else (1.0, weak)
    both_or_middle = {unit: any(push.both for push in action_units(tables)[unit].pushes) for unit in amplitudes}
    return Expression(
        emotion,
        tuple(
            Action(unit, *((left * size, right * size) if both_or_middle[unit] else (size, size)))
            for unit, size in sorted(amplitudes.items())
        ),
        certainty(classes, emotion, chosen, tables),
    )


def certainty(classes: int, emotion: str, combination: Combination, tables: Tables = "annotated") -> float:
    """How often the units of a combination mean this emotion, if all emotions are equally common.

    A dimple (14) is negative in three of five cases here, and positive in the others: nobody can tell from the face.
    """

    def frequency(word: str) -> float:
        rows = expression_table(tables)[classes][word]
        same = [row.chance for row in rows if row.numbers == combination.numbers]
        return sum(same) / sum(row.chance for row in rows)

    return frequency(emotion) / sum(frequency(word) for word in emotions(classes))
