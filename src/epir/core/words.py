"""Format counts, durations and frame numbers the same way everywhere."""

from collections.abc import Container, Iterable, Sequence
from difflib import get_close_matches

FASTEST_RATE = 100_000.0  # frames per second of any camera
RUNS_SHOWN = 5  # runs of numbers listed by `ranges`


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun.

    >>> counted(1, "clip"), counted(2, "clip"), counted(3, "copy", "copies")
    ('1 clip', '2 clips', '3 copies')
    """
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def people(number: int) -> str:
    """A number of people.

    >>> people(1), people(2)
    ('1 person', '2 people')
    """
    return counted(number, "person", "people")


def duration(seconds: float) -> str:
    """Seconds in a convenient unit.

    >>> duration(42), duration(750), duration(9000)
    ('42 s', '12.5 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def did_you_mean(name: str, known: Iterable[str], *, most: int = 1) -> str:
    """The fix for an unknown name: up to `most` similar names, or else all known names.

    >>> did_you_mean("cassme2", ["samm", "casme2"]), did_you_mean("x", ["samm", "casme2"])
    ("did you mean 'casme2'?", 'use one of: casme2, samm')
    """
    names = sorted(known)
    near = sorted(get_close_matches(name, names, n=most))
    return f"did you mean {' or '.join(map(repr, near))}?" if near else f"use one of: {', '.join(names)}"


def percent(share: float) -> float:
    """A share of the face's width in %, rounded as epir writes all lengths.

    >>> percent(0.0063)
    0.63
    """
    return round(100 * share, 3)


def ranges(numbers: Sequence[int]) -> str:
    """Sorted numbers as text, with runs shortened: `3-5, 9`; after five runs, the number of further runs.

    >>> ranges([3, 4, 5, 9])
    '3-5, 9'
    """
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    shown = ", ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in runs[:RUNS_SHOWN])
    return shown if len(runs) <= RUNS_SHOWN else f"{shown} and {len(runs) - RUNS_SHOWN} more"


def missing_frames(present: Container[int | None], first: int, last: int) -> str | None:
    """Which frames from `first` to `last` are missing, in words; `None` if all are present.

    >>> missing_frames({1, 2, 6}, 1, 6)
    '3 frames of 1-6 missing: 3-5'
    """
    missing = [number for number in range(first, last + 1) if number not in present]
    if not missing:
        return None
    return f"{counted(len(missing), 'frame')} of {first}-{last} missing: {ranges(missing)}"
