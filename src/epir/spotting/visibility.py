"""The smallest movement that spotting would have found in each second of a video, in half of all cases.

Recall depends on the conditions. `visibility.csv` lists the recall of movements of several sizes, warped into real
videos and stills, under each condition (`epir bench --only spotting`, see its header). If several conditions hold at
once, the worst counts.

Axes: n frames that show the face
"""

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import Any

import numpy as np

from epir.core.words import percent
from epir.faces.face import RELIABLE_FACE
from epir.frames.pace import UNEVEN
from epir.spotting.regions import GROUPS, MOUTH
from epir.spotting.timeline import Timeline, longest_gap

TABLE = "visibility.csv"
STILL, SLIGHT, MOVING = "still", "slight motion", "speech or head motion"
SLOW, SMALL, COARSE = "low frame rate", "small face", "strong compression"
CONDITIONS = (STILL, SLIGHT, MOVING, SLOW, SMALL, COARSE)
NO_FACE = "no face"
ENOUGH = 0.5  # minimum recall of a visible movement
COARSE_FROM = 35.0  # quantiser of H.264: in stills, movements of 1 % are found 35 of 41 times at 32 and 9 of 44 at 40
SLOW_RATE = 20.0  # frames a second: below this, onset and apex are a frame or two apart
# Shares of the face's width that the mouth or the head exceeds for a third of the time: slight motion, then strong.
# In real videos, movements of 2 % were found 6 of 7 times between the limits and 17 of 59 times above them.
SPEAKING = (0.003, 0.006)
HEAD_MOVES = (0.006, 0.012)
AROUND = 1.0  # seconds before and after that show whether someone talks or moves
MOST = 0.7  # share of the time: a micro-expression takes less than the remainder
SEEN = 0.5  # minimum share of a second in which the face is seen
ROUNDED = 0.001  # seconds to which files round time stamps

Recalls = Mapping[str, Mapping[float, float]]  # condition -> size of the movement -> recall


@dataclass(frozen=True)
class VisibleSecond:
    """One second of a video: the smallest movement that would have been found, and what limits it."""

    start: float  # seconds
    stop: float
    smallest: float | None  # share of the face's width; None if not even the largest measured size would be found
    conditions: tuple[str, ...] = ()  # from `CONDITIONS`; empty without a face
    reasons: tuple[str, ...] = ()  # the worst condition in words; empty for a still face

    @property
    def is_judged(self) -> bool:
        """Whether a micro-expression of some measured size would have been found in half of all cases."""
        return self.smallest is not None


@cache
def measured_recalls() -> dict[str, dict[float, float]]:
    """The measured recall of known movements by condition and size."""
    lines = files("epir.spotting").joinpath(TABLE).read_text(encoding="utf-8").splitlines()
    recalls: dict[str, dict[float, float]] = {name: {} for name in CONDITIONS}
    for row in csv.DictReader(line for line in lines if not line.startswith("#")):
        recalls[row["condition"]][float(row["size"])] = float(row["recall"])
    return recalls


def smallest_visible(condition: str, recalls: Recalls | None = None) -> float | None:
    """The smallest size such that it and every larger size is found in half of all cases.

    >>> smallest_visible("still", {"still": {0.005: 0.4, 0.01: 0.8, 0.02: 0.9}})
    0.01
    """
    known = (measured_recalls() if recalls is None else recalls)[condition]
    visible = None
    for size in sorted(known, reverse=True):
        if known[size] < ENOUGH:
            break
        visible = size
    return visible


@dataclass(frozen=True)
class Visibility:
    """How much of a video could be judged, and what size of movement would have been found there."""

    seconds: tuple[VisibleSecond, ...]

    @property
    def total(self) -> float:
        """Seconds of the video."""
        return sum(each.stop - each.start for each in self.seconds)

    @property
    def judged(self) -> float:
        """Seconds in which some movement would have been found."""
        return sum(each.stop - each.start for each in self.seconds if each.is_judged)

    @property
    def smallest(self) -> float | None:
        """The size that would have been found in every second that could be judged; None if no second could."""
        return max((each.smallest for each in self.seconds if each.smallest is not None), default=None)

    @property
    def spans(self) -> tuple[VisibleSecond, ...]:
        """Consecutive seconds with the same limits, joined."""
        runs = [list(run) for _, run in groupby(self.seconds, lambda each: (each.smallest, each.reasons))]
        return tuple(replace(run[0], stop=run[-1].stop) for run in runs)

    @property
    def hidden(self) -> tuple[VisibleSecond, ...]:
        """The spans in which nothing could be judged."""
        return tuple(each for each in self.spans if not each.is_judged)

    @property
    def text(self) -> str:
        """What could be seen and what could not, in one sentence; empty without a video."""
        if not self.seconds:
            return ""
        reasons = ", ".join(dict.fromkeys(word for each in self.hidden for word in each.reasons))
        if self.smallest is None:
            largest = max(size for sizes in measured_recalls().values() for size in sizes)
            return (
                f"In none of the {_whole(self.total)} s can a micro-expression be ruled out ({reasons}): "
                f"most movements of up to {100 * largest:g} % of the face would have been missed."
            )
        seen = f"a movement of {100 * self.smallest:g} % of the face would most likely have been seen"
        limits = dict.fromkeys(word for each in self.spans if each.smallest == self.smallest for word in each.reasons)
        if limits:
            seen += f", smaller ones not everywhere ({', '.join(limits)})"
        if not self.hidden:
            return f"In all {_whole(self.total)} s {seen}."
        judged = min(max(round(self.judged), 1), max(round(self.total) - 1, 1))  # neither none nor all
        total = max(round(self.total), 1)
        return f"In {judged} of {total} s {seen}; in {max(total - judged, 1)} s ({reasons}) not."

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; sizes are in % of the face's width."""
        spans = [
            {
                "start": round(each.start, 4),
                "stop": round(each.stop, 4),
                "judged": each.is_judged,
                "smallest": _percent(each.smallest),
                "reasons": list(each.reasons),
            }
            for each in self.spans
        ]
        return {
            "seconds": round(self.total, 2),
            "judged_s": round(self.judged, 2),
            "smallest": _percent(self.smallest),
            "text": self.text,
            "spans": spans,
        }


def _percent(size: float | None) -> float | None:
    return None if size is None else percent(size)


def _whole(seconds: float) -> str:
    """Whole seconds, or tenths for a very short clip."""
    return f"{seconds:.0f}" if seconds >= 2 else f"{seconds:.1f}"


def visibility_of(timelines: Sequence[Timeline], span: tuple[float, float] | None = None) -> Visibility:
    """The visibility over everyone in a video: in each second, the worst of those whose face it shows."""
    people = [visible_seconds(each, span=span) for each in timelines]
    return Visibility(tuple(_worst(each) for each in zip(*people, strict=True)))


def _worst(people: tuple[VisibleSecond, ...]) -> VisibleSecond:
    shown = [each for each in people if each.conditions]
    return max(shown or people, key=lambda each: math.inf if each.smallest is None else each.smallest)


def visible_seconds(
    timeline: Timeline, recalls: Recalls | None = None, span: tuple[float, float] | None = None
) -> tuple[VisibleSecond, ...]:
    """Every second of a video, or of a span of it; the last one may be shorter, or a frame longer."""
    stamps = timeline.stamps
    durations, slowest = timeline.durations, 1.05 / longest_gap(timeline.fps)  # slower frames never form a run
    length = float(stamps[-1]) + 1 / timeline.fps if len(stamps) else 0.0
    first, last = span or (0.0, length)
    count = max(math.ceil(last - first - 1 / timeline.fps + ROUNDED), int(last > first))  # no frame begins after them
    seconds = []
    for number in range(count):
        start = first + number
        stop = start + 1.0 if number < count - 1 else last
        inside = _between(stamps, start, stop)
        frames, seen = inside.stop - inside.start, float(durations[inside].sum())
        if not frames or seen < SEEN * (stop - start) - ROUNDED:
            seconds.append(VisibleSecond(start, stop, None, (), (NO_FACE,)))
            continue
        rate = frames / seen if UNEVEN * frames / seen < timeline.fps else timeline.fps  # slower in the dark
        if rate < slowest:
            seconds.append(VisibleSecond(start, stop, None, (SLOW,), (f"under {slowest:.0f} frames a second",)))
            continue
        reasons = _reasons(timeline, inside, start, rate)
        conditions = tuple(name for name in CONDITIONS if name in reasons) or (STILL,)
        sizes = {name: smallest_visible(name, recalls) for name in conditions}
        smallest = None if None in sizes.values() else max(size for size in sizes.values() if size is not None)
        worst = [name for name, size in sizes.items() if size == smallest]
        words = tuple(word for name in worst for word in reasons.get(name, ()))
        seconds.append(VisibleSecond(start, stop, smallest, conditions, words))
    return tuple(seconds)


def _reasons(timeline: Timeline, inside: slice, start: float, rate: float) -> dict[str, list[str]]:
    """The conditions that make a second hard to judge, each with its causes in words."""
    near = _between(timeline.stamps, start - AROUND, start + 1 + AROUND)
    reasons: dict[str, list[str]] = {}
    mouth = timeline.motion[near][:, [GROUPS.index(name) for name in MOUTH]].max(axis=1)
    for word, limits, values in (("speech", SPEAKING, mouth), ("head motion", HEAD_MOVES, timeline.head[near])):
        distance = _usual_distance(values)
        if distance > limits[0]:
            reasons.setdefault(MOVING if distance > limits[1] else SLIGHT, []).append(word)
    if any(each.seconds[0] < start + 1 and each.seconds[2] > start for each in timeline.macros):
        reasons.setdefault(MOVING, []).append("a longer expression")
    if MOVING in reasons:
        reasons[MOVING] += reasons.pop(SLIGHT, [])
    if rate < SLOW_RATE:
        reasons[SLOW] = [f"{rate:.0f} frames a second"]
    sides = [crop.side for crop in timeline.squares[inside]]
    if sides and float(np.median(sides)) < RELIABLE_FACE:
        reasons[SMALL] = [f"a face about {round(float(np.median(sides)), -1):.0f} px wide"]
    if timeline.quantiser is not None and timeline.quantiser >= COARSE_FROM:
        reasons[COARSE] = [COARSE]
    return reasons


def _between(stamps: np.ndarray, start: float, stop: float) -> slice:
    """The slice of the sorted times (n,) from `start` to before `stop`."""
    return slice(*np.searchsorted(stamps, (start, stop)).tolist())


def _usual_distance(values: np.ndarray) -> float:
    """The distance from the median within which the values (n,) stay for `MOST` of the time."""
    return float(np.quantile(np.abs(values - np.median(values)), MOST)) if len(values) else 0.0
