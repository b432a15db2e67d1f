"""Frame numbers in words, the same wherever they are told, and what a frame rate can be."""

from collections.abc import Container, Sequence

FASTEST_RATE = 100_000.0  # frames a second of any camera


def ranges(numbers: Sequence[int], most: int = 5) -> str:
    """Sorted numbers as text, runs shortened: `3-5, 9`; after `most` runs only their count.

    >>> ranges([3, 4, 5, 9])
    '3-5, 9'
    """
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    shown = ", ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in runs[:most])
    return shown if len(runs) <= most else f"{shown} and {len(runs) - most} more"


def missing_frames(there: Container[int | None], first: int, last: int) -> str | None:
    """Which frames from `first` to `last` are not there, in words; nothing where all are.

    >>> missing_frames({1, 2, 6}, 1, 6)
    '3 frames of 1-6 missing: 3-5'
    """
    missing = [number for number in range(first, last + 1) if number not in there]
    if not missing:
        return None
    noun = "frame" if len(missing) == 1 else "frames"
    return f"{len(missing)} {noun} of {first}-{last} missing: {ranges(missing)}"
