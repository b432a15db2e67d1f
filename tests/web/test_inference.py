"""The tasks of a worker process: limits of uploads, and reports about a camera."""

import struct
from types import SimpleNamespace

import numpy as np
import pytest

from epir.core.engines import Silent
from epir.frames.film import write_film
from epir.web.inference import (
    READING,
    Camera,
    CostLimit,
    calibrated_on,
    check_pictures,
    infer_clip,
    live_motion,
    open_checked,
)
from epir.web.problems import RequestError
from epir.web.settings import ESTIMATE_AFTER_S, ServeSettings

CONFIG = {
    **{"max_frames": 40, "max_seconds": 4.0, "max_pixels": 128 * 96, "max_megapixels": 0.3},
    **{"movements": 3, "rejected": 3, "timeout_s": 60.0},
}


def film(path, frames, size=(64, 96)):
    return write_film(path / "film.mp4", [np.zeros((*size, 3), np.uint8)] * frames, 10)


@pytest.fixture
def now(monkeypatch):
    """The time of the clock, in a list."""
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    return now


def test_a_video_within_the_limits_is_read_once_to_its_end(tmp_path):
    with open_checked(film(tmp_path, 30), None, CONFIG) as video:
        assert len(list(video)) == 30


def test_frames_count_if_the_container_gives_no_length(tmp_path, monkeypatch):
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
    check_pictures([str(tmp_path / "missing.png")], CONFIG)  # the reader reports it later


def test_a_job_that_cannot_end_in_time_ends_early(now):
    limit = CostLimit(Silent(), 100.0)
    limit.start("spotting", 1000)
    for _ in range(10):
        limit.advance()
        now[0] += ESTIMATE_AFTER_S / 10
    message = r"this would take about 655 seconds on this server; the limit is 100\n  fix: cut it to 12 % of its length"
    now[0] += 0.01
    with pytest.raises(RequestError, match=message) as refused:
        limit.advance()
    assert refused.value.status == 413


def test_frames_that_are_decoded_to_learn_the_rate_count_too(tmp_path, now):
    limit = CostLimit(Silent(), 100.0)
    limit.start(READING, 30)
    with open_checked(film(tmp_path, 30), None, CONFIG, limit.decoded) as video, pytest.raises(RequestError) as refused:
        for _ in video:
            now[0] += 5.0
    assert refused.value.problem == "this would take about 105 seconds on this server; the limit is 100"
    limit.start("spotting", 30)  # counts its own steps
    limit.decoded()


def test_the_stages_of_a_job_are_added_up(now):
    limit = CostLimit(Silent(), 80.0)
    now[0] = 60.0
    limit.start("spotting", 10)
    limit.advance()
    now[0] = 65.0
    limit.advance()
    now[0] = 70.0
    with pytest.raises(RequestError, match="this would take about 82 seconds on this server; the limit is 80"):
        limit.advance()


def test_a_single_slow_step_says_nothing_about_the_others(now):
    limit = CostLimit(Silent(), 100.0)
    limit.start(READING, 1000)
    limit.advance()
    now[0] = 30.0
    for _ in range(300):
        limit.advance()
        now[0] += 0.05


def test_a_job_that_will_end_in_time_continues(now):
    limit = CostLimit(Silent(), 100.0)
    for total in (0, 100):  # 0: unknown
        limit.start("spotting", total)
        for _ in range(50):
            now[0] += 0.5
            limit.advance()
    limit.finish()


@pytest.mark.parametrize(
    ("frames", "fps", "size", "message"),
    [
        (
            46,
            200.0,
            (96, 64),
            r"more than 40 frames\n  fix: cut it .* `epir predict` .* --set max_frames=80` raises it",
        ),
        (30, None, (96, 64), r"more than 2 seconds\n  fix: cut it .* `epir serve --set max_seconds=4` raises it"),
        (30, 5.0, (96, 64), r"the video lasts more than 2 seconds"),
        (10, None, (128, 128), r"the frames have 128 x 128 px\n  fix: scale it down"),
        (20, None, (300, 200), r"the frames have 200 x 300 px\n  fix: scale it down"),
    ],
)
def test_a_video_that_is_too_long_or_too_large_is_refused(tmp_path, frames, fps, size, message):
    task = {"files": [str(film(tmp_path, frames, size))], "name": "film.mp4", "fps": fps}
    with pytest.raises(RequestError, match=message) as refused:
        infer_clip(None, CONFIG | {"max_seconds": 2.0, "max_megapixels": 1.0}, "x", task, Silent())
    assert refused.value.status == 413


def test_a_calibration_on_synthetic_faces_is_marked_as_such():
    assert calibrated_on({"data": {"corpora": {"synthetic": 20000}}}) == "synthetic faces"
    assert calibrated_on({"data": {"corpora": {"synthetic": 20000}}, "real_people": {}}) == "people"
    assert calibrated_on({"data": {"corpora": {"casme2": 145, "synthetic": 10}}}) == "people"
    assert calibrated_on({}) == "people"


def test_many_large_pictures_are_too_much_work_although_each_is_small_on_disk(monkeypatch):
    """Each is allowed, and so would be a video of them; decoding them would hold the worker for two minutes."""
    monkeypatch.setattr("epir.web.inference.announced_size", lambda path: (4096, 4096))
    settings = ServeSettings()
    config = {"max_pixels": settings.max_pixels, "max_megapixels": settings.max_megapixels}
    with pytest.raises(
        RequestError, match=r"300 pictures of up to 4096 x 4096 px are too much work\n  fix: send fewer"
    ):
        check_pictures([f"{number}.png" for number in range(300)], config)
    check_pictures(["onset.png", "apex.png"], config)


def test_a_camera_reports_the_motion_of_every_person_also_at_the_end():
    timelines = {
        track: SimpleNamespace(
            numbers=np.arange(3) + 10 * track, stamps=np.arange(3) / 10 + track, face=np.ones(3), level=0.1, others=()
        )
        for track in (0, 1)
    }

    class Stream:
        fps, face, coverage = 30.0, "", SimpleNamespace(frames=3, covered=0.2, rate=30.0)

        def close(self):
            self.closed = True
            return []

        def new_motion(self):
            return [(track, each, 0) for track, each in timelines.items()] if hasattr(self, "closed") else []

    camera = Camera(None, "largest", 400)
    camera._stream, camera._new_stream = Stream(), Stream
    assert [each["track"] for each in camera.close()["motion"]] == [0, 1]
    assert live_motion(1, timelines[1], 1)["time"] == [1.1, 1.2]
