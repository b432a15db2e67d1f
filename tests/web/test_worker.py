"""What the server does when its child is slow, dies, or has too much to do. The child is a real one."""

import os
import signal
import time
from dataclasses import replace

import httpx
import pytest


@pytest.fixture(scope="module")
def small(serving):
    """A server with one place to wait in."""
    limits = {"queue": 1, "max_bytes": 3 << 20, "keep_results": 4}
    with serving(**limits, examples_ahead=False) as started:
        yield started


@pytest.fixture(autouse=True)
def at_rest(small):
    """Each test begins with an idle child: also after a test that ended one."""
    for _ in range(2400):
        if small[0].queue.counts() == {"running": 0, "waiting": 0, "capacity": 1}:
            return
        time.sleep(0.05)
    raise AssertionError("the server never comes to rest")


@pytest.fixture
def held(small, at_rest):
    """The same with its child held: whatever is sent stays where it is until `held()` lets go."""
    service, _ = small
    pid = service.workers[0].pid
    os.kill(pid, signal.SIGSTOP)
    try:
        yield lambda: os.kill(pid, signal.SIGCONT)
    finally:
        if service.workers[0].pid == pid:
            os.kill(pid, signal.SIGCONT)


@pytest.fixture
def api(small):
    with httpx.Client(base_url=small[1], timeout=120) as client:
        yield client


def pair(pictures):
    return [("files", (path.name, path.read_bytes())) for path in pictures]


def send(api, pictures):
    return api.post("/api/predict?wait=false", files=pair(pictures))


def wait_for(api, id, *states):
    for _ in range(1200):
        status = api.get(f"/api/results/{id}").json()
        if status["state"] in states:
            return status
        time.sleep(0.05)
    raise AssertionError(f"the job is still {status['state']}")


def uploads(service):
    return list(service.private.uploads.iterdir())


def test_a_full_queue_answers_503_with_the_time_to_come_back(small, api, held, pictures):
    first, second = send(api, pictures).json()["id"], send(api, pictures).json()["id"]
    wait_for(api, first, "running")
    status = api.get(f"/api/results/{second}").json()
    assert (status["state"], status["place"]) == ("queued", 1)
    assert api.get("/api/health").json()["queue"] == {"running": 1, "waiting": 1, "capacity": 1}
    reply = send(api, pictures)
    assert reply.status_code == 503
    assert int(reply.headers["retry-after"]) >= 1
    assert reply.json()["problem"] == "the server is busy: every place in its queue is taken"
    assert len(uploads(small[0])) == 2
    held()
    assert wait_for(api, first, "done", "failed")["state"] == "done"
    assert wait_for(api, second, "done", "failed")["state"] == "done"
    assert uploads(small[0]) == []


def test_work_that_takes_too_long_is_stopped_and_the_next_is_served(small, api, held, pictures, monkeypatch):
    pid = small[0].workers[0].pid
    monkeypatch.setattr(small[0], "settings", replace(small[0].settings, timeout_s=2.0))
    reply = api.post("/api/predict", files=pair(pictures))
    monkeypatch.undo()
    assert reply.status_code == 504
    assert reply.json() == {
        "problem": "this took more than 2 seconds and was stopped",
        "fix": "send a shorter or smaller video: cut it around the movement",
    }
    assert uploads(small[0]) == []
    assert api.post("/api/predict", files=pair(pictures)).status_code == 200
    assert small[0].workers[0].pid != pid


def test_a_child_that_dies_at_work_fails_its_job_and_is_replaced(small, api, clip, pictures):
    service = small[0]
    id = api.post("/api/predict?wait=false", files=pair([clip])).json()["id"]
    while not service.results.get(id).stage:
        time.sleep(0.002)
    os.kill(service.workers[0].pid, signal.SIGKILL)
    status = wait_for(api, id, "done", "failed")
    assert status["error"] == {
        "problem": "the decoder stopped while it read this input: the file is damaged, or too much for it",
        "fix": "convert it to mp4 (H.264) with a video editor, and try again",
    }
    assert api.post("/api/predict", files=pair(pictures)).status_code == 200
    assert uploads(service) == []


def test_a_child_that_dies_idle_costs_nobody_an_answer(small, api, pictures):
    os.kill(small[0].workers[0].pid, signal.SIGKILL)
    assert api.post("/api/predict", files=pair(pictures)).status_code == 200


def test_forgetting_a_job_at_work_stops_it(small, api, held, pictures):
    first, second = send(api, pictures).json()["id"], send(api, pictures).json()["id"]
    wait_for(api, first, "running")
    assert api.delete(f"/api/results/{first}").status_code == 204
    assert api.delete(f"/api/results/{second}").status_code == 204
    assert api.get(f"/api/results/{first}").status_code == 404
    held()
    for _ in range(400):
        if not uploads(small[0]):
            break
        time.sleep(0.05)
    assert uploads(small[0]) == []
    assert api.get("/api/health").json()["queue"]["running"] == 0
    assert api.post("/api/predict", files=pair(pictures)).status_code == 200


def test_a_client_that_goes_away_takes_its_job_along(small, api, held, pictures):
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(f"{small[1]}/api/predict", files=pair(pictures), timeout=1)
    held()
    for _ in range(400):
        if not uploads(small[0]) and api.get("/api/health").json()["queue"]["running"] == 0:
            break
        time.sleep(0.05)
    assert uploads(small[0]) == []


def test_large_bodies_are_refused_whatever_they_promise(small, api):
    start = b'--x\r\nContent-Disposition: form-data; name="files"; filename="a.mp4"\r\n\r\n\0\0\0\x18ftypmp42'

    def pieces():
        yield start
        for _ in range(64):
            yield bytes(1 << 16)
        yield b"\r\n--x--\r\n"

    reply = api.post("/api/predict", content=pieces(), headers={"Content-Type": "multipart/form-data; boundary=x"})
    assert reply.status_code == 413
    assert reply.json()["problem"] == "this is larger than 3 MiB"
    assert uploads(small[0]) == []
    assert api.get("/api/health").json()["queue"] == {"running": 0, "waiting": 0, "capacity": 1}


def test_only_so_many_results_are_kept(api, pictures):
    ids = [api.post("/api/predict", files=pair(pictures)).json()["id"] for _ in range(5)]
    statuses = [api.get(f"/api/results/{id}").status_code for id in ids]
    assert statuses == [404, 200, 200, 200, 200]


def test_the_private_folder_is_private_and_goes_with_the_server(serving):
    with serving(examples_ahead=False) as (service, _):
        path, pid = service.private.path, service.workers[0].pid
        assert [each.stat().st_mode & 0o777 for each in (path, service.private.uploads)] == [0o700, 0o700]
    assert not path.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
