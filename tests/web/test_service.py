"""What the server does when a worker process is slow, dies, or has too much to do. The process is a real one."""

import http.client
import os
import signal
import socket
from dataclasses import replace
from urllib.parse import urlsplit

import pytest

DAMAGED = [("files", ("a.mp4", b"\0\0\0\x18ftypmp42" + bytes(40)))]


@pytest.fixture(autouse=True)
def idle(service, api, wait_until):
    """Each test begins with a worker process that has loaded the model and waits for a job."""
    wait_until(lambda: service.queue.counts()["running"] == service.queue.counts()["waiting"] == 0)
    assert api.post("/api/predict", files=DAMAGED).status_code == 422


@pytest.fixture
def held(service, idle):
    """The worker process is stopped: jobs stay where they are until `held()` lets it go on."""
    pid = service.workers[0].pid
    os.kill(pid, signal.SIGSTOP)
    try:
        yield lambda: os.kill(pid, signal.SIGCONT)
    finally:
        if service.workers[0].pid == pid:
            os.kill(pid, signal.SIGCONT)


@pytest.fixture
def endless(service, tmp_path, wait_until):
    """A running job that never ends: its pictures are named pipes that nobody writes to."""
    paths = [str(tmp_path / name) for name in ("onset.jpg", "apex.jpg")]
    for path in paths:
        os.mkfifo(path)
    job = service.submit({"type": "predict", "files": paths, "name": "pipes"}, service.private.new())
    wait_until(lambda: job.stage)
    return job


@pytest.fixture
def status_when(api, wait_until):
    """The status of a job once it is in one of some states."""

    def wait(id, *states):
        def reached():
            status = api.get(f"/api/results/{id}").json()
            return status if status["state"] in states else None

        return wait_until(reached)

    return wait


def pair(pictures):
    return [("files", (path.name, path.read_bytes())) for path in pictures]


def send(api, pictures):
    return api.post("/api/predict?wait=false", files=pair(pictures))


def test_a_full_queue_answers_503_with_retry_after(api, held, pictures, uploads, status_when):
    first, second = send(api, pictures).json()["id"], send(api, pictures).json()["id"]
    status_when(first, "running")
    status = api.get(f"/api/results/{second}").json()
    assert (status["state"], status["place"]) == ("queued", 1)
    assert api.get("/api/health").json()["queue"] == {"running": 1, "waiting": 1, "receiving": 0, "capacity": 1}
    reply = send(api, pictures)
    assert reply.status_code == 503
    assert int(reply.headers["retry-after"]) >= 1
    assert reply.json()["problem"] == "the server is busy: its queue is full"
    assert len(uploads()) == 2
    held()
    assert status_when(first, "done", "failed")["state"] == "done"
    assert status_when(second, "done", "failed")["state"] == "done"
    assert uploads() == []


def test_slow_clients_lock_nobody_out(service, small, api, wait_until):
    """Nine clients that begin an upload and never end it; the queue has one place."""
    netloc = urlsplit(small[1])
    head = b"POST /api/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=x\r\n"
    slow = []
    try:
        for _ in range(9):
            slow.append(socket.create_connection((netloc.hostname, netloc.port)))
            slow[-1].sendall(head + b"Content-Length: 1000\r\n\r\n--x\r\n")
        wait_until(lambda: api.get("/api/health").json()["queue"]["receiving"] == 9)
        assert api.get("/api/health").json()["queue"]["waiting"] == 0
        assert api.post("/api/predict", files=DAMAGED).status_code == 422
    finally:
        for each in slow:
            each.close()
    wait_until(lambda: api.get("/api/health").json()["queue"]["receiving"] == 0)


def test_a_body_that_stalls_gets_408(service, small, monkeypatch):
    monkeypatch.setattr(service, "settings", replace(service.settings, stall_s=0.2))
    netloc = urlsplit(small[1])
    head = b"POST /api/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=x\r\n"
    with socket.create_connection((netloc.hostname, netloc.port)) as slow:
        slow.sendall(head + b"Content-Length: 1000\r\n\r\n--x\r\n")
        reply = slow.makefile("rb").read()
    assert reply.startswith(b"HTTP/1.1 408 ")
    assert b"no byte came for 0.2 seconds" in reply


def test_an_address_behind_a_proxy_has_its_share(service, api, held, pictures, monkeypatch):
    monkeypatch.setattr(service.queue, "per_address", 1)
    forwarded = {"X-Forwarded-For": "203.0.113.9"}
    first = api.post("/api/predict?wait=false", files=pair(pictures), headers=forwarded)
    second = api.post("/api/predict?wait=false", files=pair(pictures), headers=forwarded)
    other = api.post("/api/predict?wait=false", files=pair(pictures), headers={"X-Forwarded-For": "203.0.113.8"})
    assert [each.status_code for each in (first, second, other)] == [202, 429, 202]
    assert second.json()["problem"] == "your address has as many uploads under way as it may: 1"
    for each in (first, other):
        assert api.delete(each.json()["url"]).status_code == 204


def test_a_job_that_takes_too_long_is_stopped_and_the_next_is_served(
    service, api, held, pictures, uploads, monkeypatch
):
    pid = service.workers[0].pid
    monkeypatch.setattr(service, "settings", replace(service.settings, timeout_s=0.2))
    reply = api.post("/api/predict", files=pair(pictures))
    monkeypatch.undo()
    assert reply.status_code == 504
    assert reply.json() == {
        "problem": "this took more than 0.2 seconds and was stopped",
        "fix": "send a shorter or smaller video: cut it around the movement",
    }
    assert uploads() == []
    assert api.post("/api/predict", files=DAMAGED).status_code == 422
    assert service.workers[0].pid != pid


def test_a_process_that_crashes_fails_its_job_and_is_replaced(service, api, endless, uploads, status_when):
    os.kill(service.workers[0].pid, signal.SIGKILL)
    assert status_when(endless.id, "done", "failed")["error"] == {
        "problem": "the worker process died while it analysed this input",
        "fix": "send it again; if this happens again, save it as mp4 (H.264), or cut it around the movement",
    }
    assert api.post("/api/predict", files=DAMAGED).status_code == 422
    assert uploads() == []


def test_an_idle_process_that_dies_costs_nobody_an_answer(service, api, pictures):
    os.kill(service.workers[0].pid, signal.SIGKILL)
    assert api.post("/api/predict", files=pair(pictures)).status_code == 200


def test_deleting_the_result_of_a_running_job_stops_it(service, api, endless, pictures, uploads, wait_until):
    second = send(api, pictures).json()["id"]
    assert api.delete(f"/api/results/{second}").status_code == 204
    assert api.delete(f"/api/results/{endless.id}").status_code == 204
    assert api.get(f"/api/results/{endless.id}").status_code == 404
    wait_until(lambda: endless.outcome.done())
    assert endless.problem.problem == "this job was cancelled"
    assert uploads() == []
    assert service.queue.counts() == {"running": 0, "waiting": 0, "receiving": 0, "capacity": 1}


def test_a_client_that_disconnects_cancels_its_job(service, small, held, uploads, wait_until):
    body = b'--x\r\nContent-Disposition: form-data; name="example"\r\n\r\nblink\r\n--x--\r\n'
    connection = http.client.HTTPConnection(urlsplit(small[1]).netloc)
    connection.request("POST", "/api/predict", body, {"Content-Type": "multipart/form-data; boundary=x"})
    wait_until(lambda: service.queue.counts()["running"])
    connection.close()
    wait_until(lambda: service.queue.counts()["running"] == 0)
    assert uploads() == []


def test_large_bodies_are_refused_whatever_they_announce(service, api, uploads):
    start = b'--x\r\nContent-Disposition: form-data; name="files"; filename="a.mp4"\r\n\r\n\0\0\0\x18ftypmp42'

    def pieces():
        yield start
        for _ in range(64):
            yield bytes(1 << 16)
        yield b"\r\n--x--\r\n"

    reply = api.post("/api/predict", content=pieces(), headers={"Content-Type": "multipart/form-data; boundary=x"})
    assert reply.status_code == 413
    assert reply.json()["problem"] == "the request is larger than 3 MiB"
    assert uploads() == []
    assert service.queue.counts() == {"running": 0, "waiting": 0, "receiving": 0, "capacity": 1}


def test_only_so_many_results_are_kept(api, status_when):
    ids = []
    for _ in range(5):
        ids.append(api.post("/api/predict?wait=false", files=DAMAGED).json()["id"])
        status_when(ids[-1], "failed")
    assert [api.get(f"/api/results/{id}").status_code for id in ids] == [404, 200, 200, 200, 200]


def test_uploads_are_private(service):
    folders = (service.private.path, service.private.uploads, service.private.new())
    assert [each.stat().st_mode & 0o777 for each in folders] == [0o700] * 3
    folders[-1].rmdir()
