"""Detect damaged pictures and videos, which decoders conceal unless they are asked.

A JPEG has no checksum. Wrong bits put its codes out of step, which libjpeg and FFmpeg notice in different ways: libjpeg
counts surplus or missing bytes, FFmpeg the coefficients of a block. Damage that both miss (a constant shift of
brightness, a changed quantisation table) cannot be detected in a single picture.
"""

import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

import av
import simplejpeg

from epir.core.errors import FrameError
from epir.core.files import open_regular

SCALE = 8  # the check decodes all codes, but computes one pixel in 64
LIMITS = ("tj", "Unsupported JPEG process", "Unsupported color conversion")  # limits of simplejpeg, not damage
OUT_OF_STEP = ("error ", "overread")  # how FFmpeg's messages about such a JPEG begin
END_OF_PNG = b"IEND"
NESTED = (b"moov", b"trak", b"mdia", b"minf", b"stbl", b"moof", b"traf")  # boxes of an mp4 that hold other boxes
COUNTS = {b"stsz": 8, b"stz2": 8, b"trun": 4}  # boxes that announce a number of frames -> its offset in the box
MOST_BOXES = 100_000  # on one level
# (FFmpeg's decoder, pixel format) -> a decoder that reports damage which FFmpeg's own silently ignores
STRICTER = {("vp9", "yuv420p"): "libvpx-vp9"}


def damaged_jpeg(content: bytes) -> bool:
    """Whether the codes of a JPEG are damaged."""
    try:
        simplejpeg.decode_jpeg(content, "GRAY", strict=True, min_factor=SCALE)
    except ValueError as error:
        if not str(error).startswith(LIMITS):
            return True
    decoder = av.CodecContext.create("mjpeg", "r")
    decoder.thread_count = 1
    with decoder_errors() as errors, suppress(av.FFmpegError):  # FFmpeg cannot read some kinds of JPEG
        decoder.decode(av.Packet(content))
    return any(message.startswith(OUT_OF_STEP) for message in errors)


def stricter_decoder(stream: av.VideoStream) -> av.VideoCodecContext | None:
    """A second decoder that only checks the packets of a video for damage; `None` if there is none."""
    name = STRICTER.get((stream.codec_context.name, stream.codec_context.pix_fmt or ""))
    if name is None or name not in av.codecs_available:
        return None
    decoder = av.CodecContext.create(name, "r")
    assert isinstance(decoder, av.VideoCodecContext)
    decoder.thread_count = 1
    return decoder


def fails_on(decoder: av.VideoCodecContext, packet: av.Packet) -> bool:
    """Whether this decoder fails on a packet, or on an earlier one that the packet needs."""
    try:
        decoder.decode(packet)
    except av.FFmpegError:
        return True
    return False


def damaged_png(content: bytes) -> bool:
    """Whether a PNG has a wrong checksum, or lacks its end."""
    place = 8
    while place + 12 <= len(content):
        (length,) = struct.unpack_from(">I", content, place)
        end = place + 8 + length
        if end + 4 > len(content) or struct.unpack_from(">I", content, end)[0] != zlib.crc32(content[place + 4 : end]):
            return True
        if content[place + 4 : place + 8] == END_OF_PNG:
            return False
        place = end + 4
    return True


def check_frame_count(path: Path) -> None:
    """Raise an error if an mp4 or mov announces more frames than it has bytes: FFmpeg would allocate them all."""
    with open_regular(path, error=FrameError, fix="give a video file") as file:
        start = file.read(8)
        if start[4:8] not in (b"ftyp", b"moov", b"mdat", b"wide", b"free", b"skip"):
            return
        size = path.stat().st_size
        announced = max(_announced(file, 0, size), default=0)
    if announced > size:
        raise FrameError(
            f"{path} cannot be opened as a video: it announces {announced:,} frames in {size:,} bytes",
            fix="copy it again",
        )


def _announced(file: BinaryIO, start: int, end: int) -> Iterator[int]:
    """The numbers of frames that the boxes between two offsets announce."""
    for _ in range(MOST_BOXES):
        if start + 8 > end:
            return
        file.seek(start)
        length, kind = struct.unpack(">I4s", file.read(8))
        head = 8
        if length == 1:
            length, head = int.from_bytes(file.read(8), "big"), 16
        last = end if length == 0 else min(start + length, end)
        if kind in NESTED:
            yield from _announced(file, start + head, last)
        elif kind in COUNTS:
            file.seek(start + head + COUNTS[kind])
            yield int.from_bytes(file.read(4), "big")
        if length and length < head:
            return
        start = last


@contextmanager
def decoder_errors() -> Iterator[list[str]]:
    """Collect the errors that FFmpeg reports in this thread inside the block; by default PyAV drops them."""
    level, skips = av.logging.get_level(), av.logging.get_skip_repeated()
    av.logging.set_level(av.logging.ERROR)
    av.logging.set_skip_repeated(False)  # the same message about the next frame is about other damage
    messages: list[str] = []
    try:
        with av.logging.Capture() as logs:
            yield messages
    finally:
        messages += [message.strip() for _, _, message in logs]
        av.logging.set_level(level)
        av.logging.set_skip_repeated(skips)
