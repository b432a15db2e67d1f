"""A video file as frames with exact indices and times, decoded by FFmpeg (PyAV).

A container's frame count and rate are estimates: browser recordings announce none, files trimmed without re-encoding
announce too many. So the file is read to its end, and each frame has its stored time stamp.

The decoder conceals a damaged part and all frames that refer to it until the next key frame. Such frames are returned
with a note on their times, but not as onset or apex. VP8 and HEVC can hide damage from their decoders.

Seeking in a compressed video can land on a neighbour of the requested frame, and a micro-expression is visible only in
the difference of neighbours. So the file is only read forwards; to reach an earlier frame, reading starts over.
"""

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import av
import cv2
import numpy as np
from av.video.reformatter import VideoReformatter

from epir.core.errors import FrameError, is_machine_fault, machine_fault
from epir.core.files import VIDEO_ENDINGS
from epir.core.words import FASTEST_RATE
from epir.frames.damage import check_frame_count, damaged_jpeg, decoder_errors, fails_on, stricter_decoder
from epir.frames.film import REPORT_QUANTISER, quantiser_of
from epir.frames.reader import ASSUMED_RATE, Frame, Frames, missing_frame

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.video.stream import VideoStream

# Containers of video, and nothing that names other files (playlists) or draws text.
CONTAINERS = (
    "mov,mp4,matroska,webm,avi,asf,mpeg,mpegts,mpegvideo,gif,apng,flv,ogg,m4v,h264,hevc,mjpeg,ivf,mxf,dv,nut"
    ",yuv4mpegpipe"
)
SHORTEST_LACK = 0.5  # seconds: a note says that the file ends early if more are missing
MOST_PARTS = 3  # damaged parts listed in a note
# Errors that do not affect the picture: bookkeeping of references, and metadata.
HARMLESS = ("mmco:", "SEI type", "co located POCs unavailable", "Warning MVs not available")


@dataclass(frozen=True, slots=True)
class DamagedPart:
    """A run of damaged frames."""

    first: int
    last: int
    start: float  # seconds
    end: float

    def __str__(self) -> str:
        if self.first == self.last:
            return f"at {self.start:.2f} s (frame {self.first})"
        return f"from {self.start:.2f} to {self.end:.2f} s (frames {self.first} to {self.last})"


class DamagedStream:
    """Tracks which frames damage affects: from the damaged packet to the next intact key frame."""

    def __init__(self) -> None:
        self._lasts = False
        self._since: int | None = None  # time stamp of the damaged packet

    def begin(self, packet: "av.Packet | None") -> None:
        """Record a damaged packet."""
        self._lasts = True
        self._since = None if packet is None else packet.pts

    def reaches(self, picture: "av.VideoFrame", fault: bool) -> bool:
        """Whether the next picture may be wrong; `fault` says that decoding it raised an error."""
        later = self._since is None or picture.pts is None or picture.pts > self._since
        if picture.key_frame and later and not fault and not picture.is_corrupt:
            self._lasts = False
        if picture.is_corrupt:
            self._lasts = True
        return self._lasts


Check = Callable[[int, float, int, int], None]  # number, seconds, width and height of a frame; raises to stop reading


class VideoFrames(Frames):
    """The frames of one video file, numbered from 0; `fps` overrides the time stamps.

    `check` is called for every decoded frame, before it is converted to RGB.
    """

    _next: int
    _picture: "av.VideoFrame | None"  # the latest
    _pictures: Iterator[tuple["av.VideoFrame", bool]]

    def __init__(self, path: Path, fps: float | None = None, check: Check | None = None) -> None:
        self.path = path
        self.notes: list[str] = []
        self.given_fps = fps
        self.check = check
        self._reformatter = VideoReformatter()
        self._begin()
        rate = self._stream.guessed_rate or self._stream.average_rate  # `epir.frames.pace` measures it
        announced = float(rate) if rate and 0 < rate <= FASTEST_RATE else None
        self.fps = announced if fps is None else fps

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """The indices of the frames; the file is decoded once to count them."""
        return tuple(range(count_frames(self.path)))

    @property
    def announced(self) -> int | None:
        """The number of frames according to the container, or its length times its rate: an estimate.

        `None` if the file has fewer bytes than that: no memory may be allocated by such a number.
        """
        seconds = (self._container.duration or 0) / av.time_base
        count = int(self._stream.frames) or (round(seconds * self.fps) if self.fps else 0)
        return count if 0 < count <= self.path.stat().st_size else None

    @property
    def quantiser(self) -> float | None:
        """The mean H.264 quantiser of the pictures decoded so far; None for other codecs."""
        return self._quantisers / self._quantised if self._quantised else None

    @property
    def position(self) -> int:
        """The number of the next frame."""
        return self._next

    @property
    def size(self) -> tuple[int, int]:
        """Width and height as stored, before rotation."""
        return self._stream.codec_context.width, self._stream.codec_context.height

    def frame(self, number: int) -> Frame:
        """The frame with this index; a concealed frame is an error."""
        frame = next(self.between(number, number), None) if number >= 0 else None
        if frame is None:
            raise missing_frame(self.path, number, self.numbers)
        if self.damaged and self.damaged[-1].last == number:
            raise FrameError(
                f"frame {number} of {self.path} is damaged: part of the picture would be wrong",
                fix="copy the video again, or use another frame",
            )
        if self._lost:
            raise FrameError(
                f"frame {number} of {self.path} cannot be identified: a part before it could not be decoded",
                fix="copy the video again",
            )
        return frame

    def between(self, first: int, last: int) -> Iterator[Frame]:
        """The frames from `first` to `last` (inclusive), one at a time."""
        first = max(first, 0)
        if first < self._next and first <= last:
            if first == self._next - 1 and self._picture is not None:  # the latest frame is still decoded
                yield Frame(first, self._latest, self._pixels(self._picture))
            else:
                self.__exit__()
                self._begin()
        while self._next <= last:
            picture = self._advance()
            if picture is None:
                return
            if self._next > first:
                yield Frame(self._next - 1, self._latest, self._pixels(picture))

    def during(self, start: float, end: float) -> Iterator[Frame]:
        """The frames from `start` to `end` seconds (inclusive); earlier ones are decoded, but not converted to RGB."""
        self.__exit__()
        self._begin()
        while (picture := self._advance()) is not None and self._latest <= end:
            if self._latest >= start:
                yield Frame(self._next - 1, self._latest, self._pixels(picture))

    def __exit__(self, *error: object) -> None:
        self._picture = None
        self._container.close()

    def _begin(self) -> None:
        self._container, self._stream = open_video(self.path)
        if self._stream.codec_context.name == "h264":
            self._stream.codec_context.options = REPORT_QUANTISER
        self._quantisers, self._quantised = 0.0, 0  # sum of the quantisers, and number of pictures that have one
        self._next = 0  # index of the next frame
        self._latest = -math.inf  # time of the latest frame
        self._picture = None
        self._origin: float | None = None  # time stamp at time 0
        self.damaged: list[DamagedPart] = []  # so far
        self._lost = 0  # packets that gave no frame
        self._pictures = self._decode()

    def _advance(self) -> "av.VideoFrame | None":
        """Decode the next picture, without converting it to RGB."""
        picture, damaged = next(self._pictures, (None, False))
        if picture is not None:
            self._latest = self._seconds_of(picture)
            if self.check is not None:
                self.check(self._next, self._latest, picture.width, picture.height)
            self._next += 1
            self._picture = picture
            if (quantiser := quantiser_of(picture)) is not None:
                self._quantisers, self._quantised = self._quantisers + quantiser, self._quantised + 1
            if damaged:
                self._mark_damaged()
        return picture

    def _decode(self) -> Iterator[tuple["av.VideoFrame", bool]]:
        """Every picture up to the end, and whether it is damaged; notes a file that ends early."""
        broken = False
        damage = DamagedStream()
        packets = self._container.demux(self._stream)
        is_mjpeg = self._stream.codec_context.name == "mjpeg"
        stricter = stricter_decoder(self._stream)
        while True:
            fault = False
            with decoder_errors() as errors:
                try:
                    packet = next(packets, None)
                except av.FFmpegError:  # the file is shorter than its index
                    packet, broken = None, True
                try:
                    pictures = self._stream.codec_context.decode(packet)
                except av.EOFError:
                    pictures = []
                except av.FFmpegError:
                    pictures, fault, self._lost = [], True, self._lost + 1
            fault = fault or any(not message.startswith(HARMLESS) for message in errors)
            if packet is not None and packet.size > 0:
                fault = fault or (is_mjpeg and damaged_jpeg(bytes(packet)))
                fault = (stricter is not None and fails_on(stricter, packet)) or fault  # it sees every packet
            if fault:
                damage.begin(packet)
            for picture in pictures:
                yield picture, damage.reaches(picture, fault)
            if packet is None or packet.size == 0:  # the last, empty packet flushes the decoder
                break
        if not self._next:
            raise FrameError(
                f"{self.path} holds no frame that can be read", fix="copy it again, or convert it to mp4 (H.264)"
            )
        self._note_end(broken)

    def _mark_damaged(self) -> None:
        """Add the latest frame to the damaged parts, and update the note on them."""
        number = self._next - 1
        if self.damaged and self.damaged[-1].last == number - 1:
            self.damaged[-1] = replace(self.damaged[-1], last=number, end=self._latest)
        else:
            self.damaged.append(DamagedPart(number, number, self._latest, self._latest))
        words = (
            f"the file is damaged: part of the picture may be wrong {'; '.join(map(str, self.damaged[:MOST_PARTS]))}"
        )
        if len(self.damaged) > MOST_PARTS:
            words += f"; and in {len(self.damaged) - MOST_PARTS} more parts"
        self.notes[:] = [note for note in self.notes if not note.startswith(words.partition(" wrong")[0])] + [words]

    def _note_end(self, broken: bool) -> None:
        step = 1 / (self.fps or ASSUMED_RATE)
        end = None if self.given_fps else announced_end(self._container, self._stream)
        lack = 0.0 if end is None else end - (self._latest + step)
        broken = broken or ends_before_its_index(self.path, self._container, self._stream)
        place = f"after frame {self._next - 1} ({self._latest:.2f} s)"
        if broken or lack > max(SHORTEST_LACK, 5 * step):
            self.note(f"the file ends early, {place}: the frames up to there were used")
        if self._lost:
            several = f"{self._lost} parts could not be decoded and were"
            parts = "1 part could not be decoded and was" if self._lost == 1 else several
            self.note(f"the file is damaged: {parts} skipped")

    def _seconds_of(self, picture: "av.VideoFrame") -> float:
        """Time since the start; if a stamp is missing or goes back, one frame after the latest."""
        if self.given_fps is not None:
            return self._next / self.given_fps
        if self._origin is None:
            first = picture.time or 0.0
            start = (self._container.start_time or 0) / av.time_base
            self._origin = start if 0.0 <= first - start < 10.0 else first
        if picture.time is not None and picture.time - self._origin > self._latest:
            return picture.time - self._origin
        return max(self._latest, 0.0) + 1 / (self.fps or ASSUMED_RATE) if self._next else 0.0

    def _pixels(self, picture: "av.VideoFrame") -> np.ndarray:
        return shown_pixels(picture, self._stream, self._reformatter)


def shown_pixels(picture: "av.VideoFrame", stream: "VideoStream", reformatter: VideoReformatter) -> np.ndarray:
    """The picture as shown, (H, W, 3) uint8 RGB: square pixels, upright."""
    pixels: np.ndarray = reformatter.reformat(picture, format="rgb24", threads=1).to_ndarray()
    aspect = stream.sample_aspect_ratio
    if aspect and aspect != 1 and 0.2 < aspect < 5:
        wide = max(1, round(pixels.shape[1] * float(aspect)))
        pixels = cv2.resize(pixels, (wide, pixels.shape[0]), interpolation=cv2.INTER_LINEAR)
    turns = round(picture.rotation / 90) % 4  # counter-clockwise
    return np.ascontiguousarray(np.rot90(pixels, turns)) if turns else pixels


def open_video(path: Path) -> tuple["InputContainer", "VideoStream"]:
    """The container and its first video stream that is not a cover picture."""
    check_frame_count(path)
    options = {"format_whitelist": CONTAINERS, "protocol_whitelist": "file"}
    try:
        container = av.open(f"file:{path}", options=options)
    except (av.FFmpegError, ValueError) as error:
        if isinstance(error, OSError) and is_machine_fault(error):
            raise machine_fault(error, path) from None
        if isinstance(error, UnicodeError):
            raise FrameError(f"the name of {path} is not UTF-8", fix="rename the video") from None
        if path.suffix.lower() not in VIDEO_ENDINGS:
            raise FrameError(
                f"{path} is neither a folder of pictures nor a video",
                fix=f"video files end in {', '.join(VIDEO_ENDINGS)}",
            ) from None
        raise FrameError(
            f"{path} cannot be opened as a video: it is damaged, or its codec is missing",
            fix="play it in a video player; if it plays there, convert it to mp4 (H.264) or to png pictures",
        ) from None
    cover = av.stream.Disposition.attached_pic
    streams = [stream for stream in container.streams.video if not stream.disposition & cover]
    if not streams or streams[0].codec_context is None:
        container.close()
        raise FrameError(f"{path} has no video stream", fix="give a file with pictures, not only sound")
    streams[0].codec_context.thread_count = 1
    return container, streams[0]


def announced_end(container: "InputContainer", stream: "VideoStream") -> float | None:
    """The time at which the last frame should end, in seconds from the start; None if the container does not say.

    An mp4 has an index instead; its durations ignore edit lists.
    """
    if "matroska" in container.format.name:
        duration = re.fullmatch(r"(\d{1,6}):(\d{1,2}):(\d{1,2}(?:\.\d*)?)", stream.metadata.get("DURATION", ""))
        if duration is not None:
            hours, minutes, seconds = map(float, duration.groups())
            return 3600 * hours + 60 * minutes + seconds - (container.start_time or 0) / av.time_base
        alone = len(container.streams) == 1
        return container.duration / av.time_base if alone and container.duration else None
    if container.format.name == "avi" and stream.frames and stream.average_rate:
        return stream.frames / float(stream.average_rate)
    return None


def ends_before_its_index(path: Path, container: "InputContainer", stream: "VideoStream") -> bool:
    """Whether the index of an mp4 or mov refers to bytes beyond the end of the file."""
    if "mp4" not in container.format.name:
        return False
    return max((entry.pos + entry.size for entry in stream.index_entries), default=0) > path.stat().st_size


def count_frames(path: Path) -> int:
    """The number of frames in a video, counted by decoding it once, without converting frames to RGB."""
    with VideoFrames(path) as frames:
        return sum(1 for _ in iter(frames._advance, None))
