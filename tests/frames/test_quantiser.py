"""How strongly a video was compressed, as its decoder tells."""

import numpy as np
import pytest

from epir.frames.film import compressed, write_film
from epir.frames.reader import open_frames


def frames(count=12):
    """A pattern that moves by a pixel from frame to frame, with some noise."""
    random = np.random.default_rng(0)
    rows, columns = np.mgrid[0:96, 0:128]
    for number in range(count):
        grey = 120 + 60 * np.sin((columns + number) / 6) * np.cos(rows / 9) + random.normal(0, 2, rows.shape)
        yield np.repeat(np.clip(grey, 0, 255).astype(np.uint8)[..., None], 3, axis=2)


def test_the_quantiser_follows_the_rate_factor():
    means = []
    for quality in (20, 30, 40):
        quantisers = []
        assert len(list(compressed(frames(), 30.0, quality, quantisers))) == len(quantisers) == 12
        means.append(np.mean(quantisers))
    assert means[0] == pytest.approx(20, abs=8)
    assert np.diff(means) == pytest.approx([10, 10], abs=3)


def test_a_video_file_tells_it_once_its_frames_were_read(tmp_path):
    with open_frames(write_film(tmp_path / "a.mp4", frames(), 30.0)) as video:
        assert video.quantiser is None
        assert len(list(video)) == 12
        first = video.quantiser
        assert first == pytest.approx(18, abs=8)
        assert len(list(video)) == 12 and video.quantiser == first, "a second pass begins anew"


def test_other_codecs_do_not_tell(tmp_path):
    with open_frames(write_film(tmp_path / "a.webm", frames(), 30.0)) as video:
        assert len(list(video)) == 12 and video.quantiser is None
