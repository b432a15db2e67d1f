"""Frames -> small aligned faces; each face is detected now and then and tracked in between.

The crop changes only when the head moves away: the jitter of a new crop for every frame would be larger than a
micro-expression. A segment is a stretch of frames under one crop; it ends at a cut, when the person changes, when the
head leaves its crop, and when the face is hidden. All of these except a head that leaves its crop also end a shot.
Frames of different shots must not be compared; within a shot, `aligned_to` aligns faces of different segments.

The detector searches the whole frame while no face is tracked, and the surroundings of a tracked face about once a
second.
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
SMALLEST = 30  # px: smaller faces are not even reported as too small
SIZE_RANGE = 0.3  # logarithm: a face that returns to its place may be 1.35 times as large
MEMORY = 8  # people who left and are recognised when they return
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
    landmarks: np.ndarray  # (5, 2) eyes, nose, corners of the mouth in px of `face`, at the last detection
    patch: FacePatch | None = None
    shot: int = 0  # counts the stretches in which a person is tracked without a break

    def aligned_to(self, other: "TrackedFace") -> "TrackedFace":
        """The face with its patch resampled to that of another frame; unchanged if both have the same crop."""
        if self.patch is None or other.patch is None or self.crop == other.crop:
            return self
        return replace(self, patch=self.patch.aligned_to(other.patch))


@dataclass(frozen=True, slots=True)
class Gap:
    """Frames without a usable face, and why."""

    first: int
    last: int
    first_s: float
    last_s: float
    reason: str
    width: float | None = None  # px between the temples, of a face that is too small


@dataclass(slots=True)
class _Track:
    """One tracked face."""

    number: int
    segment: int
    crop: Crop
    points: np.ndarray  # (5, 2) in px of the frame
    look_at: float  # seconds: time of the next detection
    small: np.ndarray | None = None  # the latest small face
    first: np.ndarray | None = None  # the first small face of the segment
    missed: bool = False  # by the latest detection
    confirm_at: float | None = None  # seconds; None once the face is confirmed
    waiting: list[TrackedFace] = field(default_factory=list)  # faces to return once it is confirmed
    shot: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class _Known:
    """A person tracked earlier: the last small face, its crop, and the colours of that frame."""

    number: int
    small: np.ndarray
    crop: Crop
    colours: np.ndarray


class FaceTracker:
    """Tracks one face or all faces, frame by frame, and counts frames without a face, cuts and gaps."""

    def __init__(self, settings: TrackingSettings, fps: float) -> None:
        self.settings = settings
        self.faces = 0  # the most seen at once
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
        self._scene: np.ndarray | None = None  # colours of the frame before it
        self._search_at = self._thorough_at = -math.inf
        self._searches = 0  # failed searches in a row
        self._small: float | None = None  # px between the temples of the largest face that is too small
        self._latest: Frame | None = None
        self._in_gap = False  # the latest frames had no face

    def follow(self, frames: Iterable[Frame]) -> Iterator[TrackedFace]:
        """The small faces of all frames; only one frame is in memory at a time."""
        for frame in frames:
            yield from self.push(frame)
        yield from self.close()

    def push(self, frame: Frame) -> list[TrackedFace]:
        """The faces of the next frame, and of earlier frames that are now confirmed."""
        self.frames += 1
        self._latest = frame
        now = colours(frame.pixels)
        self._scene = now if self._colours is None else self._colours  # whoever leaves was last seen there
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
        """Whether the latest frame shows no usable face."""
        return self._in_gap

    # Tracking one face.

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
        """The faces that were waiting, if the face is still there; otherwise the track is dropped."""
        face = face_near(frame.pixels, track.crop)
        if face is None or not self._is_face(face, frame.pixels):
            self._drop(track)
            return []
        ready, track.waiting, track.confirm_at = track.waiting, [], None
        self._in_gap = False
        return ready

    def _drifted(self, track: _Track, small: np.ndarray) -> bool:
        """Whether the head has shifted since the segment began; measured every `again` seconds only."""
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
        """End a track; if it was never confirmed, its frames count as frames without a face."""
        self._tracks.remove(track)
        if track.confirm_at is not None:
            self._miss(track.waiting)
        elif track.small is not None and self._scene is not None:
            self._known = [*self._known, _Known(track.number, track.small, track.crop, self._scene)][-MEMORY:]

    # Detecting faces.

    def _wants_search(self, frame: Frame, changed: bool) -> bool:
        if self.settings.face.detector == "none":
            return not self._tracks
        if self._tracks and self.settings.faces == "largest":
            return False
        return changed or frame.seconds >= self._search_at

    def _search(self, frame: Frame) -> list[TrackedFace]:
        """Start tracking the faces of a frame that are not tracked yet."""
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
            tracked = (track.crop for track in self._tracks)
            if all(math.hypot(crop.x - other.x, crop.y - other.y) > other.side / 2 for other in tracked):
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
        """The track number of a person seen earlier, or a new number.

        A returning face is recognised by high likeness, or by lower likeness at the same place in the same scene.
        """
        here = {track.number for track in self._tracks}
        again = []
        for known in self._known:
            if known.number in here:
                continue
            alike = likeness(known.small, small)
            if alike >= self.settings.same_person or self._same_place(alike, known, crop):
                again.append((alike, known.number))
        if again:
            return max(again)[1]
        self._people += 1
        return self._people - 1

    def _same_place(self, alike: float, known: _Known, crop: Crop) -> bool:
        """Whether a face can be that of a person last seen at this place, in a scene that has not changed."""
        old = known.crop
        near = math.hypot(crop.x - old.x, crop.y - old.y) < old.side / 2
        alike_size = abs(math.log(crop.side / old.side)) < SIZE_RANGE
        shared = 0.0 if self._colours is None else shared_colours(known.colours, self._colours)
        return near and alike_size and shared >= SAME_PLACE and one_shot(alike, shared)

    def _look_for_all(self, frame: Frame) -> list[Face]:
        """The faces to track: all, or the one that `face.choice` selects; larger faces are searched for first."""
        pixels, settings = frame.pixels, self.settings
        least = round(settings.least_face)
        shape = pixels.shape[:2]
        widths = [least] if settings.faces == "all" else sorted({max(least, min(shape) // 6), least}, reverse=True)
        self._small = None
        for place, width in enumerate(widths):
            if place and frame.seconds < self._thorough_at:  # searching large frames for small faces takes long
                return []
            faces = find_faces(pixels, min_face=width)
            good = [face for face in faces if self._is_face(face, pixels)]
            if good:
                wide = max(face.width for face in faces)
                self.faces = max(self.faces, sum(face.width >= SECOND_FACE * wide for face in good))
                return good if settings.faces == "all" else [choose_face(good, shape, settings.face.choice)]
        self._thorough_at = frame.seconds + settings.redetect * min(1 + self._searches // 4, 4)
        bright = find_faces(brightened(pixels), min_face=widths[0])
        good = [face for face in bright if self._is_face(face, pixels)]
        if not good and self._small is None:
            for face in find_faces(pixels, min_face=SMALLEST):
                self._is_face(face, pixels)
        return good[:1] if settings.faces == "largest" else good

    def _is_face(self, face: Face, pixels: np.ndarray) -> bool:
        """Whether a detection is a filmed face with a high enough score, and large enough."""
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
