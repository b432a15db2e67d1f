import cv2
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
    """Writes a video of coded frames and gives back its path."""

    def write(name, codec, count=120, fps=200.0):
        path = tmp_path / name
        writer = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*codec), fps, (WIDTH, HEIGHT))
        assert writer.isOpened()
        for number in range(count):
            writer.write(coded_frame(number))
        writer.release()
        return path

    return write
