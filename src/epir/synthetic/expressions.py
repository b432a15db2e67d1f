"""Action units and expressions: which skin each unit moves, and which units an emotion combines.

[FACS] Ekman, Friesen and Hager 2002, Facial Action Coding System

`action_units.csv` has one row per push of the skin: its centre and radii in face units (`drawing/canvas.py`), its
direction (right and down, for the right side of the picture) and its strength relative to the unit's other pushes.
Pushes on both sides are mirrored across the midline. Nothing in the table depends on the size of a picture.

`expressions.csv` has one row per combination of units, for each of three lists of emotion words: 3 classes (those of
the composite), 5 (those of CASME II) and 7 (those of CAS(ME)^3). Emotions share units, as on real faces. The
probabilities for the 3 classes lie halfway between textbook combinations and the frequency of units 5, 6, 9, 12 and
1+2+5 in 2,629 annotated clips of 259 people.

`*_textbook.csv` are the earlier tables: textbook combinations, and pushes of smaller patches. They match real faces
less well, but networks trained on their maps recognise real people better (docs/log.md).
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
EXTRA_UNIT = 0.10  # probability of one extra, weak action unit
EXTRA_AMPLITUDE = (0.1, 0.35)
OTHER_SIDE = (0.0, 0.25)  # amplitude on the weak side of a one-sided expression


@dataclass(frozen=True)
class Push:
    """One part of an action unit: a patch of skin and the direction it moves in."""

    both: bool  # on both sides, mirrored; otherwise once, on the midline
    x: float
    y: float
    radius_x: float
    radius_y: float
    right: float
    down: float
    weight: float


@cache
def unit_pushes(tables: Tables = "annotated") -> Mapping[int, tuple[Push, ...]]:
    """The pushes of every action unit, by its number."""
    pushes: dict[int, tuple[Push, ...]] = {}
    for row in _rows("action_units", tables):
        number = int(row["unit"])
        measures = {name: float(row[name]) for name in ("x", "y", "radius_x", "radius_y", "right", "down", "weight")}
        pushes[number] = (*pushes.get(number, ()), Push(both=row["sides"] == "both", **measures))
    return pushes


def _rows(name: str, tables: Tables) -> list[dict[str, str]]:
    ending = "" if tables == "annotated" else f"_{tables}"
    text = files("epir.synthetic").joinpath(f"{name}{ending}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


@dataclass(frozen=True)
class Combination:
    """One row of `expressions.csv`."""

    units: tuple[tuple[int, float, float], ...]  # number, minimum and maximum amplitude
    chance: float
    one_sided: float

    @property
    def numbers(self) -> frozenset[int]:
        """The numbers of the units."""
        return frozenset(number for number, _, _ in self.units)


@dataclass(frozen=True)
class ActiveUnit:
    """An action unit and its amplitude on the left and right of the picture (0 none, 1 full)."""

    unit: int
    left: float
    right: float

    @property
    def amplitude(self) -> float:
        """The amplitude of the stronger side."""
        return max(self.left, self.right)


@dataclass(frozen=True)
class Expression:
    """An emotion and the units with which a face shows it."""

    emotion: str
    active_units: tuple[ActiveUnit, ...]
    certainty: float = 1.0  # how often the units mean this emotion if all emotions are equally common

    @property
    def units(self) -> str:
        """The action units as annotators write them, such as `4+L14`; left is the person's left."""
        return "+".join(f"{_side(active)}{active.unit}" for active in self.active_units)

    @property
    def amplitudes(self) -> str:
        """The amplitude of each action unit, in the order of `units`."""
        return "+".join(f"{active.amplitude:.2f}" for active in self.active_units)


def _side(active: ActiveUnit) -> str:
    """The letter of a one-sided unit: the person's left is on the right of the picture."""
    if active.left < 0.4 * active.right:
        return "L"
    return "R" if active.right < 0.4 * active.left else ""


@cache
def expression_table(tables: Tables = "annotated") -> Mapping[int, Mapping[str, tuple[Combination, ...]]]:
    """Combinations by number of classes and emotion; the textbook tables differ for 3 classes only."""
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
    """The emotion words of the list with this many classes."""
    table = expression_table()
    if classes not in table:
        known = ", ".join(map(str, table))
        raise ConfigError(f"there is no list of {classes} classes", fix=f"use one of: {known}")
    return tuple(table[classes])


def draw_expression(
    classes: int, emotion: str, random: np.random.Generator, tables: Tables = "annotated"
) -> Expression:
    """Draw one of the expressions that show this emotion."""
    combinations = expression_table(tables)[classes][emotion]
    chances = np.array([combination.chance for combination in combinations])
    chosen = combinations[int(random.choice(len(combinations), p=chances / chances.sum()))]
    amplitudes = {unit: float(random.uniform(low, high)) for unit, low, high in chosen.units}
    if random.random() < EXTRA_UNIT:
        others = [unit for unit in unit_pushes(tables) if unit != BLINK and unit not in amplitudes]
        amplitudes[int(random.choice(others))] = float(random.uniform(*EXTRA_AMPLITUDE))
    left = right = 1.0
    if random.random() < chosen.one_sided:
        weak = float(random.uniform(*OTHER_SIDE))
        left, right = (weak, 1.0) if random.random() < 0.5 else (1.0, weak)
    active_units = []
    for unit, amplitude in sorted(amplitudes.items()):
        has_sides = any(push.both for push in unit_pushes(tables)[unit])
        sides = (left * amplitude, right * amplitude) if has_sides else (amplitude, amplitude)
        active_units.append(ActiveUnit(unit, *sides))
    return Expression(emotion, tuple(active_units), certainty(classes, emotion, chosen, tables))


def certainty(classes: int, emotion: str, combination: Combination, tables: Tables = "annotated") -> float:
    """How often the units of a combination mean this emotion if all emotions are equally common.

    A dimple (14) is negative in three cases out of five and positive in the others; the face alone does not tell.
    """

    def frequency(word: str) -> float:
        rows = expression_table(tables)[classes][word]
        same = [row.chance for row in rows if row.numbers == combination.numbers]
        return sum(same) / sum(row.chance for row in rows)

    return frequency(emotion) / sum(frequency(word) for word in emotions(classes))
