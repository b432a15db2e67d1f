"""The same work in this process or in several."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import cv2

from epir.core.errors import ConfigError, EpirError
from epir.core.processes import process_pool

Job = TypeVar("Job")
Result = TypeVar("Result")


def run(
    work: Callable[..., Result], jobs: Sequence[Job], *arguments: Any, workers: int | None, in_order: bool = True
) -> Iterator[Result]:
    """`work(job, *arguments)` of every job, in this process or in `workers` of them (`None`: one per core).

    `in_order=False` yields each result as soon as it is there.
    """
    check_workers(workers)
    workers = min(workers or os.cpu_count() or 1, len(jobs))
    if workers <= 1:
        return (work(job, *arguments) for job in jobs)
    return _run_in_processes(work, jobs, arguments, workers, in_order)


def check_workers(workers: int | None) -> None:
    """Refuse a number of workers that no work can be given to."""
    if workers is not None and workers < 1:
        raise ConfigError(f"--workers must be at least 1, not {workers}", fix="give --workers 1 or more")


def _run_in_processes(
    work: Callable[..., Result], jobs: Sequence[Job], arguments: tuple[Any, ...], workers: int, in_order: bool
) -> Iterator[Result]:
    from joblib import delayed
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    pool = process_pool(workers, in_order=in_order)
    try:
        yield from pool(delayed(work)(job, *arguments) for job in jobs)
    except TerminatedWorkerError:
        raise EpirError(
            "a worker process was killed, perhaps because memory ran out",
            fix="run the same command again with fewer --workers",
        ) from None


@contextmanager
def one_thread() -> Iterator[None]:
    """OpenCV with one thread: processes share the cores, and the result must not depend on their number."""
    threads = cv2.getNumThreads()
    cv2.setNumThreads(1)
    try:
        yield
    finally:
        cv2.setNumThreads(threads)
