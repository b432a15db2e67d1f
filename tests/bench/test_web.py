"""The load test itself: it counts right answers, wrong answers and refusals."""

import json
import os
import socket
import sys
from collections import Counter
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from epir.bench.web import Input, Tally, memory_mib, post, ratios, run_clients

ANSWER = {"label": "positive", "scores": {"positive": 0.8}, "onset": 1, "apex": 2, "offset": 3, "warnings": []}


@contextmanager
def server_that_gives(*replies):
    """A server that gives these (status, JSON) one after the other, the last one for ever."""
    left = list(replies)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            status, body = left.pop(0) if len(left) > 1 else left[0]
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


def test_refused_clients_try_again_and_right_answers_count():
    with server_that_gives((503, {}), (503, {}), (200, {**ANSWER, "elapsed_s": 1})) as address:
        tally = run_clients(address, [Input(b"x", ANSWER, 1.0)], clients=3)
    assert tally.statuses == {200: 3, 503: 2}
    assert tally.wrong == 0
    assert len(tally.waits) == 3


def test_wrong_answers_and_other_statuses_are_seen():
    with server_that_gives((504, {}), (200, {**ANSWER, "label": "joy"})) as address:
        tally = run_clients(address, [Input(b"x", ANSWER, 1.0)], clients=2)
    assert tally.statuses == {200: 1, 504: 1}
    assert tally.wrong == 1


def test_a_server_that_is_not_there_gives_status_0():
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))  # taken, and nobody listens
        assert post(f"http://127.0.0.1:{silent.getsockname()[1]}/", b"") == (0, 0.0, {})


def test_the_lines_of_the_benchmark():
    tally = Tally(Counter({200: 9, 503: 4, 504: 1}), wrong=1, waits=[1.0, 3.0, 2.0])
    lines = ratios(tally, 10, seconds=20.0, alone=18.0, before=(100.0, 300.0), after=(100.0, 400.0))
    assert [line.value for line in lines] == pytest.approx([0.8, 0.9, 1.0, 0.75])
    assert [line.reached for line in lines] == [False, None, True, False]
    assert lines[0].detail == "10 clients, 4 times 503, other statuses: {504: 1}"
    assert lines[1].detail == "20 s for 9 answers; wait: median 2.0 s, longest 3.0 s"


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_memory_of_this_process_is_known():
    assert 10 < memory_mib(os.getpid())[0] < 10_000
