"""The state of one server: its private folder, its queue, its results, and the worker processes that run the jobs."""

import multiprocessing
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from http import HTTPStatus
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

from epir.core.errors import EpirError
from epir.core.output import real
from epir.web.jobs import Job, JobQueue, ResultStore
from epir.web.live import LiveSessions
from epir.web.problems import CANCELLED, CRASHED, SHUTTING_DOWN, Problem, RequestError, timed_out
from epir.web.settings import ServeSettings
from epir.web.uploads import PrivateFolder
from epir.web.worker import receive, run_worker, send

RENDER_S = 300.0  # time limit for rendering one example
START_S = 180.0  # time limit for loading the model
LIVE_IDLE_S = 120.0  # without a camera, after which its process ends
CANCEL_S = 3.0  # time for a worker process to react to a cancelled job
WORKER_SETTINGS = (
    *("max_seconds", "max_frames", "max_pixels", "max_megapixels", "max_memory", "timeout_s"),
    *("live_side", "movements", "rejected"),
)


class Service:
    """What the routes use; `start` it before, `close` it after."""

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
            "model": None if model is None else str(real(model)),
            "private": str(self.private.path),
            **{name: getattr(settings, name) for name in WORKER_SETTINGS},
        }
        self.workers = [Worker(self.queue, config) for _ in range(settings.workers)]
        self.live = LiveSessions(settings)
        self.live_workers = [Worker(self.live.queue, config, idle_s=LIVE_IDLE_S) for _ in range(settings.live_sessions)]
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
        """Queue the job for one upload, or refuse it; from then on the folder is the job's to remove."""
        job = self.queue.submit(Job(task, self.settings.timeout_s, folder, address=address))
        self.results.add(job)
        return job

    def cancel(self, job: Job) -> None:
        """Cancel a job, whether it waits or runs."""
        self.queue.cancel(job)
        for worker in self.workers:
            worker.cancel(job)

    def example(self, name: str) -> tuple[Path, Job]:
        """The path of an example's video, and the job that renders it."""
        names = [each["name"] for each in self.examples]
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


class Worker:
    """A worker process and the thread that gives it jobs, enforces their time limits and restarts it after a crash."""

    def __init__(self, queue: JobQueue, config: Mapping[str, Any], *, idle_s: float | None = None) -> None:
        self._queue, self._config, self._idle_s = queue, dict(config), idle_s
        self._process: SpawnProcess | None = None
        self._pipe: Connection | None = None
        self._job: Job | None = None
        self._timed_out = self._closing = False
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="epir-worker", daemon=True)
        self.info: dict[str, Any] = {}  # the model and the examples, as the process reports them

    @property
    def pid(self) -> int | None:
        """The id of the worker process."""
        return self._process.pid if self._process is not None else None

    def start(self) -> dict[str, Any]:
        """Start the process and wait until it has loaded the model."""
        self._start_process()
        self._thread.start()
        return self.info

    def start_later(self) -> None:
        """Start the process with the first job."""
        self._thread.start()

    def cancel(self, job: Job) -> None:
        """Stop a job if it runs here."""
        with self._lock:
            if self._job is job and self._pipe is not None:
                with suppress(OSError):
                    send(self._pipe, {"type": "cancel", "id": job.id})
                _start_timer(CANCEL_S, self._kill, job)

    def close(self) -> None:
        """End the process; the queue must be closed already."""
        with self._lock:
            self._closing = True
            if self._process is not None:
                self._process.kill()  # closes the pipe, which wakes the thread
        if self._thread.is_alive():
            self._thread.join(timeout=CANCEL_S)
        self._end_process()

    def _run(self) -> None:
        while not self._queue.closed:
            job = self._queue.take(self._idle_s, ready=self._process is not None)
            if job is None:
                if not self._queue.closed:
                    self._end_process()  # nothing to do for a while: give its memory back
                continue
            began = time.monotonic()
            try:
                self._run_job(job)
            except Exception as error:  # the thread must survive any job
                sys.stderr.write(f"a job failed unexpectedly: {error!r}\n")
                job.fail(CRASHED)
            finally:
                self._queue.ended(job, time.monotonic() - began)

    def _run_job(self, job: Job) -> None:
        """Run one job to its end; if the process died before it began the job, try once more."""
        for _ in range(2):
            if job.cancelled:
                return job.fail(CANCELLED)
            try:
                if self._process is None or not self._process.is_alive():
                    self._start_process()
            except EpirError as error:
                return job.fail(Problem(error.problem, error.fix, HTTPStatus.INTERNAL_SERVER_ERROR))
            self._try_job(job)
            if job.outcome.done():
                break
        else:
            job.fail(CRASHED)
        if self._process is None and not self._closing:
            with suppress(EpirError):  # the next job reports it
                self._start_process()

    def _try_job(self, job: Job) -> None:
        """Send a job to the process; it has ended when this returns, unless the process died before beginning it."""
        pipe = self._pipe
        assert pipe is not None
        self._timed_out = False
        timer = None
        try:
            with self._lock:
                self._job = job
                send(pipe, {"type": "run", "id": job.id, "task": job.task})
            ended = False
            while not ended:
                timer = timer or _start_timer(job.seconds, self._time_out, job)
                message, blobs = receive(pipe)
                if message["type"] == "next" and job.exchange is not None:  # the time limit is for what it does now
                    timer.cancel()
                    timer = None
                    self._answer(pipe, job, message)
                else:
                    ended = self._handle_message(message, blobs, job)
        except (EOFError, OSError):
            self._end_process()
            if self._closing:
                job.fail(SHUTTING_DOWN)
            elif job.cancelled:
                job.fail(CANCELLED)
            elif self._timed_out:
                job.fail(timed_out(job.seconds))
            elif job.stage:
                job.fail(CRASHED)
        finally:
            if timer is not None:
                timer.cancel()
            with self._lock:
                self._job = None

    def _answer(self, pipe: Connection, job: Job, message: Mapping[str, Any]) -> None:
        """Give a job that lasts what it gets next."""
        assert job.exchange is not None
        reply, blobs = job.exchange(message["report"])
        with self._lock:
            send(pipe, {"id": job.id, **reply}, blobs)

    def _handle_message(self, message: Mapping[str, Any], blobs: dict[str, bytes], job: Job) -> bool:
        """Take one message; True if it ended the job."""
        if message.get("id") != job.id:
            return False
        if message["type"] == "progress":
            job.stage, job.done, job.total = str(message["stage"]), int(message["done"]), int(message["total"])
            return False
        if message["type"] == "done":
            job.finish(message["result"], blobs)
        else:
            job.fail(Problem(str(message["problem"]), str(message["fix"]), int(message["status"])))
        return True

    def _start_process(self) -> None:
        """Start the process; `EpirError` if it cannot load the model."""
        self._end_process()
        context = multiprocessing.get_context("spawn")
        pipe, remote = context.Pipe()
        process = context.Process(target=run_worker, args=(remote, self._config), name="epir-worker", daemon=True)
        with self._lock:
            if self._closing:
                raise SHUTTING_DOWN.error()
            process.start()
            self._process, self._pipe = process, pipe
        remote.close()  # so that the pipe ends with the process
        try:
            if not pipe.poll(START_S):
                raise EOFError
            message, _ = receive(pipe)
        except (EOFError, OSError):
            self._end_process()
            raise EpirError(
                "the worker process stopped while loading the model",
                fix="see what it printed; it needs about 1 GiB of memory",
            ) from None
        if message.get("type") != "ready":
            self._end_process()
            raise EpirError(str(message.get("problem")), fix=str(message.get("fix")))
        self.info = message["info"]

    def _end_process(self) -> None:
        with self._lock:
            process, pipe, self._process, self._pipe = self._process, self._pipe, None, None
        if process is not None:
            process.kill()
            process.join()
            process.close()
        if pipe is not None:
            pipe.close()

    def _time_out(self, job: Job) -> None:
        self._timed_out = True
        self._kill(job)

    def _kill(self, job: Job) -> None:
        """Kill the process if it still runs this job; that closes the pipe, which wakes the thread."""
        with self._lock:
            if self._job is job and self._process is not None:
                self._process.kill()


def _start_timer(seconds: float, function: Callable[[Job], None], job: Job) -> threading.Timer:
    timer = threading.Timer(seconds, function, [job])
    timer.daemon = True
    timer.start()
    return timer
