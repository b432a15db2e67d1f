"""The one face of a clip: found on one frame, chosen among several, given as a crop."""

import cv2
import numpy as np

from epir.core.errors import FaceNotFound
from epir.faces.align import Crop, face_crop, whole_frame
from epir.faces.face import Face
from epir.faces.mtcnn import find_faces
from epir.faces.settings import FaceSettings

SECOND_FACE = 0.4  # a face at least this wide, against the one that is looked at, is worth a warning
SMALLEST_FACE = 20  # px: below this the landmarks say nothing


def find_crop(frame: np.ndarray, settings: FaceSettings | None = None) -> Crop:
    """The crop of the face in a (H, W, 3) uint8 RGB frame; `FaceNotFound` where there is none."""
    settings = settings or FaceSettings()
    if settings.detector == "none":
        return whole_frame(frame)
    face = find_face(frame, settings)
    if face is None:
        height, width = frame.shape[:2]
        raise FaceNotFound(
            f"no face was found in a frame of {width} x {height} px",
            fix="look at the frame; if it shows a cropped face, use --detector none",
        )
    return face_crop(face, settings)


def find_face(frame: np.ndarray, settings: FaceSettings | None = None) -> Face | None:
    """The face of a frame: large ones are looked for first, then smaller ones, then in a brightened frame."""
    settings = settings or FaceSettings()
    return _look(frame, settings) or _look(brightened(frame), settings)


def _look(frame: np.ndarray, settings: FaceSettings) -> Face | None:
    for width in widths(frame.shape[:2], settings):
        faces = find_faces(frame, min_face=width)
        if faces:
            return choose_face(faces, frame.shape[:2], settings.choice)
    return None


def widths(shape: tuple[int, ...], settings: FaceSettings) -> list[int]:
    """The smallest face widths to try, one after the other; a large face is found in a few milliseconds."""
    tried = [settings.min_face]
    if settings.choice == "largest":  # a face that fills a good part of the picture hides all others
        tried = sorted({settings.min_face, max(settings.min_face, min(shape) // 6)}, reverse=True)
    while tried[-1] // 2 >= SMALLEST_FACE:
        tried.append(tried[-1] // 2)
    return tried


def choose_face(faces: list[Face], shape: tuple[int, ...], choice: str) -> Face:
    """The largest face, or the one nearest to the middle of a frame of `shape` (H, W)."""
    if choice == "largest":
        return max(faces, key=lambda face: face.width * face.height)
    middle_x, middle_y = shape[1] / 2, shape[0] / 2
    return min(faces, key=lambda face: (face.centre[0] - middle_x) ** 2 + (face.centre[1] - middle_y) ** 2)


def count_faces(frame: np.ndarray, width: float) -> int:
    """How many faces there are that are not much smaller than the one of this `width`; it counts itself."""
    least = SECOND_FACE * width
    return max(1, sum(face.width >= least for face in find_faces(frame, min_face=max(20, round(least)))))


def brightened(frame: np.ndarray) -> np.ndarray:
    """A dark or pale frame with its brightness stretched and evened out; for looking only, never for flow."""
    brightness, red, blue = cv2.split(cv2.cvtColor(frame, cv2.COLOR_RGB2YCrCb))
    even = cv2.createCLAHE(clipLimit=4.0, tileGridSize=(4, 4)).apply(
        cv2.normalize(brightness, None, 0, 255, cv2.NORM_MINMAX)  # type: ignore[call-overload]
    )
    return cv2.cvtColor(cv2.merge([even, red, blue]), cv2.COLOR_YCrCb2RGB)
