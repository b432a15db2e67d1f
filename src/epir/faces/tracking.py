"""Frames -> small aligned faces, each face looked for once in a while and followed in between.

The crop stays the same as long as the head does: a new crop for every frame would add its own trembling, which is
larger than a micro-expression. A segment is a stretch of frames under one crop; it ends at a cut, where the person
changes, where the head leaves its crop, and where the face is hidden. All of these but the third end a shot as well,
and nothing may be compared across shots; within one, `laid_on` brings a face of another segment into place.

The detector sees a frame when nothing is followed, and the surroundings of a face about once a second.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import cv2
import numpy as np

from epir.faces.align import Crop, face_crop, whole_frame
from epir.faces.face import Face, TrackingSettings
from epir.faces.finder import (
    SAME_PLACE,
    SECOND_FACE,
    brightened,
    choose_face,
    colours,
    correlation,
    flatness,
    likeness,
    one_shot,
    shared_colours,
)
from epir.faces.mtcnn import find_faces
from epir.faces.patch import FacePatch, cut_patch, face_near, small_face
from epir.frames.reader import Frame

NO_FACE, TOO_SMALL = "no face", "face too small"
SMALLEST = 30  # px: faces below this are not even counted as too small
SIZE_RANGE = 0.3  # logarithm: a face that comes back to its place may be 1.35 times as large
MEMORY = 8  # people who left and are known when they come back
MOST_GAPS = 1000


@dataclass(frozen=True, slots=True)
class TrackedFace:
    """The small face of one person in one frame."""

    number: int
    seconds: float
    track: int  # the person, from 0
    segment: int  # counts the crops of all people
    crop: Crop
    face: np.ndarray  # (size, size) uint8, grey
    landmarks: np.ndarray  # (5, 2) eyes, nose, corners of the mouth in px of `face`, when it was last looked for
    patch: FacePatch | None = None
    shot: int = 0  # counts the stretches in which each person is followed without a break

    def laid_on(self, other: "TrackedFace") -> "TrackedFace":
        """The same face with its surroundings where those of another frame are; a crop that stayed changes nothing."""
        if self.patch is None or other.patch is None or self.crop == other.crop:
            return self
        return replace(self, patch=self.patch.laid_on(other.patch))


@dataclass(frozen=True, slots=True)
class Gap:
    """Frames without a face that could be used, and why."""

    first: int
    last: int
    first_s: float
    last_s: float
    reason: str
    width: float | None = None  # px between the temples, of a face that is too small


@dataclass(slots=True)
class _Track:
    """One face that is followed."""

    number: int
    segment: int
    crop: Crop
    points: np.ndarray  # (5, 2) in px of the frame
    look_at: float  # seconds
    small: np.ndarray | None = None  # the latest small face
    first: np.ndarray | None = None  # the first one of the segment
    missed: bool = False
    confirm_at: float | None = None  # seconds; None once the face is confirmed
    waiting: list[TrackedFace] = field(default_factory=list)  # until it is
    shot: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class _Known:
    """Somebody who was followed: the last small face, where it was, and the colours of that frame."""

    number: int
    small: np.ndarray
    crop: Crop
    colours: np.ndarray


class FaceTracker:
    """Follows one face or all of them, frame by frame, and remembers what else it saw."""

    def __init__(self, settings: TrackingSettings, fps: float) -> None:
        self.settings = settings
        self.faces = 0  # the most that were seen at once
        self.crops: list[Crop] = []  # of the segments
        self.frames = 0
        self.without = 0  # frames without a face
        self.reasons: Counter[str] = Counter()  # of these frames
        self.gaps: list[Gap] = []
        self.cuts = 0
        self._step = 1 / fps
        self._tracks: list[_Track] = []
        self._known: list[_Known] = []  # people who left
        self._people = self._segments = self._shots = 0
        self._colours: np.ndarray | None = None  # of the latest frame
        self._scene: np.ndarray | None = None  # of the one before it
        self._search_at = self._thorough_at = -math.inf
        self._searches = 0  # in vain, one after the other
        self._small: float | None = None  # px between the temples of the largest face that is too small
        self._latest: Frame | None = None
        self._in_gap = False  # the latest frames had no face

    def follow(self, frames: Iterable[Frame]) -> Iterator[TrackedFace]:
        """The small faces of all frames, one frame in memory at a time."""
        for frame in frames:
            yield from self.push(frame)
        yield from self.close()

    def push(self, frame: Frame) -> list[TrackedFace]:
        """The faces of the next frame, and of earlier ones that are confirmed now."""
        self.frames += 1
        self._latest = frame
        now = colours(frame.pixels)
        self._scene = now if self._colours is None else self._colours  # of the frame before: who leaves was seen there
        changed = self._colours is not None and shared_colours(self._colours, now) < self.settings.cut
        self._colours = now
        ready: list[TrackedFace] = []
        for track in list(self._tracks):
            ready += self._step_on(track, frame, changed)
        if self._wants_search(frame, changed):
            ready += self._search(frame)
        if not self._tracks:
            self._miss([frame])
        return ready

    def close(self) -> list[TrackedFace]:
        """The faces that were still waiting to be confirmed when the frames ended."""
        ready: list[TrackedFace] = []
        for track in list(self._tracks):
            if track.confirm_at is not None and self._latest is not None:
                ready += self._confirm(track, self._latest)
            if track in self._tracks:  # one that could not be confirmed has been dropped already
                self._drop(track)
        return ready

    @property
    def is_without(self) -> bool:
        """Whether the latest frame shows no face that could be used."""
        return self._in_gap

    # One face, one frame further.

    def _step_on(self, track: _Track, frame: Frame, changed: bool) -> list[TrackedFace]:
        settings = self.settings
        small = small_face(frame.pixels, track.crop, settings.size)
        alike = 1.0 if track.small is None else correlation(track.small, small)
        if settings.face.detector == "none":
            if changed and alike < 0.9:
                self.cuts += 1
                self._begin_shot(track, track.crop, track.points)
            return self._give(track, frame, small)
        if (changed and alike < 0.9) or alike < settings.torn:
            self.cuts += changed
            self._drop(track)
            self._search_at = self._thorough_at = -math.inf
            return []
        if track.confirm_at is not None and frame.seconds >= track.confirm_at:
            confirmed = self._confirm(track, frame)
            return [*confirmed, *self._give(track, frame, small)] if track in self._tracks else []
        if track.confirm_at is None and (frame.seconds >= track.look_at or self._drifted(track, small)):
            face = face_near(frame.pixels, track.crop)
            track.look_at = frame.seconds + (settings.redetect if face else settings.again)
            if face is None and track.missed:  # a blink may cost one look, not two
                self._drop(track)
                return []
            track.missed = face is None
            if face is not None:
                crop = face_crop(face, settings.face)
                if self._elsewhere(track.crop, crop):
                    self._begin_segment(track, crop, np.array(face.landmarks))
                    small = small_face(frame.pixels, crop, settings.size)
                track.points = np.array(face.landmarks)
        return self._give(track, frame, small)

    def _give(self, track: _Track, frame: Frame, small: np.ndarray) -> list[TrackedFace]:
        track.small = small
        track.first = small if track.first is None else track.first
        patch = cut_patch(frame.pixels, track.crop, self.settings.patch) if self.settings.patch else None
        face = TrackedFace(
            frame.number,
            frame.seconds,
            track.number,
            track.segment,
            track.crop,
            small,
            track.crop.to_crop(track.points, self.settings.size),
            patch,
            track.shot,
        )
        if track.confirm_at is None:
            self._in_gap = False
            return [face]
        track.waiting.append(face)
        return []

    def _confirm(self, track: _Track, frame: Frame) -> list[TrackedFace]:
        """Give what was waiting if the face is still there; or else drop it."""
        face = face_near(frame.pixels, track.crop)
        if face is None or not self._is_face(face, frame.pixels):
            self._drop(track)
            return []
        ready, track.waiting, track.confirm_at = track.waiting, [], None
        self._in_gap = False
        return ready

    def _drifted(self, track: _Track, small: np.ndarray) -> bool:
        """Whether the head has left its place since the segment began, by its shift alone; seen now and then."""
        settings = self.settings
        if track.first is None or self.frames % max(1, round(settings.again / self._step)):
            return False
        shift, _ = cv2.phaseCorrelate(track.first.astype(np.float32), small.astype(np.float32), _window(len(small)))
        return math.hypot(*shift) > settings.restless * len(small)

    def _elsewhere(self, old: Crop, new: Crop) -> bool:
        return (
            math.hypot(new.x - old.x, new.y - old.y) > self.settings.far * old.side
            or abs(new.side / old.side - 1) > self.settings.other_size
            or abs(new.angle - old.angle) > self.settings.other_angle
        )

    def _begin_segment(self, track: _Track, crop: Crop, points: np.ndarray) -> None:
        track.crop, track.points, track.segment = crop, points, self._segments
        track.first = track.small = None
        self._segments += 1
        self.crops.append(crop)

    def _begin_shot(self, track: _Track, crop: Crop, points: np.ndarray) -> None:
        self._begin_segment(track, crop, points)
        track.shot = self._shots
        self._shots += 1

    def _drop(self, track: _Track) -> None:
        """End a track; what was not confirmed was no face."""
        self._tracks.remove(track)
        if track.confirm_at is not None:
            self._miss(track.waiting)
        elif track.small is not None and self._scene is not None:
            self._known = [*self._known, _Known(track.number, track.small, track.crop, self._scene)][-MEMORY:]

    # Looking for faces.

    def _wants_search(self, frame: Frame, changed: bool) -> bool:
        if self.settings.face.detector == "none":
            return not self._tracks
        if self._tracks and self.settings.faces == "largest":
            return False
        return changed or frame.seconds >= self._search_at

    def _search(self, frame: Frame) -> list[TrackedFace]:
        """Begin to follow the faces of a frame that are not followed yet."""
        if self.settings.face.detector == "none":
            crop = whole_frame(frame.pixels)
            corners = crop.to_frame(np.zeros((5, 2)), 1)
            return self._begin(frame, crop, corners, confirmed=True)
        faces = self._look_for_all(frame)
        if not self._tracks and not faces:
            self._searches += 1
            self._search_at = frame.seconds + self.settings.again * min(2 ** (self._searches // 4), 4)
            return []
        self._searches, self._search_at = 0, frame.seconds + self.settings.redetect
        ready: list[TrackedFace] = []
        for face in faces:
            crop = face_crop(face, self.settings.face)
            if all(
                math.hypot(crop.x - each.crop.x, crop.y - each.crop.y) > each.crop.side / 2 for each in self._tracks
            ):
                ready += self._begin(frame, crop, np.array(face.landmarks))
        return ready

    def _begin(self, frame: Frame, crop: Crop, points: np.ndarray, *, confirmed: bool = False) -> list[TrackedFace]:
        small = small_face(frame.pixels, crop, self.settings.size)
        track = _Track(self._person(small, crop), self._segments, crop, points, frame.seconds + self.settings.redetect)
        track.confirm_at = None if confirmed else frame.seconds + self.settings.confirm
        self._begin_shot(track, crop, points)
        self._tracks.append(track)
        self.faces = max(self.faces, len(self._tracks))
        return self._give(track, frame, small)

    def _person(self, small: np.ndarray, crop: Crop) -> int:
        """The track number of somebody who was there before, or a new one.

        A face that comes back keeps its number by its likeness alone, or by less of it at the same place of the scene.
        """
        here = {track.number for track in self._tracks}
        alike = [(likeness(each.small, small), each) for each in self._known if each.number not in here]
        again = [
            (alike, known.number)
            for alike, known in alike
            if alike >= self.settings.same_person or self._same_place(alike, known, crop)
        ]
        if again:
            return max(again)[1]
        self._people += 1
        return self._people - 1

    def _same_place(self, alike: float, known: _Known, crop: Crop) -> bool:
        """Whether a face can be that of somebody who was last seen there, in a scene that has not changed."""
        old = known.crop
        near = math.hypot(crop.x - old.x, crop.y - old.y) < old.side / 2
        alike_size = abs(math.log(crop.side / old.side)) < SIZE_RANGE
        shared = 0.0 if self._colours is None else shared_colours(known.colours, self._colours)
        return near and alike_size and shared >= SAME_PLACE and one_shot(alike, shared)

    def _look_for_all(self, frame: Frame) -> list[Face]:
        """The faces worth following: all, or the one that `face.choice` names; larger ones are looked for first."""
        pixels, settings = frame.pixels, self.settings
        least = round(settings.least_face)
        shape = pixels.shape[:2]
        tried = [least] if settings.faces == "all" else sorted({max(least, min(shape) // 6), least}, reverse=True)
        self._small = None
        for place, width in enumerate(tried):
            if place and frame.seconds < self._thorough_at:  # small faces in large frames take long
                return []
            faces = find_faces(pixels, min_face=width)
            good = [face for face in faces if self._is_face(face, pixels)]
            if good:
                wide = max(face.width for face in faces)
                self.faces = max(self.faces, sum(face.width >= SECOND_FACE * wide for face in good))
                return good if settings.faces == "all" else [choose_face(good, shape, settings.face.choice)]
        self._thorough_at = frame.seconds + settings.redetect * min(1 + self._searches // 4, 4)
        bright = find_faces(brightened(pixels), min_face=tried[0])
        good = [face for face in bright if self._is_face(face, pixels)]
        if not good and self._small is None:
            for face in find_faces(pixels, min_face=SMALLEST):
                self._is_face(face, pixels)
        return good[:1] if settings.faces == "largest" else good

    def _is_face(self, face: Face, pixels: np.ndarray) -> bool:
        """Whether a detection is a filmed face, sure enough and large enough."""
        if face.confidence < self.settings.least_score or not face.is_plausible:
            return False
        if (
            flatness(small_face(pixels, face_crop(face, self.settings.face), self.settings.size))
            > self.settings.flattest
        ):
            return False
        if face.temples < self.settings.least_face:
            self._small = max(self._small or 0.0, face.temples)
            return False
        return True

    # Frames without a face.

    def _miss(self, frames: Iterable[Frame | TrackedFace]) -> None:
        reason = NO_FACE if self._small is None else TOO_SMALL
        for frame in frames:
            self.without += 1
            self.reasons[reason] += 1
            last = self.gaps[-1] if self.gaps else None
            if last is not None and last.reason == reason and self._in_gap:
                width = self._small if last.width is None else max(last.width, self._small or 0.0)
                self.gaps[-1] = replace(last, last=frame.number, last_s=frame.seconds, width=width)
            elif len(self.gaps) < MOST_GAPS:
                self.gaps.append(Gap(frame.number, frame.number, frame.seconds, frame.seconds, reason, self._small))
            self._in_gap = True


def _window(size: int) -> np.ndarray:
    return cv2.createHanningWindow((size, size), cv2.CV_32F)
