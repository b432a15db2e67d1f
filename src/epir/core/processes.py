"""The processor of this machine, and worker processes of one thread each for work that can be done in parallel."""

import os
import platform
import signal
import threading
import time
from pathlib import Path
from typing import Any

SECONDS_BETWEEN_LOOKS = 0.5  # of a worker at its parent


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processor() -> str:
    """The model of the processor, or `unknown`."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"


def process_pool(workers: int, *, in_order: bool, **options: Any) -> Any:
    """A `joblib.Parallel` of two or more workers, which yields results in order or as soon as they are ready.

    Workers end with their parent, however that ends; Ctrl-C and SIGTERM, which a terminal and a service manager send to
    all of them, are left to the parent.
    """
    from joblib import Parallel

    return Parallel(
        n_jobs=workers,
        backend="loky",
        return_as="generator" if in_order else "generator_unordered",
        inner_max_num_threads=1,
        initializer=start_worker,
        initargs=(os.getpid(),),
        **options,
    )


def start_worker(parent: int) -> None:
    """Leave signals to the parent, and end when it has ended."""
    from joblib.externals.loky import process_executor

    process_executor._USE_PSUTIL = False  # with psutil, loky takes the import of torch for a leak and starts over
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(SECONDS_BETWEEN_LOOKS)
    os._exit(1)
