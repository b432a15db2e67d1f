"""The picture of any frame of a recording, exactly that frame: the face, large and held still, or the whole frame.

With a reference (the onset of a movement) the face is laid on it, so that the head stands still; the motion of the skin
since then can be drawn as arrows or magnified.
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
VIDEOS, PICTURES, MOTIONS = 3, 600, 300  # that are kept
ARROW = 0.012  # of the face's width: motion that is drawn as the longest arrow
MOST_TIMES = 10.0
BEYOND = 50  # frames away from one that shows the face: there it is looked for anew
Value = TypeVar("Value")


@dataclass(frozen=True)
class View:
    """How a frame is shown."""

    face: int = 0
    whole: bool = False  # the frame as it is
    reference: int | None = None  # the frame on which the face is laid
    times: float = 1.0  # by which the motion of the skin is magnified
    flow: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.times <= MOST_TIMES:
            raise FrameError(f"motion cannot be magnified {self.times:g} times", fix=f"give 1 to {MOST_TIMES:g}")


@dataclass(frozen=True)
class Shown:
    """A picture, ready to be sent."""

    jpeg: bytes
    times: float  # by which motion is really magnified: less where the skin would fold


class Cache(Generic[Value]):
    """The latest values, made when they are asked for; each by one thread only."""

    def __init__(self, most: int, close: Callable[[Value], None] | None = None) -> None:
        self._kept: OrderedDict[Hashable, Value] = OrderedDict()
        self._most, self._close = most, close
        self._lock = threading.Lock()
        self._busy: dict[Hashable, threading.Lock] = {}

    def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """The value of a key."""
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
    """The pictures of a study's recordings; shared by the threads of the server."""

    def __init__(self, study: Study) -> None:
        self._study = study
        self._videos: Cache[SeekableVideo] = Cache(VIDEOS, SeekableVideo.close)
        self._shown: Cache[Shown] = Cache(PICTURES)
        self._faces: Cache[np.ndarray] = Cache(MOTIONS)
        self._motions: Cache[SkinMotion] = Cache(MOTIONS)
        self._squares: Cache[tuple[np.ndarray, np.ndarray]] = Cache(8)

    def video(self, recording: Recording) -> SeekableVideo:
        """The open video; one that was moved is looked for, one that was changed is refused."""
        path = check_recording(self._study, recording)
        counted = recording.frames if recording.state == "done" else None
        key = (recording.id, str(path), counted, recording.turns)
        return self._videos.get(key, lambda: SeekableVideo(Path(path), frames=counted, turns=recording.turns))

    def show(self, recording: Recording, number: int, view: View) -> Shown:
        """One frame as it is to be seen."""
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
        """Where the face is in a frame: as it was followed, or else as it is found now."""
        key = (recording.id, face, self._version(recording))
        numbers, squares = self._squares.get(key, lambda: self._followed(recording, face))
        if len(numbers):
            place = int(np.clip(np.searchsorted(numbers, number), 0, len(numbers) - 1))
            before = max(place - 1, 0)
            near = place if abs(numbers[place] - number) <= abs(numbers[before] - number) else before
            if abs(int(numbers[near]) - number) <= BEYOND:
                return Crop(**dict(zip(CROP, squares[near].tolist(), strict=True)))
        pixels = self.video(recording).read(number)
        face_now = find_face(pixels)
        return whole_square(pixels) if face_now is None else face_crop(face_now)

    def _followed(self, recording: Recording, face: int) -> tuple[np.ndarray, np.ndarray]:
        curves = self._study.curves(recording.id, face)
        if not curves:
            return np.zeros(0, np.int32), np.zeros((0, len(CROP)), np.float32)
        order = np.argsort(curves["numbers"], kind="stable")
        return curves["numbers"][order], curves["squares"][order]

    def _version(self, recording: Recording) -> Any:
        """What pictures depend on beside the frame: where the face is followed changes until the video is done."""
        return recording.state if recording.state == "done" else recording.spotted


def whole_square(pixels: np.ndarray) -> Crop:
    """The largest square in the middle of a frame, less the margin that is added around a face."""
    crop = whole_frame(pixels)
    return replace(crop, side=min(pixels.shape[:2]) / AROUND, stretch=1.0)
