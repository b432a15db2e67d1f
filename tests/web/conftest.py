"""Clips of synthetic faces, and one server with the shipped weights that all tests share.

Nothing here depends on speed: time limits are far beyond what a busy machine needs, and tests wait for events.
"""

import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import httpx
import pytest

pytest.importorskip("fastapi", reason='the web page needs pip install "epir[web]"')

from epir.web.app import address_of, listen, make_server
from epir.web.service import Service
from epir.web.settings import ServeSettings

PATIENCE_S = 1800  # reached only if something hangs
LIMITS = {
    **{"timeout_s": 3600.0, "live_timeout_s": 3600.0, "receive_s": 3600.0, "live_idle_s": 3600.0, "min_rate": 1e-3},
    **{"max_pixels": 1_000_000, "live_side": 400, "examples_ahead": False},
}


@pytest.fixture(scope="session")
def wait_until():
    """Waits for a condition and returns its value."""

    def wait(condition):
        end = time.monotonic() + PATIENCE_S
        while not (value := condition()):
            assert time.monotonic() < end, "it never happened"
            time.sleep(0.02)
        return value

    return wait


@pytest.fixture(scope="session")
def recognizer():
    """A recognizer with the shipped weights, like that of the server."""
    from epir.recognition.recognizer import Recognizer

    return Recognizer.from_pretrained(None)


@pytest.fixture(scope="session")
def clip(tmp_path_factory):
    """A real mp4 of a synthetic face that smiles: about a second at 100 frames per second."""
    from epir.core.engines import Silent
    from epir.frames.film import write_film
    from epir.web.examples import BY_NAME, FPS, render_frames

    frames = render_frames(BY_NAME["smile"], Silent())
    return write_film(tmp_path_factory.mktemp("web-clip") / "smile.mp4", frames, FPS)


@pytest.fixture(scope="session")
def still(clip, tmp_path_factory):
    """The same face at rest."""
    from epir.frames.film import write_film
    from epir.frames.reader import open_frames

    with open_frames(clip) as frames:
        rest = [frame.pixels for frame in frames.between(0, 29)]
    return write_film(tmp_path_factory.mktemp("web-still") / "still.mp4", rest, 100.0)


@pytest.fixture(scope="session")
def pictures(clip, tmp_path_factory):
    """The onset and the apex of the clip as png."""
    from epir.frames.reader import open_frames
    from epir.synthetic.corpus import write_picture
    from epir.web.examples import BY_NAME, plan_example

    course, folder = plan_example(BY_NAME["smile"]).course, tmp_path_factory.mktemp("web-pictures")
    with open_frames(clip) as frames:
        for name, number in (("onset", course.onset - 1), ("apex", course.apex - 1)):
            write_picture(folder / f"{name}.png", frames.read(number))
    return folder / "onset.png", folder / "apex.png"


@pytest.fixture(scope="session")
def running():
    """The server that all tests share, in this process so that tests can inspect it: (service, address)."""
    service = Service(ServeSettings(**LIMITS))
    listening = listen("127.0.0.1", 0)
    server = make_server(service)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    try:
        service.start()
        thread.start()
        yield service, address_of(listening).rstrip("/")
    finally:
        server.should_exit = True
        if thread.ident is not None:
            thread.join(timeout=PATIENCE_S)
        service.close()
        listening.close()


@pytest.fixture(scope="session")
def server(running):
    """The address of the server, without a trailing slash."""
    return running[1]


@pytest.fixture
def service(running):
    return running[0]


@pytest.fixture
def client(server):
    with httpx.Client(base_url=server, timeout=PATIENCE_S) as opened:
        yield opened


@pytest.fixture
def uploads(service):
    """The uploads on the disk."""
    return lambda: list(service.private.uploads.iterdir())


@pytest.fixture(scope="session")
def answer(server, clip):
    """The answer of the server for the clip; it stays on the server."""
    sent = {"files": (clip.name, clip.read_bytes())}
    return httpx.post(f"{server}/api/predict", files=sent, timeout=PATIENCE_S).json()


@pytest.fixture(scope="session")
def start_serve(tmp_path_factory):
    """Starts `epir serve` on a free port: `with start_serve(...) as (address, process, its temporary folder)`."""

    @contextmanager
    def run(*arguments):
        temporary = tmp_path_factory.mktemp("serve")
        command = [sys.executable, "-m", "epir.cli.main", "serve", "--port", "0", "--json", *arguments]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "TMPDIR": str(temporary)}
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        try:
            ready, _, _ = select.select([process.stdout], [], [], PATIENCE_S)
            line = process.stdout.readline() if ready else ""
            assert line, "epir serve did not start"
            yield json.loads(line)["address"].rstrip("/"), process, temporary
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            process.wait(timeout=PATIENCE_S)
            process.stdout.close()

    return run
