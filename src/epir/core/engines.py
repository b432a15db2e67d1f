"""Where jobs run, and their progress: in this process, in worker processes of this machine, or as Ray tasks.

A job is one fold, one clip or one video. An engine decides how long the work takes, never its results.
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
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, TypeVar

from epir.core.errors import ConfigError, RunError
from epir.core.files import scratch_folder

Job = TypeVar("Job")
Result = TypeVar("Result")
Status = Callable[[Sequence[str]], None]  # is told what the running jobs are doing
Files = Callable[[Any], Iterable[Path]]  # the files that a job reads where it runs

MOST_PER_CORE = 16  # workers: each is a process with a torch of its own
SECONDS_BETWEEN_LOOKS = 1.0  # at what the running jobs are doing
SECONDS_BETWEEN_WORDS = 0.5  # of one job about what it is doing
SECONDS_BETWEEN_PARENT_CHECKS = 0.5  # of a worker at its parent


class Progress(Protocol):
    """Receives the steps of a task; the command line draws a bar from it."""

    def start(self, task: str, total: int) -> None:
        """A task of `total` steps begins (any task before it has ended)."""

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Some steps are done; `note` is the current status."""

    def finish(self) -> None:
        """The task has ended."""


class Silent:
    """Shows nothing: the default of library calls, and the base of classes that leave out a method."""

    def start(self, task: str, total: int) -> None:
        """Ignore it."""

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Ignore it."""

    def finish(self) -> None:
        """Ignore it."""


@dataclass(frozen=True)
class Engine:
    """An engine by name, and its size.

    `evaluate`, `prepare` and `spot` take one: `Engine("ray", address="10.0.0.1:6379")`. It runs any function of a job:

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
            raise ConfigError(f"--gpus must be a number from 0 on, not {self.gpus:g}", fix="for example --gpus 0.25")
        if self.name != "ray" and (self.gpus or self.address):
            option = "--gpus" if self.gpus else "--address"
            raise ConfigError(f"{option} needs --engine ray", fix=f"add --engine ray, or leave out {option}")

    @property
    def is_cluster(self) -> bool:
        """Whether jobs may run on other machines, to which everything but files on a shared disk must be sent."""
        return self.name == "ray"

    @property
    def processes(self) -> int:
        """The number of workers; on a running cluster it may have more."""
        return self.workers or cores()

    def check_address(self) -> None:
        """Raise an error if no cluster answers at the address; call it before anything is written."""
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
        """`work(job, *shared)` of every job, each result as soon as it is there, or in the order of the jobs.

        What is `shared` is sent once and not with every job. `files` names what a job reads from a disk that all
        nodes of a cluster must see. `status` is called from time to time with the words of jobs on this machine.
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
    """Results by the number of their job, each as soon as those before it are there."""
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
    def tell(words: str) -> None:
        if status is not None:
            status([words])

    for number, job in jobs:
        with reporting_status(tell):
            result = work(job, *shared)
        yield number, result


def _run_in_processes(
    work: Callable[..., Result],
    jobs: Sequence[tuple[int, Job]],
    shared: tuple[Any, ...],
    workers: int,
    status: Status | None,
) -> Iterator[tuple[int, Result]]:
    """One process per worker, one thread per process; jobs are dealt out one by one, so that an error leaves none.

    Workers end with their parent, however that ends; Ctrl-C and SIGTERM, which a terminal and a service manager send to
    all of them, are left to the parent, also while they start.
    """
    from joblib import Parallel, delayed
    from joblib.externals.loky.cloudpickle_wrapper import dumps
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    with scratch_folder("jobs") as folder:
        (folder / SHARED).write_bytes(dumps((work, shared)))
        # loky takes the import of torch after lighter work for a leak, starts that worker anew, and says so
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
                with _signals_blocked():  # inherited by the workers, and by the thread that starts more of them
                    results = pool(delayed(_in_process)(str(folder), *job) for job in jobs)
                yield from results
            except TerminatedWorkerError:
                why = "memory ran out and the system ended a worker process"
                if memory_kills() == kills:
                    why = "a worker process died, possibly out of memory"
                raise RunError(
                    f"{why}; what is finished is kept",
                    fix=f"run the same command with fewer workers (--workers {max(1, workers - 1)}) to resume",
                ) from None


SHARED = "shared.pickle"  # the work and what all its jobs share, written once and read once by each process


def _in_process(folder: str, number: int, job: Any) -> tuple[int, Any]:
    work, shared = _read_shared(folder)
    words = Path(folder) / f"{number}.txt"

    def tell(text: str) -> None:
        words.write_text(text, encoding="utf-8", errors="backslashreplace")

    with reporting_status(throttled(tell)):
        try:
            return number, work(job, *shared)
        finally:
            words.unlink(missing_ok=True)


@lru_cache(maxsize=1)
def _read_shared(folder: str) -> Any:
    import pickle

    return pickle.loads((Path(folder) / SHARED).read_bytes())


# ------------------------------------------------------------------------------------- what the jobs are doing

_tell: ContextVar[Callable[[str], None] | None] = ContextVar("tell", default=None)


@contextmanager
def reporting_status(tell: Callable[[str], None]) -> Iterator[None]:
    """Inside, `JobProgress` tells there what the job is doing."""
    token = _tell.set(tell)
    try:
        yield
    finally:
        _tell.reset(token)


class JobProgress(Silent):
    """Progress of a job, told to whoever runs it as `NAME: epoch 3 of 20`; to nobody outside an engine."""

    def __init__(self, name: str, **tasks: str) -> None:
        """`tasks` are shorter words for tasks: `training="epoch"`."""
        self._name, self._tasks = name, tasks
        self._task, self._done, self._total = "", 0, 0

    def start(self, task: str, total: int) -> None:
        """Begin a task."""
        self._task, self._done, self._total = self._tasks.get(task, task), 0, total

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Tell how far it is."""
        self._done += steps
        if (tell := _tell.get()) is not None:
            of = f" of {self._total}" if self._total else ""
            tell(f"{self._name}: {self._task} {self._done}{of}")


def throttled(tell: Callable[[str], None]) -> Callable[[str], None]:
    """The same, at most twice a second."""
    last = 0.0

    def told(words: str) -> None:
        nonlocal last
        if time.monotonic() - last >= SECONDS_BETWEEN_WORDS:
            last = time.monotonic()
            tell(words)

    return told


@contextmanager
def _poll_status(folder: Path, status: Status | None) -> Iterator[None]:
    """Tell `status` every second what the worker processes have written down."""
    if status is None:
        yield
        return
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(SECONDS_BETWEEN_LOOKS):
            words = []
            for path in sorted(folder.glob("*.txt"), key=lambda path: int(path.stem)):
                try:
                    words.append(path.read_text(encoding="utf-8"))
                except OSError:  # the job has just ended
                    continue
            status([each for each in words if each])

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processor() -> str:
    """The model of the processor, or `unknown`."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"


def memory_kills() -> int:
    """How many processes the system has ended since it started because memory ran out; 0 where it does not say."""
    counts = Path("/proc/vmstat")
    lines = counts.read_text(encoding="utf-8").splitlines() if counts.exists() else []
    return sum(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))


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


@contextmanager
def _signals_blocked() -> Iterator[None]:
    """Hold back Ctrl-C and SIGTERM in this thread, and for good in the processes and threads that it starts inside."""
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # which would unblock them
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def start_worker(parent: int) -> None:
    """Leave signals to the parent, and end when it has ended."""
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(SECONDS_BETWEEN_PARENT_CHECKS)
    os._exit(1)
