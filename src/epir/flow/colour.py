"""Drawing motion: flow as colours and as arrows, strain as brightness.

Hue shows direction (see `colour_wheel`), saturation shows speed; white does not move.

Axes: h, w pixels; pictures are (h, w, 3) uint8 RGB
"""

import cv2
import numpy as np


def flow_to_colour(flow: np.ndarray, peak: float | None = None) -> np.ndarray:
    """An (h, w, 2) flow as colours; vectors of length `peak` get full colour (default: the 99 % quantile)."""
    length, angle = np.hypot(flow[..., 0], flow[..., 1]), np.arctan2(flow[..., 1], flow[..., 0])
    peak = flow_peak(flow) if peak is None else peak
    shades = np.empty((*length.shape, 3), np.float32)
    shades[..., 0] = np.degrees(angle) % 360.0
    shades[..., 1] = np.clip(length / max(peak, 1e-9), 0.0, 1.0)
    shades[..., 2] = 1.0 - 0.15 * shades[..., 1]  # full colours are a little darker, to stand out from white
    return (cv2.cvtColor(shades, cv2.COLOR_HSV2RGB) * 255.0).round().astype(np.uint8)


def flow_peak(flow: np.ndarray) -> float:
    """The 99 % quantile of the vector lengths."""
    return float(np.quantile(np.hypot(flow[..., 0], flow[..., 1]), 0.99))


def colour_wheel(size: int) -> np.ndarray:
    """The legend of `flow_to_colour`: a disc in which each point has the colour of its direction."""
    y, x = (np.mgrid[0:size, 0:size] - (size - 1) / 2) / (size / 2)
    wheel = flow_to_colour(np.stack([x, y], axis=-1), peak=1.0)
    wheel[np.hypot(x, y) > 1.0] = 255
    return wheel


def strain_to_colour(strain: np.ndarray, peak: float | None = None) -> np.ndarray:
    """An (h, w) strain from dark to bright; `peak` gets the brightest colour (default: the 99 % quantile)."""
    peak = float(np.quantile(strain, 0.99)) if peak is None else peak
    level = (np.clip(strain / max(peak, 1e-9), 0.0, 1.0) * 255.0).round().astype(np.uint8)
    return cv2.cvtColor(cv2.applyColorMap(level, cv2.COLORMAP_INFERNO), cv2.COLOR_BGR2RGB)


def draw_arrows(face: np.ndarray, flow: np.ndarray, *, cells: int = 14, peak: float | None = None) -> np.ndarray:
    """The face, lightened, with one arrow per cell; a vector of length `peak` is drawn one and a half cells long."""
    size = face.shape[0]
    peak = max(flow_peak(flow) if peak is None else peak, 1e-9)
    fine = 2  # drawn at twice the size and averaged, which keeps thin lines smooth
    picture = cv2.resize((face * 0.55 + 255.0 * 0.45).astype(np.uint8), (size * fine, size * fine))
    means = cv2.resize(np.ascontiguousarray(flow, dtype=np.float32), (cells, cells), interpolation=cv2.INTER_AREA)
    cell = size * fine / cells
    for row in range(cells):
        for column in range(cells):
            u, v = means[row, column] / peak * 1.5 * cell
            if np.hypot(u, v) < 0.12 * cell:
                continue
            x, y = (column + 0.5) * cell, (row + 0.5) * cell
            ends = (round(x), round(y)), (round(x + u), round(y + v))
            cv2.arrowedLine(picture, *ends, (190, 20, 40), thickness=2, line_type=cv2.LINE_AA, tipLength=0.35)
    return cv2.resize(picture, (size, size), interpolation=cv2.INTER_AREA)
