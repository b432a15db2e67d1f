"""`epir serve` as a command."""

import builtins
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from epir.cli.serve import serve as serve_command
from epir.core.errors import EpirError, MissingExtra
from epir.web.app import address_of, addresses_of, listen


def private_folders(temporary):
    return list(temporary.glob("epir-serve-*"))


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_file_is_left_however_it_ends(start_serve, how, wait_until):
    with start_serve("--set", "examples_ahead=false") as (address, process, temporary):
        assert httpx.get(f"{address}/api/health", timeout=None).json()["model"]["name"] == "epir"
        assert len(private_folders(temporary)) == 1
        os.kill(process.pid, how)
        process.wait()
        wait_until(lambda: not private_folders(temporary))
        assert process.returncode == {signal.SIGINT: 0, signal.SIGTERM: 143, signal.SIGKILL: -9}[how]


@pytest.mark.slow
def test_no_file_is_left_when_it_ends_while_loading(tmp_path, wait_until):
    command = [sys.executable, "-m", "epir.cli.main", "serve", "--port", "0"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    wait_until(lambda: private_folders(tmp_path))
    process.terminate()
    process.communicate()
    assert process.returncode == 143
    assert private_folders(tmp_path) == []


def test_a_missing_model_is_an_error_and_another_host_a_warning(capsys):
    handler = signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(EpirError, match=r"there is no model folder .*nowhere\n  fix: check the path"):
            serve_command(model=Path("nowhere"), host="0.0.0.0", port=0)
    finally:
        signal.signal(signal.SIGTERM, handler)
    printed = " ".join(capsys.readouterr().err.split())
    assert "warning: other machines can reach this server at 0.0.0.0. It has no password" in printed


def test_a_port_in_use_is_an_error():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(
            EpirError, match=rf"cannot listen on 127.0.0.1 port {port}: .*\n  fix: choose another --port"
        ):
            listen("127.0.0.1", port)


def test_a_missing_extra_names_the_command_to_install_it(monkeypatch):
    real = builtins.__import__

    def without(name, *arguments, **options):
        if name == "epir.web.app":
            raise ModuleNotFoundError("No module named 'fastapi'", name="fastapi")
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(
        MissingExtra, match=r'the web server is not installed\n  fix: pip install -c constraints.txt ".\[web\]"'
    ):
        serve_command()


def test_a_server_names_the_addresses_that_can_be_opened(monkeypatch):
    monkeypatch.setattr("epir.web.app.network_addresses", lambda: ["192.0.2.7"])
    with listen("0.0.0.0", 0) as listening:
        port = listening.getsockname()[1]
        assert addresses_of(listening) == [f"http://127.0.0.1:{port}/", f"http://192.0.2.7:{port}/"]
    with listen("127.0.0.1", 0) as listening:
        assert addresses_of(listening) == [address_of(listening)] == [f"http://127.0.0.1:{listening.getsockname()[1]}/"]
