"""`epir serve` as a command."""

import builtins
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
import pytest

from epir.core.errors import MissingExtra
from epir.web.serve import address_of, listen


def run(*arguments):
    command = [sys.executable, "-m", "epir.cli.main", "serve", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=180)


def folders_of(pid):
    return list(Path(tempfile.gettempdir()).glob(f"epir-serve-{pid}-*"))


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_however_it_ends_nothing_stays_behind(start_serve, model, how):
    with start_serve("--model", str(model), "--set", "examples_ahead=false") as (address, process):
        assert httpx.get(f"{address}/api/health").status_code == 200
        assert len(folders_of(process.pid)) == 1
        os.kill(process.pid, how)
        process.wait(timeout=60)
        for _ in range(200):
            if not folders_of(process.pid):
                break
            time.sleep(0.05)
        assert folders_of(process.pid) == []
        assert process.returncode == {signal.SIGINT: 0, signal.SIGTERM: 143, signal.SIGKILL: -9}[how]


def test_a_model_that_is_not_there_takes_two_lines():
    done = run("--model", "nowhere", "--port", "0")
    assert done.returncode == 2
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert lines[-2].startswith("there is no model folder ") and lines[-2].endswith("nowhere")
    assert lines[-1].startswith("fix: check the path")


def test_a_port_that_is_taken_takes_two_lines():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = run("--port", str(taken.getsockname()[1]))
    assert done.returncode == 2
    problem, fix = done.stderr.splitlines()[-2:]
    assert problem.startswith("the server cannot listen at 127.0.0.1 port")
    assert fix == "fix: choose another --port, or 0 for any free one; --host takes an address of this machine"


def test_another_host_is_warned_about_in_plain_words():
    done = run("--host", "0.0.0.0", "--model", "nowhere", "--port", "0")
    assert "warning: at 0.0.0.0 other machines can reach this server. It has no password" in done.stderr


def test_without_the_extra_it_says_how_to_install_it(monkeypatch):
    from epir.cli.serve import serve

    real = builtins.__import__

    def without(name, *arguments, **options):
        if name == "epir.web.serve":
            raise ModuleNotFoundError("No module named 'fastapi'", name="fastapi")
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtra, match=r'the web server is not installed\n  fix: pip install "epir\[web\]"'):
        serve()


@pytest.mark.parametrize(("host", "start"), [("127.0.0.1", "http://127.0.0.1:"), ("0.0.0.0", "http://127.0.0.1:")])
def test_the_address_can_be_opened(host, start):
    with listen(host, 0) as listening:
        assert address_of(listening).startswith(start)


def test_the_shipped_weights_are_the_default(start_serve):
    from epir.recognition.loading import find_model

    from epir.core.errors import CheckpointError

    try:
        find_model(None)
    except CheckpointError:
        pytest.skip("this version ships no weights")
    with start_serve("--set", "examples_ahead=false") as (address, _):
        assert httpx.get(f"{address}/api/health").json()["model"]["map_size"] >= 14


def test_nothing_stays_behind_when_it_ends_while_it_loads(model):
    command = [sys.executable, "-m", "epir.cli.main", "serve", "--port", "0", "--model", str(model)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while not folders_of(process.pid):
        time.sleep(0.01)
    process.terminate()
    process.communicate(timeout=60)
    assert process.returncode == 143
    assert folders_of(process.pid) == []
