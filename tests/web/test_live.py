"""The last seconds of a camera, sent as pictures."""

import os
import signal
import threading

import pytest

from epir.frames.reader import open_frames
from epir.recognition.recognizer import Recognizer
from epir.reports.pictures import jpeg


@pytest.fixture(scope="module")
def frames(clip):
    """Every second frame around the smile, as a camera of 50 frames per second gives them."""
    with open_frames(clip) as film:
        return [jpeg(frame.pixels, quality=92) for frame in film.between(24, 103) if frame.number % 2 == 0]


def window(frames, step=20.0):
    files = [("frames", (f"{number}.jpg", frame)) for number, frame in enumerate(frames)]
    return {"files": files, "data": {"times": ",".join(f"{step * number:g}" for number in range(len(frames)))}}


def test_a_window_gets_the_recognizers_answer_and_leaves_nothing(api, frames, model, tmp_path, uploads):
    body = api.post("/api/live", **window(frames)).json()
    from epir.frames.picture import read_picture

    pictures = []
    for number, frame in enumerate(frames):
        (tmp_path / f"{number}.jpg").write_bytes(frame)
        pictures.append(read_picture(tmp_path / f"{number}.jpg"))
    own = Recognizer.from_pretrained(model).predict(pictures, fps=50.0)
    assert (body["label"], body["scores"], body["onset"]) == (own.label, dict(own.scores), own.onset)
    assert len(body["movements"]) == len(own.all) >= 1
    assert set(body) == {
        *("label", "text", "confidence", "scores", "units", "onset", "apex", "offset", "warnings"),
        *("movements", "curve", "frames", "fps", "elapsed_ms"),
    }
    assert (body["frames"], body["fps"]) == (len(frames), 50)
    assert len(body["curve"]["time"]) == len(frames)
    assert uploads() == []


def test_a_slow_camera_is_warned_about(api, frames):
    body = api.post("/api/live", **window(frames[:20], step=40)).json()
    assert body["fps"] == 25
    assert body["warnings"][0].startswith("the frame rate is low")


@pytest.mark.parametrize(
    ("change", "status", "problem", "fix"),
    [
        ({"data": {"times": "1,2"}}, 422, "the times do not match the frames", "one rising number of milliseconds"),
        ({"data": {"times": "3,2,1,0"}}, 422, "the times do not match the frames", "rising"),
        ({"data": {"times": "0,1,2,inf"}}, 422, "the times do not match the frames", "rising"),
        ({"data": {}}, 422, "the times do not match the frames", "times=0,33,67"),
        ({"data": {"times": "0,1,2,1e9"}}, 422, "the frame rate cannot be 3e-06 per second", "milliseconds"),
        ({"files": []}, 415, "the request is not multipart/form-data", "as a form"),
    ],
)
def test_what_is_wrong_with_a_window(api, frames, change, status, problem, fix):
    reply = api.post("/api/live", **(window(frames[:4]) | change))
    assert (reply.status_code, reply.json()["problem"]) == (status, problem)
    assert fix in reply.json()["fix"]


def test_windows_that_are_too_small_or_too_large(api, frames, clip):
    import numpy as np

    large = [jpeg(np.zeros((80, 480, 3), np.uint8))] * 4
    mixed = [*frames[:3], jpeg(np.zeros((80, 80, 3), np.uint8))]
    cases = [
        (window(frames[:2]), 422, "there are only 2 frames"),
        (window(frames[:1] * 61), 413, "there are more than 60 files"),
        (window(large), 413, "a live frame has 480 x 80 px"),
        (window(mixed), 422, "the frames differ in size"),
        (window([clip.read_bytes()] * 4), 422, "live frames must be pictures"),
        (window([frames[0][:2000]] * 4), 422, "frame 0 is cut short: its end is missing"),
    ]
    for sent, status, problem in cases:
        reply = api.post("/api/live", **sent)
        assert (reply.status_code, reply.json()["problem"]) == (status, problem)


def test_a_busy_server_says_so_at_once(service, api, frames, wait_until):
    api.post("/api/live", **window(frames[:4]))  # so that the worker process is there
    pid = service.workers[0].pid
    os.kill(pid, signal.SIGSTOP)
    try:
        first = threading.Thread(target=lambda: api.post("/api/live", **window(frames[:4])))
        first.start()
        wait_until(lambda: service.queue.counts()["running"])
        reply = api.post("/api/live", **window(frames[:4]))
    finally:
        os.kill(pid, signal.SIGCONT)
    first.join()
    assert reply.status_code == 503
    assert reply.headers["retry-after"] == "1"
    assert reply.json()["fix"] == "try again in 1 second"
