"""Where folds run: on the cores of this machine, or as Ray tasks on a cluster.

An engine decides how long a run takes, never its predictions.
"""

import os
import signal
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from epir.core.errors import ConfigError, EpirError, MissingExtra, RunError
from epir.core.files import scratch_folder
from epir.core.processes import cores, process_pool
from epir.evaluation.fold import FoldTask, run_fold
from epir.evaluation.record import FoldRecord
from epir.evaluation.samples import Sample, read_maps

SENT_PER_CORE = 2  # folds that Ray holds for each core
RETRIES = 3  # of a fold whose Ray worker died
CONNECT_SECONDS = 10
SMALLEST_STORE = 80 * 2**20  # bytes; Ray takes no less


@dataclass(frozen=True)
class Engine:
    """An engine by name, and its size."""

    name: str = "local"  # or ray
    workers: int | None = None  # None: one per core
    address: str = ""  # of a running Ray cluster
    gpus: float = 0.0  # each fold's share of a GPU, with ray

    def __post_init__(self) -> None:
        if self.name not in ("local", "ray"):
            raise ConfigError(f"there is no engine {self.name!r}", fix="use --engine local or --engine ray")
        if self.workers is not None and self.workers < 1:
            raise ConfigError(f"--workers must be at least 1, not {self.workers}", fix="leave it out for one per core")
        if self.gpus < 0:
            raise ConfigError(f"--gpus must not be negative: {self.gpus:g}", fix="for example --gpus 0.25")
        if self.name != "ray" and (self.gpus or self.address):
            option = "--gpus" if self.gpus else "--address"
            raise ConfigError(f"{option} needs --engine ray", fix=f"add --engine ray, or leave out {option}")

    @property
    def processes(self) -> int:
        """The number of workers."""
        return self.workers or cores()

    def run(self, tasks: Sequence[FoldTask]) -> Iterator[FoldRecord]:
        """The records of the tasks, each as soon as it is ready."""
        if self.name == "ray":
            return run_ray(tasks, workers=self.processes, address=self.address, gpus=self.gpus)
        return run_local(tasks, workers=self.processes)


def run_local(tasks: Sequence[FoldTask], *, workers: int) -> Iterator[FoldRecord]:
    """The records of the tasks, each as soon as it is ready: one process per worker, one thread per process."""
    workers = min(workers, len(tasks))
    if workers <= 1:
        yield from map(run_fold, tasks)
        return
    from joblib import delayed
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    # Tasks are dispatched one by one, so that an error or an interruption leaves none queued.
    pool = process_pool(workers, in_order=False, batch_size=1, pre_dispatch=workers)
    try:
        yield from pool(delayed(run_fold)(task) for task in tasks)
    except TerminatedWorkerError:
        raise RunError(
            "a worker process died, possibly out of memory; finished folds are kept",
            fix=f"run the same command with fewer workers (--workers {max(1, workers - 1)}) to resume",
        ) from None


def run_ray(tasks: Sequence[FoldTask], *, workers: int, address: str = "", gpus: float = 0.0) -> Iterator[FoldRecord]:
    """The records of the tasks, each as soon as it is ready; a fold whose worker dies is run again elsewhere.

    The maps are sent to the workers through Ray, so that a cluster needs no shared disk. `gpus` is each fold's share.
    """
    try:
        import ray
    except ImportError:
        raise MissingExtra.named("the engine ray", "ray") from None

    samples = {sample.clip.key: sample for task in tasks for sample in (*task.train, *task.test)}
    maps = read_maps(list(samples.values()))
    with _connected(ray, workers=workers, address=address, gpus=gpus, size=maps.nbytes):
        shared = ray.put(maps), ray.put({key: row for row, key in enumerate(samples)})
        remote = ray.remote(_remote_fold).options(num_cpus=1, num_gpus=gpus, max_retries=RETRIES)
        left = iter(tasks)  # a task holds the clips of its fold: a few at a time are sent
        waiting = [remote.remote(task, *shared) for task in islice(left, SENT_PER_CORE * _cores(ray, workers))]
        while waiting:
            done, waiting = ray.wait(waiting, num_returns=1)
            waiting += [remote.remote(task, *shared) for task in islice(left, 1)]
            yield _result(ray, done[0])


def _cores(ray: Any, workers: int) -> int:
    """The cores of the cluster, at least as many as the workers that were asked for."""
    return max(workers, int(ray.cluster_resources().get("CPU", 0)))


def _remote_fold(task: FoldTask, maps: np.ndarray, rows: dict[str, int]) -> FoldRecord:
    def read(samples: Sequence[Sample]) -> np.ndarray:
        return maps[[rows[sample.clip.key] for sample in samples]]

    return run_fold(task, read)


def _result(ray: Any, reference: Any) -> FoldRecord:
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, EpirError):
            raise error.cause from None
        raise
    except ray.exceptions.RayError as error:
        raise RunError(
            f"a fold lost its worker {RETRIES + 1} times ({type(error).__name__}); finished folds are kept",
            fix="run the same command to resume, with fewer workers if memory was short",
        ) from None


@contextmanager
def _connected(ray: Any, *, workers: int, address: str, gpus: float, size: int) -> Iterator[None]:
    """A connection to Ray, started or joined for the time of the run; no usage statistics are sent."""
    if ray.is_initialized():  # an existing connection stays open
        yield
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # silences a notice of a future default
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    if address:
        with _same_sigterm():
            _join(ray, address, **quiet)
        try:
            yield
        finally:
            ray.shutdown()
        return
    with scratch_folder("ray") as folder:
        with _same_sigterm():
            ray.init(
                num_cpus=workers,
                num_gpus=None if gpus else 0,
                include_dashboard=False,
                object_store_memory=max(SMALLEST_STORE, 4 * size),
                _temp_dir=str(folder),
                **quiet,
            )
        try:
            yield
        finally:
            ray.shutdown()


@contextmanager
def _same_sigterm() -> Iterator[None]:
    """Keep what this process does at SIGTERM: Ray puts a handler of its own in place, which exits with 15."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, before)


def _join(ray: Any, address: str, **quiet: Any) -> None:
    """Connect to a cluster; Ray alone would try for minutes where nothing answers."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        if host and port.isdecimal():
            socket.create_connection((host, int(port)), timeout=CONNECT_SECONDS).close()
        ray.init(address=address, **quiet)
    except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        raise RunError(
            f"there is no Ray cluster at {address}: {str(error).splitlines()[0]}",
            fix="check --address, or leave it out to start a cluster on this machine",
        ) from None
