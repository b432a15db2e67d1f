"""Measure the real frame rate of a camera from the times and the pixels of its frames.

A file may hold 30 pictures per second as 60 or 200 frames, each repeated several times, or frames at uneven times. The
announced rate shows neither.

Axes: n frames
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from epir.frames.reader import ASSUMED_RATE, Frame

ENOUGH, MOST = 48, 240  # frames to measure: more than ENOUGH only while hardly any of them differ
FRESH = 12  # differing frames that are enough to see a pattern
POINTS = 64  # pixels compared along the shorter side
STILL = 0.15  # grey levels: if even the largest differences are smaller, nothing can be measured
CAMERAS = (120, 100, 90, 60, 50, 48, 30, 25, 24, 20, 15, 12.5, 12, 10)  # usual frame rates
LEAST_SHARE = 1.15  # frames stored per frame taken, from which frames count as repeated
CLEARLY = 0.95  # required probability that a fresh frame differs by more than a repeated one
FACTOR = 3.0  # required ratio of their median differences
PERIODS = range(2, 11)  # lengths, in frames, of repeat patterns that fit no usual camera
PATTERN_FACTOR = 5.0  # required ratio for these patterns: a nod or a shaking hand repeats as regularly
UNEVEN = 1.25  # ratio of the longest to the shortest usual step, from which a rate counts as varying
BINS = 16  # per factor of two, in which steps are counted


@dataclass(frozen=True, slots=True)
class Pace:
    """Frame rates: `fps` of the frames that the camera took, `stored` of the frames in the file."""

    fps: float
    stored: float
    every: float = 1.0  # frames stored per frame taken
    threshold: float = 0.0  # grey levels: a frame that differs by less from the previous one repeats it
    in_a_row: int = 0  # most repeats of one frame

    @property
    def repeats(self) -> bool:
        """Whether the file repeats frames."""
        return self.every > 1.0


def measure_pace(frames: Iterable[Frame], fps: float | None = None) -> Pace:
    """The pace at the start of `frames`; `fps` is the stored rate, if known."""
    seconds: list[float] = []
    differences: list[float] = []
    before: np.ndarray | None = None
    for frame in islice(frames, MOST):
        now = subsample(frame.pixels)
        if before is not None:
            differences.append(difference(before, now))
        before = now
        seconds.append(frame.seconds)
        if len(seconds) >= ENOUGH and sum(value > STILL for value in differences) >= FRESH:
            break
    stored = fps or usual_rate(seconds) or ASSUMED_RATE
    return find_repeats(np.array(differences), stored) or Pace(stored, stored)


def usual_rate(seconds: list[float]) -> float | None:
    """Frames per second, ignoring gaps; averages the usual steps, since containers round time stamps."""
    steps = np.diff(seconds)
    steps = steps[steps > 0]
    if not len(steps):
        return None
    middle = np.median(steps)
    rate = 1 / float(steps[(steps > 0.5 * middle) & (steps < 1.5 * middle)].mean())
    return round(rate) if abs(rate - round(rate)) < 0.004 * rate and rate >= 5 else rate


def find_repeats(differences: np.ndarray, stored: float) -> Pace | None:
    """The pace of a file of `stored` frames per second with repeated frames; None if no frames repeat.

    Each usual camera rate predicts, up to a shift, which frames are fresh; editors and converters leave patterns of a
    few frames. Fresh frames must differ from their predecessors by more than the others throughout: a face that rests
    now and then does not count as repeated.
    """
    if len(differences) < ENOUGH - 1 or np.quantile(differences, 0.95) < STILL:
        return None
    best, pace = CLEARLY, None
    for every, fresh, factor in [*_camera_patterns(len(differences), stored), *_short_patterns(differences)]:
        clear = separation(differences[fresh], differences[~fresh])
        if clear > best + 0.01 * (pace is not None):  # a slower camera must fit better
            high, low = float(np.median(differences[fresh])), float(np.median(differences[~fresh]))
            if high >= factor * low and high >= STILL:
                threshold = math.sqrt(high * max(low, 0.01 * high))
                best, pace = clear, Pace(stored / every, stored, every, threshold, _longest_run(~fresh))
    return pace


def _camera_patterns(count: int, stored: float) -> Iterator[tuple[float, np.ndarray, float]]:
    """Frames stored per frame taken, a mask (count,) of the differences of fresh frames, and `FACTOR`."""
    for every in (stored / rate for rate in CAMERAS if stored >= LEAST_SHARE * rate):
        for shift in np.arange(0.0, every, min(0.5, every / 8)):
            yield every, np.diff(np.floor((np.arange(count + 1) + shift) / every)) > 0, FACTOR


def _short_patterns(differences: np.ndarray) -> Iterator[tuple[float, np.ndarray, float]]:
    """The same for short periods, in which the frames with the larger differences are fresh."""
    for period in PERIODS:
        usual = np.array([np.median(differences[place::period]) for place in range(period)])
        ordered = np.sort(usual)
        gap = int(np.argmax(ordered[1:] / np.maximum(ordered[:-1], 0.01 * ordered[-1] + 1e-6)))
        fresh = usual > ordered[gap]
        yield period / max(fresh.sum(), 1), np.resize(fresh, len(differences)), PATTERN_FACTOR


def _longest_run(repeated: np.ndarray) -> int:
    """The length of the longest run of true values in (n,)."""
    ends = np.flatnonzero(np.diff(np.concatenate([[False], repeated, [False]])))
    return int(np.diff(ends)[::2].max(initial=0))


def separation(high: np.ndarray, low: np.ndarray) -> float:
    """The probability that one of `high` exceeds one of `low`; 0 for fewer than four values."""
    if len(high) < 4 or len(low) < 4:
        return 0.0
    return float((high[:, None] > low[None, :]).mean())


def without_repeats(frames: Iterable[Frame], pace: Pace) -> Iterator[Frame]:
    """The frames without repeats; while nothing moves, one frame per longest run of repeats passes."""
    return filter(Freshness(pace).is_new, frames)


class Freshness:
    """Decides, frame by frame, whether a frame shows something new."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._before: np.ndarray | None = None
        self._dropped = 0

    def is_new(self, frame: Frame) -> bool:
        """Whether the next frame differs from the previous one."""
        if not self._pace.repeats:
            return True
        before, now = self._before, subsample(frame.pixels)
        self._before = now
        same = before is not None and difference(before, now) <= self._pace.threshold
        if same and self._dropped < self._pace.in_a_row:
            self._dropped += 1
            return False
        self._dropped = 0
        return True


def subsample(pixels: np.ndarray) -> np.ndarray:
    """The subsampled green channel of an RGB frame, int16; green carries most of the brightness."""
    step = max(1, min(pixels.shape[:2]) // POINTS)
    return pixels[::step, ::step, 1].astype(np.int16)


def difference(before: np.ndarray, after: np.ndarray) -> float:
    """The mean difference of two samples in grey levels; 255 if their sizes differ."""
    return float(np.abs(after - before).mean()) if before.shape == after.shape else 255.0


class TimeSteps:
    """A histogram of the time steps between frames, to see whether a rate varies."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()  # by the logarithm of the step
        self._sums: Counter[int] = Counter()  # of these steps, in microseconds
        self._latest: float | None = None
        self.frames = 0

    def push(self, seconds: float) -> None:
        """Count a frame, and the step to it."""
        self.frames += 1
        if self._latest is not None and seconds > self._latest:
            step = round(BINS * math.log2(seconds - self._latest))
            self._counts[step] += 1
            self._sums[step] += round(1e6 * (seconds - self._latest))
        self._latest = seconds

    def varying(self) -> tuple[float, float] | None:
        """The slowest and the fastest usual rate (5 % and 95 % quantiles of the steps); None if they hardly differ."""
        total, low, high = sum(self._counts.values()), None, None
        passed = 0
        for step, count in sorted(self._counts.items()):
            passed += count
            low = step if low is None and passed > 0.05 * total else low
            high = step if high is None and passed >= 0.95 * total else high
        if low is None or high is None or total < 8:
            return None
        short, long = (1e-6 * self._sums[step] / self._counts[step] for step in (low, high))
        return (1 / long, 1 / short) if long > UNEVEN * short and long - short > 0.002 else None
