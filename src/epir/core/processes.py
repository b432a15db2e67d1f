"""The processor of this machine, and worker processes of one thread each for work that can be done in parallel."""

import os
import platform
import signal
from pathlib import Path
from typing import Any


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

    A terminal sends Ctrl-C to the workers as well. They ignore it and are ended by their parent; otherwise each would
    print a traceback.
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
    """Ignore SIGINT in this process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
