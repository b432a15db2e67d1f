"""Find the face of a clip on one frame, and check that it is upright, filmed, and of one person in one shot.

MTCNN detects some upside-down faces as upright, with landmarks to match: in two to nine frames of eleven videos of real
people, with a confidence of up to 0.997. The same faces upright have at least 0.999, except faces of 52 px and one that
is half hidden. So if the detector is less sure of a face, it also searches the rotated frame, and the frames are
rotated if it is far surer there.

The limits of likeness and flatness come from real videos: consecutive and distant frames of seven people, pairs of
different people, drawn faces (docs/video.md). With these limits, two frames of one shot never fail the check; some
pairs of different people in front of one background pass it.

Axes: h pixels of a face
"""

import math

import cv2
import numpy as np

from epir.core.errors import FaceNotFound, FrameError
from epir.faces.align import Crop, face_crop, whole_frame
from epir.faces.face import Face, FaceSettings
from epir.faces.mtcnn import find_faces
from epir.faces.patch import small_face
from epir.frames.reader import turned

SECOND_FACE = 0.4  # another face at least this wide, relative to the tracked one, is worth a warning
SMALLEST_FACE = 20  # px: below it, the landmarks mean nothing
SURE = 0.998  # confidence from which a face is upright
LEAST = 0.99  # confidence that a face in a rotated frame needs
CLEARLY = 2.5  # log odds by which it must be surer
SIZE = 84  # px: width at which faces are cut out to compare them
SMALLEST_FRAME = 40  # px: below it, no face is searched for
LONGEST_SIDE = 1280  # px: larger frames are shrunk before all four rotations are searched
COMPARED_SIZE = 64  # px: width at which the structure of two faces is compared
SHIFT = 4  # px: the landmarks of one face differ by less
FINE, COARSE = 2.0, 8.0  # px: structure between these scales makes a face; anything coarser is light
SAME_FACE = 0.8  # likeness from which two faces are one person's, whatever the background
OTHER_FACE = 0.3  # likeness below which they are two people's, whatever the background
SAME_PLACE = 0.6  # share of colours that two frames of one shot have in common
FLAT_SIZE = 84  # px: width at which flatness is measured
FAINT = 12.0  # grey levels: in a face with less contrast, video coding makes everything flat


def find_crop(frame: np.ndarray, settings: FaceSettings | None = None) -> Crop:
    """The crop of the face in a (H, W, 3) uint8 RGB frame; `FaceNotFound` if there is none."""
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
    """The face in a frame: large faces are searched for first, then smaller ones, then a brightened frame."""
    settings = settings or FaceSettings()
    return _look(frame, settings) or _look(brightened(frame), settings)


def _look(frame: np.ndarray, settings: FaceSettings) -> Face | None:
    for width in widths(frame.shape[:2], settings):
        faces = find_faces(frame, min_face=width)
        if faces:
            return choose_face(faces, frame.shape[:2], settings.choice)
    return None


def widths(shape: tuple[int, ...], settings: FaceSettings) -> list[int]:
    """The smallest face widths to try, in this order; finding a large face takes only a few milliseconds."""
    least = [settings.min_face]
    if settings.choice == "largest":  # if a face fills much of the picture, smaller ones do not matter
        least = sorted({settings.min_face, max(settings.min_face, min(shape) // 6)}, reverse=True)
    while least[-1] // 2 >= SMALLEST_FACE:
        least.append(least[-1] // 2)
    return least


def choose_face(faces: list[Face], shape: tuple[int, ...], choice: str) -> Face:
    """The largest face, or the face nearest to the middle of a frame of `shape` (H, W)."""
    if choice == "largest":
        return max(faces, key=lambda face: face.width * face.height)
    middle_x, middle_y = shape[1] / 2, shape[0] / 2
    return min(faces, key=lambda face: (face.centre[0] - middle_x) ** 2 + (face.centre[1] - middle_y) ** 2)


def count_faces(frame: np.ndarray, width: float) -> int:
    """The number of faces that are not much smaller than the face of this `width`, including that face."""
    least = SECOND_FACE * width
    return max(1, sum(face.width >= least for face in find_faces(frame, min_face=max(20, round(least)))))


def brightened(frame: np.ndarray) -> np.ndarray:
    """A dark or pale frame with its brightness stretched and equalised; for detection only, never for flow."""
    brightness, red, blue = cv2.split(cv2.cvtColor(frame, cv2.COLOR_RGB2YCrCb))
    even = cv2.createCLAHE(clipLimit=4.0, tileGridSize=(4, 4)).apply(
        cv2.normalize(brightness, None, 0, 255, cv2.NORM_MINMAX)  # type: ignore[call-overload]
    )
    return cv2.cvtColor(cv2.merge([even, red, blue]), cv2.COLOR_YCrCb2RGB)


def find_turn(frame: np.ndarray, settings: FaceSettings) -> int:
    """The number of counter-clockwise quarter turns that make the face upright; 0 if no face is found."""
    if settings.detector == "none" or min(frame.shape[:2]) < SMALLEST_FRAME:
        return 0
    shrink = LONGEST_SIDE / max(frame.shape)
    if shrink < 1:
        frame = cv2.resize(frame, None, fx=shrink, fy=shrink, interpolation=cv2.INTER_AREA)
    odds = [_log_odds(find_face(frame, settings))]
    if odds[0] >= math.log(SURE / (1 - SURE)):
        return 0
    odds += [_log_odds(find_face(turned(frame, turns), settings)) for turns in (1, 2, 3)]
    best = int(np.argmax(odds))
    return best if odds[best] >= max(math.log(LEAST / (1 - LEAST)), odds[0] + CLEARLY) else 0


def check_one_person(
    onset: int, before: np.ndarray, apex: int, after: np.ndarray, crop: Crop, settings: FaceSettings
) -> None:
    """Raise an error if onset and apex cannot show one person in one shot."""
    if settings.detector == "none":
        return
    first = small_face(before, crop, SIZE)
    alike = likeness(first, small_face(after, crop, SIZE))
    shared = shared_colours(colours(before), colours(after))
    if one_shot(alike, shared):
        return
    face = find_face(after, settings)  # the head may have moved
    if face is not None:
        alike = max(alike, likeness(first, small_face(after, face_crop(face, settings), SIZE)))
    if not one_shot(alike, shared):
        raise FrameError(
            f"the onset {onset} and the apex {apex} do not show one person in one shot",
            fix="take both from one shot of one person, without a cut between them",
        )


def _log_odds(face: Face | None) -> float:
    if face is None or not face.is_plausible:
        return -math.inf
    return math.log(max(face.confidence, 1e-7) / max(1 - face.confidence, 1e-7))


def colours(pixels: np.ndarray) -> np.ndarray:
    """The shares of 512 colours in a subsampled (H, W, 3) uint8 frame, (512,)."""
    step = max(1, min(pixels.shape[:2]) // 48)
    bins = (pixels[::step, ::step] >> 5).reshape(-1, 3).astype(np.int32)
    counts = np.bincount(bins @ np.array([64, 8, 1], np.int32), minlength=512)
    return counts / counts.sum()


def shared_colours(one: np.ndarray, other: np.ndarray) -> float:
    """The overlap of two colour histograms (512,), 0 to 1."""
    return float(np.minimum(one, other).sum())


def likeness(one: np.ndarray, other: np.ndarray) -> float:
    """The likeness of two aligned grey faces (h, h) uint8, -1 to 1: their best correlation over small shifts."""
    first, second = _structure(one), _structure(other)
    inner = (slice(SHIFT, -SHIFT),) * 2
    pairs = ((first, second[inner]), (second, first[inner]))
    return max(float(cv2.matchTemplate(whole, part, cv2.TM_CCOEFF_NORMED).max()) for whole, part in pairs)


def one_shot(alike: float, shared: float) -> bool:
    """Whether two pictures can show one person in one shot, by the likeness of faces and the shared colours."""
    if alike < OTHER_FACE:
        return False
    return alike >= SAME_FACE or shared >= SAME_PLACE


def flatness(face: np.ndarray) -> float:
    """The share of a grey face (h, h) uint8 without shading: large in drawings, small on skin; 0 for low contrast."""
    grey = cv2.resize(face, (FLAT_SIZE, FLAT_SIZE), interpolation=cv2.INTER_AREA).astype(np.float32)
    if grey.std() < FAINT:
        return 0.0
    across, down = np.abs(grey[1:-1, 2:] - grey[1:-1, :-2]), np.abs(grey[2:, 1:-1] - grey[:-2, 1:-1])
    return float(((across <= 1) & (down <= 1)).mean())


def correlation(one: np.ndarray, other: np.ndarray) -> float:
    """The correlation of two grey faces (h, h) under one crop; a change of brightness leaves it at 1."""
    first, second = (face.astype(np.float32) - face.mean(dtype=np.float32) for face in (one, other))
    scale = float(np.sqrt((first * first).sum() * (second * second).sum()))
    if scale == 0:
        return float(not first.any() and not second.any())
    return float((first * second).sum()) / scale


def _structure(face: np.ndarray) -> np.ndarray:
    grey = cv2.resize(face, (COMPARED_SIZE, COMPARED_SIZE), interpolation=cv2.INTER_AREA).astype(np.float32)
    band = cv2.GaussianBlur(grey, (0, 0), FINE) - cv2.GaussianBlur(grey, (0, 0), COARSE)
    strength = np.sqrt(cv2.GaussianBlur(band * band, (0, 0), 2 * COARSE))
    return band / (strength + 2.0)
