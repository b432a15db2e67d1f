"""Jobs, their bounded queue, and the store of their results; thread-safe."""

import secrets
import shutil
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any, Literal

from epir.web.problems import CANCELLED, SHUTTING_DOWN, Problem, RequestError, busy, too_many
from epir.web.settings import FIRST_JOB_S

Exchange = Callable[[Mapping[str, Any]], tuple[dict[str, Any], dict[str, bytes]]]
State = Literal["queued", "running", "done", "failed"]
FULL = "the server is busy: its queue is full"


def remove_folder(folder: Path | None) -> None:
    """Remove a folder with its files; nothing for None or a missing folder."""
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)


@dataclass
class Job:
    """A task for a worker process; `outcome` is set once, when the job is done or has failed."""

    task: dict[str, Any]  # as sent to the worker process
    seconds: float  # time limit
    folder: Path | None = None  # the upload, removed when the job ends
    background: bool = False  # work of the server itself: runs last and takes no place in the queue
    address: str | None = None  # of the client, if its share is limited
    id: str = field(default_factory=lambda: secrets.token_urlsafe(16))
    state: State = "queued"
    stage: str = ""
    done: int = 0
    total: int = 0
    result: dict[str, Any] | None = None
    pictures: dict[str, bytes] = field(default_factory=dict, repr=False)
    problem: Problem | None = None
    ended: float | None = None  # time.time()
    cancelled: bool = False
    exchange: Exchange | None = field(default=None, repr=False)  # of a camera: takes a report, returns the next frames
    outcome: "Future[None]" = field(default_factory=Future, repr=False)

    def __post_init__(self) -> None:
        self.outcome.set_running_or_notify_cancel()  # so that one waiting client cannot cancel it for the others

    def finish(self, result: dict[str, Any], pictures: dict[str, bytes]) -> None:
        """End the job with a result."""
        self.result, self.pictures = result, pictures
        self._end("done")

    def fail(self, problem: Problem) -> None:
        """End the job with a problem."""
        self.problem = problem
        self._end("failed")

    def _end(self, state: State) -> None:
        if self.outcome.done():
            return
        remove_folder(self.folder)
        self.ended = time.time()
        self.state = state
        self.outcome.set_result(None)


class JobQueue:
    """First in, first out; background jobs run last. A job takes a place only once its upload is complete.

    Uploads still arriving have limits of their own: in total, and per address.
    """

    def __init__(
        self,
        places: int,
        workers: int,
        *,
        receiving: int = 32,
        per_address: int = 4,
        full: str = FULL,
        what: str = "upload",
    ) -> None:
        self.places, self.workers = places, workers
        self.most_receiving, self.per_address, self._full = receiving, per_address, full
        self._what = what
        self._receiving: Counter[str | None] = Counter()  # by address
        self._waiting: deque[Job] = deque()
        self._background: deque[Job] = deque()
        self._running: list[Job] = []
        self.closed = False
        self.ready = 0  # idle workers with a running process
        self._seconds_per_job = FIRST_JOB_S
        self._changed = threading.Condition()

    @contextmanager
    def receiving(self, address: str | None = None) -> Iterator[None]:
        """Count an upload while it arrives; raises if it could not be queued or if too many are arriving.

        One client, this machine (address None) included, gets at most half of the places, so that others find one free.
        """
        with self._changed:
            self._check(address)
            if self._receiving.total() >= self.most_receiving:
                raise busy(self._retry_after(), "the server is busy: too many uploads at once")
            if self._receiving[address] >= max(1, self.most_receiving // 2):
                raise too_many(self._receiving[address], self._what, self._retry_after())
            self._receiving[address] += 1
        try:
            yield
        finally:
            with self._changed:
                self._receiving[address] -= 1

    def submit(self, job: Job) -> Job:
        """Queue a job, or raise an error with Retry-After; a background job needs no place."""
        with self._changed:
            if not job.background:
                self._check(job.address, arrived=1)
            elif self.closed:
                job.fail(SHUTTING_DOWN)
                return job
            (self._background if job.background else self._waiting).append(job)
            self._changed.notify_all()
        return job

    def take(self, seconds: float | None = None, *, ready: bool = True) -> Job | None:
        """Wait for the next job; None after `seconds`, or once the queue is closed.

        A worker that is not `ready` (it has no process) leaves the job to one that is.
        """
        with self._changed:
            self.ready += ready
            self._changed.wait_for(
                lambda: self.closed or ((self._waiting or self._background) and (ready or not self.ready)), seconds
            )
            self.ready -= ready
            if self.closed or not (self._waiting or self._background):
                return None
            job = self._waiting.popleft() if self._waiting else self._background.popleft()
            job.state = "running"
            self._running.append(job)
            return job

    def ended(self, job: Job, seconds: float) -> None:
        """Record that a running job has ended."""
        with self._changed:
            self._running.remove(job)
            if not job.background and job.state == "done":
                self._seconds_per_job += 0.3 * (seconds - self._seconds_per_job)

    def cancel(self, job: Job) -> None:
        """Drop a waiting job; its worker must stop a running one."""
        with self._changed:
            job.cancelled = True
            if job not in self._waiting:
                return
            self._waiting.remove(job)
        job.fail(CANCELLED)

    def place(self, job: Job) -> int:
        """The position of a job in the queue: 1 is next, 0 if it is not waiting."""
        with self._changed:
            return next((number for number, other in enumerate(self._waiting, start=1) if other is job), 0)

    def counts(self) -> dict[str, int]:
        """The numbers of running and waiting jobs, of arriving uploads, and of places."""
        with self._changed:
            running = sum(not job.background for job in self._running_jobs())
            return {
                "running": running,
                "waiting": len(self._waiting),
                "receiving": self._receiving.total(),
                "capacity": self.places,
            }

    def close(self) -> None:
        """Fail all waiting jobs and stop the workers."""
        with self._changed:
            self.closed = True
            left = [*self._waiting, *self._background]
            self._waiting.clear()
            self._background.clear()
            self._changed.notify_all()
        for job in left:
            job.fail(SHUTTING_DOWN)

    def _running_jobs(self) -> list[Job]:
        """The running jobs; a job that has just ended no longer counts: its client may already send the next."""
        return [job for job in self._running if job.ended is None]

    def _check(self, address: str | None, *, arrived: int = 0) -> None:
        """Raise if the queue is full or closed, or an address has its share; `arrived` uploads would count twice."""
        if self.closed:
            raise SHUTTING_DOWN.error()
        jobs = [*self._waiting, *(job for job in self._running_jobs() if not job.background)]
        if len(jobs) >= self.places + self.workers:
            raise busy(self._retry_after(), self._full)
        if address is not None:
            uploads = max(0, self._receiving[address] - arrived) + sum(job.address == address for job in jobs)
            if uploads >= self.per_address:
                raise too_many(uploads, self._what, self._retry_after())

    def _retry_after(self) -> int:
        return max(1, min(120, round(self._seconds_per_job * (len(self._waiting) + 1) / self.workers)))


class ResultStore:
    """Jobs by id, in memory only; ended jobs expire after a while, or, oldest first, when they are too many."""

    def __init__(self, *, max_results: int, max_bytes: int, seconds: float) -> None:
        self._max_results, self._max_bytes, self._seconds = max_results, max_bytes, seconds
        self._jobs: dict[str, Job] = {}
        self._lock = threading.Lock()

    def add(self, job: Job) -> None:
        """Store a job."""
        with self._lock:
            self._jobs[job.id] = job
            self._expire()

    def get(self, id: str) -> Job:
        """The job with this id; raises if it has expired."""
        with self._lock:
            self._expire()
            job = self._jobs.get(id)
        if job is None:
            raise RequestError(
                "there is no such result: it has expired, or never existed",
                fix=f"send the video again; results are kept for {self._seconds / 60:g} minutes at most",
                status=HTTPStatus.NOT_FOUND,
            )
        return job

    def pop(self, id: str) -> Job:
        """Remove a job and return it."""
        job = self.get(id)
        with self._lock:
            self._jobs.pop(id, None)
        return job

    def status(self, job: Job, queue: JobQueue) -> dict[str, Any]:
        """The state of a job, as JSON."""
        expires = None if job.ended is None else datetime.fromtimestamp(job.ended + self._seconds, UTC)
        return {
            "id": job.id,
            "name": str(job.task.get("name", "")),
            "state": job.state,
            "place": queue.place(job),
            "stage": job.stage,
            "done": job.done,
            "total": job.total,
            "result": job.result,
            "error": None if job.problem is None else job.problem.to_dict(),
            "expires": None if expires is None else expires.isoformat(timespec="seconds"),
        }

    def _expire(self) -> None:
        now = time.time()
        ended = [(job.ended, job) for job in self._jobs.values() if job.ended is not None]
        ended.sort(key=lambda pair: pair[0], reverse=True)  # the latest first
        held = 0
        for number, (at, job) in enumerate(ended):
            held += sum(map(len, job.pictures.values()))
            too_many = number >= self._max_results or (number > 0 and held > self._max_bytes)
            if too_many or now - at >= self._seconds:
                del self._jobs[job.id]
