"""A camera session: bounded, never silent about what it drops, and gone when it is over."""

import asyncio
import json
import threading
from itertools import pairwise

import pytest

from epir.web.jobs import Job
from epir.web.live import MOST_FRAMES, LiveSession, LiveSessions
from epir.web.problems import CRASHED, RequestError
from epir.web.settings import ServeSettings

SETTINGS = ServeSettings(live_idle_s=0.05, live_backlog_s=3.0)


def session(settings=SETTINGS):
    return LiveSession(Job({}, 1.0), settings)


def camera(live, seconds, fps=30, start=0.0, at_once=6):
    """Push so many seconds of frames."""
    times = [start + number / fps for number in range(round(seconds * fps))]
    for place in range(0, len(times), at_once):
        part = times[place : place + at_once]
        counts = live.push(part, [b"jpeg"] * len(part))
    return counts


def taken(live):
    """The times of all frames that the process gets until none wait."""
    found = []
    while live._waiting:
        message, blobs = live.exchange({})
        assert [str(number) for number, _ in message["frames"]] == list(blobs)
        found += [seconds for _, seconds in message["frames"]]
    return found


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


def test_what_waits_is_bounded_whatever_comes():
    live = session()
    counts = camera(live, 60.0)
    assert counts["received"] == 1800
    assert counts["waiting_s"] <= 3.0
    assert counts["dropped"] == 1800 - len(taken(live))
    burst = session()
    burst.push([number * 1e-6 for number in range(5000)], [b"x"] * 5000)
    assert len(burst._waiting) <= MOST_FRAMES
    assert burst.dropped == 5000 - len(burst._waiting)


def test_a_slow_camera_is_never_thinned_out():
    live = session()
    camera(live, 2.9, fps=10, at_once=1)
    assert len(taken(live)) == 29


def test_old_frames_are_refused():
    live = session()
    live.push([1.0, 2.0], [b"a", b"b"])
    with pytest.raises(RequestError, match=r"older than the ones before\n  fix: send frames once, in order"):
        live.push([2.0], [b"c"])


def test_reports_become_events_and_a_client_that_comes_back_misses_none():
    live = session()
    live.push([0.0], [b"a"])
    live.exchange({"movements": [{"label": "positive"}], "motion": {"time": [1]}, "status": {"coverage": 0.5}})
    live.job.finish({"movements": [{"label": "surprise"}]}, {})
    events = [text.split("\n")[1] for text in read(live)]
    assert events == ["event: movement", "event: motion", "event: status", "event: movement", "event: end"]
    assert [text.split("\n")[0] for text in read(live, after=3)] == ["id: 4", "id: 5"]
    status = json.loads(read(live)[2].split("data: ")[1])
    assert status == {"coverage": 0.5, "received": 1, "dropped": 0, "waiting_s": 0.0}


def test_a_session_without_frames_ends():
    live = session()
    assert live.exchange({})[0]["type"] == "end"
    live.job.finish({}, {})
    assert '"reason": "no frames came"' in read(live)[-1]
    with pytest.raises(RequestError, match="there is no such camera session"):
        live.push([0.0], [b"a"])


def test_a_session_ends_after_its_time_with_what_waits():
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


def test_a_process_that_dies_is_told_to_the_client():
    live = session()
    live.job.fail(CRASHED)
    assert live.ready.done()
    end = json.loads(read(live)[-1].split("data: ")[1])
    assert end["problem"]["problem"] == "the worker process died while it analysed this input"


def test_sessions_are_limited_in_all_and_for_each_address():
    sessions = LiveSessions(ServeSettings(live_sessions=2))
    first = sessions.open({}, "10.0.0.1")
    with pytest.raises(RequestError, match="your address has as many cameras under way as it may: 1") as share:
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
