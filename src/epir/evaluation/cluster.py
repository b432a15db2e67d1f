"""Folds as Ray tasks: on a cluster of its own on this machine, or on one that is already there."""

import os
import socket
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from epir.core.errors import EpirError, MissingExtra, RunError
from epir.evaluation.fold import FoldTask, run_fold
from epir.evaluation.record import FoldRecord
from epir.evaluation.samples import Sample, read_maps

RETRIES = 3  # of a fold whose worker died
SECONDS_TO_ANSWER = 10
SMALLEST_STORE = 80 * 2**20  # bytes; Ray takes no less


def run_ray(tasks: Sequence[FoldTask], *, workers: int, address: str = "", gpus: float = 0.0) -> Iterator[FoldRecord]:
    """The records of the tasks, each as soon as it is there; a fold whose worker dies is run again elsewhere.

    The maps travel to the workers through Ray, so that a cluster needs no shared disk. `gpus` is each fold's share.
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
        waiting = [remote.remote(task, *shared) for task in tasks]
        while waiting:
            done, waiting = ray.wait(waiting, num_returns=1)
            yield _result(ray, done[0])


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
            f"a fold lost its worker {RETRIES + 1} times ({type(error).__name__}); the finished folds are kept",
            fix="give the same command again, with fewer workers if memory was short",
        ) from None


@contextmanager
def _connected(ray: Any, *, workers: int, address: str, gpus: float, size: int) -> Iterator[None]:
    """Ray, started or found for the time of the run; nothing is reported home."""
    if ray.is_initialized():  # somebody else's connection stays open
        yield
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # silences a notice of a future default
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    if address:
        _join(ray, address, **quiet)
        try:
            yield
        finally:
            ray.shutdown()
        return
    with tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as folder:
        ray.init(
            num_cpus=workers,
            num_gpus=None if gpus else 0,
            include_dashboard=False,
            object_store_memory=max(SMALLEST_STORE, 4 * size),
            _temp_dir=folder,
            **quiet,
        )
        try:
            yield
        finally:
            ray.shutdown()


def _join(ray: Any, address: str, **quiet: Any) -> None:
    """Connect to a cluster; Ray alone would try for minutes where nobody answers."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        if host and port.isdecimal():
            socket.create_connection((host, int(port)), timeout=SECONDS_TO_ANSWER).close()
        ray.init(address=address, **quiet)
    except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        raise RunError(
            f"there is no Ray cluster at {address}: {str(error).splitlines()[0]}",
            fix="check --address, or leave it out: a cluster is then started here",
        ) from None
