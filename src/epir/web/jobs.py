"""Jobs and the bounded queue that they wait in; safe to use from several threads."""

import secrets
import threading
import time
from collections import deque
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from epir.web.problems import CANCELLED, ENDED, Problem, busy
from epir.web.uploads import forget

State = Literal["queued", "running", "done", "failed"]
FIRST_GUESS = 5.0  # seconds that one job takes, before any was seen


@dataclass
class Job:
    """One piece of work for the child; `outcome` is set once, when it is done or has failed."""

    task: dict[str, Any]  # what the child is told
    seconds: float  # that it may take
    folder: Path | None = None  # its upload, removed when the job ends
    chore: bool = False  # work of the server's own: it waits behind everything and takes no place
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
    outcome: "Future[None]" = field(default_factory=Future, repr=False)

    def __post_init__(self) -> None:
        self.outcome.set_running_or_notify_cancel()  # nobody who waits for it can cancel it for the others

    def finish(self, result: dict[str, Any], pictures: dict[str, bytes]) -> None:
        """The work is done."""
        self.result, self.pictures = result, pictures
        self._end("done")

    def fail(self, problem: Problem) -> None:
        """The work cannot be done."""
        self.problem = problem
        self._end("failed")

    def _end(self, state: State) -> None:
        if self.outcome.done():
            return
        forget(self.folder)
        self.ended = time.time()
        self.state = state
        self.outcome.set_result(None)


class JobQueue:
    """First come, first served; chores last. `reserve` a place before the body of a request is read."""

    def __init__(self, places: int, workers: int) -> None:
        self.places, self.workers = places, workers
        self._waiting: deque[Job] = deque()
        self._chores: deque[Job] = deque()
        self._running: list[Job] = []
        self._reserved = 0
        self._closed = False
        self._usual = FIRST_GUESS
        self._changed = threading.Condition()

    def reserve(self) -> None:
        """Take a place, or refuse with the time to come back; give it back by `submit` or `release`."""
        with self._changed:
            if self._closed:
                raise ENDED.refused()
            if self._load() >= self.places + self.workers:
                raise busy(self._retry_after())
            self._reserved += 1

    def reserve_now(self) -> None:
        """Take a place that is served at once, or refuse."""
        with self._changed:
            if self._closed:
                raise ENDED.refused()
            if self._load() >= self.workers or any(job.chore for job in self._running):
                raise busy(1)
            self._reserved += 1

    def release(self) -> None:
        """Give a reserved place back."""
        with self._changed:
            self._reserved -= 1

    def submit(self, job: Job) -> Job:
        """Put a job into the place that was reserved for it; a chore needs none."""
        with self._changed:
            if not job.chore:
                self._reserved -= 1
            if self._closed:
                job.fail(ENDED)
                return job
            (self._chores if job.chore else self._waiting).append(job)
            self._changed.notify()
        return job

    def take(self) -> Job | None:
        """Wait for the next job; None when the queue has been closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._waiting or self._chores)
            if self._closed:
                return None
            job = self._waiting.popleft() if self._waiting else self._chores.popleft()
            job.state = "running"
            self._running.append(job)
            return job

    def ended(self, job: Job, seconds: float) -> None:
        """A job that was taken has ended."""
        with self._changed:
            self._running.remove(job)
            if not job.chore and job.state == "done":
                self._usual += 0.3 * (seconds - self._usual)

    def cancel(self, job: Job) -> None:
        """Drop a job that waits; one that runs is told to stop by its worker."""
        with self._changed:
            job.cancelled = True
            if job not in self._waiting:
                return
            self._waiting.remove(job)
        job.fail(CANCELLED)

    def place(self, job: Job) -> int:
        """Where a job stands: 1 is next, 0 for one that does not wait."""
        with self._changed:
            return next((number for number, each in enumerate(self._waiting, start=1) if each is job), 0)

    def counts(self) -> dict[str, int]:
        """How much is going on."""
        with self._changed:
            running = sum(not job.chore for job in self._running)
            return {"running": running, "waiting": len(self._waiting), "capacity": self.places}

    def close(self) -> None:
        """Fail whatever waits, and let the workers go home."""
        with self._changed:
            self._closed = True
            left = [*self._waiting, *self._chores]
            self._waiting.clear()
            self._chores.clear()
            self._changed.notify_all()
        for job in left:
            job.fail(ENDED)

    def _load(self) -> int:
        return self._reserved + len(self._waiting) + sum(not job.chore for job in self._running)

    def _retry_after(self) -> int:
        return max(1, min(120, round(self._usual * (len(self._waiting) + 1) / self.workers)))
