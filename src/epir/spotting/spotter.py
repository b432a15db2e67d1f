"""Frames -> timeline: the whole of spotting, one frame in memory at a time."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from epir.core.errors import FaceNotFound, FrameError
from epir.core.progress import Progress, Silent
from epir.faces.align import Crop
from epir.faces.settings import TrackingSettings
from epir.faces.tracking import FaceTracker, TrackedFace
from epir.frames.reader import Frame
from epir.spotting.peaks import Peak, find_blinks, find_peaks, motion_level, without_blinks
from epir.spotting.regions import NAMES
from epir.spotting.settings import SpottingSettings
from epir.spotting.stream import MotionStream, Sample
from epir.spotting.timeline import Movement, Timeline

REACH = 1.5  # of the longest movement: a movement that lasts longer is seen to do so
LOOK_BACK = 4.0  # seconds of motion in which movements are looked for again and again
SETTLE = 0.75  # seconds after its offset when a movement is certain
EVERY = 0.5  # seconds between two looks


class Spotter:
    """Tracked faces of one person, one after the other -> movements, each as soon as it is certain."""

    def __init__(self, settings: SpottingSettings, fps: float) -> None:
        if not np.isfinite(fps) or fps <= 0:
            raise FrameError(
                f"{fps} frames a second is no frame rate", fix="give the rate of the camera, such as --fps 100"
            )
        self.settings, self.fps = settings, fps
        self._reach = max(2, round(REACH * settings.longest * fps))
        self._done: list[tuple[list[int], list[float], list[Sample]]] = []
        self._crops: list[Crop] = []
        self._found: list[Movement] = []
        self._segment: int | None = None
        self._face = np.zeros(0, np.float32)
        self._level = settings.least_motion

    def push(self, tracked: TrackedFace) -> list[Movement]:
        """Take the next face; gives the movements that have become certain."""
        given = []
        if tracked.segment != self._segment:
            given = self._end_segment()
            self._segment, self._latest = tracked.segment, tracked
            self._stream = MotionStream(self._reach)
            self._done.append(([], [], []))
            self._crops.append(tracked.crop)
            self._given, self._since = -1, 0
        numbers, seconds, samples = self._done[-1]
        self._latest = tracked
        numbers.append(tracked.number)
        seconds.append(tracked.seconds)
        samples.extend(self._stream.push(tracked.face))
        self._since += 1
        if self._since >= EVERY * self.fps:
            self._since = 0
            given += self._look(len(samples) - round(SETTLE * self.fps))
        return given

    def close(self) -> list[Movement]:
        """The movements of the end."""
        return self._end_segment()

    def timeline(self) -> Timeline:
        """Everything that was measured and found."""
        parts = [_arrays(samples) for _, _, samples in self._done]
        empty = [np.zeros((0, len(NAMES)), np.float32), np.zeros(0, np.float32), np.zeros(0, np.float32)]
        motion, lids, head = (np.concatenate([empty[which], *(p[which] for p in parts)]) for which in range(3))
        found = sorted(self._found, key=lambda each: each.apex)
        count = len(motion)
        return Timeline(
            fps=self.fps,
            numbers=np.array([number for numbers, _, _ in self._done for number in numbers], int)[:count],
            motion=motion,
            face=self._face[:count] if len(self._face) >= count else motion.max(axis=1, initial=0.0),
            lids=lids,
            head=head,
            movements=tuple(each for each in found if each.kind == "micro-expression"),
            others=tuple(each for each in found if each.kind != "micro-expression"),
            crops=tuple(self._crops),
            frames=count,
            level=self._level,
        )

    def _end_segment(self) -> list[Movement]:
        if self._segment is None:
            return []
        self._done[-1][2].extend(self._stream.close())
        given = self._look(len(self._done[-1][2]))
        self._segment = None
        return given

    def _look(self, until: int) -> list[Movement]:
        """Movements of the latest seconds of this segment whose offset lies before the place `until`."""
        numbers, seconds, samples = self._done[-1]
        first = max(0, len(samples) - round(LOOK_BACK * self.fps))
        if not samples:
            return []
        motion, lids, head = _arrays(samples[first:])
        blinks = find_blinks(motion, lids, self.fps, self.settings)
        cleaned = without_blinks(motion, lids, blinks, self.fps, self.settings)
        before = sum(len(part[2]) for part in self._done[:-1]) + first
        self._face = np.concatenate([self._face[:before], cleaned.max(axis=1).astype(np.float32)])
        self._level = motion_level(self._face, self.settings)
        given = []
        for peak in sorted([*blinks, *find_peaks(cleaned, head, self.fps, self._level, self.settings)], key=_apex):
            onset, apex, offset = (first + place for place in (peak.onset, peak.apex, peak.offset))
            if offset > until or apex <= self._given:
                continue
            movement = Movement(
                numbers[onset],
                numbers[apex],
                numbers[offset],
                peak.strength,
                peak.region,
                peak.kind,
                float(head[peak.apex]),
                self._crops[-1],
                (seconds[onset], seconds[apex], seconds[offset]),
                self._latest.track,
                self._latest.segment,
            )
            self._found.append(movement)
            given.append(movement)
            self._given = max(self._given, offset if peak.kind != "blink" else self._given)
        return given


def _apex(peak: Peak) -> int:
    return peak.apex


def spot(
    frames: Iterable[Frame],
    *,
    fps: float,
    settings: SpottingSettings | None = None,
    progress: Progress | None = None,
) -> Timeline:
    """The micro-expressions among frames, and the motion they were found in."""
    settings, progress = settings or SpottingSettings(), progress or Silent()
    spotter = Spotter(settings, fps)
    tracker = FaceTracker(TrackingSettings(settings.face, settings.size, redetect=settings.redetect), fps)
    for frame in frames:
        progress.advance()
        for face in tracker.push(frame):
            spotter.push(face)
    for face in tracker.close():
        spotter.push(face)
    spotter.close()
    if not tracker.crops:
        raise FaceNotFound(
            f"no face was found in {tracker.frames} frames",
            fix="look at the video: the face should be lit, turned to the camera and at least 80 px wide",
        )
    return replace(spotter.timeline(), faces=tracker.faces, frames=tracker.frames)


def _arrays(samples: list[Sample]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    regions = np.array([sample.regions for sample in samples], np.float32).reshape(-1, len(NAMES))
    lids = np.array([sample.lids for sample in samples], np.float32)
    return regions, lids, np.array([sample.head for sample in samples], np.float32)
