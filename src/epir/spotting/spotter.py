"""Frames -> timeline: the whole of spotting, one frame in memory at a time."""

from collections.abc import Iterable, Iterator
from itertools import groupby

import numpy as np

from epir.core.errors import FaceNotFound, FrameError
from epir.core.progress import Progress, Silent
from epir.frames.reader import Frame
from epir.spotting.peaks import find_blinks, find_peaks, motion_level, without_blinks
from epir.spotting.regions import NAMES
from epir.spotting.settings import SpottingSettings
from epir.spotting.stream import MotionStream, Sample
from epir.spotting.timeline import Movement, Timeline
from epir.spotting.track import FaceTracker, TrackedFace

REACH = 1.5  # of the longest movement: a movement that lasts longer is seen to do so
RESTLESS = 0.12  # of the face: a head that went so far is looked for at once


def spot(
    frames: Iterable[Frame],
    *,
    fps: float,
    settings: SpottingSettings | None = None,
    progress: Progress | None = None,
) -> Timeline:
    """The micro-expressions among frames, and the motion they were found in."""
    settings, progress = settings or SpottingSettings(), progress or Silent()
    if not np.isfinite(fps) or fps <= 0:
        raise FrameError(
            f"{fps} frames a second is no frame rate", fix="give the rate of the camera, such as --fps 100"
        )
    tracker = FaceTracker(settings, fps)
    reach = max(2, round(REACH * settings.longest * fps))
    counted = _Counted(frames, progress)
    stretches: list[tuple[list[int], list[Sample]]] = []
    for _, faces in groupby(tracker.follow(counted), key=lambda face: face.stretch):
        stretches.append(_measure(faces, tracker, reach))
    if not tracker.crops:
        raise FaceNotFound(
            f"no face was found in {counted.count} frames",
            fix="look at the video: the face should be lit, turned to the camera and at least 80 px wide",
        )
    return _timeline(stretches, tracker, fps, counted.count, settings)


def _measure(faces: Iterable[TrackedFace], tracker: FaceTracker, reach: int) -> tuple[list[int], list[Sample]]:
    """The frame numbers of one stretch and the motion of each."""
    stream = MotionStream(reach)
    numbers: list[int] = []
    samples: list[Sample] = []
    for face in faces:
        numbers.append(face.number)
        samples.extend(stream.push(face.face))
        tracker.restless = stream.head > RESTLESS
    samples.extend(stream.close())
    return numbers, samples


def _timeline(
    stretches: list[tuple[list[int], list[Sample]]],
    tracker: FaceTracker,
    fps: float,
    frames: int,
    settings: SpottingSettings,
) -> Timeline:
    parts = [_arrays(samples) for _, samples in stretches]
    blinks = [find_blinks(motion, lids, fps, settings) for motion, lids, _ in parts]
    cleaned = [without_blinks(part[0], part[1], own, fps, settings) for part, own in zip(parts, blinks, strict=True)]
    face = np.concatenate([each.max(axis=1) for each in cleaned])
    level = motion_level(face, settings)
    found = []
    for (numbers, _), part, own, clean, crop in zip(stretches, parts, blinks, cleaned, tracker.crops, strict=True):
        for peak in [*own, *find_peaks(clean, part[2], fps, level, settings)]:
            onset, apex, offset = (numbers[place] for place in (peak.onset, peak.apex, peak.offset))
            moved = float(part[2][peak.apex])
            found.append(Movement(onset, apex, offset, peak.strength, peak.region, peak.kind, moved, crop))
    found.sort(key=lambda each: each.apex)
    motion, lids, head = (np.concatenate([part[which] for part in parts]) for which in range(3))
    return Timeline(
        fps=fps,
        numbers=np.array([number for numbers, _ in stretches for number in numbers]),
        motion=motion,
        face=face,
        lids=lids,
        head=head,
        movements=tuple(each for each in found if each.kind == "micro-expression"),
        others=tuple(each for each in found if each.kind != "micro-expression"),
        crops=tuple(tracker.crops),
        faces=tracker.faces,
        frames=frames,
        level=level,
    )


def _arrays(samples: list[Sample]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    regions = np.array([sample.regions for sample in samples], np.float32).reshape(-1, len(NAMES))
    lids = np.array([sample.lids for sample in samples], np.float32)
    return regions, lids, np.array([sample.head for sample in samples], np.float32)


class _Counted:
    """The frames, counted while they pass."""

    def __init__(self, frames: Iterable[Frame], progress: Progress) -> None:
        self._frames, self._progress, self.count = frames, progress, 0

    def __iter__(self) -> Iterator[Frame]:
        for each in self._frames:
            self.count += 1
            self._progress.advance()
            yield each
