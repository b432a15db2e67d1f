"""Run jobs in this process, in worker processes on this machine, or as Ray tasks; and report their progress.

A job is one fold, one clip or one video. The engine affects how long the work takes, never its results.
"""

import math
import os
import platform
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, TypeVar

from epir.core.errors import ConfigError, RunError
from epir.core.files import scratch_folder

Job = TypeVar("Job")
Result = TypeVar("Result")
Status = Callable[[Sequence[str]], None]  # receives one line per running job
Files = Callable[[Any], Iterable[Path]]  # the files that a job reads

MOST_PER_CORE = 16  # workers: each is a process that loads torch
SECONDS_BETWEEN_POLLS = 1.0  # of the status of running jobs
SECONDS_BETWEEN_REPORTS = 0.5  # of one job
SECONDS_BETWEEN_PARENT_CHECKS = 0.5  # by which a worker notices that its parent has ended


class Progress(Protocol):
    """Receives the steps of a task; the command line draws a bar from it."""

    def start(self, task: str, total: int) -> None:
        """Start a task of `total` steps; any earlier task has ended."""

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Record finished steps; `note` is the current status."""

    def finish(self) -> None:
        """End the task."""


class Silent:
    """Shows nothing: the default of library calls, and the base class of partial implementations."""

    def start(self, task: str, total: int) -> None:
        """Ignore it."""

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Ignore it."""

    def finish(self) -> None:
        """Ignore it."""


@dataclass(frozen=True)
class Engine:
    """Where jobs run: `local` processes or `ray` tasks, and how many.

    `evaluate`, `prepare` and `spot` take an engine: `Engine("ray", address="10.0.0.1:6379")`. It runs any function:

    >>> list(Engine(workers=1).run(pow, [2, 3], 2, in_order=True))
    [4, 9]
    """

    name: str = "local"  # or ray
    workers: int | None = None  # None: one per core
    address: str = ""  # of a running Ray cluster
    gpus: float = 0.0  # each job's share of a GPU, with ray

    def __post_init__(self) -> None:
        if self.name not in ("local", "ray"):
            raise ConfigError(f"there is no engine {self.name!r}", fix="use --engine local or --engine ray")
        if self.workers is not None and self.workers < 1:
            raise ConfigError(f"--workers must be at least 1, not {self.workers}", fix="leave it out for one per core")
        if self.workers is not None and self.workers > MOST_PER_CORE * cores() and not self.address:
            raise ConfigError(
                f"--workers must be at most {MOST_PER_CORE} per core, here {MOST_PER_CORE * cores()}",
                fix="leave it out for one per core",
            )
        if not 0 <= self.gpus < math.inf:
            raise ConfigError(f"--gpus must be at least 0 and finite, not {self.gpus:g}", fix="for example --gpus 0.25")
        if self.name != "ray" and (self.gpus or self.address):
            option = "--gpus" if self.gpus else "--address"
            raise ConfigError(f"{option} needs --engine ray", fix=f"add --engine ray, or leave out {option}")

    @property
    def is_cluster(self) -> bool:
        """Whether jobs may run on other machines, which see only files on a shared disk."""
        return self.name == "ray"

    @property
    def processes(self) -> int:
        """The number of workers; a running cluster may have more."""
        return self.workers or cores()

    def check_address(self) -> None:
        """Raise an error if no cluster answers at the address; called before anything is written."""
        if self.is_cluster and self.address:
            from epir.core.cluster import check_address

            check_address(self.address)

    def run(
        self,
        work: Callable[..., Result],
        jobs: Sequence[Job],
        *shared: Any,
        in_order: bool = False,
        files: Files | None = None,
        status: Status | None = None,
    ) -> Iterator[Result]:
        """Yield `work(job, *shared)` for every job, as results arrive, or in the order of the jobs.

        `shared` is sent once, not with every job. `files` returns the paths that a job reads, which all nodes of a
        cluster must see. `status` is called now and then with the status of the running jobs on this machine.
        """
        numbered = list(enumerate(jobs))
        results: Iterator[tuple[int, Result]]
        if self.is_cluster:
            from epir.core.cluster import run_on_ray

            results = run_on_ray(self, work, numbered, shared, files)
        elif min(self.processes, len(numbered)) <= 1:
            results = _run_here(work, numbered, shared, status)
        else:
            results = _run_in_processes(work, numbered, shared, min(self.processes, len(numbered)), status)
        return _sorted(results) if in_order else (result for _, result in results)


def _sorted(results: Iterator[tuple[int, Result]]) -> Iterator[Result]:
    """Results in the order of their jobs, each as soon as all earlier results have arrived."""
    early: dict[int, Result] = {}
    expected = 0
    for number, result in results:
        early[number] = result
        while expected in early:
            yield early.pop(expected)
            expected += 1


def _run_here(
    work: Callable[..., Result], jobs: Sequence[tuple[int, Job]], shared: tuple[Any, ...], status: Status | None
) -> Iterator[tuple[int, Result]]:
    def report(line: str) -> None:
        if status is not None:
            status([line])

    for number, job in jobs:
        with reporting_status(report):
            result = work(job, *shared)
        yield number, result


def _run_in_processes(
    work: Callable[..., Result],
    jobs: Sequence[tuple[int, Job]],
    shared: tuple[Any, ...],
    workers: int,
    status: Status | None,
) -> Iterator[tuple[int, Result]]:
    """One process per worker, one thread per process; jobs are dispatched one by one, so that none is left on an error.

    Workers end with their parent, however it ends. Only the parent handles Ctrl-C and SIGTERM, which terminals and
    service managers send to all processes, also while workers start.
    """
    from joblib import Parallel, delayed
    from joblib.externals.loky.cloudpickle_wrapper import dumps
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    with scratch_folder("jobs") as folder:
        (folder / SHARED).write_bytes(dumps((work, shared)))
        # loky mistakes the import of torch after lighter work for a memory leak, restarts the worker and warns
        warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)
        pool = Parallel(
            n_jobs=workers,
            backend="loky",
            return_as="generator_unordered",
            batch_size=1,
            pre_dispatch=workers,
            inner_max_num_threads=1,
            initializer=start_worker,
            initargs=(os.getpid(),),
        )
        kills = memory_kills()
        with _poll_status(folder, status):
            try:
                with _signals_blocked():  # inherited by the workers and by the thread that starts them
                    results = pool(delayed(_in_process)(str(folder), *job) for job in jobs)
                yield from results
            except TerminatedWorkerError:
                why = "memory ran out and the system killed a worker process"
                if memory_kills() == kills:
                    why = "a worker process died, possibly out of memory"
                raise RunError(
                    f"{why}; finished jobs are kept",
                    fix=f"run the same command with fewer workers (--workers {max(1, workers - 1)}) to resume",
                ) from None


SHARED = "shared.pickle"  # the function and its shared arguments, written once and read once by each process


def _in_process(folder: str, number: int, job: Any) -> tuple[int, Any]:
    work, shared = _read_shared(folder)
    status = Path(folder) / f"{number}.txt"

    def report(line: str) -> None:
        status.write_text(line, encoding="utf-8", errors="backslashreplace")

    with reporting_status(throttled(report)):
        try:
            return number, work(job, *shared)
        finally:
            status.unlink(missing_ok=True)


@lru_cache(maxsize=1)
def _read_shared(folder: str) -> Any:
    import pickle

    return pickle.loads((Path(folder) / SHARED).read_bytes())


# ------------------------------------------------------------------------------------------ status of running jobs

_report: ContextVar[Callable[[str], None] | None] = ContextVar("report", default=None)


@contextmanager
def reporting_status(report: Callable[[str], None]) -> Iterator[None]:
    """Inside the block, `JobProgress` passes its status to `report`."""
    token = _report.set(report)
    try:
        yield
    finally:
        _report.reset(token)


class JobProgress(Silent):
    """Reports the progress of a job to its engine, as `NAME: epoch 3 of 20`; outside an engine, to nobody."""

    def __init__(self, name: str, **tasks: str) -> None:
        """`tasks` are shorter names of tasks: `training="epoch"`."""
        self._name, self._tasks = name, tasks
        self._task, self._done, self._total = "", 0, 0

    def start(self, task: str, total: int) -> None:
        """Start a task."""
        self._task, self._done, self._total = self._tasks.get(task, task), 0, total

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Report how far the job is."""
        self._done += steps
        if (report := _report.get()) is not None:
            of = f" of {self._total}" if self._total else ""
            report(f"{self._name}: {self._task} {self._done}{of}")


def throttled(report: Callable[[str], None]) -> Callable[[str], None]:
    """A function that calls `report` at most twice a second and drops the other calls."""
    last = 0.0

    def limited(line: str) -> None:
        nonlocal last
        if time.monotonic() - last >= SECONDS_BETWEEN_REPORTS:
            last = time.monotonic()
            report(line)

    return limited


@contextmanager
def _poll_status(folder: Path, status: Status | None) -> Iterator[None]:
    """Pass the lines that the worker processes have written to `status`, once a second."""
    if status is None:
        yield
        return
    ended = threading.Event()

    def poll() -> None:
        while not ended.wait(SECONDS_BETWEEN_POLLS):
            lines = []
            for path in sorted(folder.glob("*.txt"), key=lambda path: int(path.stem)):
                with suppress(OSError):  # the job may just have ended
                    lines.append(path.read_text(encoding="utf-8"))
            status([line for line in lines if line])

    thread = threading.Thread(target=poll, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processor() -> str:
    """The model of the processor, with family and model number if the system tells them, or `unknown`."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    values: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        values.setdefault(name.strip(), value.strip())
    name = values.get("model name") or platform.processor() or "unknown"
    # Virtual machines give different processors one name; with other vector units, results may differ in bits.
    return f"{name} (family {values['cpu family']}, model {values['model']})" if "cpu family" in values else name


def memory_kills() -> int:
    """The number of processes that the system has killed since it booted because memory ran out; 0 if unknown."""
    counts = Path("/proc/vmstat")
    lines = counts.read_text(encoding="utf-8").splitlines() if counts.exists() else []
    return sum(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))


def source_commit() -> str | None:
    """The git commit of this source, with `+changes` if `src` differs from it; `None` for an installed package."""
    root = Path(__file__).parents[3]
    if not (root / ".git").exists() or not (root / "src" / "epir").exists():
        return None
    try:
        commit, changes = (
            subprocess.run(
                ["git", "-C", str(root), *command], capture_output=True, text=True, check=True
            ).stdout.strip()
            for command in (("rev-parse", "HEAD"), ("status", "--porcelain", "--", "src"))
        )
    except (OSError, subprocess.CalledProcessError):  # git is missing or does not trust the folder
        return None
    return f"{commit}{'+changes' if changes else ''}"


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit OpenCV, torch and the numerical libraries, if loaded, to one thread.

    Worker processes share the cores, and results must not depend on the number of workers.
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


@contextmanager
def _signals_blocked() -> Iterator[None]:
    """Block Ctrl-C and SIGTERM in this thread, and permanently in the processes and threads it starts inside."""
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # starting it later would unblock them
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def start_worker(parent: int) -> None:
    """Leave signals to the parent, and end when it ends."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(SECONDS_BETWEEN_PARENT_CHECKS)
    os._exit(1)
