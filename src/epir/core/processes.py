"""The processor of this machine, and worker processes of one thread each for work that can be done in parallel."""

import os
import platform
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
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


def source_commit() -> str | None:
    """The git commit of this source, with `+changes` where it was changed since; `None` for an installed package."""
    root = Path(__file__).parents[3]
    if not (root / ".git").exists() or not (root / "src" / "epir").exists():
        return None
    try:
        words = [
            subprocess.run(
                ["git", "-C", str(root), *command], capture_output=True, text=True, check=True
            ).stdout.strip()
            for command in (("rev-parse", "HEAD"), ("status", "--porcelain", "--", "src"))
        ]
    except (OSError, subprocess.CalledProcessError):  # no git here, or a folder that it does not trust
        return None
    return f"{words[0]}{'+changes' if words[1] else ''}"


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread for OpenCV, torch and numerical libraries, of those that are loaded already.

    Processes share the cores, and the result must not depend on their number.
    """
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    with ExitStack() as stack:
        if (cv2 := sys.modules.get("cv2")) is not None:
            stack.callback(cv2.setNumThreads, cv2.getNumThreads())
            cv2.setNumThreads(1)
        if (torch := sys.modules.get("torch")) is not None:
            stack.callback(torch.set_num_threads, torch.get_num_threads())
            torch.set_num_threads(1)
        stack.enter_context(threadpool_limits(limits=1))
        yield


def process_pool(workers: int, *, in_order: bool, **options: Any) -> Any:
    """A `joblib.Parallel` of two or more workers, which yields results in order or as soon as they are ready.

    Workers end with their parent, however that ends; Ctrl-C and SIGTERM, which a terminal and a service manager send to
    all of them, are left to the parent.
    """
    from joblib import Parallel

    # loky takes the import of torch after lighter work for a leak, starts that worker anew, and says so
    warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)
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
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(SECONDS_BETWEEN_LOOKS)
    os._exit(1)
