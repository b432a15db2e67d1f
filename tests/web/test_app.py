"""`epir serve` as a command."""

import builtins
import os
import signal
import socket
import subprocess
import sys

import httpx
import pytest

from epir.core.errors import EpirError, MissingExtra
from epir.web.app import address_of, addresses_of, listen

COMMAND = [sys.executable, "-m", "epir.cli.main", "serve", "--port", "0"]


def private_folders(temporary):
    return list(temporary.glob("epir-serve-*"))


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_file_is_left_however_it_ends(start_serve, model, how, wait_until):
    which = () if how == signal.SIGINT else ("--model", str(model))  # the shipped weights are the default
    with start_serve(*which, "--set", "examples_ahead=false") as (address, process, temporary):
        assert httpx.get(f"{address}/api/health", timeout=None).json()["model"]["name"] == "epir"
        assert len(private_folders(temporary)) == 1
        os.kill(process.pid, how)
        process.wait()
        wait_until(lambda: not private_folders(temporary))
        assert process.returncode == {signal.SIGINT: 0, signal.SIGTERM: 143, signal.SIGKILL: -9}[how]


def test_no_file_is_left_when_it_ends_while_loading(model, tmp_path, wait_until):
    process = subprocess.Popen(
        [*COMMAND, "--model", str(model)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    wait_until(lambda: private_folders(tmp_path))
    process.terminate()
    process.communicate()
    assert process.returncode == 143
    assert private_folders(tmp_path) == []


def test_a_missing_model_is_an_error_of_two_lines_and_another_host_a_warning():
    done = subprocess.run([*COMMAND, "--model", "nowhere", "--host", "0.0.0.0"], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "warning: other machines can reach this server at 0.0.0.0. It has no password" in done.stderr
    problem, fix = done.stderr.splitlines()[-2:]
    assert problem.startswith("there is no model folder ") and problem.endswith("nowhere")
    assert fix.startswith("fix: check the path")


def test_a_port_that_is_taken_is_an_error():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(
            EpirError, match=rf"cannot listen on 127.0.0.1 port {port}: .*\n  fix: choose another --port"
        ):
            listen("127.0.0.1", port)


def test_without_the_extra_it_says_how_to_install_it(monkeypatch):
    from epir.cli.serve import serve

    real = builtins.__import__

    def without(name, *arguments, **options):
        if name == "epir.web.app":
            raise ModuleNotFoundError("No module named 'fastapi'", name="fastapi")
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(
        MissingExtra, match=r'the web server is not installed\n  fix: pip install -c constraints.txt ".\[web\]"'
    ):
        serve()


@pytest.mark.parametrize(("host", "start"), [("127.0.0.1", "http://127.0.0.1:"), ("0.0.0.0", "http://127.0.0.1:")])
def test_the_address_can_be_opened(host, start):
    with listen(host, 0) as listening:
        assert address_of(listening).startswith(start)


def test_a_server_for_every_network_names_its_addresses(monkeypatch):
    monkeypatch.setattr("epir.web.app.network_addresses", lambda: ["192.0.2.7"])
    with listen("0.0.0.0", 0) as listening:
        port = listening.getsockname()[1]
        assert addresses_of(listening) == [f"http://127.0.0.1:{port}/", f"http://192.0.2.7:{port}/"]
    with listen("127.0.0.1", 0) as listening:
        assert addresses_of(listening) == [address_of(listening)]
