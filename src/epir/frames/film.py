"""Write frames to a small video file: webm (VP8) or mp4 (H.264), for browsers and players; or to H.264 and back.

The quantiser of H.264, from 0 to 51, measures how strongly a picture was compressed; x264's rate factor (`crf`) is
close to its mean. Decoders of other codecs do not report it.
"""

import struct
from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from epir.core.errors import FrameError, is_machine_fault, machine_fault
from epir.core.files import atomic_write

if TYPE_CHECKING:
    import av

# A negative `cpu-used` fixes the speed of libvpx; a positive one adapts it, and so the pictures, to the machine's load.
CODECS = {
    ".webm": ("libvpx", {"crf": "10", "b": "4M", "deadline": "realtime", "cpu-used": "-4"}),
    # With B-frames or macroblock trees, x264 now and then writes different bytes for the same frames.
    ".mp4": ("libx264", {"crf": "20", "preset": "veryfast", "x264-params": "mbtree=0:bframes=0"}),
}
REPORT_QUANTISER = {"export_side_data": "venc_params"}  # decoder options
HEAD = struct.Struct("@INNii")  # of FFmpeg's AVVideoEncParams: blocks, their offset, size of one, codec, base
H264 = 1  # AV_VIDEO_ENC_PARAMS_H264
OFFSET = 16  # bytes in a block before its difference from the base


def write_film(path: Path, frames: Iterable[np.ndarray], fps: float) -> Path:
    """Write (H, W, 3) uint8 RGB frames of one size to a webm or mp4, atomically; odd sides lose their last row.

    The same frames always give the same bytes of an mp4.
    """
    import av

    if path.suffix not in CODECS:
        raise FrameError(f"{path} cannot be written as a video", fix=f"use a name that ends in {' or '.join(CODECS)}")
    codec, options = CODECS[path.suffix]
    with atomic_write(path) as temporary:
        stream: av.VideoStream | None = None
        try:
            with av.open(str(temporary), "w") as container:
                for frame in frames:
                    height, width = (side // 2 * 2 for side in frame.shape[:2])
                    if stream is None:
                        rate = Fraction(fps).limit_denominator(100_000)
                        added = container.add_stream(codec, rate, options=options)
                        assert isinstance(added, av.VideoStream), "the codecs above are for pictures"
                        stream = added
                        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
                        stream.codec_context.thread_count = 1
                    even = np.ascontiguousarray(frame[:height, :width])
                    container.mux(stream.encode(av.VideoFrame.from_ndarray(even, format="rgb24")))
                if stream is None:
                    raise FrameError("there are no frames to write", fix="give at least one frame")
                container.mux(stream.encode(None))
        except av.FFmpegError as error:
            fault = OSError(error.errno, error.strerror, str(path))
            if is_machine_fault(fault):
                raise machine_fault(fault) from None
            raise FrameError(
                f"{path} cannot be written as a video: {error.strerror}",
                fix="check that the folder can be written to, and that the frames are at least 16 px wide and high",
            ) from None
    return path


def compressed(
    frames: Iterable[np.ndarray], fps: float, quality: int = 23, quantisers: list[float] | None = None
) -> Iterator[np.ndarray]:
    """Frames (H, W, 3) uint8 RGB after encoding to H.264 and back; `quality` is x264's rate factor, lower is better.

    The quantiser of each frame is appended to `quantisers`.
    """
    import av

    encoder: av.VideoCodecContext | None = None
    decoder = av.VideoCodecContext.create("h264", "r")
    quantisers = [] if quantisers is None else quantisers
    decoder.options = REPORT_QUANTISER
    for place, frame in enumerate(frames):
        height, width = (side // 2 * 2 for side in frame.shape[:2])
        if encoder is None:
            encoder = av.VideoCodecContext.create("libx264", "w")
            encoder.width, encoder.height, encoder.pix_fmt = width, height, "yuv420p"
            encoder.time_base = Fraction(1000, max(1, round(1000 * fps)))
            encoder.options = {"crf": str(quality), "preset": "veryfast", "threads": "1"}
        picture = av.VideoFrame.from_ndarray(np.ascontiguousarray(frame[:height, :width]), format="rgb24")
        picture.pts = place
        for packet in encoder.encode(picture):
            yield from _pictures(decoder, packet, quantisers)
    if encoder is not None:
        for packet in encoder.encode(None):
            yield from _pictures(decoder, packet, quantisers)
        yield from _pictures(decoder, None, quantisers)


def _pictures(
    decoder: "av.VideoCodecContext", packet: "av.Packet | None", quantisers: list[float]
) -> Iterator[np.ndarray]:
    for picture in decoder.decode(packet):
        if (quantiser := quantiser_of(picture)) is not None:
            quantisers.append(quantiser)
        yield picture.to_ndarray(format="rgb24")


def quantiser_of(picture: "av.VideoFrame") -> float | None:
    """The mean quantiser over the blocks of a picture; None if the decoder does not report it."""
    parameters: Any = picture.side_data.get("VIDEO_ENC_PARAMS")  # a key that PyAV's types do not list
    if parameters is None:
        return None
    content = bytes(parameters)
    blocks, begin, size, codec, base = HEAD.unpack_from(content)
    if codec != H264:
        return None
    differences = np.ndarray((blocks,), np.int32, content, begin + OFFSET, (size,))
    return base + (float(differences.mean()) if blocks else 0.0)
