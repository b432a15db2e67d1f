"""What is wrong with one clip: frames that are missing, and orders that cannot be."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from epir.core.records import Clip
from epir.datasets.base import Defect
from epir.datasets.corrections import known_reason

Problem = tuple[str, str]  # its kind, as known.csv names it, and a sentence


def defects(clip: Clip, problems: Iterable[Problem], *, tree: str) -> Iterator[Defect]:
    """The problems of a clip as defects, each with the reason if every copy of the release has it."""
    for kind, sentence in problems:
        reason = known_reason(clip.key, kind, tree)
        yield Defect(clip.key, f"{sentence} ({reason})" if reason else sentence, known=reason is not None)


def order_problems(clip: Clip) -> Iterator[Problem]:
    """Frames in an order that cannot be, and an apex that leaves no motion to see."""
    if clip.onset is not None and clip.offset is not None and clip.offset < clip.onset:
        yield "order", f"the offset {clip.offset} is before the onset {clip.onset}"
    if clip.apex is None:
        return
    if clip.onset is not None and clip.apex < clip.onset:
        yield "order", f"the apex {clip.apex} is before the onset {clip.onset}"
    elif clip.onset is not None and clip.apex == clip.onset:
        yield "apex at onset", "apex and onset are one frame, with no motion between them; the apex policy decides"
    if clip.offset is not None and clip.apex > clip.offset:
        yield "order", f"the apex {clip.apex} is after the offset {clip.offset}"


def frame_problems(clip: Clip, frames: Sequence[int]) -> Iterator[Problem]:
    """Frames of the clip that its folder does not hold; `frames` are the numbers that it does hold."""
    if not frames:
        yield "no frames", "its folder holds no pictures"
        return
    there = set(frames)
    if len(there) < len(frames):
        doubled = sorted(number for number, count in Counter(frames).items() if count > 1)
        yield "doubled frames", f"more than one picture for frame {ranges(doubled)}"
    for name, number in (("onset", clip.onset), ("apex", clip.apex)):
        if number is not None and number not in there:
            yield "missing key frame", f"the {name} frame {number} is missing (the folder has {_span(frames)})"
    if clip.onset is None or clip.offset is None or clip.offset < clip.onset:
        return
    missing = [n for n in range(clip.onset, clip.offset + 1) if n not in there and n not in (clip.onset, clip.apex)]
    if missing:
        noun = "frame" if len(missing) == 1 else "frames"
        yield "missing frames", f"{len(missing)} {noun} of {clip.onset}-{clip.offset} missing: {ranges(missing)}"


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


def _span(frames: Sequence[int]) -> str:
    return f"{frames[0]}-{frames[-1]}"
