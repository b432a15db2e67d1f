import builtins
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from epir.core import cluster
from epir.core.engines import Engine
from epir.core.errors import ConfigError, MissingExtra, RunError

TWO_NODES = """
import os, signal, sys, time
from pathlib import Path
import ray
from ray.cluster_utils import Cluster
from epir.core.engines import Engine

marks = Path(sys.argv[1])

def square(job, add, folder):
    (folder / f"{job}-{os.getpid()}").touch()  # every attempt leaves a mark
    time.sleep(0.3)
    return job * job + int(add.sum())

if __name__ == "__main__":
    import numpy as np
    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "object_store_memory": 80 * 2**20})
    second = nodes.add_node(num_cpus=1, object_store_memory=80 * 2**20)
    results = []
    engine = Engine("ray", address=nodes.address)
    for number, result in enumerate(engine.run(square, range(14), np.ones(3), marks)):
        results.append(result)
        if number == 2:
            nodes.remove_node(second, allow_graceful=False)
    nodes.shutdown()
    print(sorted(results) == [job * job + 3 for job in range(14)], ray.is_initialized())
"""


@pytest.fixture
def without_token(monkeypatch):
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")


@pytest.mark.slow
def test_a_node_that_dies_costs_its_jobs_another_attempt_and_nothing_else(tmp_path):
    pytest.importorskip("ray")
    marks = tmp_path / "marks"
    marks.mkdir()
    script = tmp_path / "two_nodes.py"
    script.write_text(TWO_NODES)
    environment = {**os.environ, "RAY_AUTH_MODE": "disabled", "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, str(script), str(marks)], capture_output=True, text=True, timeout=300, env=environment
    )
    assert done.stdout.strip().splitlines()[-1:] == ["True False"], done.stderr[-2000:]
    assert len({path.name.split("-")[0] for path in marks.iterdir()}) == 14
    assert len({path.name.split("-")[1] for path in marks.iterdir()}) >= 2  # both nodes had some


@pytest.mark.slow
def test_a_worker_that_dies_is_replaced_and_errors_come_back(tmp_path, without_token):
    ray = pytest.importorskip("ray")
    marker = tmp_path / "died"

    def die_once(job, folder):
        if not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if job == "wrong":
            raise ConfigError("this cannot be", fix="do that")
        return job

    def files(job):
        return [tmp_path / "film.mp4"]

    engine = Engine("ray", workers=2)
    with cluster._connected(ray, engine, size=0):
        assert list(engine.run(die_once, ["a", "b", "c"], tmp_path, in_order=True)) == ["a", "b", "c"]
        with pytest.raises(ConfigError, match="this cannot be\n  fix: do that"):
            list(engine.run(die_once, ["wrong"], tmp_path))
        assert list(engine.run(die_once, ["a"], tmp_path, files=files)) == ["a"]  # nobody sees it: the job's own error
        assert ray.is_initialized()
    assert marker.exists() and not ray.is_initialized()


def test_a_node_without_the_file_or_with_another_version_is_named(tmp_path, monkeypatch):
    ray = pytest.importorskip("ray")
    monkeypatch.setattr(ray.util, "get_node_ip_address", lambda: "10.0.0.2")
    film = tmp_path / "film.mp4"
    words = f"the node 10.0.0.2 does not see {film}\n  fix: put videos and corpora on a disk that every node has"
    with pytest.raises(RunError, match=words):
        cluster._check_node(cluster.__version__, [str(film)])
    film.touch()
    cluster._check_node(cluster.__version__, [str(film)])
    with pytest.raises(RunError, match=r"10.0.0.2 has epir .*, not 9.9\n  fix: install epir 9.9 on every node"):
        cluster._check_node("9.9", [])


def test_an_engine_that_is_not_installed_is_reported(monkeypatch):
    real = builtins.__import__

    def without_ray(name, *rest):
        if name == "ray":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_ray)
    with pytest.raises(
        MissingExtra, match=r'the engine ray is not installed\n  fix: pip install -c constraints.txt ".\[ray\]"'
    ):
        list(Engine("ray").run(repr, [1]))


def test_a_missing_cluster_is_reported():
    pytest.importorskip("ray")
    engine = Engine("ray", address="127.0.0.1:1")
    with pytest.raises(RunError, match=r"there is no Ray cluster at 127.0.0.1:1: .*\n  fix: check --address"):
        list(engine.run(repr, [1]))


@contextmanager
def listening(answer):
    """An engine whose address a server answers so to the first bytes of HTTP/2, or not at all."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def reply():
            link, _ = server.accept()
            with link:
                assert link.recv(100).startswith(b"PRI * HTTP/2.0")
                link.sendall(answer)

        if answer:
            threading.Thread(target=reply, daemon=True).start()
        yield Engine("ray", address=f"127.0.0.1:{server.getsockname()[1]}")


@pytest.mark.parametrize(
    ("answer", "words"), [(b"HTTP/1.1 400 Bad Request", "something else answers there"), (None, r"no answer in 0.2 s")]
)
def test_an_address_where_something_else_listens_is_reported_before_anything_is_written(monkeypatch, answer, words):
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 0.2)
    problem = rf"there is no Ray cluster at 127.0.0.1:\d+: {words}\n  fix: check --address"
    with listening(answer) as engine, pytest.raises(RunError, match=problem):
        engine.check_address()


def test_a_server_of_http2_may_be_a_cluster():
    with listening(bytes([0, 0, 6, 4, 0, 0, 0, 0, 0])) as engine:
        engine.check_address()


def test_a_cluster_that_asks_for_a_token_is_reported(capfd):
    ray = pytest.importorskip("ray")

    class Guarded:
        exceptions = ray.exceptions

        @staticmethod
        def init(**options):
            os.write(2, b"gcs_client.cc: RPC error: InvalidAuthToken: Authentication token is missing or incorrect\n")
            raise ConnectionError("Failed to connect to Ray cluster")

    with pytest.raises(RunError, match=r"needs a token, .*\n  fix: set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN"):
        cluster._join(Guarded, "somewhere")
    os.write(2, b"later\n")
    assert capfd.readouterr().err == "later\n"  # the words of Ray are not printed, and stderr is as before


def test_ray_does_not_decide_what_sigterm_does():
    """Ray puts a handler in place that exits with 15."""

    class Ray:
        is_initialized = staticmethod(lambda: False)
        init = staticmethod(lambda **options: signal.signal(signal.SIGTERM, lambda *rest: sys.exit(15)))
        shutdown = staticmethod(lambda: None)

    def leave(number, frame):
        sys.exit(143)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        with pytest.raises(SystemExit) as stop, cluster._connected(Ray, Engine("ray", workers=1), size=0):
            try:
                os.kill(os.getpid(), signal.SIGTERM)
                time.sleep(5)
            except SystemExit:
                raise SystemExit(1) from None  # as a call of Ray does
        assert stop.value.code == 143 and signal.getsignal(signal.SIGTERM) is leave
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize(
    ("engine", "cores", "sent"),
    [
        (Engine("ray", workers=1), 1, 2),
        (Engine("ray", workers=3), 3, 6),
        (Engine("ray", address="a:1"), 64, 128),
        (Engine("ray", workers=5, address="a:1"), 64, 5),
    ],
)
def test_so_many_jobs_are_sent_at_once(engine, cores, sent):
    ray = SimpleNamespace(cluster_resources=lambda: {"CPU": float(cores)})
    assert cluster._at_once(ray, engine) == sent


INTERRUPTED = """
import sys, time
from pathlib import Path
from epir.cli.main import main
from epir.evaluation import run as module
marker = Path(sys.argv.pop(1))
def run(job, inputs):
    marker.touch()
    time.sleep(600)
module.run_job = run
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize("way", [signal.SIGINT, signal.SIGTERM])
def test_an_end_from_outside_takes_two_lines_also_on_ray(tmp_path, way):
    import numpy as np

    from epir.core.records import Clip
    from epir.maps.mapset import save_maps

    pytest.importorskip("ray")
    clips = [Clip("casme2", f"{n // 2}", f"c{n}", ("happiness", "disgust", "surprise")[n % 3]) for n in range(6)]
    maps = save_maps(tmp_path / "maps", np.zeros((6, 3, 28, 28), np.float32), clips, recipe={}).folder
    marker = tmp_path / "running"
    words = f"evaluate {maps} --protocol cde --model bi-woof --engine ray --workers 1 --out {tmp_path / 'run'}".split()
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, str(marker), *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "RAY_AUTH_MODE": "disabled"},
    )
    with process:
        end = time.monotonic() + 200
        while not marker.exists() and process.poll() is None and time.monotonic() < end:
            time.sleep(0.1)
        assert marker.exists()
        process.send_signal(way)
        printed = process.stderr.read()
    assert process.returncode == 128 + way, printed
    word = "Interrupted" if way == signal.SIGINT else "Terminated"
    assert printed.endswith(f"{word}.\nRun the same command to resume.\n") and "Traceback" not in printed, printed
    assert not list(Path(tmp_path / "run").glob("folds/[!.]*"))


def test_ctrl_c_while_ray_starts_waits_until_it_has_started_and_a_second_one_does_not():
    before, started = signal.getsignal(signal.SIGINT), []
    with pytest.raises(KeyboardInterrupt), cluster._first_interrupt_held():
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)
        started.append(True)
    assert started and signal.getsignal(signal.SIGINT) is before
    with pytest.raises(KeyboardInterrupt), cluster._first_interrupt_held():
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)
        started.append("late")
    assert started == [True]
