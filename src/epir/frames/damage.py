"""What decoders know about damaged data but do not say unless they are asked: they conceal it and go on.

A JPEG has no checksum. Its codes fall out of step where bits are wrong, which libjpeg and FFmpeg notice at different
places: libjpeg counts the bytes that are left over or lacking, FFmpeg the coefficients of a block. Damage that leaves
both in step (a constant shift of brightness, a changed quantisation table) cannot be seen in one picture.
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
LIMITS = ("tj", "Unsupported JPEG process", "Unsupported color conversion")  # of the checking library, not damage
OUT_OF_STEP = ("error ", "overread")  # how FFmpeg's messages about such a JPEG begin
END_OF_PNG = b"IEND"
NESTED = (b"moov", b"trak", b"mdia", b"minf", b"stbl", b"moof", b"traf")  # boxes of an mp4 that hold others
COUNTS = {b"stsz": 8, b"stz2": 8, b"trun": 4}  # boxes that announce frames, and where they do
MOST_BOXES = 100_000  # of one level
# Decoders that refuse damage which FFmpeg's own passes over without a word, by its name and the pixels they know.
STRICTER = {("vp9", "yuv420p"): "libvpx-vp9"}


def damaged_jpeg(content: bytes) -> bool:
    """Whether the codes of a JPEG do not add up to its picture."""
    try:
        simplejpeg.decode_jpeg(content, "GRAY", strict=True, min_factor=SCALE)
    except ValueError as error:
        if not str(error).startswith(LIMITS):
            return True
    decoder = av.CodecContext.create("mjpeg", "r")
    decoder.thread_count = 1
    with decoder_errors() as errors, suppress(av.FFmpegError):  # there are kinds of JPEG that FFmpeg does not read
        decoder.decode(av.Packet(content))
    return any(message.startswith(OUT_OF_STEP) for message in errors)


def stricter_decoder(stream: av.VideoStream) -> av.VideoCodecContext | None:
    """A second decoder for the packets of a video, asked only whether they are sound; `None` where there is none."""
    name = STRICTER.get((stream.codec_context.name, stream.codec_context.pix_fmt or ""))
    if name is None or name not in av.codecs_available:
        return None
    decoder = av.CodecContext.create(name, "r")
    assert isinstance(decoder, av.VideoCodecContext)
    decoder.thread_count = 1
    return decoder


def refuses(decoder: av.VideoCodecContext, packet: av.Packet) -> bool:
    """Whether this decoder cannot read a packet, or needs another that it could not read."""
    try:
        decoder.decode(packet)
    except av.FFmpegError:
        return True
    return False


def damaged_png(content: bytes) -> bool:
    """Whether a checksum of a PNG does not fit, or its chunks do not follow each other to the end."""
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
    """Refuse an mp4 or mov that announces more frames than it has bytes: FFmpeg would make room for all of them."""
    with open_regular(path, error=FrameError, fix="give a video file") as file:
        start = file.read(8)
        if start[4:8] not in (b"ftyp", b"moov", b"mdat", b"wide", b"free", b"skip"):
            return
        size = path.stat().st_size
        told = max(_told(file, 0, size), default=0)
    if told > size:
        raise FrameError(
            f"{path} cannot be opened as a video: it announces {told:,} frames in {size:,} bytes", fix="copy it again"
        )


def _told(file: BinaryIO, start: int, end: int) -> Iterator[int]:
    """The numbers of frames that the boxes between two places announce."""
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
            yield from _told(file, start + head, last)
        elif kind in COUNTS:
            file.seek(start + head + COUNTS[kind])
            yield int.from_bytes(file.read(4), "big")
        if length and length < head:
            return
        start = last


@contextmanager
def decoder_errors() -> Iterator[list[str]]:
    """Collects the errors that FFmpeg reports in this thread meanwhile; it conceals them, and PyAV drops them."""
    level, skips = av.logging.get_level(), av.logging.get_skip_repeated()
    av.logging.set_level(av.logging.ERROR)
    av.logging.set_skip_repeated(False)  # the same words about the next frame are about another damage
    messages: list[str] = []
    try:
        with av.logging.Capture() as logs:
            yield messages
    finally:
        messages += [message.strip() for _, _, message in logs]
        av.logging.set_level(level)
        av.logging.set_skip_repeated(skips)
