from fractions import Fraction

import av
import numpy as np
import pytest

BITS, WIDTH, HEIGHT = 8, 128, 96


def coded_frame(number):
    """A frame that shows its number as eight stripes, bright for 1, with moving texture below."""
    frame = np.full((HEIGHT, WIDTH, 3), 20, np.uint8)
    for bit in range(BITS):
        if number >> bit & 1:
            frame[:, 16 * bit : 16 * bit + 16] = 220
    texture = np.random.default_rng(number).integers(-15, 16, (30, WIDTH, 3))
    frame[66:] = np.clip(frame[66:].astype(int) + texture, 0, 255)
    return frame


@pytest.fixture
def number_in():
    """Reads the number that a coded frame shows."""

    def read(frame):
        return sum(int(frame[:50, 16 * bit + 4 : 16 * bit + 12].mean() > 128) << bit for bit in range(BITS))

    return read


@pytest.fixture
def write_video(tmp_path):
    """Writes a video of coded frames and gives back its path; `times` are in milliseconds, `shown` frame numbers."""

    def write(name, codec="mpeg4", count=120, fps=200, *, times=None, shown=None, rotation=0, options=None, **format):
        path = tmp_path / name
        with av.open(str(path), "w", options=format) as container:
            stream = container.add_stream(codec, Fraction(fps), options=options or {})
            stream.width, stream.height = WIDTH, HEIGHT
            stream.pix_fmt = {"mjpeg": "yuvj420p", "gif": "rgb8", "png": "rgb24"}.get(codec, "yuv420p")
            stream.codec_context.gop_size = 12
            stream.codec_context.thread_count = 1
            if rotation:
                stream.set_display_rotation(rotation)
            if times is not None:
                stream.time_base = stream.codec_context.time_base = Fraction(1, 1000)
            for place, number in enumerate(range(count) if shown is None else shown):
                frame = av.VideoFrame.from_ndarray(coded_frame(number), format="rgb24")
                if times is not None:
                    frame.pts, frame.time_base = times[place], Fraction(1, 1000)
                container.mux(stream.encode(frame))
            container.mux(stream.encode(None))
        return path

    return write
