"""Pictures of single frames of a recording: the face, enlarged and stabilised, or the whole frame.

With a reference frame (the onset of a movement) the face is aligned to it, so that the head does not move; the motion
of the skin since then can be drawn as arrows or magnified.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

from epir.annotation.recordings import check_recording
from epir.annotation.records import CROP, Recording
from epir.annotation.study import Study
from epir.core.errors import FrameError
from epir.faces.align import Crop, face_crop, whole_frame
from epir.faces.finder import find_face
from epir.flow.colour import draw_arrows
from epir.flow.magnification import AROUND, SkinMotion, skin_motion
from epir.frames.picture import encode_jpeg
from epir.frames.seeking import SeekableVideo

SIZE = 480  # px of the picture of a face
LARGEST = 1280  # px of a whole frame
VIDEOS, PICTURES, MOTIONS = 3, 600, 300  # kept in caches
ARROW = 0.012  # motion of the longest arrow, as a share of the face width
MOST_TIMES = 10.0
BEYOND = 50  # frames from the nearest tracked frame, beyond which the face is detected again
Value = TypeVar("Value")


@dataclass(frozen=True)
class View:
    """How to show a frame."""

    face: int = 0
    whole: bool = False  # the whole frame
    reference: int | None = None  # the frame to which the face is aligned
    times: float = 1.0  # magnification of the motion of the skin
    flow: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.times <= MOST_TIMES:
            raise FrameError(f"motion cannot be magnified {self.times:g} times", fix=f"give 1 to {MOST_TIMES:g}")


@dataclass(frozen=True)
class Shown:
    """A rendered picture."""

    jpeg: bytes
    times: float  # actual magnification, reduced where the skin would fold


class Cache(Generic[Value]):
    """A thread-safe LRU cache; each value is computed once, by the first thread that asks for it."""

    def __init__(self, most: int, close: Callable[[Value], None] | None = None) -> None:
        self._kept: OrderedDict[Hashable, Value] = OrderedDict()
        self._most, self._close = most, close
        self._lock = threading.Lock()
        self._busy: dict[Hashable, threading.Lock] = {}

    def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """The value of a key, from `make` if it is not cached."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
            busy = self._busy.setdefault(key, threading.Lock())
        with busy:
            with self._lock:
                if key in self._kept:
                    return self._kept[key]
            value = make()
            with self._lock:
                self._kept[key] = value
                self._busy.pop(key, None)
                while len(self._kept) > self._most:
                    _, oldest = self._kept.popitem(last=False)
                    if self._close is not None:
                        self._close(oldest)
            return value


class Pictures:
    """Pictures of a study's recordings; shared by the threads of the server."""

    def __init__(self, study: Study) -> None:
        self._study = study
        self._videos: Cache[SeekableVideo] = Cache(VIDEOS, SeekableVideo.close)
        self._shown: Cache[Shown] = Cache(PICTURES)
        self._faces: Cache[np.ndarray] = Cache(MOTIONS)
        self._motions: Cache[SkinMotion] = Cache(MOTIONS)
        self._squares: Cache[tuple[np.ndarray, np.ndarray]] = Cache(8)

    def video(self, recording: Recording) -> SeekableVideo:
        """The open video; raises if the file was moved or changed."""
        path = check_recording(self._study, recording)
        counted = recording.frames if recording.state == "done" else None
        key = (recording.id, str(path), counted, recording.turns)
        return self._videos.get(key, lambda: SeekableVideo(Path(path), frames=counted, turns=recording.turns))

    def show(self, recording: Recording, number: int, view: View) -> Shown:
        """Render a frame."""
        video = self.video(recording)
        key = (recording.id, number, view, self._version(recording))
        return self._shown.get(key, lambda: self._render(video, recording, number, view))

    def _render(self, video: SeekableVideo, recording: Recording, number: int, view: View) -> Shown:
        if view.whole:
            return Shown(encode_jpeg(video.read(number), most=LARGEST), 1.0)
        if view.reference is None:
            return Shown(encode_jpeg(self._face(video, recording, number, view.face)), 1.0)
        key = (recording.id, number, view.face, view.reference, self._version(recording))
        reference = self._face(video, recording, view.reference, view.face)
        motion = self._motions.get(key, lambda: skin_motion(reference, self._face(video, recording, number, view.face)))
        pixels, times = motion.magnified(view.times) if view.times > 1 else (motion.face, 1.0)
        if view.flow:
            pixels = draw_arrows(pixels, motion.flow, cells=24, peak=ARROW * SIZE / AROUND)
        return Shown(encode_jpeg(pixels), times)

    def _face(self, video: SeekableVideo, recording: Recording, number: int, face: int) -> np.ndarray:
        key = (recording.id, number, face, self._version(recording))
        return self._faces.get(
            key, lambda: self.crop(recording, number, face).widen(AROUND).apply(video.read(number), SIZE)
        )

    def crop(self, recording: Recording, number: int, face: int) -> Crop:
        """The crop of a face in a frame: as tracked by the spotter, or else detected now."""
        key = (recording.id, face, self._version(recording))
        numbers, squares = self._squares.get(key, lambda: self._tracked(recording, face))
        if len(numbers):
            place = int(np.clip(np.searchsorted(numbers, number), 0, len(numbers) - 1))
            before = max(place - 1, 0)
            near = place if abs(numbers[place] - number) <= abs(numbers[before] - number) else before
            if abs(int(numbers[near]) - number) <= BEYOND:
                return Crop(**dict(zip(CROP, squares[near].tolist(), strict=True)))
        pixels = self.video(recording).read(number)
        detected = find_face(pixels)
        return whole_square(pixels) if detected is None else face_crop(detected)

    def _tracked(self, recording: Recording, face: int) -> tuple[np.ndarray, np.ndarray]:
        curves = self._study.curves(recording.id, face)
        if not curves:
            return np.zeros(0, np.int32), np.zeros((0, len(CROP)), np.float32)
        order = np.argsort(curves["numbers"], kind="stable")
        return curves["numbers"][order], curves["squares"][order]

    def _version(self, recording: Recording) -> Any:
        """A cache key that changes while the recording is being spotted, because the tracked crops do."""
        return recording.state if recording.state == "done" else recording.spotted


def whole_square(pixels: np.ndarray) -> Crop:
    """The largest central square of a frame, less the margin that is added around a face."""
    crop = whole_frame(pixels)
    return replace(crop, side=min(pixels.shape[:2]) / AROUND, stretch=1.0)
