"""Whether two pictures belong to one shot of one person, and whether a face is drawn rather than filmed.

The limits were read off real videos: consecutive and distant frames of seven people, pairs of different people, drawn
faces (docs/video.md). They are set so that two frames of one shot are never refused; some pairs of different people in
front of one background pass.

Axes: h pixels of a face
"""

import cv2
import numpy as np

SIZE = 64  # px: width at which faces are compared
SHIFT = 4  # px: landmarks of one face differ by less
FINE, COARSE = 2.0, 8.0  # px: the structure in between makes a face; coarser is light
SAME_FACE = 0.8  # likeness from which two faces are one person's, whatever is around them
OTHER_FACE = 0.3  # likeness below which they are two people's, whatever is around them
SAME_PLACE = 0.6  # share of the colours that two frames of one shot have in common
FLAT = 0.35  # share of a face without any shading, from which it is drawn
FLAT_SIZE = 84  # px: width at which this is measured
FAINT = 12.0  # grey levels: in a face of less contrast, coding makes everything flat


def colours(pixels: np.ndarray) -> np.ndarray:
    """Shares of 512 colours in a (H, W, 3) uint8 frame, thinned out, (512,)."""
    step = max(1, min(pixels.shape[:2]) // 48)
    bins = (pixels[::step, ::step] >> 5).reshape(-1, 3).astype(np.int32)
    counts = np.bincount(bins @ np.array([64, 8, 1], np.int32), minlength=512)
    return counts / counts.sum()


def shared_colours(one: np.ndarray, other: np.ndarray) -> float:
    """How much two shares of colours (512,) have in common, 0 to 1."""
    return float(np.minimum(one, other).sum())


def likeness(one: np.ndarray, other: np.ndarray) -> float:
    """How alike two aligned grey faces (h, h) uint8 are, -1 to 1: the best correlation of their structure nearby."""
    first, second = _structure(one), _structure(other)
    inner = (slice(SHIFT, -SHIFT),) * 2
    pairs = ((first, second[inner]), (second, first[inner]))
    return max(float(cv2.matchTemplate(whole, part, cv2.TM_CCOEFF_NORMED).max()) for whole, part in pairs)


def one_shot(alike: float, shared: float) -> bool:
    """Whether two pictures can be of one person in one shot, by the likeness of faces and the shared colours."""
    if alike < OTHER_FACE:
        return False
    return alike >= SAME_FACE or shared >= SAME_PLACE


def flatness(face: np.ndarray) -> float:
    """The share of a grey face (h, h) uint8 without shading: large in drawings, small on skin; 0 where it is faint."""
    grey = cv2.resize(face, (FLAT_SIZE, FLAT_SIZE), interpolation=cv2.INTER_AREA).astype(np.float32)
    if grey.std() < FAINT:
        return 0.0
    across, down = np.abs(grey[1:-1, 2:] - grey[1:-1, :-2]), np.abs(grey[2:, 1:-1] - grey[:-2, 1:-1])
    return float(((across <= 1) & (down <= 1)).mean())


def correlation(one: np.ndarray, other: np.ndarray) -> float:
    """Plain correlation of two grey faces (h, h) under one crop; a change of brightness leaves it at 1."""
    first, second = (each.astype(np.float32) - each.mean(dtype=np.float32) for each in (one, other))
    scale = float(np.sqrt((first * first).sum() * (second * second).sum()))
    if scale == 0:
        return float(not first.any() and not second.any())
    return float((first * second).sum()) / scale


def _structure(face: np.ndarray) -> np.ndarray:
    grey = cv2.resize(face, (SIZE, SIZE), interpolation=cv2.INTER_AREA).astype(np.float32)
    band = cv2.GaussianBlur(grey, (0, 0), FINE) - cv2.GaussianBlur(grey, (0, 0), COARSE)
    strength = np.sqrt(cv2.GaussianBlur(band * band, (0, 0), 2 * COARSE))
    return band / (strength + 2.0)
