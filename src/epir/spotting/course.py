"""Onset, apex and offset of a movement in its course over time.

Every course that a micro-expression may take, fast or slow to rise and to return, is compared with what was measured;
onset and offset are their means, each course counting by how well it explains the measurement and by how common it is.
Noise that spoils one flank thus moves the estimate little.

[Y] Yan et al. 2013, How fast are the leaked facial expressions: the onset phase is quicker than the rest

Axes: n instants, K courses, w instants of a window
"""

from functools import lru_cache

import numpy as np

RISES = (0.05, 0.08, 0.11, 0.14, 0.18, 0.22, 0.27)  # seconds
FALLS = (0.06, 0.10, 0.14, 0.18, 0.23, 0.28, 0.34)
SHORTEST, LONGEST = 1 / 25, 0.55  # seconds from onset to offset
EARLIER = 0.12  # seconds by which the apex may lie beside the place that is given
AROUND = 0.55  # seconds before and after that place which are compared
INDEPENDENT = 0.25  # observations an instant: neighbouring instants of a living face err alike


@lru_cache(maxsize=16)
def courses(rate: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Key times (K, 3) in instants from the middle, prior (K,), shapes (K, w) free of lines, and the lines (w, 2)."""
    reach = max(3, round(AROUND * rate))
    times = np.arange(-reach, reach + 1)  # (w,)
    step = max(1, round(rate / 50))
    middle = np.arange(-round(EARLIER * rate), round(EARLIER * rate) + 1, step)
    keys, prior = [], []
    for rise in RISES:
        for fall in FALLS:
            length = rise + fall
            if not SHORTEST <= length <= LONGEST or rise * rate < 1.2 or fall * rate < 1.2:
                continue
            share = (length - SHORTEST) / (LONGEST - SHORTEST)
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
