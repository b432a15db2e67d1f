"""The tasks of a worker process: what an upload may cost, and which frames of a camera are reported."""

import struct
from types import SimpleNamespace

import numpy as np
import pytest

from epir.core.engines import Silent
from epir.frames.film import write_film
from epir.web.inference import Camera, calibrated_on, check_pictures, infer_clip, live_motion, open_clip
from epir.web.problems import RequestError
from epir.web.settings import ServeSettings

CONFIG = {
    **{"max_frames": 40, "max_seconds": 4.0, "max_pixels": 128 * 96, "max_megapixels": 0.3},
    **{"movements": 3, "rejected": 3, "timeout_s": 60.0},
}


def film(path, frames, size=(64, 96)):
    return write_film(path / "film.mp4", [np.zeros((*size, 3), np.uint8)] * frames, 10)


def test_a_video_within_the_limits_is_read_once_to_its_end(tmp_path):
    with open_clip(film(tmp_path, 30), None, CONFIG) as video:
        assert len(list(video)) == 30


def test_the_frames_decide_where_the_container_does_not_tell(tmp_path, monkeypatch):
    monkeypatch.setattr("epir.frames.video.VideoFrames.announced", None)
    video = open_clip(film(tmp_path, 45), 20.0, CONFIG)
    with video, pytest.raises(RequestError, match=r"more than 40 frames\n  fix: cut it around the move") as refused:
        list(video)
    assert refused.value.status == 413


def test_pictures_are_measured_before_they_are_decoded(tmp_path):
    header = struct.pack("<IiiHHIIiiII", 40, 30_000, 30_000, 1, 8, 1, 4, 0, 0, 1, 0)
    path = tmp_path / "large.bmp"
    path.write_bytes(b"BM" + struct.pack("<IHHI", 62, 0, 0, 58) + header + bytes(4) + b"\0\1\0\1")
    with pytest.raises(RequestError, match=r"a picture has \d+ x \d+ px\n  fix: scale the pictures down"):
        check_pictures([str(path)], CONFIG)
    check_pictures([str(tmp_path / "missing.png")], CONFIG)  # the reader says what is wrong with it


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
        (38, 20.0, (96, 128), r"128 x 96 px .* too much work\n  fix: scale it down"),
    ],
)
def test_a_video_that_is_too_long_or_too_large_is_refused(tmp_path, frames, fps, size, message):
    task = {"files": [str(film(tmp_path, frames, size))], "name": "film.mp4", "fps": fps}
    with pytest.raises(RequestError, match=message) as refused:
        infer_clip(None, CONFIG | {"max_seconds": 2.0, "max_megapixels": 0.4}, "x", task, Silent())
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
