"""The state of a server: its private folder, queue, results, cameras and workers."""

import os
import secrets
import tempfile
import weakref
from http import HTTPStatus
from pathlib import Path
from typing import Any

from epir.core.output import resolved
from epir.web.jobs import Job, JobQueue, ResultStore, remove_folder
from epir.web.live import LiveSessions
from epir.web.problems import RequestError
from epir.web.settings import LIVE_WORKER_IDLE_S, RENDER_S, WORKER_SETTINGS, ServeSettings
from epir.web.worker import Worker


class PrivateFolder:
    """A temporary folder that only its owner can open; removed when the server ends."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=f"epir-serve-{os.getpid()}-"))  # mode 0700
        self._remove = weakref.finalize(
            self, remove_folder, self.path
        )  # also if a signal ends the process while it loads
        self.uploads = self.path / "uploads"
        self.examples = self.path / "examples"
        for folder in (self.uploads, self.examples):
            folder.mkdir(mode=0o700)

    def new(self) -> Path:
        """A new empty folder for one upload."""
        folder = self.uploads / secrets.token_hex(8)
        folder.mkdir(mode=0o700)
        return folder

    def close(self) -> None:
        """Remove everything."""
        self._remove()


class Service:
    """The state behind the routes; `start` before use, `close` afterwards."""

    def __init__(self, settings: ServeSettings, model: Path | None = None) -> None:
        self.settings = settings
        self.private = PrivateFolder()
        self.queue = JobQueue(
            settings.queue, settings.workers, receiving=settings.receiving, per_address=settings.per_address
        )
        self.results = ResultStore(
            max_results=settings.keep_results, max_bytes=settings.keep_bytes, seconds=settings.keep_s
        )
        config = {
            "model": None if model is None else str(resolved(model)),
            "private": str(self.private.path),
            **{name: getattr(settings, name) for name in WORKER_SETTINGS},
        }
        self.workers = [Worker(self.queue, config) for _ in range(settings.workers)]
        self.live = LiveSessions(settings)
        self.live_workers = [
            Worker(self.live.queue, config, idle_s=LIVE_WORKER_IDLE_S) for _ in range(settings.live_sessions)
        ]
        self.model: dict[str, Any] = {}
        self.examples: list[dict[str, Any]] = []
        self._rendering: dict[str, Job] = {}

    def start(self) -> None:
        """Start the worker processes; `EpirError` if the model cannot be loaded."""
        for worker in self.workers:
            info = worker.start()
        for worker in self.live_workers:
            worker.start_later()
        self.model, self.examples = info["model"], info["examples"]
        for example in self.examples if self.settings.examples_ahead else ():
            self._render(example["name"])

    def close(self) -> None:
        """End everything and remove all files."""
        self.queue.close()
        self.live.close()
        for worker in (*self.workers, *self.live_workers):
            worker.close()
        self.private.close()

    def submit(self, task: dict[str, Any], folder: Path | None, address: str | None = None) -> Job:
        """Queue the job for one upload, or raise; once queued, the job removes the folder."""
        job = self.queue.submit(Job(task, self.settings.timeout_s, folder, address=address))
        self.results.add(job)
        return job

    def cancel(self, job: Job) -> None:
        """Cancel a waiting or running job."""
        self.queue.cancel(job)
        for worker in self.workers:
            worker.cancel(job)

    def example(self, name: str) -> tuple[Path, Job]:
        """The path of an example's video, and the job that renders it."""
        names = [example["name"] for example in self.examples]
        if name not in names:
            raise RequestError(
                f"there is no example {name[:40]!r}", fix=f"use one of: {', '.join(names)}", status=HTTPStatus.NOT_FOUND
            )
        job = self._rendering.get(name)
        if job is None or job.state == "failed":
            job = self._render(name)
        return self.private.examples / f"{name}.webm", job

    def _render(self, name: str) -> Job:
        job = Job({"type": "example", "example": name}, RENDER_S, background=True)
        self._rendering[name] = job
        return self.queue.submit(job)
