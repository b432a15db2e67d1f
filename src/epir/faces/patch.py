"""Parts of a frame: the small grey face for measuring, the colour patch around a face, and a face found in it."""

import math
from dataclasses import dataclass, replace

import cv2
import numpy as np

from epir.faces.align import Crop
from epir.faces.face import Face
from epir.faces.mtcnn import find_faces

AROUND = 1.7  # widths of the crop: the patch that is kept, and where a tracked face is searched for
CUBIC = 3  # px around a crop that cubic interpolation reads


@dataclass(frozen=True, slots=True)
class FacePatch:
    """The part of a frame around a face."""

    pixels: np.ndarray  # (h, w, 3) uint8 RGB
    left: int  # in px of the frame
    top: int
    scale: float  # px of the patch per px of the frame

    def place(self, crop: Crop) -> Crop:
        """Convert a crop of the frame to a crop of the patch."""
        x, y = ((at + 0.5) * self.scale - 0.5 for at in (crop.x - self.left, crop.y - self.top))
        return replace(crop, x=x, y=y, side=crop.side * self.scale)

    def aligned_to(self, other: "FacePatch") -> "FacePatch":
        """The patch resampled to the position and the size of another."""
        scale = self.scale / other.scale
        x, y = ((there - here) * self.scale for there, here in ((other.left, self.left), (other.top, self.top)))
        matrix = np.array([[scale, 0, x + 0.5 * (scale - 1)], [0, scale, y + 0.5 * (scale - 1)]])
        flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
        size = other.pixels.shape[1::-1]
        pixels = cv2.warpAffine(self.pixels, matrix, size, flags=flags, borderMode=cv2.BORDER_REPLICATE)
        return replace(other, pixels=pixels)


def face_near(pixels: np.ndarray, crop: Crop) -> Face | None:
    """The face nearest to a crop of a frame; only the surroundings of the crop are searched."""
    part = cut_patch(pixels, crop.widen(1.25), 0)
    near = []
    for face in find_faces(part.pixels, min_face=max(20, round(0.6 * crop.side))):
        placed = _moved(face, part)
        away = math.hypot(placed.centre[0] - crop.x, placed.centre[1] - crop.y)
        if placed.is_plausible and away < crop.side / 2:
            near.append((away, placed))
    return min(near, key=lambda pair: pair[0])[1] if near else None


def small_face(pixels: np.ndarray, crop: Crop, size: int) -> np.ndarray:
    """The face of a (H, W, 3) frame in grey, (size, size) uint8.

    A faster `Crop.apply`: only the face is converted to grey, large faces are halved first, and interpolation is linear
    if many points are averaged afterwards.
    """
    left, top, right, bottom = _around(crop, 1.0, pixels.shape)
    grey = cv2.cvtColor(pixels[top:bottom, left:right], cv2.COLOR_RGB2GRAY)
    part, halved = _halved(grey, crop.side / (2 * size))
    placed = FacePatch(part, left, top, halved).place(crop)
    times = max(1, math.ceil(placed.side * max(placed.stretch, 1.0) / size - 0.01))
    fine = cv2.warpAffine(
        part,
        placed.matrix(size * times),
        (size * times, size * times),
        flags=(cv2.INTER_CUBIC if times <= 2 else cv2.INTER_LINEAR) | cv2.WARP_INVERSE_MAP,
        borderMode=cv2.BORDER_REPLICATE,
    )
    return fine if times == 1 else cv2.resize(fine, (size, size), interpolation=cv2.INTER_AREA)


def cut_patch(pixels: np.ndarray, crop: Crop, most: int) -> FacePatch:
    """The surroundings of a crop, shrunk to at most `most` px a side (0: not shrunk, and not copied)."""
    left, top, right, bottom = _around(crop, AROUND, pixels.shape)
    part = pixels[top:bottom, left:right]
    longest = max(part.shape[:2])
    if not most or longest <= most:
        return FacePatch(part.copy() if most else part, left, top, 1.0)
    half, halved = _halved(part, longest / most)
    scale = min(1.0, most / max(half.shape[:2]))
    size = max(1, round(half.shape[1] * scale)), max(1, round(half.shape[0] * scale))
    small = half if scale == 1.0 else cv2.resize(half, size, interpolation=cv2.INTER_LINEAR)
    return FacePatch(small, left, top, halved * small.shape[1] / half.shape[1])


def _halved(part: np.ndarray, times: float) -> tuple[np.ndarray, float]:
    """A picture halved as often as it stays at least 1 / `times` of its size, and its scale."""
    scale = 1.0
    while times >= 2 and min(part.shape[:2]) >= 4:
        height, width = (side // 2 for side in part.shape[:2])
        part = cv2.resize(part[: 2 * height, : 2 * width], (width, height), interpolation=cv2.INTER_AREA)
        times, scale = times / 2, scale / 2
    return part, scale


def _around(crop: Crop, factor: float, shape: tuple[int, ...]) -> tuple[int, int, int, int]:
    """Left, top, right and bottom of the region around a crop, clipped to a frame of `shape`; never empty."""
    turn = math.radians(crop.angle)
    reach = factor * crop.side / 2 * (abs(math.cos(turn)) + abs(math.sin(turn))) + CUBIC
    down = reach * crop.stretch
    left, right = (int(np.clip(round(crop.x + side * reach), 0, shape[1])) for side in (-1, 1))
    top, bottom = (int(np.clip(round(crop.y + side * down), 0, shape[0])) for side in (-1, 1))
    left, top = min(left, shape[1] - 1), min(top, shape[0] - 1)
    return left, top, max(right, left + 1), max(bottom, top + 1)


def _moved(face: Face, part: FacePatch) -> Face:
    """A face found in an unscaled patch, in px of the frame."""
    x, y = part.left, part.top
    left, top, right, bottom = face.box
    one, two, three, four, five = ((point[0] + x, point[1] + y) for point in face.landmarks)
    return Face((left + x, top + y, right + x, bottom + y), one, two, three, four, five, face.confidence)
