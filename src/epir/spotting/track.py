"""Frames -> small aligned faces, the face looked for once in a while.

The crop stays the same as long as the head does: a new crop for every frame would add its own trembling, which is
larger than a micro-expression. Where the head has gone too far a new stretch begins, with a new crop.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from epir.faces.align import Crop, face_crop, whole_frame
from epir.faces.face import Face
from epir.faces.finder import choose_face, find_face, widths
from epir.faces.mtcnn import find_faces
from epir.flow.optical import to_grey
from epir.frames.reader import Frame
from epir.spotting.settings import SpottingSettings

FAR = 0.08  # of the face: a head that went so far gets a new crop
OTHER_SIZE = 0.15  # relative
OTHER_ANGLE = 6.0  # degrees
SECOND_FACE = 0.4  # a face at least this wide, against the one that is looked at, is worth a warning
AGAIN = 0.25  # seconds between two looks while there is no face


@dataclass(frozen=True, slots=True)
class TrackedFace:
    """The small face of one frame; `stretch` counts the crops."""

    place: int  # of the frame, from 0
    number: int
    stretch: int
    crop: Crop
    face: np.ndarray  # (size, size) uint8, grey


class FaceTracker:
    """Follows the face of one person through the frames, and remembers what else it saw."""

    def __init__(self, settings: SpottingSettings, fps: float) -> None:
        self.settings = settings
        self.faces = 0  # the most that were seen at once
        self.crops: list[Crop] = []
        self.without = 0  # frames without a face
        self.restless = False  # set from outside: the head has moved so far that it should be looked for at once
        self._every = max(1, round(settings.redetect * fps))
        self._again = max(1, round(AGAIN * fps))

    def follow(self, frames: Iterable[Frame]) -> Iterator[TrackedFace]:
        """The small face of every frame that shows one, one frame in memory at a time."""
        crop: Crop | None = None
        stretch, looked, look_at, doubtful = -1, 0, 0, False
        for place, read in enumerate(frames):
            number, frame = read.number, read.pixels
            if place >= look_at or (self.restless and place >= looked + self._again):
                found = self._look(frame, first=stretch < 0)
                self.restless = False
                if found is not None and (crop is None or _elsewhere(crop, found)):
                    crop, stretch = found, stretch + 1
                    self.crops.append(crop)
                elif found is None:  # a hand or a blink may hide a face for a moment: it is gone when missed twice
                    crop = None if doubtful else crop
                doubtful = found is None
                looked, look_at = place, place + (self._again if doubtful else self._every)
            if crop is None:
                self.without += 1
                continue
            yield TrackedFace(place, number, stretch, crop, to_grey(crop.apply(frame, self.settings.size)))

    def _look(self, frame: np.ndarray, *, first: bool) -> Crop | None:
        face = self.settings.face
        if face.detector == "none":
            self.faces = 1
            return whole_frame(frame)
        found = find_face(frame, face)
        if found is None:
            return None
        if first:
            self.faces = count_faces(frame, found.width)
        elif self.crops:
            found = _nearest(frame, found, self.crops[-1], self.settings)
        return face_crop(found, face)


def count_faces(frame: np.ndarray, width: float) -> int:
    """How many faces there are that are not much smaller than the one of this `width`; it counts itself."""
    least = SECOND_FACE * width
    return max(1, sum(face.width >= least for face in find_faces(frame, min_face=max(20, round(least)))))


def _nearest(frame: np.ndarray, found: Face, crop: Crop, settings: SpottingSettings) -> Face:
    """The face at the last crop, where the one that was found is somebody else's."""
    if np.hypot(found.centre[0] - crop.x, found.centre[1] - crop.y) < crop.side / 2:
        return found
    faces = find_faces(frame, min_face=widths(frame.shape[:2], settings.face)[-1])
    near = [f for f in faces if np.hypot(f.centre[0] - crop.x, f.centre[1] - crop.y) < crop.side]
    return choose_face(near, frame.shape[:2], "largest") if near else found


def _elsewhere(old: Crop, new: Crop) -> bool:
    """Whether the head has left its crop."""
    return (
        float(np.hypot(new.x - old.x, new.y - old.y)) > FAR * old.side
        or abs(new.side / old.side - 1) > OTHER_SIZE
        or abs(new.angle - old.angle) > OTHER_ANGLE
    )
