"""Exact random access to the frames of a video.

The packets of the file are listed once, without decoding: their sorted time stamps are the frames. To reach a frame,
the decoder starts at the last key frame before it and stops at its time stamp; it does not matter where exactly a seek
lands. If the list does not match the frames (missing or repeated stamps, or a different number of frames), the file is
read forwards instead, which is slower and just as exact.
"""

import math
import threading
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING

import av
import numpy as np
from av.video.reformatter import VideoReformatter

from epir.core.errors import FrameError
from epir.frames.reader import turned
from epir.frames.video import VideoFrames, open_video, shown_pixels

if TYPE_CHECKING:
    from av.container import InputContainer

CACHE = 256 << 20  # bytes of decoded frames
AT_ZERO = 0.001  # seconds: a later first picture follows sound, or the first pictures are lost
AHEAD = 60  # frames up to which decoding onwards is faster than a new seek


def frame_times(path: Path) -> tuple[float, ...]:
    """The time of every frame of a video in seconds, as players show them and `epir predict` counts them."""
    try:
        listed = SeekableVideo(path).seconds()
    except av.FFmpegError:  # the file is shorter than its index
        listed = None
    if listed is not None:
        with VideoFrames(path) as frames:
            if next(iter(frames)).seconds < AT_ZERO:
                return tuple(listed.tolist())
    times: list[float] = []
    with VideoFrames(path, check=lambda number, seconds, width, height: times.append(seconds)) as frames:
        list(frames.during(math.inf, math.inf))  # decodes every frame, and converts none to RGB
    return tuple(times)


class SeekableVideo:
    """The frames of one video in any order, numbered from 0 as in `VideoFrames`; threads may share it.

    `frames` is their number, if known; `turns` counter-clockwise quarter turns make them upright.
    """

    def __init__(self, path: Path, *, frames: int | None = None, turns: int = 0, cache: int = CACHE) -> None:
        self.path, self._turns = path, turns
        self._lock = threading.Lock()
        self._reformatter = VideoReformatter()
        self._kept: OrderedDict[int, np.ndarray] = OrderedDict()
        self._bytes, self._most = 0, cache
        self._container: InputContainer | None = None
        self._forward: VideoFrames | None = None  # used if the list is unusable
        self._next = 0
        self.stamps, self._keys, self._tick = list_frames(path)
        self._places = {stamp: number for number, stamp in enumerate(self.stamps.tolist())}
        self.is_listed = bool(len(self.stamps)) and (frames is None or frames == len(self.stamps))

    def read(self, number: int) -> np.ndarray:
        """One frame, (H, W, 3) uint8 RGB, upright."""
        with self._lock:
            if number not in self._kept:
                self._decode(number)
            if number not in self._kept:
                raise FrameError(f"{self.path} has no frame {number}", fix="give a frame of the video")
            self._kept.move_to_end(number)
            return self._kept[number]

    def seconds(self) -> np.ndarray | None:
        """The time of every frame since the first, (n,); None if the file would have to be read to know."""
        if not self.is_listed:
            return None
        return (self.stamps - self.stamps[0]) * self._tick

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._container is not None:
            self._container.close()
        if self._forward is not None:
            self._forward.__exit__()
        self._container = self._forward = None

    def _decode(self, number: int) -> None:
        if number < 0:
            return
        if not self.is_listed:
            self._read_forward(number)
            return
        if number >= len(self.stamps):
            return
        if self._container is not None and self._next <= number < self._next + AHEAD and self._advance(number):
            return
        for key in reversed(self._keys[self._keys <= number].tolist()):
            self._start_at(key)
            if self._advance(number):
                return
        self.is_listed = False  # no key frame leads to it: the list is wrong
        self._close()
        self._read_forward(number)

    def _start_at(self, key: int) -> None:
        """Start decoding at a key frame."""
        self._close()
        self._container, self._stream = open_video(self.path)
        self._container.seek(int(self.stamps[key]), stream=self._stream, backward=True)
        self._pictures = self._container.decode(self._stream)
        self._next = 0
        self._is_whole = False  # until a key frame arrives: pictures before it refer to frames not decoded

    def _advance(self, number: int) -> bool:
        """Decode up to this frame; False if decoding passes it or fails."""
        try:
            for picture in self._pictures:
                place = self._places.get(picture.pts)
                self._is_whole = self._is_whole or bool(picture.key_frame)
                if place is None or not self._is_whole:
                    continue
                if place > number and place >= self._next and number not in self._kept:
                    return False
                self._next = place + 1
                self._keep(place, shown_pixels(picture, self._stream, self._reformatter))
                if place == number:
                    return True
        except av.FFmpegError:  # damaged: `VideoFrames` can handle that
            return False
        return False

    def _read_forward(self, number: int) -> None:
        if self._forward is None:
            self._forward = VideoFrames(self.path)
        frames = self._forward
        first = max(0, number - 20) if number < frames.position else number  # after a step back, more often follow
        for frame in frames.between(first, number):
            self._keep(frame.number, frame.pixels)

    def _keep(self, number: int, pixels: np.ndarray) -> None:
        if number in self._kept:
            return
        self._kept[number] = turned(pixels, self._turns)
        self._bytes += pixels.nbytes
        while self._bytes > self._most and len(self._kept) > 2:
            _, oldest = self._kept.popitem(last=False)
            self._bytes -= oldest.nbytes


def list_frames(path: Path) -> tuple[np.ndarray, np.ndarray, float]:
    """The sorted time stamps of all frames (n,) int64, the indices of the key frames, and the unit in seconds.

    Stamps and indices are empty if a stamp is missing or repeated.
    """
    container, stream = open_video(path)
    tick = float(stream.time_base or 1)
    stamps: list[int] = []
    keys: list[int] = []
    with container:
        for packet in container.demux(stream):
            if packet.size == 0 or packet.is_discard:
                continue
            if packet.pts is None:
                return np.zeros(0, np.int64), np.zeros(0, np.int64), tick
            stamps.append(packet.pts)
            if packet.is_keyframe:
                keys.append(packet.pts)
    ordered = np.unique(np.array(stamps, np.int64))
    if len(ordered) < len(stamps) or not keys:
        return np.zeros(0, np.int64), np.zeros(0, np.int64), tick
    return ordered, np.searchsorted(ordered, np.sort(np.array(keys, np.int64))), tick
