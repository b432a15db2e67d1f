"""Remove head motion from a flow, leaving the motion of the skin.

Axes: h, w pixels of the flow
"""

import numpy as np

ROUNDS = 12  # of reweighting, after which the fit has converged
GRID = 42  # points per side that the fit uses


def without_head_motion(flow: np.ndarray, kind: str = "keep") -> np.ndarray:
    """The (h, w, 2) flow without head motion: `keep` changes nothing, `median` and `similarity` subtract it."""
    if kind == "keep":
        return flow
    if kind == "median":
        return flow - np.median(flow, axis=(0, 1))
    return flow - similarity_motion(flow)


def similarity_motion(flow: np.ndarray) -> np.ndarray:
    """The shift, rotation and scale that most stable points follow, as an (h, w, 2) flow.

    Fitted by reweighted least squares: points that move differently (the expression) lose weight. Brows, lids and
    mouth, where expressions happen, start with little weight.
    """
    height, width = flow.shape[:2]
    rows, columns = np.mgrid[0:height, 0:width].astype(np.float64)
    across, down = (columns + 0.5) / width - 0.5, (rows + 0.5) / height - 0.5  # -1/2 .. 1/2 over the crop
    thin = (slice(None, None, max(1, height // GRID)), slice(None, None, max(1, width // GRID)))
    x, y = across[thin], down[thin]
    u, v = flow[thin][..., 0].astype(np.float64), flow[thin][..., 1].astype(np.float64)
    prior = stable_points(x, y)
    weights = prior
    for _ in range(ROUNDS):
        shift_x, shift_y, scale, turn = fit_similarity(x, y, u, v, weights)
        error = np.hypot(u - shift_x - scale * x + turn * y, v - shift_y - turn * x - scale * y)
        spread = 1.4826 * weighted_median(error, prior) + 1e-6
        weights = prior / (1.0 + (error / (2.0 * spread)) ** 2) ** 2  # Geman and McClure
    motion = [shift_x + scale * across - turn * down, shift_y + turn * across + scale * down]
    return np.stack(motion, axis=-1).astype(flow.dtype)


def fit_similarity(
    x: np.ndarray, y: np.ndarray, u: np.ndarray, v: np.ndarray, weights: np.ndarray
) -> tuple[float, float, float, float]:
    """Shift x, shift y, scale and turn of the weighted least-squares similarity, in closed form."""
    total = weights.sum()
    mean_x, mean_y = (weights * x).sum() / total, (weights * y).sum() / total
    mean_u, mean_v = (weights * u).sum() / total, (weights * v).sum() / total
    dx, dy = x - mean_x, y - mean_y
    norm = (weights * (dx**2 + dy**2)).sum()
    scale = (weights * (dx * (u - mean_u) + dy * (v - mean_v))).sum() / norm
    turn = (weights * (dx * (v - mean_v) - dy * (u - mean_u))).sum() / norm
    shift_x = mean_u - scale * mean_x + turn * mean_y
    shift_y = mean_v - turn * mean_x - scale * mean_y
    return float(shift_x), float(shift_y), float(scale), float(turn)


def stable_points(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """How still a point of the crop stays in an expression, 0..1: highest at the rim and the bridge of the nose."""
    moving = np.zeros_like(x)
    for centre_x, centre_y, radius_x, radius_y in ((0.24, -0.29, 0.16, 0.10), (0.0, 0.24, 0.26, 0.13)):
        for side in (-1.0, 1.0):
            away = ((x - side * centre_x) / radius_x) ** 2 + ((y - centre_y) / radius_y) ** 2
            moving = np.maximum(moving, np.exp(-away / 2))
    return 1.0 - 0.9 * moving


def weighted_median(values: np.ndarray, weights: np.ndarray) -> float:
    """The value below which half of the weight lies."""
    order = np.argsort(values, axis=None)
    reached = np.cumsum(weights.ravel()[order])
    return float(values.ravel()[order[np.searchsorted(reached, reached[-1] / 2)]])
