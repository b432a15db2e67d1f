"""A pool of processes, one thread each, for work that can be done side by side."""

import signal
from typing import Any


def process_pool(workers: int, *, in_order: bool, **options: Any) -> Any:
    """A `joblib.Parallel` of two or more workers, which gives results in order or each as soon as it is there.

    A terminal sends Ctrl-C to the workers as well. They leave it to the process that started them, which ends them,
    instead of each telling where it was interrupted.
    """
    from joblib import Parallel

    return Parallel(
        n_jobs=workers,
        backend="loky",
        return_as="generator" if in_order else "generator_unordered",
        inner_max_num_threads=1,
        initializer=ignore_ctrl_c,
        **options,
    )


def ignore_ctrl_c() -> None:
    """Let an interruption pass by this process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
