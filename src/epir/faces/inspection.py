"""What is wrong with the face of a clip, found in the same way by check, prepare, predict and the page.

MTCNN takes some faces that are upside down for upright ones, with landmarks where they would be: in two to nine frames
of eleven videos of real people with a confidence of up to 0.997, where the same faces upright have 0.999 and more,
apart from faces of 52 px and one that is half hidden. So a face of which the detector is less sure is looked for in
turned frames too, and the frames are turned where it is far surer there.
"""

import math

import cv2
import numpy as np

from epir.core.errors import FrameError
from epir.faces.align import Crop, face_crop
from epir.faces.face import Face
from epir.faces.finder import find_face
from epir.faces.likeness import colours, likeness, one_shot, shared_colours
from epir.faces.patch import small_face
from epir.faces.settings import FaceSettings
from epir.frames.turned import turned

SURE = 0.998  # confidence from which a face is upright
LEAST = 0.99  # confidence with which a turned face is one
CLEARLY = 2.5  # log odds by which the turned face must be surer
SIZE = 84  # px: width at which faces are compared
SMALLEST_FRAME = 40  # px: below, nothing is looked for
LONGEST_SIDE = 1280  # px: larger frames are made smaller before they are turned; every direction is looked at


def find_turn(frame: np.ndarray, settings: FaceSettings) -> int:
    """By how many quarters counter-clockwise a frame must be turned for an upright face; 0 where none is found."""
    if settings.detector == "none" or min(frame.shape[:2]) < SMALLEST_FRAME:
        return 0
    shrink = LONGEST_SIDE / max(frame.shape)
    if shrink < 1:
        frame = cv2.resize(frame, None, fx=shrink, fy=shrink, interpolation=cv2.INTER_AREA)
    found = [_log_odds(find_face(frame, settings))]
    if found[0] >= math.log(SURE / (1 - SURE)):
        return 0
    found += [_log_odds(find_face(turned(frame, turns), settings)) for turns in (1, 2, 3)]
    best = int(np.argmax(found))
    return best if found[best] >= max(math.log(LEAST / (1 - LEAST)), found[0] + CLEARLY) else 0


def check_one_person(
    onset: int, before: np.ndarray, apex: int, after: np.ndarray, crop: Crop, settings: FaceSettings
) -> None:
    """Refuse an onset and an apex that cannot be of one person in one shot."""
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
