"""All that one server holds: its private folder, its queue, its children and its results."""

from pathlib import Path
from typing import Any

from epir.web.jobs import Job, JobQueue
from epir.web.problems import NOT_FOUND, Refused
from epir.web.results import Results
from epir.web.settings import ServeSettings
from epir.web.uploads import PrivateFolder
from epir.web.worker import Worker

CHORE_S = 300.0  # for drawing one example, on the busiest machine


class Service:
    """The work behind the routes; `start` it before, `close` it after."""

    def __init__(self, settings: ServeSettings, model: Path | None = None) -> None:
        self.settings = settings
        self.private = PrivateFolder()
        self.queue = JobQueue(settings.queue, settings.workers)
        self.results = Results(most=settings.keep_results, most_bytes=settings.keep_bytes, seconds=settings.keep_s)
        orders = {
            "model": None if model is None else str(model.resolve()),
            "private": str(self.private.path),
            **{
                name: getattr(settings, name)
                for name in ("max_seconds", "max_frames", "max_pixels", "max_memory", "live_side", "movements")
            },
        }
        self.workers = [Worker(self.queue, orders) for _ in range(settings.workers)]
        self.model: dict[str, Any] = {}
        self.examples: list[dict[str, Any]] = []
        self._rendering: dict[str, Job] = {}

    def start(self) -> None:
        """Start the children; `EpirError` where the model cannot be loaded. Examples are drawn when there is time."""
        for worker in self.workers:
            about = worker.start()
        self.model, self.examples = about["model"], about["examples"]
        for example in self.examples if self.settings.examples_ahead else ():
            self._render(example["name"])

    def close(self) -> None:
        """End everything, and leave no file behind."""
        self.queue.close()
        for worker in self.workers:
            worker.close()
        self.private.close()

    def submit(self, task: dict[str, Any], folder: Path | None) -> Job:
        """Queue the work on one upload, in the place that was reserved for it."""
        job = Job(task, self.settings.timeout_s, folder)
        self.results.add(job)
        return self.queue.submit(job)

    def submit_live(self, task: dict[str, Any], folder: Path) -> Job:
        """Have a live window looked at, in the place that was reserved for it; it leaves no result behind."""
        return self.queue.submit(Job(task, self.settings.live_timeout_s, folder))

    def cancel(self, job: Job) -> None:
        """Nobody waits for a job any more."""
        self.queue.cancel(job)
        for worker in self.workers:
            worker.cancel(job)

    def example(self, name: str) -> tuple[Path, Job]:
        """Where the video of an example lies, and the job that draws it."""
        if name not in [each["name"] for each in self.examples]:
            known = ", ".join(each["name"] for each in self.examples)
            raise Refused(f"there is no example {name[:40]!r}", fix=f"use one of: {known}", status=NOT_FOUND)
        job = self._rendering.get(name)
        if job is None or job.state == "failed":
            job = self._render(name)
        return self.private.examples / f"{name}.webm", job

    def _render(self, name: str) -> Job:
        job = Job({"what": "example", "example": name}, CHORE_S, chore=True)
        self._rendering[name] = job
        return self.queue.submit(job)
