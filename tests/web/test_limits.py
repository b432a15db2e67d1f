"""Videos that are too long, too many or too large are told so."""

import numpy as np
import pytest

from epir.core.progress import Silent
from epir.frames.film import write_film
from epir.web.looking import look
from epir.web.problems import Refused

ORDERS = {"max_frames": 40, "max_seconds": 2.0, "max_pixels": 128 * 96, "movements": 3}


def film(path, frames=10, size=(96, 128)):
    return str(write_film(path / "film.mp4", [np.zeros((*size, 3), np.uint8)] * frames, 10))


@pytest.mark.parametrize(
    ("frames", "fps", "words"),
    [
        (41, None, r"the video has 41 frames, and 40 are the most that are looked at\n  fix: cut it around"),
        (30, None, r"the video lasts 3 seconds, and 2 are the most\n  fix: cut it around"),
        (30, 5.0, r"the video lasts 6 seconds, and 2 are the most"),
    ],
)
def test_a_long_video(tmp_path, frames, fps, words):
    task = {"files": [film(tmp_path, frames)], "name": "film.mp4", "fps": fps}
    with pytest.raises(Refused, match=words) as refused:
        look(None, ORDERS, "x", task, Silent())
    assert refused.value.status == 413


def test_large_frames(tmp_path):
    task = {"files": [film(tmp_path, 10, (128, 128))], "name": "film.mp4"}
    with pytest.raises(Refused, match=r"the frames are 128 x 128 px\n  fix: save the video smaller") as refused:
        look(None, ORDERS, "x", task, Silent())
    assert refused.value.status == 413
