"""Run jobs as Ray tasks, on a running cluster or on one started on this machine.

Ray transfers the function, its shared arguments and the results, but not videos and corpora: every node must see these
under the same path. A job whose worker or node dies is run again elsewhere.
"""

import os
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from epir import __version__
from epir.core.engines import Files
from epir.core.errors import EpirError, MissingExtra, RunError
from epir.core.files import scratch_folder

if TYPE_CHECKING:
    from epir.core.engines import Engine

SENT_PER_CORE = 2  # jobs submitted to Ray per core
RETRIES = 3  # of a job whose worker or node died
CONNECT_SECONDS = 6
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])  # of HTTP/2, with empty settings
SMALLEST_STORE = 80 * 2**20  # bytes: Ray's minimum
UNAUTHENTICATED = ("Unauthenticated", "InvalidAuthToken", "AuthenticationError")  # in Ray's messages
TOKEN_FIX = (
    "set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN (or RAY_AUTH_TOKEN_PATH) to the token of the cluster, which "
    "ray get-auth-token prints on its head node"
)


def run_on_ray(
    engine: "Engine",
    work: Callable[..., Any],
    jobs: Sequence[tuple[int, Any]],
    shared: tuple[Any, ...],
    files: Files | None = None,
) -> Iterator[tuple[int, Any]]:
    """Yield the numbered results of numbered jobs as they arrive; only a few jobs are submitted at a time."""
    if not jobs:
        return
    try:
        import ray
    except ImportError:
        raise MissingExtra.named("the engine ray", "ray") from None
    from ray import cloudpickle

    arrays: list[Any] = []
    rest = cloudpickle.dumps((work, shared), protocol=5, buffer_callback=arrays.append)
    size = len(rest) + sum(array.raw().nbytes for array in arrays)
    with _connected(ray, engine, size=size):
        everything = ray.put((work, shared))
        remote = ray.remote(_remote).options(num_cpus=1, num_gpus=engine.gpus, max_retries=RETRIES)

        def send(number: int, job: Any) -> Any:
            needed = [str(path) for path in files(job) if path.exists()] if files is not None else []
            return remote.remote(__version__, needed, everything, number, job)

        left = iter(jobs)
        waiting = [send(*job) for job in islice(left, _at_once(ray, engine))]
        while waiting:
            done, waiting = ray.wait(waiting, num_returns=1)
            waiting += [send(*job) for job in islice(left, len(done))]
            for reference in done:
                yield _result(ray, reference)


def _at_once(ray: Any, engine: "Engine") -> int:
    """The number of jobs to submit at once: `workers` on a running cluster, otherwise a few per core."""
    if engine.workers is not None and engine.address:
        return engine.workers
    return SENT_PER_CORE * max(engine.processes, int(ray.cluster_resources().get("CPU", 0)))


def _remote(version: str, needed: Sequence[str], everything: tuple[Any, Any], number: int, job: Any) -> tuple[int, Any]:
    """Run one job in a Ray worker."""
    _check_node(version, needed)
    work, shared = everything
    return number, work(job, *shared)


def _check_node(version: str, needed: Sequence[str]) -> None:
    """Raise an error on a node with another version of epir, or without the files that the job reads."""
    import ray

    node = ray.util.get_node_ip_address()
    if version != __version__:
        raise RunError(
            f"the node {node} has epir {__version__}, not {version}",
            fix=f"install epir {version} on every node: pip install -c constraints.txt .",
        )
    for path in needed:
        if not Path(path).exists():
            raise RunError(
                f"the node {node} does not see {path}",
                fix="put videos and corpora on a disk that every node has under the same path, or use --engine local",
            )


def _result(ray: Any, reference: Any) -> tuple[int, Any]:
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, EpirError):
            raise error.cause from None
        if "No module named 'epir'" in str(error):
            raise RunError(
                "a node of the cluster has no epir",
                fix=f"install epir {__version__} on every node: pip install -c constraints.txt .",
            ) from None
        raise
    except ray.exceptions.RayError as error:
        raise RunError(
            f"a job lost its worker {RETRIES + 1} times ({type(error).__name__}); finished jobs are kept",
            fix="run the same command to resume, with fewer workers if memory was short",
        ) from None


@contextmanager
def _connected(ray: Any, engine: "Engine", *, size: int) -> Iterator[None]:
    """Connect to Ray, or start it, for the duration of the block; no usage statistics are sent."""
    if ray.is_initialized():  # an existing connection stays open
        yield
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # silences a notice of a future default
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    before = signal.getsignal(signal.SIGTERM)  # Ray installs a handler that exits with code 15
    with ExitStack() as stack:
        stack.callback(_handle_sigterm, before)
        with _first_interrupt_held():
            stack.callback(ray.shutdown)
            if engine.address:
                _join(ray, engine.address, **quiet)
            else:
                ray.init(
                    num_cpus=engine.processes,
                    num_gpus=None if engine.gpus else 0,
                    include_dashboard=False,
                    object_store_memory=max(SMALLEST_STORE, 4 * size),
                    _temp_dir=str(stack.enter_context(scratch_folder("ray"))),
                    **quiet,
                )
        with _sigterm_through_ray(before):
            yield


@contextmanager
def _first_interrupt_held() -> Iterator[None]:
    """Delay the first Ctrl-C until the block ends, since interrupting Ray's start leaves processes behind.

    A second Ctrl-C interrupts at once.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before, interrupts = signal.getsignal(signal.SIGINT), []

    def hold(number: int, frame: FrameType | None) -> None:
        interrupts.append(number)
        if len(interrupts) > 1:
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, hold)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if interrupts:
        raise KeyboardInterrupt


def _handle_sigterm(handler: Any) -> None:
    """Install a handler of SIGTERM, in the main thread only: no other thread may."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, handler)


@contextmanager
def _sigterm_through_ray(before: Any) -> Iterator[None]:
    """Keep the exit code of `before`, a handler of SIGTERM, which Ray would replace with 1."""
    stops: list[SystemExit] = []

    def handle(number: int, frame: FrameType | None) -> None:
        try:
            before(number, frame)
        except SystemExit as stop:
            stops.append(stop)
            raise

    _handle_sigterm(handle if callable(before) else before)
    try:
        yield
    except SystemExit as stop:
        raise (stops[0] if stops else stop) from None


def _join(ray: Any, address: str, **quiet: Any) -> None:
    """Connect to a cluster; without `check_address`, Ray would try for minutes if nothing answers."""
    check_address(address)
    with _captured_stderr() as captured:
        try:
            ray.init(address=address, **quiet)
        except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
            if any(word in f"{error}{captured()}" for word in UNAUTHENTICATED):
                problem = f"the Ray cluster at {address} needs a token, and it is missing or wrong"
                raise RunError(problem, fix=TOKEN_FIX) from None
            raise _no_cluster(address, str(error).splitlines()[0]) from None


def check_address(address: str) -> None:
    """Raise an error unless an HTTP/2 server, which every Ray cluster is, answers at the address within seconds."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal():  # such as `auto`, which Ray resolves
        return
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_SECONDS) as link:
            if os.environ.get("RAY_USE_TLS", "0").lower() in ("1", "true"):
                return
            link.sendall(PREFACE)
            answer = link.recv(9)
    except TimeoutError:
        raise _no_cluster(address, f"no answer in {CONNECT_SECONDS} s") from None
    except (OSError, OverflowError) as error:
        raise _no_cluster(address, str(error)) from None
    if answer[3:4] != PREFACE[-6:-5]:  # an HTTP/2 server first sends its settings
        raise _no_cluster(address, "something else answers there")


def _no_cluster(address: str, reason: str) -> RunError:
    return RunError(
        f"there is no Ray cluster at {address}: {reason}",
        fix="check --address, or leave it out to start a cluster on this machine",
    )


@contextmanager
def _captured_stderr() -> Iterator[Callable[[], str]]:
    """Capture stderr: only there, once a second, does Ray's core say why a cluster rejects it."""
    sys.stderr.flush()
    with tempfile.TemporaryFile() as file:
        before = os.dup(2)
        os.dup2(file.fileno(), 2)

        def captured() -> str:
            return os.pread(file.fileno(), 100_000, 0).decode("utf-8", "replace")

        try:
            yield captured
        finally:
            os.dup2(before, 2)
            os.close(before)
