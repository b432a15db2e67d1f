"""The server when a worker process, a real one, is slow, dies, or has too much to do."""

import http.client
import os
import select
import signal
import socket
from dataclasses import replace
from urllib.parse import urlsplit

import pytest

DAMAGED = [("files", ("a.mp4", b"\0\0\0\x18ftypmp42" + bytes(40)))]


@pytest.fixture(autouse=True)
def idle(service, client, wait_until):
    """Each test begins with a worker process that has loaded the model and waits for a job."""
    wait_until(lambda: service.queue.counts()["running"] == service.queue.counts()["waiting"] == 0)
    assert client.post("/api/predict", files=DAMAGED).status_code == 422


@pytest.fixture
def held(service, idle):
    """The worker process is suspended: jobs wait until `held()` resumes it."""
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
def status_when(client, wait_until):
    """The status of a job once it is in one of some states."""

    def wait(id, *states):
        def reached():
            status = client.get(f"/api/results/{id}").json()
            return status if status["state"] in states else None

        return wait_until(reached)

    return wait


def pair(pictures):
    return [("files", (path.name, path.read_bytes())) for path in pictures]


def send(client, pictures):
    return client.post("/api/predict?wait=false", files=pair(pictures))


def test_a_full_queue_answers_503_with_retry_after(service, client, held, pictures, uploads, status_when, monkeypatch):
    monkeypatch.setattr(service.queue, "places", 1)
    first, second = send(client, pictures).json()["id"], send(client, pictures).json()["id"]
    status_when(first, "running")
    status = client.get(f"/api/results/{second}").json()
    assert (status["state"], status["place"]) == ("queued", 1)
    assert client.get("/api/health").json()["queue"] == {"running": 1, "waiting": 1, "receiving": 0, "capacity": 1}
    reply = send(client, pictures)
    assert reply.status_code == 503
    assert int(reply.headers["retry-after"]) >= 1
    assert reply.json()["problem"] == "the server is busy: its queue is full"
    assert len(uploads()) == 2
    held()
    assert status_when(first, "done", "failed")["state"] == "done"
    assert status_when(second, "done", "failed")["state"] == "done"
    assert uploads() == []


def begin_upload(server):
    """A connection with an unfinished form."""
    netloc = urlsplit(server)
    head = b"POST /api/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=x\r\n"
    slow = socket.create_connection((netloc.hostname, netloc.port))
    slow.sendall(head + b"Content-Length: 1000\r\n\r\n--x\r\n")
    return slow


def test_slow_clients_lock_nobody_out(service, server, client, wait_until, monkeypatch):
    """Forty local clients start uploads and never finish; half of the places stay free for others."""
    monkeypatch.setattr("epir.web.form.DRAIN_S", 0.1)
    slow = []
    try:
        for _ in range(40):
            slow.append(begin_upload(server))
        wait_until(lambda: client.get("/api/health").json()["queue"]["receiving"] == 16)
        refused = wait_until(lambda: (ready := select.select(slow, [], [], 0)[0])[23:] and ready)
        assert [each.recv(12) for each in refused] == [b"HTTP/1.1 429"] * 24
        assert client.get("/api/health").json()["queue"]["waiting"] == 0
        other = {"X-Forwarded-For": "203.0.113.7"}
        assert client.post("/api/predict", files=DAMAGED, headers=other).status_code == 422
    finally:
        for each in slow:
            each.close()
    wait_until(lambda: client.get("/api/health").json()["queue"]["receiving"] == 0)


def test_a_body_that_stalls_gets_408(service, server, monkeypatch):
    monkeypatch.setattr(service, "settings", replace(service.settings, stall_s=0.2))
    monkeypatch.setattr("epir.web.form.DRAIN_S", 0.1)
    with begin_upload(server) as slow:
        reply = slow.makefile("rb").read()
    assert reply.startswith(b"HTTP/1.1 408 ")
    assert b"no byte came for 0.2 seconds" in reply


def test_an_address_behind_a_proxy_has_its_share(service, client, held, pictures, monkeypatch):
    monkeypatch.setattr(service.queue, "per_address", 1)
    forwarded = {"X-Forwarded-For": "203.0.113.9"}
    first = client.post("/api/predict?wait=false", files=pair(pictures), headers=forwarded)
    second = client.post("/api/predict?wait=false", files=pair(pictures), headers=forwarded)
    other = client.post("/api/predict?wait=false", files=pair(pictures), headers={"X-Forwarded-For": "203.0.113.8"})
    assert [each.status_code for each in (first, second, other)] == [202, 429, 202]
    assert second.json()["problem"] == "your address already has 1 upload in progress"
    for each in (first, other):
        assert client.delete(each.json()["url"]).status_code == 204


def test_a_job_that_takes_too_long_is_stopped_and_the_next_is_served(
    service, client, held, pictures, uploads, monkeypatch
):
    pid = service.workers[0].pid
    monkeypatch.setattr(service, "settings", replace(service.settings, timeout_s=1.0))
    reply = client.post("/api/predict", files=pair(pictures))
    monkeypatch.undo()
    assert reply.status_code == 504
    assert reply.json() == {
        "problem": "this took more than 1 seconds and was stopped",
        "fix": "cut the video around the movement, use `epir predict`, or start `epir serve --set timeout_s=2`",
    }
    assert uploads() == []
    assert client.post("/api/predict", files=DAMAGED).status_code == 422
    assert service.workers[0].pid != pid


def test_a_process_that_crashes_fails_its_job_and_is_replaced(service, client, endless, uploads, status_when):
    os.kill(service.workers[0].pid, signal.SIGKILL)
    assert status_when(endless.id, "done", "failed")["error"] == {
        "problem": "the worker process died while it analysed this input",
        "fix": "send it again; if it fails again, save it as mp4 (H.264) or cut it around the movement",
    }
    assert client.post("/api/predict", files=DAMAGED).status_code == 422
    assert uploads() == []


def test_an_idle_process_that_dies_costs_nobody_an_answer(service, client, pictures):
    os.kill(service.workers[0].pid, signal.SIGKILL)
    assert client.post("/api/predict", files=pair(pictures)).status_code == 200


def test_deleting_the_result_of_a_running_job_stops_it(service, client, endless, pictures, uploads, wait_until):
    second = send(client, pictures).json()["id"]
    assert client.delete(f"/api/results/{second}").status_code == 204
    assert client.delete(f"/api/results/{endless.id}").status_code == 204
    assert client.get(f"/api/results/{endless.id}").status_code == 404
    wait_until(lambda: endless.outcome.done())
    assert endless.problem.problem == "this job was cancelled"
    assert uploads() == []
    assert service.queue.counts() == {"running": 0, "waiting": 0, "receiving": 0, "capacity": 8}


def test_a_client_that_disconnects_cancels_its_job(service, server, held, uploads, wait_until):
    body = b'--x\r\nContent-Disposition: form-data; name="example"\r\n\r\nblink\r\n--x--\r\n'
    connection = http.client.HTTPConnection(urlsplit(server).netloc)
    connection.request("POST", "/api/predict", body, {"Content-Type": "multipart/form-data; boundary=x"})
    wait_until(lambda: service.queue.counts()["running"])
    connection.close()
    wait_until(lambda: service.queue.counts()["running"] == 0)
    assert uploads() == []


def test_large_bodies_are_refused_whatever_they_announce(service, client, uploads, monkeypatch):
    monkeypatch.setattr(service, "settings", replace(service.settings, max_bytes=3 << 20))
    start = b'--x\r\nContent-Disposition: form-data; name="files"; filename="a.mp4"\r\n\r\n\0\0\0\x18ftypmp42'

    def pieces():
        yield start
        for _ in range(64):
            yield bytes(1 << 16)
        yield b"\r\n--x--\r\n"

    reply = client.post("/api/predict", content=pieces(), headers={"Content-Type": "multipart/form-data; boundary=x"})
    assert reply.status_code == 413
    assert reply.json()["problem"] == "the request is larger than 3 MiB"
    assert reply.json()["fix"].endswith("`epir predict`, or start `epir serve --set max_bytes=6291456`")
    assert uploads() == []
    assert service.queue.counts() == {"running": 0, "waiting": 0, "receiving": 0, "capacity": 8}


def test_uploads_are_private(service):
    folders = (service.private.path, service.private.uploads, service.private.new())
    assert [each.stat().st_mode & 0o777 for each in folders] == [0o700] * 3
    folders[-1].rmdir()
