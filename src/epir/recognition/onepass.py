"""One forward pass over a video: track faces, spot movements, and keep the onset and apex of each until it is certain.

Only the surroundings of each face in the last seconds are kept, never a whole frame. Memory does not grow with the
video, and no frame is decoded twice.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from epir.faces.align import Crop
from epir.faces.face import TrackingSettings
from epir.faces.patch import FacePatch
from epir.faces.tracking import FaceTracker, TrackedFace
from epir.frames.reader import Frame
from epir.spotting.decision import SpottingSettings
from epir.spotting.spotter import Spotter
from epir.spotting.timeline import MICRO_EXPRESSION, FaceMovement, Timeline

MEMORY = 6.0  # seconds of faces that are kept until their movements are certain
PATCH = 320  # px: maximum side of the surroundings that are kept
LEAST_RISE = 2  # minimum number of frames from onset to apex


@dataclass(frozen=True, slots=True)
class SpottedMovement:
    """One movement and the face at each of its key frames."""

    movement: FaceMovement
    onset: TrackedFace
    apex: TrackedFace
    offset: TrackedFace

    @property
    def patches(self) -> tuple[FacePatch, FacePatch]:
        """The surroundings of the face at onset and apex."""
        assert self.onset.patch is not None and self.apex.patch is not None, "the tracker keeps patches"
        return self.onset.patch, self.apex.patch


@dataclass(frozen=True, slots=True)
class ShownFace:
    """A face in its frame, or in the part of the frame that was kept."""

    frame: Frame
    crop: Crop
    track: int = 0
    segment: int = 0


Watch = Callable[[ShownFace], None]  # called with every analysed face


class OnePass:
    """Tracks faces and spots movements, with one spotter per person."""

    def __init__(
        self,
        tracking: TrackingSettings,
        spotting: SpottingSettings,
        fps: float,
        apex: int | None = None,
        watch: Watch | None = None,
        candidates: bool = False,
    ) -> None:
        self._watch = watch
        self._candidates = candidates  # whether to yield rejected movements too
        self.tracker = FaceTracker(replace(tracking, patch=PATCH), fps)
        self._spotting, self._fps = spotting, fps
        self.apex = apex  # if given, only the movement around it counts
        self._spotters: dict[int, Spotter] = {}
        self._kept: dict[int, deque[TrackedFace]] = {}
        self._ends: dict[int, int] = {}  # offset of the latest movement of each person

    def run(self, frames: Iterable[Frame]) -> Iterator[SpottedMovement]:
        """Yield the movements, each a few seconds after it happened."""
        for frame in frames:
            yield from self.push(frame)
        yield from self.close()

    def push(self, frame: Frame) -> Iterator[SpottedMovement]:
        """Take the next frame and yield the movements that have become certain."""
        yield from self._take(self.tracker.push(frame), frame)

    def close(self) -> Iterator[SpottedMovement]:
        """Yield the movements of the last seconds."""
        yield from self._take(self.tracker.close())
        for track, spotter in self._spotters.items():
            yield from self._certain(track, spotter.close())

    def timelines(self) -> dict[int, Timeline]:
        """The motion of everyone who was tracked long enough to measure, by track."""
        measured = {track: spotter.timeline() for track, spotter in sorted(self._spotters.items())}
        return {track: timeline for track, timeline in measured.items() if len(timeline.numbers)}

    @property
    def tracks(self) -> list[int]:
        """The tracks of everyone who was seen."""
        return sorted(self._spotters)

    def _take(self, faces: Iterable[TrackedFace], latest: Frame | None = None) -> Iterator[SpottedMovement]:
        for face in faces:
            if self._watch is not None:
                self._watch(_shown(face, latest))
            if face.track not in self._spotters:
                self._spotters[face.track] = Spotter(self._spotting, self._fps)
                self._kept[face.track] = deque()
            kept = self._kept[face.track]
            kept.append(face)
            while kept[0].seconds < face.seconds - MEMORY:
                kept.popleft()
            yield from self._certain(face.track, self._spotters[face.track].push(face))
            yield from self._close_absent(face.seconds)

    def _close_absent(self, now: float) -> Iterator[SpottedMovement]:
        """Close the spotters of people who left, and drop their faces."""
        for track, kept in self._kept.items():
            if kept and kept[-1].seconds < now - MEMORY:
                yield from self._certain(track, self._spotters[track].close())
                kept.clear()

    def _certain(self, track: int, movements: Iterable[FaceMovement]) -> Iterator[SpottedMovement]:
        """The movements of a person that have just become certain, and the candidates if requested."""
        for movement in movements:
            yield from self._spotted(track, movement)
        for movement in self._spotters[track].take_candidates() if self._candidates else ():
            if movement.kind != MICRO_EXPRESSION:
                yield from self._spotted(track, movement)

    def _spotted(self, track: int, movement: FaceMovement) -> Iterator[SpottedMovement]:
        """The movement, if its key frames are in order, in one shot and after the previous movement."""
        faces = {face.number: face for face in self._kept[track]}
        at = movement.apex if self.apex is None else self.apex
        onset, apex, offset = (faces.get(number) for number in (movement.onset, at, movement.offset))
        if onset is None or apex is None or offset is None:
            return
        order = list(faces)
        rise = order.index(apex.number) - order.index(onset.number)
        if rise < LEAST_RISE or apex.number >= offset.number or not onset.shot == apex.shot == offset.shot:
            return
        if movement.kind == MICRO_EXPRESSION:  # candidates may overlap
            if onset.number < self._ends.get(track, onset.number):
                return
            self._ends[track] = offset.number
        yield SpottedMovement(movement, onset, apex.aligned_to(onset), offset.aligned_to(onset))


def _shown(face: TrackedFace, latest: Frame | None) -> ShownFace:
    """A face in its frame; of an older frame, only the surroundings of the face are left."""
    if latest is not None and latest.number == face.number:
        return ShownFace(latest, face.crop, face.track, face.segment)
    assert face.patch is not None, "the tracker keeps patches"
    kept = Frame(face.number, face.seconds, face.patch.pixels)
    return ShownFace(kept, face.patch.place(face.crop), face.track, face.segment)
