import numpy as np
import pytest

from epir.bench import video
from epir.frames.reader import open_frames


@pytest.fixture(scope="module")
def loop(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(video, "PERIOD", 1.6)
        yield video.write_loop(tmp_path_factory.mktemp("loop") / "loop.mp4", (160, 120), 4.0)


def test_the_seconds_repeat_seamlessly(loop):
    with open_frames(loop) as frames:
        small = np.stack([frame.pixels[::8, ::8].mean(axis=2) for frame in frames])
        assert len(small) == 120
        assert frames.fps == video.FPS
    period = round(video.PERIOD * video.FPS)
    assert np.abs(small[5] - small[5 + period]).max() < 3
    steps = np.abs(np.diff(small, axis=0)).mean(axis=(1, 2))
    assert steps[period - 1] < 4  # grey levels; a jump of the head is 10 and more


def test_ratios_come_from_frames_processor_time_and_peaks(monkeypatch):
    written = []

    def write(path, size, seconds):
        written.append((size, seconds))
        return path

    values = {
        "small.mp4": {"frames": 300, "seconds": 1.5, "peak": 1, "movements": 2},
        "brief.mp4": {"frames": 300, "seconds": 3.0, "peak": 90 * 2**20, "movements": 2},
        "long.mp4": {"frames": 3000, "seconds": 30.0, "peak": 100 * 2**20, "movements": 20},
    }
    monkeypatch.setattr(video, "write_loop", write)
    monkeypatch.setattr(video, "measured", lambda path: values[path.name])
    speed, large, memory = video.measure()
    assert (speed.value, speed.target, large.value) == (200.0, 150.0, 100.0)
    assert memory.value == pytest.approx(0.9)
    assert "+10 MB" in memory.detail
    assert written[-1] == ((1920, 1080), 600.0)
