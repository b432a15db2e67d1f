"""A face -> the square to cut out of every frame of its clip.

The landmarks determine the square, not the detector's box: with the usual margin the eyes lie a quarter from the top
and the mouth a quarter from the bottom, so that brows, lids and lips of all people fall into the same cells of a map.
"""

import math
from dataclasses import dataclass, replace

import cv2
import numpy as np

from epir.core.errors import FrameError
from epir.faces.face import Face, FaceSettings


@dataclass(frozen=True, slots=True)
class Crop:
    """A square of the frame, rotated about its centre; lengths in pixels of the frame, angle in degrees.

    Pixel centres have whole coordinates. The angle is positive if the eye line falls towards the right of the picture.
    `stretch` is height divided by width: 1 for a square; other values stretch frames that are already cropped, but not
    square, to a square.
    """

    x: float  # centre
    y: float
    side: float
    angle: float = 0.0
    stretch: float = 1.0

    def apply(self, frame: np.ndarray, size: int) -> np.ndarray:
        """Cut the square out of a (H, W, 3) uint8 frame as (size, size, 3); beyond the frame its border is repeated."""
        times = max(1, math.ceil(self.side * max(self.stretch, 1.0) / size - 0.01))  # no frame pixel is skipped
        fine = cv2.warpAffine(
            frame,
            self.matrix(size * times),
            (size * times, size * times),
            flags=cv2.INTER_CUBIC | cv2.WARP_INVERSE_MAP,
            borderMode=cv2.BORDER_REPLICATE,
        )
        return fine if times == 1 else cv2.resize(fine, (size, size), interpolation=cv2.INTER_AREA)

    def matrix(self, size: int) -> np.ndarray:
        """The (2, 3) matrix from pixels of the crop at `size` to pixels of the frame."""
        turn = math.radians(self.angle)
        cos, sin = math.cos(turn) * self.side / size, math.sin(turn) * self.side / size
        across, down = np.array([cos, sin]), np.array([-sin, cos]) * self.stretch
        origin = np.array([self.x, self.y]) - (across + down) * (size - 1) / 2
        return np.stack([across, down, origin], axis=1)

    def to_frame(self, points: np.ndarray, size: int) -> np.ndarray:
        """Convert points (n, 2) of the crop at `size` to points of the frame."""
        matrix = self.matrix(size)
        return points @ matrix[:, :2].T + matrix[:, 2]

    def to_crop(self, points: np.ndarray, size: int) -> np.ndarray:
        """Convert points (n, 2) of the frame to points of the crop at `size`."""
        matrix = self.matrix(size)
        return (points - matrix[:, 2]) @ np.linalg.inv(matrix[:, :2]).T

    def widen(self, factor: float) -> "Crop":
        """A crop with the same centre and angle, and `factor` times the side."""
        return replace(self, side=self.side * factor)

    def to_text(self) -> str:
        """The crop as clips.csv holds it; `from_text` reads it."""
        return " ".join(f"{name}={getattr(self, name):.6g}" for name in ("x", "y", "side", "angle", "stretch"))

    @classmethod
    def from_text(cls, text: str) -> "Crop":
        """The crop that `to_text` wrote."""
        try:
            values = {name: float(value) for name, value in (part.split("=") for part in text.split())}
            return cls(**values)
        except (ValueError, TypeError):
            raise FrameError(
                f"{text!r} is not a crop", fix="write it as: x=320 y=240 side=200 angle=0 stretch=1"
            ) from None

    def rounded(self) -> "Crop":
        """The crop at the precision of `to_text`, so that a crop read from clips.csv cuts out the same pixels."""
        return Crop.from_text(self.to_text())


def face_crop(face: Face, settings: FaceSettings | None = None) -> Crop:
    """The crop for a face: centred between eyes and mouth, sized by their distances and the margin."""
    settings = settings or FaceSettings()
    left, right = np.array(face.left_eye), np.array(face.right_eye)
    eyes, mouth = (left + right) / 2, (np.array(face.mouth_left) + np.array(face.mouth_right)) / 2
    across = right - left
    turn = math.atan2(across[1], across[0]) if settings.align else 0.0
    down = np.array([-math.sin(turn), math.cos(turn)])
    height = abs(float((mouth - eyes) @ down))
    span = (float(np.hypot(*across)) + height) / 2  # a turned head shortens one of them, seldom both
    x, y = eyes + (mouth - eyes) / 2
    side = max(span, 1.0) * (1.0 + 2.0 * settings.margin)
    return Crop(x=float(x), y=float(y), side=side, angle=math.degrees(turn)).rounded()


def whole_frame(frame: np.ndarray) -> Crop:
    """The whole frame, stretched to a square: for corpora that are already cropped."""
    height, width = frame.shape[:2]
    return Crop(x=(width - 1) / 2, y=(height - 1) / 2, side=float(width), stretch=height / width).rounded()
