"""The motion of a face over time -> movements with onset, apex and offset.

Axes: n frames, R regions
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from epir.spotting.regions import BROWS, EYES, NAMES
from epir.spotting.settings import SpottingSettings
from epir.spotting.timeline import Kind

SMOOTHING = 0.01  # seconds: noise from frame to frame is shorter
FOOT = 0.2  # of the peak: here the flanks are still above the noise
# A rise like sin^2 passes FOOT after this share of its way: onset and offset lie beyond the foot by that much.
REACHED = math.asin(math.sqrt(FOOT)) / (math.pi / 2)
VALLEY = 0.6  # of the lower of two peaks: a dip below it parts them
QUIET = 0.1  # share of the frames that are taken for rest
AROUND_BLINK = 0.03  # seconds: the flanks of a blink are longer than they look
DRAGGED = ("nose", "cheeks")  # next to the eyes
TOLERANCE = 1.15  # on the longest duration, for feet that are smeared


@dataclass(frozen=True, slots=True)
class Peak:
    """One rise and fall; places are indices of frames."""

    onset: int
    apex: int
    offset: int
    strength: float
    region: str
    kind: Kind


def find_blinks(motion: np.ndarray, lids: np.ndarray, fps: float, settings: SpottingSettings) -> list[Peak]:
    """The blinks in motion (n, R) and lids (n,): the eyes move far more than the brows, and downwards."""
    eyes, brows = (smoothed(motion[:, NAMES.index(name)], SMOOTHING * fps) for name in (EYES, BROWS))
    shutting = np.where(lids > settings.blink_share * motion[:, NAMES.index(EYES)], eyes, 0.0)
    return [
        Peak(onset, apex, offset, float(eyes[apex]), EYES, "blink")
        for onset, apex, offset in bumps(shutting, settings.least_blink)
        if eyes[apex] > settings.blink_ratio * brows[apex]
    ]


def without_blinks(
    motion: np.ndarray, lids: np.ndarray, blinks: Iterable[Peak], fps: float, settings: SpottingSettings
) -> np.ndarray:
    """The motion (n, R) in which expressions are looked for.

    Eyes count where they open wide: where they only look elsewhere or close they say nothing. During a blink eyes and
    brows are bridged from before to after, and nose and cheeks lose what a blink drags along.
    """
    eyes = NAMES.index(EYES)
    cleaned = motion.astype(float)
    cleaned[:, eyes] = np.where(lids < -settings.blink_share * motion[:, eyes], motion[:, eyes], 0.0)
    for first, last in _spans(blinks, max(1, math.ceil(AROUND_BLINK * fps)), len(motion) - 1):
        inside = slice(first, last + 1)
        for column in (NAMES.index(name) for name in DRAGGED):
            dragged = settings.blink_drag * motion[inside, eyes]
            cleaned[inside, column] = np.clip(motion[inside, column] - dragged, 0.0, None)
        for column in (eyes, NAMES.index(BROWS)):
            cleaned[inside, column] = np.linspace(cleaned[first, column], cleaned[last, column], last - first + 1)
    return cleaned


def _spans(blinks: Iterable[Peak], around: int, end: int) -> list[tuple[int, int]]:
    """First and last place of each blink with its flanks; blinks that touch are one."""
    spans: list[tuple[int, int]] = []
    for first, last in sorted((max(blink.onset - around, 0), min(blink.offset + around, end)) for blink in blinks):
        if spans and first <= spans[-1][1] + 1:
            spans[-1] = (spans[-1][0], max(last, spans[-1][1]))
        else:
            spans.append((first, last))
    return spans


def smoothed(values: np.ndarray, sigma: float) -> np.ndarray:
    """Values (n,) averaged with Gaussian weights; the ends are repeated."""
    reach = min(math.ceil(3 * sigma), len(values) - 1)
    if sigma < 0.3 or reach < 1:
        return values.astype(float)
    weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / sigma) ** 2)
    return np.convolve(np.pad(values.astype(float), reach, mode="edge"), weights / weights.sum(), mode="valid")


def motion_level(face: np.ndarray, settings: SpottingSettings) -> float:
    """The motion that a movement must reach in a video whose frames have the motion `face` (n,)."""
    rest = float(np.quantile(face, QUIET)) if len(face) else 0.0
    return max(settings.least_motion, settings.above_noise * rest)


def find_peaks(
    cleaned: np.ndarray, head: np.ndarray, fps: float, level: float, settings: SpottingSettings
) -> list[Peak]:
    """The movements in one stretch of video, from its motion without blinks (n, R), in the order of time."""
    face = smoothed(cleaned.max(axis=1), SMOOTHING * fps)
    found = []
    for onset, apex, offset in bumps(face, level):
        kind = _kind((offset - onset) / fps, float(face[apex]), float(head[apex]), fps, settings)
        region = NAMES[int(cleaned[apex].argmax())]
        found.append(Peak(onset, apex, offset, float(face[apex]), region, kind))
    return sorted(found, key=lambda peak: peak.apex)


def bumps(values: np.ndarray, level: float) -> Iterator[tuple[int, int, int]]:
    """Onset, apex and offset of every rise and fall of `values` (n,) that reaches `level`, strongest first."""
    free = np.ones(len(values), bool)
    while True:
        open_values = np.where(free, values, -np.inf)
        apex = int(open_values.argmax()) if len(values) else 0
        if not len(values) or open_values[apex] < level:
            return
        left, right = _foot(values, free, apex, -1), _foot(values, free, apex, 1)
        free[left : right + 1] = False
        if values[apex] > max(_beside(values, left - 1), _beside(values, right + 1)):
            onset = max(0, round(apex - (apex - left) / (1 - REACHED)))
            offset = min(len(values) - 1, round(apex + (right - apex) / (1 - REACHED)))
            yield onset, apex, offset


def _foot(values: np.ndarray, free: np.ndarray, apex: int, step: int) -> int:
    """The last place on one side of the apex before the flank is below its foot, or another peak begins."""
    lowest, at = values[apex], apex
    place = apex + step
    while 0 <= place < len(values) and free[place]:
        if values[place] < FOOT * values[apex]:
            return place - step if abs(place - apex) > 1 else place
        if values[place] < lowest:
            lowest, at = values[place], place
        elif lowest < VALLEY * min(values[place], values[apex]):
            return at
        place += step
    return place - step


def _beside(values: np.ndarray, place: int) -> float:
    return float(values[place]) if 0 <= place < len(values) else -math.inf


def _kind(seconds: float, strength: float, head: float, fps: float, settings: SpottingSettings) -> Kind:
    if head > settings.head_ratio * strength:
        return "head"
    if seconds > TOLERANCE * settings.longest + 1 / fps:
        return "long"
    if seconds < settings.shortest - 1 / fps:
        return "short"
    return "micro-expression"
