"""A camera through a real server: frames up, events down, and uploads beside it."""

import json
import os
import signal

import httpx
import pytest

from epir.frames.picture import decode_jpeg
from epir.frames.reader import open_frames
from epir.recognition.recognizer import Recognizer
from epir.reports.pictures import jpeg
from epir.web.live_routes import read_times
from epir.web.problems import RequestError


@pytest.fixture(scope="module")
def frames(clip):
    """The clip as JPEGs."""
    with open_frames(clip) as film:
        return [jpeg(frame.pixels, quality=92) for frame in film]


def post_frames(api, url, frames, first=0, step=10.0):
    files = [("frames", (f"{number}.jpg", frame)) for number, frame in enumerate(frames)]
    times = ",".join(f"{step * (first + number):g}" for number in range(len(frames)))
    return api.post(url, files=files, data={"times": times})


def events_of(api, url):
    """Every event until the end: (name, data)."""
    found = []
    with httpx.stream("GET", str(api.base_url).rstrip("/") + url, timeout=None) as reply:
        assert reply.headers["content-type"].startswith("text/event-stream")
        for line in reply.iter_lines():
            if line.startswith("event: "):
                name = line[7:]
            elif line.startswith("data: "):
                found.append((name, json.loads(line[6:])))
    return found


def test_a_camera_gets_what_predict_says(api, frames, model, uploads, wait_until):
    ticket = api.post("/api/live").json()
    for first in range(0, len(frames), 20):
        part = frames[first : first + 20]
        assert post_frames(api, ticket["frames"], part, first).status_code == 200
        wait_until(lambda: not api.app_session(ticket["id"])._waiting)  # a busy machine must not make it drop any
    assert uploads() == []
    assert api.delete(f"/api/live/{ticket['id']}").status_code == 204
    events = events_of(api, ticket["events"])
    own = Recognizer.from_pretrained(model).predict([decode_jpeg(each) for each in frames], fps=100.0, explain=False)
    assert own.all
    movements = [data for name, data in events if name == "movement"]
    keys = ("label", "scores", "onset", "apex", "offset", "units", "text")
    assert [{key: each[key] for key in keys} for each in movements] == [
        {key: each.to_dict()[key] for key in keys} for each in own.all
    ]
    status = [data for name, data in events if name == "status"][-1]
    assert (status["received"], status["dropped"], status["looked_at"]) == (len(frames), 0, len(frames))
    assert status["coverage"] == pytest.approx(1, abs=1e-3)
    assert events[-1] == ("end", {"reason": "stopped", "problem": None})
    assert sum(len(data["time"]) for name, data in events if name == "motion") <= len(frames)


@pytest.fixture
def api(api, service):
    """The client, with a look at the sessions of its server."""
    api.app_session = service.live.get
    return api


def test_uploads_are_served_while_a_camera_runs_and_a_dead_process_ends_only_the_camera(
    api, service, frames, pictures, wait_until
):
    ticket = api.post("/api/live").json()
    session = service.live.get(ticket["id"])
    sent = [("files", (path.name, path.read_bytes())) for path in pictures]
    assert api.post("/api/predict", files=sent).status_code == 200
    assert api.get("/api/health").json()["cameras"]["running"] == 1
    worker = next(each for each in service.live_workers if each._job is session.job)
    os.kill(worker.pid, signal.SIGKILL)
    assert post_frames(api, ticket["frames"], frames[:2]).status_code == 200  # the next frames find out
    events = events_of(api, ticket["events"])
    assert events[-1][1]["problem"]["problem"] == "the worker process died while it analysed this input"
    assert post_frames(api, ticket["frames"], frames[:2], first=2).status_code == 404
    wait_until(lambda: api.get("/api/health").json()["cameras"]["running"] == 0)


def test_frames_that_cannot_be_used_are_counted(api):
    import numpy as np

    ticket = api.post("/api/live").json()
    large = jpeg(np.zeros((8, 4000, 3), np.uint8))
    assert post_frames(api, ticket["frames"], [b"no picture", large, b"\xff\xd8cut"]).status_code == 200
    api.delete(f"/api/live/{ticket['id']}")
    status = [data for name, data in events_of(api, ticket["events"]) if name == "status"][-1]
    assert (status["damaged"], status["looked_at"]) == (3, 0)


def test_an_unknown_session_and_unknown_options_are_refused(api):
    for reply in (api.get("/api/live/x/events"), api.delete("/api/live/x"), api.post("/api/live/x/frames")):
        assert reply.status_code == 404
        assert reply.json()["fix"] == "begin another one with POST /api/live"
    assert api.post("/api/live?sensitivity=extreme").status_code == 422
    assert api.post("/api/live?threshold=2").status_code == 422


@pytest.mark.parametrize("text", ["", "1", "1,2", "0,1,x", "0,1,inf", "0,1,nan", "-1,0,1", "0,1,1e12"])
def test_times_must_match_the_frames(text):
    with pytest.raises(RequestError, match=r"the times do not match the frames\n  fix: send frames, and times=0,33,67"):
        read_times(text, 3)


def test_times_must_rise():
    assert read_times("0, 33.5,67", 3) == [0.0, 0.0335, 0.067]
    with pytest.raises(RequestError, match=r"the times do not rise\n  fix: send the frames in order"):
        read_times("0,33,33", 3)
