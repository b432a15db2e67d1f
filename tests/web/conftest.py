"""A tiny trained model, clips of invented faces, and a real server in a process of its own."""

import json
import os
import select
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager

import httpx
import pytest

pytest.importorskip("fastapi", reason='the web page needs pip install "epir[web]"')

from epir.web.serve import address_of, listen, make_server
from epir.web.service import Service
from epir.web.settings import ServeSettings

TINY = ("model.width=32", "model.feed_forward=48", "model.blocks=4", "model.heads=2")
QUICK = ("training.epochs=12", "training.lr=2e-3")
START_S = 180


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    """A model folder that takes seconds to make; it knows negative, positive and surprise a little."""
    import torch

    from epir.maps.mapset import save_maps
    from epir.recognition.final import train_final
    from epir.synthetic.maps import synthetic_maps

    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("web-model")
    made = synthetic_maps(120, "direct", seed=3)
    save_maps(folder / "maps", made.maps, made.clips, recipe=made.meta["recipe"])
    train_final(folder / "maps", protocol="sde", out=folder / "tiny", folds=2, changes=[*TINY, *QUICK], workers=1)
    return folder / "tiny"


@pytest.fixture(scope="session")
def clip(tmp_path_factory):
    """A real mp4 of an invented face that smiles: about a second at 100 frames a second."""
    from epir.core.progress import Silent
    from epir.frames.film import write_film
    from epir.web.examples import BY_NAME, FPS, draw_example

    frames = draw_example(BY_NAME["smile"], Silent())
    return write_film(tmp_path_factory.mktemp("web-clip") / "smile.mp4", frames, FPS)


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
def server(model):
    """The address of `epir serve` in a process of its own, without a slash at the end."""
    with epir_serve("--model", str(model)) as (address, _):
        yield address


@pytest.fixture(scope="session")
def start_serve():
    """Starts `epir serve` with the given arguments: `with start_serve(...) as (address, process)`."""
    return epir_serve


@contextmanager
def epir_serve(*arguments):
    """Run `epir serve` on a free port; gives its address and its process."""
    command = [sys.executable, "-m", "epir.cli.main", "serve", "--port", "0", "--json", *arguments]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        ready, _, _ = select.select([process.stdout], [], [], START_S)
        line = process.stdout.readline() if ready else ""
        assert line, "epir serve did not start"
        yield json.loads(line)["address"].rstrip("/"), process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.wait(timeout=30)
        process.stdout.close()


@pytest.fixture(scope="session")
def serving(model):
    """Serves within this process: `with serving(queue=1) as (service, address)`, so that a test can look inside."""

    @contextmanager
    def run(**settings):
        service = Service(ServeSettings(**settings), model)
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
                thread.join(timeout=30)
            service.close()
            listening.close()

    return run


@pytest.fixture
def client(server):
    with httpx.Client(base_url=server, timeout=120) as opened:
        yield opened
