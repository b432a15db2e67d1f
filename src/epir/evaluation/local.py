"""Folds on the cores of this machine: one process per worker, one thread per process."""

import os
import threading
import time
from collections.abc import Iterator, Sequence
from functools import cache

from epir.core.errors import RunError
from epir.core.processes import process_pool
from epir.evaluation.fold import FoldTask, run_fold
from epir.evaluation.record import FoldRecord


def run_local(tasks: Sequence[FoldTask], *, workers: int) -> Iterator[FoldRecord]:
    """The records of the tasks, each as soon as it is there."""
    workers = min(workers, len(tasks))
    if workers <= 1:
        yield from map(run_fold, tasks)
        return
    from joblib import delayed
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    # Tasks are handed out one by one, so that an error or an interruption leaves none waiting.
    pool = process_pool(workers, in_order=False, batch_size=1, pre_dispatch=workers)
    try:
        yield from pool(delayed(_run_in_worker)(task, os.getpid()) for task in tasks)
    except TerminatedWorkerError:
        raise RunError(
            "a worker process died, perhaps for want of memory; the finished folds are kept",
            fix=f"give the same command again, with fewer workers (--workers {max(1, workers - 1)})",
        ) from None


def _run_in_worker(task: FoldTask, parent: int) -> FoldRecord:
    _end_with(parent)
    return run_fold(task)


@cache
def _end_with(parent: int) -> None:
    """Let this worker end with its parent, also when that is killed: nobody would take the result."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
