"""The same work in this process or in several, with the results in order."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from epir.core.errors import ConfigError, EpirError
from epir.core.processes import process_pool

Job = TypeVar("Job")
Result = TypeVar("Result")


def work_through(work: Callable[..., Result], jobs: Sequence[Job], *arguments: Any, workers: int) -> Iterator[Result]:
    """`work(job, *arguments)` for every job, one after the other or in `workers` processes."""
    if workers < 1:
        raise ConfigError(f"{workers} workers cannot work", fix="give --workers 1 or more")
    if min(workers, len(jobs)) <= 1:
        return (work(job, *arguments) for job in jobs)
    return _in_processes(work, jobs, arguments, workers)


def _in_processes(
    work: Callable[..., Result], jobs: Iterable[Job], arguments: tuple[Any, ...], workers: int
) -> Iterator[Result]:
    from joblib import delayed
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    pool = process_pool(workers, in_order=True)
    try:
        yield from pool(delayed(work)(job, *arguments) for job in jobs)
    except TerminatedWorkerError:
        raise EpirError(
            "a worker process was ended from outside, perhaps for want of memory",
            fix="run the same command again with fewer --workers",
        ) from None
