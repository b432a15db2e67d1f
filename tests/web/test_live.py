"""Camera sessions: bounded, honest about dropped frames, removed after their end; also through a real server."""

import asyncio
import json
import os
import signal
import threading
from itertools import pairwise

import httpx
import numpy as np
import pytest

from epir.frames.picture import decode_jpeg
from epir.frames.reader import open_frames
from epir.reports.pictures import jpeg
from epir.web.jobs import Job
from epir.web.live import LiveSession, LiveSessions
from epir.web.problems import CRASHED, RequestError
from epir.web.settings import LIVE_BUFFER_FRAMES, ServeSettings

SETTINGS = ServeSettings(live_idle_s=0.05, live_backlog_s=3.0)


def session(settings=SETTINGS):
    return LiveSession(Job({}, 1.0), settings)


def camera(live, seconds, fps=30, start=0.0, at_once=6):
    """Push frames of this many seconds."""
    times = [start + number / fps for number in range(round(seconds * fps))]
    for place in range(0, len(times), at_once):
        part = times[place : place + at_once]
        counts = live.push(part, [b"jpeg"] * len(part))
    return counts


def taken(live):
    """The times of all frames that the process gets until none wait."""
    times = []
    while live._waiting:
        message, blobs = live.exchange({})
        assert [str(number) for number, _ in message["frames"]] == list(blobs)
        times += [seconds for _, seconds in message["frames"]]
    return times


def read(live, after=0):
    """The messages of a session that has ended, as a client gets them."""

    async def collect():
        return [text async for text in live.messages(after)]

    return asyncio.run(collect())


def test_frames_come_out_as_they_went_in():
    live = session()
    assert camera(live, 0.9) == {"received": 27, "dropped": 0, "waiting_s": pytest.approx(26 / 30, abs=1e-3)}
    assert taken(live) == [number / 30 for number in range(27)]


def test_a_slow_process_gets_fewer_frames_and_no_gaps_at_first():
    live = session()
    counts = camera(live, 3.0)
    times = taken(live)
    assert counts["dropped"] == 90 - len(times) > 0
    steps = [b - a for a, b in pairwise(times)]
    assert max(steps) <= 0.12
    assert steps[0] == pytest.approx(1 / 30)
    assert steps[-1] > 1.5 / 30


def test_the_buffer_is_bounded():
    live = session()
    counts = camera(live, 60.0)
    assert counts["received"] == 1800
    assert counts["waiting_s"] <= 3.0
    assert counts["dropped"] == 1800 - len(taken(live))
    burst = session()
    burst.push([number * 1e-6 for number in range(5000)], [b"x"] * 5000)
    assert len(burst._waiting) <= LIVE_BUFFER_FRAMES
    assert burst.dropped == 5000 - len(burst._waiting)


def test_a_slow_camera_is_never_thinned_out():
    live = session()
    camera(live, 2.9, fps=10, at_once=1)
    assert len(taken(live)) == 29


def test_old_frames_are_refused():
    live = session()
    live.push([1.0, 2.0], [b"a", b"b"])
    with pytest.raises(RequestError, match=r"older than the previous ones\n  fix: send each frame once, in order"):
        live.push([2.0], [b"c"])


def test_reports_become_events_and_a_reconnecting_client_misses_none():
    live = session()
    live.push([0.0], [b"a"])
    live.exchange(
        {
            "movements": [{"label": "positive"}],
            "motion": [{"track": 0, "time": [1]}, {"track": 1, "time": [2]}],
            "status": {"coverage": 0.5},
        }
    )
    live.job.finish({"movements": [{"label": "surprise"}]}, {})
    events = [text.split("\n")[1] for text in read(live)]
    assert events == [f"event: {name}" for name in ("movement", "motion", "motion", "status", "movement", "end")]
    assert [text.split("\n")[0] for text in read(live, after=4)] == ["id: 5", "id: 6"]
    status = json.loads(read(live)[3].split("data: ")[1])
    assert status == {"coverage": 0.5, "received": 1, "dropped": 0, "waiting_s": 0.0}


def test_a_session_without_frames_ends():
    live = session()
    assert live.exchange({})[0]["type"] == "end"
    live.job.finish({}, {})
    assert '"reason": "no frames came"' in read(live)[-1]
    with pytest.raises(RequestError, match="there is no such camera session"):
        live.push([0.0], [b"a"])


def test_a_session_ends_at_its_time_limit_after_the_waiting_frames():
    live = session(ServeSettings(live_s=1e-6, live_idle_s=5.0))
    live.push([0.0, 0.1], [b"a", b"b"])
    live.exchange({})
    message, _ = live.exchange({})
    assert (message["type"], message["span"]) == ("end", [0.0, 0.1])


def test_stopping_wakes_the_worker_that_waits_for_frames():
    live, got = session(ServeSettings(live_idle_s=1000.0)), []
    thread = threading.Thread(target=lambda: got.append(live.exchange({})[0]["type"]))
    thread.start()
    live.end()
    thread.join()
    assert got == ["end"]


def test_the_client_learns_that_a_process_died():
    live = session()
    live.job.fail(CRASHED)
    assert live.ready.done()
    end = json.loads(read(live)[-1].split("data: ")[1])
    assert end["problem"]["problem"] == "the worker process died while it analysed this input"


def test_sessions_are_limited_in_all_and_for_each_address():
    sessions = LiveSessions(ServeSettings(live_sessions=2))
    first = sessions.open({}, "10.0.0.1")
    with pytest.raises(RequestError, match="your address already has 1 camera in progress") as share:
        sessions.open({}, "10.0.0.1")
    sessions.open({}, None)
    with pytest.raises(RequestError, match=r"all places for cameras are taken\n  fix: try again in") as full:
        sessions.open({}, "10.0.0.2")
    assert (share.value.status, full.value.status) == (429, 503)
    assert sessions.counts() == {"running": 2, "capacity": 2}
    assert sessions.get(first.id) is first
    sessions.close()
    assert first.ended is not None
    with pytest.raises(RequestError, match="no such camera session"):
        sessions.get("x")


@pytest.fixture(scope="module")
def frames(clip):
    """The clip as JPEGs."""
    with open_frames(clip) as film:
        return [jpeg(frame.pixels, quality=92) for frame in film]


def post_frames(client, url, frames, first=0, step=10.0):
    files = [("frames", (f"{number}.jpg", frame)) for number, frame in enumerate(frames)]
    times = ",".join(f"{step * (first + number):g}" for number in range(len(frames)))
    return client.post(url, files=files, data={"times": times})


def events_of(client, url):
    """Every event until the end: (name, data)."""
    events = []
    with httpx.stream("GET", str(client.base_url).rstrip("/") + url, timeout=None) as reply:
        assert reply.headers["content-type"].startswith("text/event-stream")
        for line in reply.iter_lines():
            if line.startswith("event: "):
                name = line[7:]
            elif line.startswith("data: "):
                events.append((name, json.loads(line[6:])))
    return events


def test_a_camera_gets_the_answers_of_predict(client, service, frames, recognizer, uploads, wait_until):
    ticket = client.post("/api/live").json()
    for first in range(0, len(frames), 20):
        part = frames[first : first + 20]
        assert post_frames(client, ticket["frames"], part, first).status_code == 200
        wait_until(lambda: not service.live.get(ticket["id"])._waiting)  # so that a busy machine drops no frames
    assert uploads() == []
    assert client.delete(f"/api/live/{ticket['id']}").status_code == 204
    events = events_of(client, ticket["events"])
    expected = recognizer.predict([decode_jpeg(each) for each in frames], fps=100.0, explain=False)
    assert expected.all
    movements = [data for name, data in events if name == "movement"]
    keys = ("label", "scores", "onset", "apex", "offset", "units", "text")
    assert [{key: each[key] for key in keys} for each in movements] == [
        {key: each.to_dict()[key] for key in keys} for each in expected.all
    ]
    status = [data for name, data in events if name == "status"][-1]
    assert (status["received"], status["dropped"], status["looked_at"]) == (len(frames), 0, len(frames))
    assert status["coverage"] == pytest.approx(1, abs=1e-3)
    assert events[-1] == ("end", {"reason": "stopped", "problem": None})
    assert sum(len(data["time"]) for name, data in events if name == "motion") <= len(frames)


def test_uploads_are_served_while_a_camera_runs_and_a_dead_process_ends_only_the_camera(
    client, service, frames, pictures, wait_until
):
    ticket = client.post("/api/live").json()
    session = service.live.get(ticket["id"])
    sent = [("files", (path.name, path.read_bytes())) for path in pictures]
    assert client.post("/api/predict", files=sent).status_code == 200
    assert client.get("/api/health").json()["cameras"]["running"] == 1
    worker = next(each for each in service.live_workers if each._job is session.job)
    os.kill(worker.pid, signal.SIGKILL)
    assert post_frames(client, ticket["frames"], frames[:2]).status_code == 200  # the next request fails
    events = events_of(client, ticket["events"])
    assert events[-1][1]["problem"]["problem"] == "the worker process died while it analysed this input"
    assert post_frames(client, ticket["frames"], frames[:2], first=2).status_code == 404
    wait_until(lambda: client.get("/api/health").json()["cameras"]["running"] == 0)


def test_unusable_frames_are_counted(client):
    ticket = client.post("/api/live").json()
    large = jpeg(np.zeros((8, 4000, 3), np.uint8))
    assert post_frames(client, ticket["frames"], [b"no picture", large, b"\xff\xd8cut"]).status_code == 200
    client.delete(f"/api/live/{ticket['id']}")
    status = [data for name, data in events_of(client, ticket["events"]) if name == "status"][-1]
    assert (status["damaged"], status["looked_at"]) == (3, 0)


def test_an_unknown_session_and_unknown_options_are_refused(client):
    for reply in (client.get("/api/live/x/events"), client.delete("/api/live/x"), client.post("/api/live/x/frames")):
        assert reply.status_code == 404
        assert reply.json()["fix"] == "begin another one with POST /api/live"
    assert client.post("/api/live?sensitivity=extreme").status_code == 422
    assert client.post("/api/live?threshold=2").status_code == 422
