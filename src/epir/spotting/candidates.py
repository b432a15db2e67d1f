"""Displacements over time -> rises and falls that might be micro-expressions, each with how well it stands out.

A micro-expression rises, perhaps holds, and returns, and the skin is at rest before and after. So every group of
regions is compared, at every instant and for several durations, with a straight line plus such a bump. The amplitude
of the bump against what the two leave unexplained says how far it stands out: speech, a turn of the head or an
expression that stays leave much, whatever their size. One lively region does not hide another.

Onset, apex and offset: every course that a micro-expression may take, fast or slow to rise and to return, is compared
with what was measured. The key times are means over the courses, each counting by how well it explains the measurement
and by how common it is [Y], so that noise that spoils one flank moves them little.

[Y] Yan et al. 2013, How fast are the leaked facial expressions: the onset phase is quicker than the rest

Axes: n instants, C channels, R regions, D durations, K courses, w instants of a window
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from epir.spotting.evidence import PatternEvidence, patterns, weigh
from epir.spotting.measure import Motion
from epir.spotting.regions import EYES, GROUPS, REGIONS, members

DURATIONS = (0.13, 0.18, 0.24, 0.32, 0.42, 0.55)  # seconds from onset to offset
RISE = 0.45  # of the duration
AROUND = 0.3  # seconds before and after that must be explained by the line alone
CONTEXT = 0.8  # seconds before and after that tell speech from a single movement
FLOOR = 0.0003  # of the face's width: what noise of the camera leaves
LEAST = 0.0008  # of the face's width: weaker bumps are not looked at
STANDS_OUT = 2.5  # amplitude against the rest from which a bump is a candidate
SPEAKS = 2.5  # of `PatternEvidence.score`: from here on a bump of the whole face is a candidate
USUAL = 2.5  # seconds before and after in which scores are compared
APART = 0.2  # seconds between two candidates of one group
AFTERWARDS = 0.2  # seconds before the onset and after the offset that are compared
LASTING = (0.7, 1.0, 1.4, 2.0, 2.8, 3.8)  # the same for expressions that last longer
LASTING_APART = 0.6
FOOT = 0.2  # of the peak: here the flanks are still above the noise
# A rise like sin^2 passes FOOT after this share of its way: onset and offset lie beyond the foot by that much.
REACHED = math.asin(math.sqrt(FOOT)) / (math.pi / 2)
VALLEY = 0.6  # of the lower of two peaks: a dip below it parts them
RISES = (0.05, 0.08, 0.11, 0.14, 0.18, 0.22, 0.27)  # seconds
FALLS = (0.06, 0.10, 0.14, 0.18, 0.23, 0.28, 0.34)
SHORTEST_COURSE, LONGEST_COURSE = 1 / 25, 0.55  # seconds from onset to offset
EARLIER = 0.12  # seconds by which the apex may lie beside the place that is given
COMPARED = 0.55  # seconds before and after that place which are compared
INDEPENDENT = 0.25  # observations an instant: neighbouring instants of a living face err alike


@dataclass(frozen=True)
class Candidate:
    """One bump of one group of regions; places are instants, lengths shares of the face's width."""

    onset: int
    apex: int
    offset: int
    group: str
    strongest: int  # region
    stands_out: float  # amplitude against the rest nearby
    isolated: float  # the same against the rest in a wider context
    amplitudes: np.ndarray  # (R, 2) of the bump in every region
    rest: np.ndarray  # (R,) of every region, in the wider context
    head: np.ndarray  # (M,) amplitude of the head's bump
    head_rest: np.ndarray  # (M,)
    mismatch: float  # of the face during the bump, against that of its surroundings
    step: float  # log of the error of the bump by that of a lasting change: above 0 the skin does not come back
    foot: float = 0.0  # seconds from one foot to the other
    left: float = 0.0  # of the way: how far after the offset the skin is from where it was before the onset
    evidence: float = 0.0  # `PatternEvidence.score` and `.share`
    share: float = 0.0
    unusual: float = 0.0  # the score by what is usual in the seconds around
    light: float = 0.0  # by how much, as a logarithm, the brightness of the face varies from onset to offset

    @property
    def lengths(self) -> np.ndarray:
        """The amplitude of every region, (R,)."""
        return np.hypot(self.amplitudes[:, 0], self.amplitudes[:, 1])


def bump(times: np.ndarray, duration: float) -> np.ndarray:
    """Rise and fall like sin^2, 1 at time 0; times in seconds."""
    up, down = 1 + times / (RISE * duration), 1 - times / ((1 - RISE) * duration)
    return np.sin(np.pi / 2 * np.clip(np.minimum(up, down), 0, 1)) ** 2


def fit_bumps(values: np.ndarray, rate: float, duration: float) -> tuple[np.ndarray, np.ndarray]:
    """The amplitude of a bump with its apex at each instant, and the deviation it leaves; both (n, C).

    The values (n, C) go on as they are beyond both ends.
    """
    before, after = (math.ceil((share * duration + AROUND) * rate) for share in (RISE, 1 - RISE))
    times = np.arange(-before, after + 1) / rate
    line = np.linalg.qr(np.stack([np.ones_like(times), times], axis=1))[0]  # (w, 2)
    shape = bump(times, duration)
    shape = shape - line @ (line.T @ shape)
    power = float(shape @ shape)
    padded = np.pad(values, ((before, after), (0, 0)), mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, len(times), axis=0)  # (n, C, w)
    parts = windows @ np.concatenate([line, shape[:, None] / math.sqrt(power)], axis=1)  # (n, C, 3)
    error = np.einsum("ncw,ncw->nc", windows, windows) - (parts**2).sum(axis=-1)
    deviation = np.sqrt(np.maximum(error, 0) / max(len(times) - 3, 1))
    return parts[..., 2] / math.sqrt(power), deviation


def find_candidates(
    motion: Motion,
    rate: float,
    lengths: Sequence[float] = DURATIONS,
    apart: float = APART,
    *,
    known: np.ndarray | None = None,
    within: tuple[float, float] = (-math.inf, math.inf),
    whole: bool = True,
) -> list[Candidate]:
    """The candidates in a motion at `rate` instants a second, by time.

    `lengths` are the durations that are tried, in seconds, and `apart` the least time between two of one group; `known`
    are other patterns (P, R, 2) than those that ship. Outside the instants `within`, and well around them, only
    the eyes are looked at; `whole` looks for movements of the whole face besides those of single regions.
    """
    count = len(motion.skin)
    durations = [each for each in lengths if each * rate >= 3]
    if count < 3 or not durations:
        return []
    flat = motion.skin.reshape(count, -1).astype(np.float64)
    flat = flat - flat.mean(axis=0)
    fits = [fit_bumps(flat, rate, duration) for duration in durations]
    amplitude = np.array([np.hypot(each[:, ::2], each[:, 1::2]) for each, _ in fits])  # (D, n, R)
    rest = np.array([np.sqrt((each[:, ::2] ** 2 + each[:, 1::2] ** 2) / 2) for _, each in fits])
    clear = np.where(amplitude > LEAST, amplitude / (rest + FLOOR), 0.0)
    evidence = [weigh(each, patterns() if known is None else known, rate) for each, _ in fits] if whole else []
    scores = np.array([each.score for each in evidence]).reshape(-1, count)  # (D, n), or (0, n)
    reach = RISE * durations[-1] * rate  # the apex may lie so far from the middle of the bump
    first, last = within[0] - reach, within[1] + reach
    described = _Describer(motion, flat, rate, scores, evidence)
    candidates: list[Candidate | None] = []
    for group in GROUPS:
        in_group = clear[..., members(group)]  # (D, n, regions of the group)
        best = in_group.max(axis=(0, 2))  # (n,)
        for apex in separate_peaks(best, STANDS_OUT, max(1, round(apart * rate))):
            which, region = np.unravel_index(int(in_group[:, apex].argmax()), in_group[:, apex].shape)
            place = int(members(group)[region])
            if group != EYES and not first <= apex < last:
                continue
            candidates.append(described.one(apex, durations[which], place, float(best[apex])))
    for apex in separate_peaks(scores.max(axis=0, initial=0.0), SPEAKS, max(1, round(apart * rate))):
        if not first <= apex < last:
            continue
        best_fit = int(scores[:, apex].argmax())
        filters = evidence[best_fit].filters[evidence[best_fit].pattern[apex]]
        share = filters * fits[best_fit][0][apex]  # (C,) of the score
        place = int((share[::2] + share[1::2]).argmax())
        stands_out = float(clear[best_fit, apex, place])
        if stands_out >= STANDS_OUT:  # or else it is the tip of something that lasts
            candidates.append(described.one(apex, durations[best_fit], place, stands_out, whole=best_fit))
    return sorted((each for each in candidates if each is not None), key=lambda each: each.apex)


def separate_peaks(values: np.ndarray, least: float, apart: int) -> list[int]:
    """The places of the highest values (n,) from `least` on, none nearer than `apart` to a higher one."""
    open_values, places = values.astype(float).copy(), []
    while len(values) and open_values.max() >= least:
        place = int(open_values.argmax())
        open_values[max(place - apart, 0) : place + apart + 1] = -np.inf
        places.append(place)
    return places


@dataclass(frozen=True)
class _Describer:
    """Makes candidates of places in one stretch of time."""

    motion: Motion
    flat: np.ndarray  # (n, C) the skin about its mean
    rate: float
    scores: np.ndarray  # (D, n)
    evidence: list[PatternEvidence]

    def one(self, apex: int, duration: float, region: int, clear: float, whole: int | None = None) -> Candidate | None:
        """The candidate at `apex`, by the course of a region, or of the whole face for the duration `whole`."""
        flat, rate = self.flat, self.rate
        near, far = (_window(len(flat), rate, apex, duration, around) for around in (AROUND, CONTEXT))
        amplitude, _, line = _fit(flat, rate, apex, duration, near)
        channels = slice(2 * region, 2 * region + 2)
        direction = amplitude[channels] / max(float(np.hypot(*amplitude[channels])), 1e-9)
        below = line[0, channels] + ((np.arange(len(flat)) - apex) / rate)[:, None] * line[1, channels]
        course = (flat[:, channels] - below) @ direction
        feet = find_edges(course, apex, max(1, round(RISE * duration * rate)))
        if feet is None:
            return None
        if whole is None:
            edges = _between(feet, apex, duration * rate, len(flat))
        else:
            known = self.evidence[whole]
            edges = key_times(flat @ known.filters[known.pattern[apex]], apex, rate)
        shown, rest, _ = _fit(flat, rate, apex, duration, far)
        head_shown, head_rest, _ = _fit(self.motion.head.astype(np.float64), rate, apex, duration, near)
        rest = np.sqrt((rest.reshape(-1, 2) ** 2).mean(axis=1))
        evidence, share, unusual = self._unusual(apex)
        covered = float(self.motion.mismatch[edges[0] : edges[2] + 1].max() + 0.5)
        return Candidate(
            *edges,
            group=REGIONS[region].group,
            strongest=region,
            stands_out=clear,
            isolated=float(np.hypot(*shown[channels])) / (float(rest[region]) + FLOOR),
            amplitudes=amplitude.reshape(-1, 2),
            rest=rest,
            head=head_shown,
            head_rest=head_rest,
            mismatch=covered / float(np.median(self.motion.mismatch[far]) + 0.5),
            step=_step(flat[near, channels], rate, near, apex, duration),
            foot=(feet[2] - feet[0]) / rate,
            left=_left(flat[:, channels] @ direction, edges, max(1, round(AFTERWARDS * rate))),
            evidence=evidence,
            share=share,
            unusual=unusual,
            light=float(np.ptp(self.motion.light[edges[0] : edges[2] + 1])),
        )

    def _unusual(self, apex: int) -> tuple[float, float, float]:
        """`Candidate.evidence`, `.share` and `.unusual`."""
        if not self.evidence:
            return 0.0, 0.0, 0.0
        which = int(self.scores[:, apex].argmax())
        score = float(self.scores[which, apex])
        best = self.scores.max(axis=0)
        away = np.abs(np.arange(len(best)) - apex) / self.rate
        around = best[(away > 0.3) & (away < USUAL)]
        usual = float(np.quantile(around, 0.9)) if len(around) else 1.0
        return score, float(self.evidence[which].share[apex]), score / max(usual, 0.5)


def _window(count: int, rate: float, apex: int, duration: float, around: float) -> slice:
    before, after = (math.ceil((share * duration + around) * rate) for share in (RISE, 1 - RISE))
    return slice(max(apex - before, 0), min(apex + after + 1, count))


@lru_cache(maxsize=512)
def _basis(rate: float, first: int, last: int, duration: float) -> tuple[np.ndarray, np.ndarray]:
    """Line and bump at instants from the apex, (w, 3), and the matrix (3, w) that gives their parts of any course."""
    times = np.arange(first, last) / rate
    basis = np.stack([np.ones_like(times), times, bump(times, duration)], axis=1)
    return basis, np.linalg.pinv(basis)


def _fit(
    values: np.ndarray, rate: float, apex: int, duration: float, window: slice
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Amplitude and deviation (C,) of one bump, and level and slope (2, C) of the line below it."""
    basis, inverse = _basis(rate, window.start - apex, window.stop - apex, duration)
    parts = inverse @ values[window]  # (3, C)
    rest = values[window] - basis @ parts
    deviation = np.sqrt((rest**2).sum(axis=0) / max(len(basis) - 3, 1))
    return parts[2], deviation, parts[:2]


@lru_cache(maxsize=512)
def _changes(rate: float, first: int, last: int, duration: float) -> np.ndarray:
    """Orthonormal bases of a line and a bump, then of a line and each lasting change, (1 + changes, 3, w)."""
    times = np.arange(first, last) / rate
    lasting = [np.clip((times - at) / 0.08 + 0.5, 0, 1) for at in np.arange(-0.5, 0.61, 0.1) * duration]
    shapes = [bump(times, duration), *lasting]
    bases = [np.linalg.svd(np.stack([np.ones_like(times), times, shape]), full_matrices=False) for shape in shapes]
    return np.array([rows * (sizes > 1e-9 * sizes[0])[:, None] for _, sizes, rows in bases])


def _step(values: np.ndarray, rate: float, window: slice, apex: int, duration: float) -> float:
    """Log of the error that a bump leaves by the error that the best lasting change leaves."""
    parts = _changes(rate, window.start - apex, window.stop - apex, duration) @ values  # (1 + changes, 3, 2)
    errors = np.maximum((values**2).sum() - (parts**2).sum(axis=(1, 2)), 0.0) + len(values) * 1e-9
    return math.log(errors[0] / errors[1:].min())


def _between(feet: tuple[int, int, int], apex: int, length: float, count: int) -> tuple[int, int, int]:
    """Onset, apex and offset halfway from the feet, which noise moves, to the bump, whose flanks are fixed."""
    onset = round((feet[0] + apex - RISE * length) / 2)
    offset = round((feet[2] + apex + (1 - RISE) * length) / 2)
    return max(min(onset, feet[1] - 2), 0), feet[1], min(max(offset, feet[1] + 1), count - 1)


def _left(course: np.ndarray, edges: tuple[int, int, int], around: int) -> float:
    onset, apex, offset = edges
    before, after = course[max(onset - around, 0) : onset + 1].mean(), course[offset : offset + around + 1].mean()
    return float(abs(after - before) / max(course[apex] - min(before, after), 1e-9))


def find_edges(course: np.ndarray, near: int, reach: int) -> tuple[int, int, int] | None:
    """Onset, apex and offset of the peak of `course` (n,) within `reach` of a place; None at the very ends."""
    low = max(near - reach, 0)
    apex = low + int(course[low : near + reach + 1].argmax())
    left, right = (foot(course, apex, step) for step in (-1, 1))
    onset = max(0, round(apex - (apex - left) / (1 - REACHED)))
    offset = min(len(course) - 1, round(apex + (right - apex) / (1 - REACHED)))
    onset, offset = min(onset, apex - 2), max(offset, apex + 1)
    return (onset, apex, offset) if onset >= 0 and offset < len(course) else None


def foot(course: np.ndarray, apex: int, step: int) -> int:
    """The last place on one side of the apex before the flank is below its foot, or another peak begins."""
    lowest, at = course[apex], apex
    place = apex + step
    while 0 <= place < len(course):
        if course[place] < FOOT * course[apex]:
            return place - step if abs(place - apex) > 1 else place
        if course[place] < lowest:
            lowest, at = course[place], place
        elif lowest < VALLEY * min(course[place], course[apex]):
            return at
        place += step
    return place - step


# ------------------------------------------------------------------------------- onset, apex and offset


@lru_cache(maxsize=16)
def courses(rate: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Key times (K, 3) in instants from the middle, prior (K,), shapes (K, w) free of lines, and the lines (w, 2)."""
    reach = max(3, round(COMPARED * rate))
    times = np.arange(-reach, reach + 1)  # (w,)
    step = max(1, round(rate / 50))
    middle = np.arange(-round(EARLIER * rate), round(EARLIER * rate) + 1, step)
    keys, prior = [], []
    for rise in RISES:
        for fall in FALLS:
            length = rise + fall
            if not SHORTEST_COURSE <= length <= LONGEST_COURSE or rise * rate < 1.2 or fall * rate < 1.2:
                continue
            share = (length - SHORTEST_COURSE) / (LONGEST_COURSE - SHORTEST_COURSE)
            for apex in middle:
                keys.append((apex - rise * rate, apex, apex + fall * rate))
                prior.append(share**1.2 * (1 - 0.9 * share) ** 0.6 * (0.3 if rise > 1.3 * fall else 1.0))
    instants = np.array(keys)  # (K, 3)
    up = (times[None] - instants[:, :1]) / (instants[:, 1:2] - instants[:, :1])
    down = (instants[:, 2:] - times[None]) / (instants[:, 2:] - instants[:, 1:2])
    shapes = np.sin(np.pi / 2 * np.clip(np.minimum(up, down), 0, 1)) ** 2  # (K, w)
    line = np.linalg.qr(np.stack([np.ones(len(times)), times / reach], axis=1))[0]  # (w, 2)
    shapes = shapes - (shapes @ line) @ line.T
    shapes /= np.sqrt((shapes**2).sum(axis=1, keepdims=True))
    return instants, np.array(prior) / np.sum(prior), shapes, line


def key_times(course: np.ndarray, near: int, rate: float) -> tuple[int, int, int]:
    """Onset, apex and offset of the bump of `course` (n,) near a place; at least 2 and 1 instants apart."""
    keys, prior, shapes, line = courses(rate)
    reach = (shapes.shape[1] - 1) // 2
    places = np.clip(np.arange(near - reach, near + reach + 1), 0, len(course) - 1)
    values = course[places] - course[places].mean()
    values = values - line @ (line.T @ values)
    along = np.maximum(shapes @ values, 0.0)  # (K,)
    error = np.maximum(values @ values - along**2, 0.0)
    free = max(len(values) - 4, 1)
    spread = float(error.min()) / free + 1e-12

    fit = np.exp(-(error - error.min()) / (2 * spread) * INDEPENDENT) * prior
    onset, apex, offset = (fit / fit.sum()) @ keys + near
    apex = int(np.clip(round(apex), 2, max(len(course) - 2, 2)))
    return max(min(round(onset), apex - 2), 0), apex, min(max(round(offset), apex + 1), len(course) - 1)
