"""Pictures are measured by their heads, videos frame by frame, and what would take too long ends early."""

import struct

import numpy as np
import pytest

from epir.core.progress import Silent
from epir.frames.film import write_film
from epir.web.cost import READING, SURE_S, CostLimit, check_pictures, open_checked
from epir.web.problems import RequestError

CONFIG = {"max_frames": 40, "max_seconds": 4.0, "max_pixels": 128 * 96, "max_megapixels": 0.3}


def film(path, frames, size=(64, 96)):
    return write_film(path / "film.mp4", [np.zeros((*size, 3), np.uint8)] * frames, 10)


def test_a_video_within_the_limits_is_read_once_to_its_end(tmp_path):
    with open_checked(film(tmp_path, 30), None, CONFIG) as video:
        assert len(list(video)) == 30


def test_the_frames_decide_where_the_container_does_not_tell(tmp_path, monkeypatch):
    monkeypatch.setattr("epir.frames.video.VideoFrames.announced", None)
    video = open_checked(film(tmp_path, 45), 20.0, CONFIG)
    with video, pytest.raises(RequestError, match=r"more than 40 frames\n  fix: cut it around the move") as refused:
        list(video)
    assert refused.value.status == 413


def test_all_pixels_together_are_limited(tmp_path):
    with pytest.raises(RequestError, match=r"96 x 64 px .* too much work\n  fix: scale it down"):
        open_checked(film(tmp_path, 40), 20.0, CONFIG | {"max_megapixels": 0.1})


def test_pictures_are_measured_before_they_are_decoded(tmp_path):
    header = struct.pack("<IiiHHIIiiII", 40, 30_000, 30_000, 1, 8, 1, 4, 0, 0, 1, 0)
    path = tmp_path / "large.bmp"
    path.write_bytes(b"BM" + struct.pack("<IHHI", 62, 0, 0, 58) + header + bytes(4) + b"\0\1\0\1")
    with pytest.raises(RequestError, match=r"a picture has \d+ x \d+ px\n  fix: scale the pictures down"):
        check_pictures([str(path)], CONFIG)
    check_pictures([str(tmp_path / "missing.png")], CONFIG)  # the reader says what is wrong with it


def test_a_job_that_cannot_end_in_time_ends_early(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    limit = CostLimit(Silent(), 100.0)
    limit.start("spotting", 1000)
    for _ in range(10):
        limit.advance()
        now[0] += SURE_S / 10
    message = r"this would take about 655 seconds here; the limit is 100\n  fix: cut it to 12 % of its length"
    now[0] += 0.01
    with pytest.raises(RequestError, match=message) as refused:
        limit.advance()
    assert refused.value.status == 413


def test_frames_that_are_decoded_to_learn_the_rate_count_too(tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    limit = CostLimit(Silent(), 100.0)
    limit.start(READING, 30)
    with open_checked(film(tmp_path, 30), None, CONFIG, limit.decoded) as video, pytest.raises(RequestError) as refused:
        for _ in video:
            now[0] += 5.0
    assert refused.value.problem == "this would take about 105 seconds here; the limit is 100"
    limit.start("spotting", 30)  # counts its own
    limit.decoded()


def test_the_stages_of_a_job_are_added_up(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    limit = CostLimit(Silent(), 80.0)
    now[0] = 60.0
    limit.start("spotting", 10)
    limit.advance()
    now[0] = 65.0
    limit.advance()
    now[0] = 70.0
    with pytest.raises(RequestError, match="this would take about 82 seconds here; the limit is 80"):
        limit.advance()


def test_a_single_slow_step_says_nothing_about_the_others(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    limit = CostLimit(Silent(), 100.0)
    limit.start(READING, 1000)
    limit.advance()
    now[0] = 30.0
    for _ in range(300):
        limit.advance()
        now[0] += 0.05


def test_a_job_that_will_end_in_time_goes_on(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    limit = CostLimit(Silent(), 100.0)
    for total in (0, 100):  # 0: nobody knows how many there are
        limit.start("spotting", total)
        for _ in range(50):
            now[0] += 0.5
            limit.advance()
    limit.finish()
