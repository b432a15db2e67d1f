"""Results: in memory only, so many and for so long."""

import threading
import time
from datetime import UTC, datetime
from typing import Any

from epir.web.jobs import Job, JobQueue
from epir.web.problems import NOT_FOUND, Refused


class Results:
    """Jobs by their id; those that have ended are forgotten in time, the oldest first where there are too many."""

    def __init__(self, *, most: int, most_bytes: int, seconds: float) -> None:
        self._most, self._most_bytes, self._seconds = most, most_bytes, seconds
        self._jobs: dict[str, Job] = {}
        self._lock = threading.Lock()

    def add(self, job: Job) -> None:
        """Remember a job."""
        with self._lock:
            self._jobs[job.id] = job
            self._sweep()

    def get(self, id: str) -> Job:
        """The job with this id."""
        with self._lock:
            self._sweep()
            job = self._jobs.get(id)
        if job is None:
            raise Refused(
                "there is no such result: it was never here, or has been forgotten",
                fix=f"send the video again; results are kept for {self._seconds / 60:g} minutes at most",
                status=NOT_FOUND,
            )
        return job

    def drop(self, id: str) -> Job:
        """Forget a job, and give it back."""
        job = self.get(id)
        with self._lock:
            self._jobs.pop(id, None)
        return job

    def expires(self, job: Job) -> str | None:
        """When a job that has ended will be forgotten at the latest."""
        if job.ended is None:
            return None
        return datetime.fromtimestamp(job.ended + self._seconds, UTC).isoformat(timespec="seconds")

    def _sweep(self) -> None:
        now = time.time()
        ended = [(job.ended, job) for job in self._jobs.values() if job.ended is not None]
        ended.sort(key=lambda pair: pair[0], reverse=True)  # the latest first
        held = 0
        for number, (at, job) in enumerate(ended):
            held += sum(map(len, job.pictures.values()))
            too_many = number >= self._most or (number > 0 and held > self._most_bytes)
            if too_many or now - at >= self._seconds:
                del self._jobs[job.id]


def told(job: Job, queue: JobQueue, results: Results) -> dict[str, Any]:
    """Where a job stands, as JSON."""
    return {
        "id": job.id,
        "state": job.state,
        "place": queue.place(job),
        "stage": job.stage,
        "done": job.done,
        "total": job.total,
        "result": job.result,
        "error": None if job.problem is None else job.problem.to_dict(),
        "expires": results.expires(job),
    }
