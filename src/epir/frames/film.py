"""Frames -> a small video file: webm for browsers, mp4 for everything else."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import cv2
import numpy as np

from epir.core.errors import FrameError
from epir.core.files import whole_file

CODECS = {".webm": "VP80", ".mp4": "mp4v"}  # what OpenCV's wheels can write; browsers do not show mp4v


def write_film(path: Path, frames: Iterable[np.ndarray], fps: float) -> Path:
    """Write (H, W, 3) uint8 RGB frames of one size as a webm or mp4, in one step."""
    if path.suffix not in CODECS:
        raise FrameError(f"{path} cannot be written as a video", fix=f"let its name end in {' or '.join(CODECS)}")
    writer: cv2.VideoWriter | None = None
    with whole_file(path) as temporary:
        for frame in frames:
            if writer is None:
                writer = _open(temporary, frame, fps)
            writer.write(cv2.cvtColor(frame, cv2.COLOR_RGB2BGR))
        if writer is None:
            raise FrameError("there are no frames to write", fix="give at least one")
        writer.release()
    return path


def _open(path: Path, frame: np.ndarray, fps: float) -> cv2.VideoWriter:
    height, width = frame.shape[:2]
    code = cv2.VideoWriter_fourcc(*CODECS[path.suffix])  # type: ignore[attr-defined]
    with _without_words():
        writer = cv2.VideoWriter(str(path), code, fps, (width, height))
    if not writer.isOpened():
        raise FrameError(
            f"a video of {width} x {height} px cannot be written", fix="check that the folder can be written to"
        )
    return writer


@contextmanager
def _without_words() -> Iterator[None]:
    """Keep OpenCV from writing to stderr that it takes the container's own name for the codec."""
    kept, nothing = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nothing, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nothing)
