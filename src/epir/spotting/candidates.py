"""Find rises and falls in the displacement of the skin that may be micro-expressions.

A micro-expression rises, may hold, and returns, and the skin is at rest before and after. For every region, every
instant and several durations, a straight line plus a bump is fitted to the displacement. The amplitude of the bump
relative to the residual says how clearly it stands out: speech, a turn of the head or a lasting expression leave a
large residual whatever their size. Each region is fitted separately, so a lively one does not hide another.

Movements of the whole face are found by an adaptive matched filter [R]: at every instant, the amplitudes of all regions
are compared with patterns of expressions, and the covariance of the noise comes from the surrounding seconds. Someone
who talks moves mouth and chin a lot and together, so these count for little and quiet brows for much.

Onset, apex and offset of a movement of the whole face are means over many courses, fast or slow to rise and to return,
weighted by how well each fits and how common it is [Y]. Noise on one flank then moves them little.

[R] Robey et al. 1992, A CFAR adaptive matched filter detector, IEEE Trans. AES 28(1)
[Y] Yan et al. 2013, How fast are the leaked facial expressions: the onset phase is quicker than the rest

Axes: n instants, C channels (two per region), R regions, P patterns, D durations, K courses, w instants of a window
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

import numpy as np

from epir.spotting.measure import Motion
from epir.spotting.regions import EYES, GROUPS, REGIONS, members

CLASSIFIER = "false_alarm_classifier.json"
DURATIONS = (0.13, 0.18, 0.24, 0.32, 0.42, 0.55)  # seconds from onset to offset
RISE = 0.45  # share of the duration
AROUND = 0.3  # seconds before and after the bump that the line alone must explain
CONTEXT = 0.8  # seconds before and after that tell speech from a single movement
NOISE = 0.0003  # share of the face's width: displacement caused by camera noise
LEAST = 0.0008  # share of the face's width: minimum amplitude of a bump
STANDS_OUT = 2.5  # minimum ratio of amplitude to residual
MIN_SCORE = 2.5  # minimum `PatternEvidence.score` of a movement of the whole face
USUAL = 2.5  # seconds before and after within which scores are compared
APART = 0.2  # minimum seconds between two candidates of one group
AFTERWARDS = 0.2  # seconds before the onset and after the offset that are compared
LASTING = (0.7, 1.0, 1.4, 2.0, 2.8, 3.8)  # durations of macro-expressions, in seconds
LASTING_APART = 0.6
FOOT = 0.2  # share of the peak at which the flanks are still above the noise
# A rise like sin^2 passes FOOT after this share of its length; onset and offset lie beyond the foot by as much.
REACHED = math.asin(math.sqrt(FOOT)) / (math.pi / 2)
VALLEY = 0.6  # share of the lower of two peaks: a deeper dip separates them
RISES = (0.05, 0.08, 0.11, 0.14, 0.18, 0.22, 0.27)  # seconds
FALLS = (0.06, 0.10, 0.14, 0.18, 0.23, 0.28, 0.34)
SHORTEST_COURSE, LONGEST_COURSE = 1 / 25, 0.55  # seconds from onset to offset
APEX_SHIFT = 0.12  # seconds by which the apex may differ from the candidate's instant
COMPARED = 0.55  # seconds before and after that instant that are compared
INDEPENDENT = 0.25  # independent observations per instant: errors of neighbouring instants are correlated
SHRINKAGE = 0.4  # of the covariance towards its diagonal: a few seconds of motion do not determine all of it
QUIET = 0.0006  # share of the face's width: usual motion of a quiet face
ENOUGH = 4.0  # seconds that show how a face usually moves; a shorter clip may show little but the expression
ROUNDS = 3  # of reweighting


@dataclass(frozen=True)
class Candidate:
    """One bump of a group of regions; key times are instants, lengths are shares of the face's width."""

    onset: int
    apex: int
    offset: int
    group: str
    strongest: int  # index of the region
    stands_out: float  # amplitude divided by the residual nearby
    isolated: float  # amplitude divided by the residual in a wider context
    amplitudes: np.ndarray  # (R, 2) of the bump in every region
    residual: np.ndarray  # (R,) of every region, in the wider context
    head: np.ndarray  # (M,) amplitude of the head's bump
    head_residual: np.ndarray  # (M,)
    mismatch: float  # of the face during the bump, divided by that of the surrounding seconds
    step: float  # log of the error of a bump divided by that of a lasting change; above 0 the skin does not return
    foot: float = 0.0  # seconds from one foot to the other
    unreturned: float = 0.0  # share of the displacement that remains after the offset
    evidence: float = 0.0  # `PatternEvidence.score`
    share: float = 0.0  # `PatternEvidence.share`
    unusual: float = 0.0  # the score divided by usual scores in the surrounding seconds
    light: float = 0.0  # range of the log brightness of the face from onset to offset

    @property
    def lengths(self) -> np.ndarray:
        """The amplitude of every region, (R,)."""
        return np.hypot(self.amplitudes[:, 0], self.amplitudes[:, 1])


@cache
def shipped_classifier() -> dict[str, Any]:
    """The shipped weights and patterns of the false-alarm classifier (`epir.spotting.false_alarm_training`)."""
    return dict(json.loads(files("epir.spotting").joinpath(CLASSIFIER).read_text(encoding="utf-8")))


@cache
def expression_patterns() -> np.ndarray:
    """How the regions move in expressions of the three classes, (P, R, 2), each of length 1."""
    return np.array(shipped_classifier()["patterns"]).reshape(-1, len(REGIONS), 2)


def robust_covariance(values: np.ndarray, trust: float = 1.0) -> np.ndarray:
    """The covariance (C, C) of values (n, C) about zero; outliers, such as blinks, count less.

    With `trust` below 1, it is mixed with the covariance of a quiet face.
    """
    weights, channels = np.ones(len(values)), values.shape[1]
    for _ in range(ROUNDS):
        covariance = (values * weights[:, None]).T @ values / weights.sum()
        covariance = trust * ((1 - SHRINKAGE) * covariance + np.diag(SHRINKAGE * np.diag(covariance)))
        covariance = covariance + (NOISE**2 + (1 - trust) * QUIET**2) * np.eye(channels)
        distance = np.einsum("nc,cn->n", values, np.linalg.solve(covariance, values.T)) / channels
        weights = 1 / (1 + distance)
    return np.asarray(covariance)


@dataclass(frozen=True)
class PatternEvidence:
    """How much the face moves like an expression at every instant, for bumps of one duration."""

    score: np.ndarray  # (n,) of the best pattern, in standard deviations of this face's usual motion
    pattern: np.ndarray  # (n,) index of the best pattern
    share: np.ndarray  # (n,) share of the unusual motion that follows the pattern, 0..1
    filters: np.ndarray  # (P, C) weights of the channels in the score of each pattern


def weigh(amplitudes: np.ndarray, known: np.ndarray, rate: float) -> PatternEvidence:
    """Compare amplitudes (n, C), `rate` per second, with patterns (P, R, 2)."""
    trust = min(len(amplitudes) / rate / ENOUGH, 1.0) ** 2
    flat = known.reshape(len(known), -1)  # (P, C)
    whitened = np.linalg.solve(robust_covariance(amplitudes, trust), np.concatenate([flat, amplitudes]).T).T
    filters = whitened[: len(flat)]
    filters = filters / np.sqrt((filters * flat).sum(axis=1, keepdims=True))
    scores = amplitudes @ filters.T  # (n, P)
    best = scores.argmax(axis=1)
    score = scores[np.arange(len(scores)), best]
    energy = (amplitudes * whitened[len(flat) :]).sum(axis=1)
    return PatternEvidence(score, best, np.maximum(score, 0.0) ** 2 / (energy + 0.1), filters)


def bump(times: np.ndarray, duration: float) -> np.ndarray:
    """A rise and fall like sin^2 with its peak of 1 at time 0; times are in seconds."""
    up, down = 1 + times / (RISE * duration), 1 - times / ((1 - RISE) * duration)
    return np.sin(np.pi / 2 * np.clip(np.minimum(up, down), 0, 1)) ** 2


def _reach(duration: float, around: float, rate: float) -> tuple[int, int]:
    """The instants before and after the apex that a bump and `around` seconds on both sides take."""
    return math.ceil((RISE * duration + around) * rate), math.ceil(((1 - RISE) * duration + around) * rate)


def fit_bumps(values: np.ndarray, rate: float, duration: float) -> tuple[np.ndarray, np.ndarray]:
    """Fit a bump with its apex at each instant: its amplitude and the residual, both (n, C).

    The values (n, C) are extended beyond both ends by the first and the last.
    """
    before, after = _reach(duration, AROUND, rate)
    times = np.arange(-before, after + 1) / rate
    line = np.linalg.qr(np.stack([np.ones_like(times), times], axis=1))[0]  # (w, 2)
    shape = bump(times, duration)
    shape = shape - line @ (line.T @ shape)
    power = float(shape @ shape)
    padded = np.pad(values, ((before, after), (0, 0)), mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, len(times), axis=0)  # (n, C, w)
    parts = windows @ np.concatenate([line, shape[:, None] / math.sqrt(power)], axis=1)  # (n, C, 3)
    error = np.einsum("ncw,ncw->nc", windows, windows) - (parts**2).sum(axis=-1)
    residual = np.sqrt(np.maximum(error, 0) / max(len(times) - 3, 1))
    return parts[..., 2] / math.sqrt(power), residual


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
    """The candidates in a motion at `rate` instants per second, by time.

    `lengths` are the durations to try and `apart` is the minimum distance of two candidates of one group, in seconds.
    `known` replaces the shipped patterns (P, R, 2). Outside the instants `within`, only the eyes are searched. `whole`
    also searches for movements of the whole face.
    """
    count = len(motion.skin)
    durations = [each for each in lengths if each * rate >= 3]
    if count < 3 or not durations:
        return []
    flat = motion.skin.reshape(count, -1).astype(np.float64)
    flat = flat - flat.mean(axis=0)
    fits = [fit_bumps(flat, rate, duration) for duration in durations]
    amplitude = np.array([np.hypot(each[:, ::2], each[:, 1::2]) for each, _ in fits])  # (D, n, R)
    residual = np.array([np.sqrt((each[:, ::2] ** 2 + each[:, 1::2] ** 2) / 2) for _, each in fits])
    clear = np.where(amplitude > LEAST, amplitude / (residual + NOISE), 0.0)
    evidence = (
        [weigh(each, expression_patterns() if known is None else known, rate) for each, _ in fits] if whole else []
    )
    scores = np.array([each.score for each in evidence]).reshape(-1, count)  # (D, n), or (0, n)
    reach = RISE * durations[-1] * rate  # how far the apex may lie from the middle of the bump
    first, last = within[0] - reach, within[1] + reach
    describer = _Describer(motion, flat, rate, scores, evidence)
    candidates: list[Candidate | None] = []
    for group in GROUPS:
        in_group = clear[..., members(group)]  # (D, n, regions of the group)
        best = in_group.max(axis=(0, 2))  # (n,)
        for apex in separate_peaks(best, STANDS_OUT, max(1, round(apart * rate))):
            if group != EYES and not first <= apex < last:
                continue
            which, place = np.unravel_index(int(in_group[:, apex].argmax()), in_group[:, apex].shape)
            region = int(members(group)[place])
            candidates.append(describer.describe(apex, durations[which], region, float(best[apex])))
    for apex in separate_peaks(scores.max(axis=0, initial=0.0), MIN_SCORE, max(1, round(apart * rate))):
        if not first <= apex < last:
            continue
        best_fit = int(scores[:, apex].argmax())
        filters = evidence[best_fit].filters[evidence[best_fit].pattern[apex]]
        share = filters * fits[best_fit][0][apex]  # (C,) of the score
        region = int((share[::2] + share[1::2]).argmax())
        stands_out = float(clear[best_fit, apex, region])
        if stands_out >= STANDS_OUT:  # otherwise it is the peak of a lasting expression
            candidates.append(describer.describe(apex, durations[best_fit], region, stands_out, whole=best_fit))
    return sorted((each for each in candidates if each is not None), key=lambda each: each.apex)


def separate_peaks(values: np.ndarray, least: float, apart: int) -> list[int]:
    """The indices of the peaks of values (n,) of at least `least`, more than `apart` from any higher one."""
    open_values, places = values.astype(float).copy(), []
    while len(values) and open_values.max() >= least:
        place = int(open_values.argmax())
        open_values[max(place - apart, 0) : place + apart + 1] = -np.inf
        places.append(place)
    return places


@dataclass(frozen=True)
class _Describer:
    """Builds the candidates of one motion."""

    motion: Motion
    flat: np.ndarray  # (n, C) displacement of the skin about its mean
    rate: float
    scores: np.ndarray  # (D, n)
    evidence: list[PatternEvidence]

    def describe(
        self, apex: int, duration: float, region: int, clear: float, whole: int | None = None
    ) -> Candidate | None:
        """The candidate at `apex`; its key times come from the region, or from the whole face at duration `whole`."""
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
        in_context, residual, _ = _fit(flat, rate, apex, duration, far)
        head, head_residual, _ = _fit(self.motion.head.astype(np.float64), rate, apex, duration, near)
        residual = np.sqrt((residual.reshape(-1, 2) ** 2).mean(axis=1))
        evidence, share, unusual = self._unusual(apex)
        covered = float(self.motion.mismatch[edges[0] : edges[2] + 1].max() + 0.5)
        return Candidate(
            *edges,
            group=REGIONS[region].group,
            strongest=region,
            stands_out=clear,
            isolated=float(np.hypot(*in_context[channels])) / (float(residual[region]) + NOISE),
            amplitudes=amplitude.reshape(-1, 2),
            residual=residual,
            head=head,
            head_residual=head_residual,
            mismatch=covered / float(np.median(self.motion.mismatch[far]) + 0.5),
            step=_step(flat[near, channels], rate, near, apex, duration),
            foot=(feet[2] - feet[0]) / rate,
            unreturned=_unreturned(flat[:, channels] @ direction, edges, max(1, round(AFTERWARDS * rate))),
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
    before, after = _reach(duration, around, rate)
    return slice(max(apex - before, 0), min(apex + after + 1, count))


@lru_cache(maxsize=512)
def _basis(rate: float, first: int, last: int, duration: float) -> tuple[np.ndarray, np.ndarray]:
    """Line and bump at instants from the apex, (w, 3), and its pseudo-inverse (3, w)."""
    times = np.arange(first, last) / rate
    basis = np.stack([np.ones_like(times), times, bump(times, duration)], axis=1)
    return basis, np.linalg.pinv(basis)


def _fit(
    values: np.ndarray, rate: float, apex: int, duration: float, window: slice
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Amplitude and residual (C,) of one bump, and level and slope (2, C) of the line below it."""
    basis, inverse = _basis(rate, window.start - apex, window.stop - apex, duration)
    parts = inverse @ values[window]  # (3, C)
    error = values[window] - basis @ parts
    residual = np.sqrt((error**2).sum(axis=0) / max(len(basis) - 3, 1))
    return parts[2], residual, parts[:2]


@lru_cache(maxsize=512)
def _changes(rate: float, first: int, last: int, duration: float) -> np.ndarray:
    """Orthonormal bases of a line with a bump, then of a line with each lasting change, (1 + changes, 3, w)."""
    times = np.arange(first, last) / rate
    lasting = [np.clip((times - at) / 0.08 + 0.5, 0, 1) for at in np.arange(-0.5, 0.61, 0.1) * duration]
    shapes = [bump(times, duration), *lasting]
    bases = [np.linalg.svd(np.stack([np.ones_like(times), times, shape]), full_matrices=False) for shape in shapes]
    return np.array([rows * (sizes > 1e-9 * sizes[0])[:, None] for _, sizes, rows in bases])


def _step(values: np.ndarray, rate: float, window: slice, apex: int, duration: float) -> float:
    """`Candidate.step`."""
    parts = _changes(rate, window.start - apex, window.stop - apex, duration) @ values  # (1 + changes, 3, 2)
    errors = np.maximum((values**2).sum() - (parts**2).sum(axis=(1, 2)), 0.0) + len(values) * 1e-9
    return math.log(errors[0] / errors[1:].min())


def _between(feet: tuple[int, int, int], apex: int, length: float, count: int) -> tuple[int, int, int]:
    """Onset, apex and offset halfway between the feet, which noise moves, and the ends of the bump, which are fixed."""
    onset = round((feet[0] + apex - RISE * length) / 2)
    offset = round((feet[2] + apex + (1 - RISE) * length) / 2)
    return max(min(onset, feet[1] - 2), 0), feet[1], min(max(offset, feet[1] + 1), count - 1)


def _unreturned(course: np.ndarray, edges: tuple[int, int, int], around: int) -> float:
    """`Candidate.unreturned`."""
    onset, apex, offset = edges
    before, after = course[max(onset - around, 0) : onset + 1].mean(), course[offset : offset + around + 1].mean()
    return float(abs(after - before) / max(course[apex] - min(before, after), 1e-9))


def find_edges(course: np.ndarray, near: int, reach: int) -> tuple[int, int, int] | None:
    """Onset, apex and offset of the peak of `course` (n,) within `reach` of an index; None at the very ends."""
    low = max(near - reach, 0)
    apex = low + int(course[low : near + reach + 1].argmax())
    left, right = (foot(course, apex, step) for step in (-1, 1))
    onset = max(0, round(apex - (apex - left) / (1 - REACHED)))
    offset = min(len(course) - 1, round(apex + (right - apex) / (1 - REACHED)))
    onset, offset = min(onset, apex - 2), max(offset, apex + 1)
    return (onset, apex, offset) if onset >= 0 and offset < len(course) else None


def foot(course: np.ndarray, apex: int, step: int) -> int:
    """The last index on one side of the apex before the flank falls below its foot or another peak begins."""
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
    """Key times (K, 3) relative to the middle, prior (K,), shapes (K, w) without their line, and the line (w, 2)."""
    reach = max(3, round(COMPARED * rate))
    times = np.arange(-reach, reach + 1)  # (w,)
    step = max(1, round(rate / 50))
    middle = np.arange(-round(APEX_SHIFT * rate), round(APEX_SHIFT * rate) + 1, step)
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
    """Onset, apex and offset of the bump of `course` (n,) near an index; at least 2 and 1 instants apart."""
    keys, prior, shapes, line = courses(rate)
    reach = (shapes.shape[1] - 1) // 2
    places = np.clip(np.arange(near - reach, near + reach + 1), 0, len(course) - 1)
    values = course[places] - course[places].mean()
    values = values - line @ (line.T @ values)
    along = np.maximum(shapes @ values, 0.0)  # (K,)
    error = np.maximum(values @ values - along**2, 0.0)
    spread = float(error.min()) / max(len(values) - 4, 1) + 1e-12
    fit = np.exp(-(error - error.min()) / (2 * spread) * INDEPENDENT) * prior
    onset, apex, offset = (fit / fit.sum()) @ keys + near
    apex = int(np.clip(round(apex), 2, max(len(course) - 2, 2)))
    return max(min(round(onset), apex - 2), 0), apex, min(max(round(offset), apex + 1), len(course) - 1)
