"""Parse action units as annotators write them: which units an annotation names, and on which side of the face.

[FACS] Ekman, Friesen and Hager 2002, Facial Action Coding System: a letter before the number is a side (L left, R
right, A asymmetrical: both sides, one stronger; T and B: upper or lower lip only), a letter from A to E after it an
intensity.

Doubtful units (`R12 or R14`, `12?`, `ref(24)`, brackets) count as present.
"""

import re
from typing import Literal

Side = Literal["both", "left", "right"]  # of the person, not of the picture

UNITS = (1, 2, 4, 5, 6, 7, 9, 10, 12, 14, 15, 17, 20, 23, 24, 25, 26)  # known to epir's models
NO_UNITS = "none"  # annotated as no unit; an empty annotation means unknown
CD6ME_UNITS = (1, 2, 4, 5, 6, 7, 9, 10, 12, 14, 15, 17)  # of the cross-corpus benchmark CD6ME

NOTHING = ("", NO_UNITS, "?", "-", "/", "n/a", "nan", "0")  # annotations that name no unit
_WORD = re.compile(r"(?<![\d\w])[^\W\d_]{2,}(?!\w)")
_CONNECTIVES = ("or", "and", "ref", "au", "aus", "left", "right", NO_UNITS)
_UNIT = re.compile(r"([A-Za-z]*(?:/[A-Za-z]+)?)(\d+)(?:[A-Ea-e](?:/[A-Ea-e])?(?![A-Za-z]))?")


def parse_units(annotation: str) -> dict[int, Side]:
    """Unit -> side for the units that an annotation names; empty if it names none.

    >>> parse_units("4+L10")
    {4: 'both', 10: 'left'}
    >>> parse_units("(R6 or R12A)+7B")
    {6: 'right', 12: 'right', 7: 'both'}
    """
    units: dict[int, Side] = {}
    for letters, digits in _UNIT.findall(annotation):
        side, number = _side(letters), int(digits)
        units[number] = side if units.get(number, side) == side else "both"
    return units


def unknown_units(annotation: str) -> list[str]:
    """The words of an annotation that name no unit, and the numbers that are no unit.

    >>> unknown_units("4+L10 or AU12?"), unknown_units("banana"), unknown_units("R12+400")
    ([], ['banana'], ['400'])
    """
    if annotation.strip().casefold() in NOTHING:
        return []
    words = [word for word in _WORD.findall(annotation) if word.casefold() not in _CONNECTIVES]
    return words + [digits for _, digits in _UNIT.findall(annotation) if not 0 < int(digits) < 100]


def is_annotated(annotation: str) -> bool:
    """Whether an annotation names units, or says `none`."""
    return annotation.strip().casefold() == NO_UNITS or bool(parse_units(annotation))


def names_a_side(annotation: str) -> bool:
    """Whether the annotation names a one-sided unit; annotators who never do say nothing about sides."""
    return any(side != "both" for side in parse_units(annotation).values())


def _side(letters: str) -> Side:
    """The side named by the letters before a number, as in `R12`, `A/L12`, `AU12` and `AUL12`."""
    letter = letters.upper().removeprefix("AU").rpartition("/")[2]
    return "left" if letter == "L" else "right" if letter == "R" else "both"
