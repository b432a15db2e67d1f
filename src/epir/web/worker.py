"""A worker: a process that runs jobs, and the thread of the server that feeds it.

The process holds the recognizer. A damaged file can crash only this process; the server then starts another one.
"""

import json
import multiprocessing
import os
import shutil
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from http import HTTPStatus
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import TYPE_CHECKING, Any

from epir.core.engines import Silent
from epir.core.errors import EpirError, is_out_of_memory
from epir.web.jobs import Job, JobQueue
from epir.web.problems import (
    CANCELLED,
    CRASHED,
    INTERNAL,
    OUT_OF_MEMORY,
    SHUTTING_DOWN,
    Problem,
    timed_out,
)
from epir.web.settings import CANCEL_S, MAX_BLOBS, MAX_MESSAGE, PROGRESS_S, START_S

if TYPE_CHECKING:
    from epir.recognition.recognizer import Recognizer


def send(pipe: Connection, message: Mapping[str, Any], blobs: Mapping[str, bytes] | None = None) -> None:
    """Send one message as JSON, followed by its blobs.

    No pickles: a worker process taken over by a malicious file can send wrong values, but no code.
    """
    blobs = blobs or {}
    pipe.send_bytes(json.dumps({"message": message, "blobs": list(blobs)}).encode())
    for blob in blobs.values():
        pipe.send_bytes(blob)


def receive(pipe: Connection) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Wait for one message; `EOFError` or `OSError` if the other side is gone or the message is malformed."""
    try:
        whole = json.loads(pipe.recv_bytes(MAX_MESSAGE))
        message, names = whole["message"], whole["blobs"]
        if not isinstance(message, dict) or not isinstance(names, list) or len(names) > MAX_BLOBS:
            raise ValueError("not a message")
        return message, {str(name): pipe.recv_bytes(MAX_MESSAGE) for name in names}
    except (ValueError, KeyError, TypeError) as error:
        raise OSError(f"malformed message: {error}") from None


def run_worker(pipe: Connection, config: Mapping[str, Any]) -> None:
    """Load the model, report that it is ready, then run jobs until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # on Ctrl-C the server ends this process
    _limit_resources(config)
    try:
        recognizer, info = _load(config)
    except EpirError as error:
        send(pipe, {"type": "failed", "problem": error.problem, "fix": error.fix})
        return
    send(pipe, {"type": "ready", "info": info})
    try:
        while True:
            message, _ = receive(pipe)
            if message["type"] == "run":
                _run_job(pipe, recognizer, config, message["id"], message["task"])
    except (EOFError, OSError):
        shutil.rmtree(config["private"], ignore_errors=True)  # the server is gone, and may not have cleaned up


def _limit_resources(config: Mapping[str, Any]) -> None:
    """Limit threads, memory and file access, before anything heavy is imported."""
    os.environ["OPENCV_IO_MAX_IMAGE_PIXELS"] = str(config["max_pixels"])
    os.environ["OPENCV_FFMPEG_CAPTURE_OPTIONS"] = "protocol_whitelist;file"  # no network
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = "1"
    if sys.platform == "linux":
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (config["max_memory"], config["max_memory"]))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _load(config: Mapping[str, Any]) -> tuple["Recognizer", dict[str, Any]]:
    import epir.web.inference  # noqa: F401  (so that the first job need not wait for its imports)
    from epir.recognition.recognizer import Recognizer
    from epir.web.examples import list_examples

    recognizer = Recognizer.from_pretrained(config["model"])
    name = str(recognizer.backend.config.settings.get("name", "epir"))
    model = {"name": name, "classes": list(recognizer.labels), "map_size": recognizer.backend.config.map_size}
    return recognizer, {"model": model, "examples": list_examples()}


def _run_job(
    pipe: Connection, recognizer: "Recognizer", config: Mapping[str, Any], id: str, task: dict[str, Any]
) -> None:
    """Run one job and send its result or problem."""
    from epir.web.inference import TASKS

    progress = PipeProgress(pipe, id)
    try:
        progress.start("reading", 1)  # the server learns that the job has started
        result, pictures = TASKS[task["type"]](recognizer, config, id, task, progress)
        send(pipe, {"type": "done", "id": id, "result": result}, pictures)
        return
    except Cancelled:
        problem = CANCELLED
    except EpirError as error:
        problem = Problem.of(error)
    except Exception as error:
        problem = OUT_OF_MEMORY
        if not is_out_of_memory(error):  # a bug: print the traceback here, send the client a general message
            traceback.print_exc()
            problem = INTERNAL
    text = {name: with_client_names(value, task) for name, value in problem.to_dict().items()}
    send(pipe, {"type": "failed", "id": id, **text, "status": problem.status})


def with_client_names(text: str, task: Mapping[str, Any]) -> str:
    """The text with the client's file names in place of the paths on this machine."""
    for path, name in task.get("names", {}).items():
        text = text.replace(path, name)
    folder = task.get("folder")
    return text.replace(f"{folder}{os.sep}", "").replace(str(folder), "the upload") if folder else text


class Cancelled(Exception):
    """The job was cancelled."""


class PipeProgress(Silent):
    """Progress, sent to the server a few times a second; raises `Cancelled` if the server cancels the job."""

    def __init__(self, pipe: Connection, id: str) -> None:
        self._pipe, self._id = pipe, id
        self._stage, self._done, self._total, self._reported = "", 0, 0, 0.0

    def start(self, task: str, total: int) -> None:
        """Report a new stage."""
        self._stage, self._done, self._total = task, 0, total
        self._report()

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Report the count, unless the last report is too recent."""
        self._done += steps
        if time.monotonic() - self._reported >= PROGRESS_S:
            self._report()

    def exchange(self, report: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, bytes]]:
        """Send the report of a camera, and wait for its next frames."""
        send(self._pipe, {"type": "next", "id": self._id, "report": report})
        while True:
            message, blobs = receive(self._pipe)
            if message.get("id") == self._id:
                if message["type"] == "cancel":
                    raise Cancelled
                return message, blobs

    def _report(self) -> None:
        self._reported = time.monotonic()
        progress = {"stage": self._stage, "done": self._done, "total": self._total}
        send(self._pipe, {"type": "progress", "id": self._id, **progress})
        while self._pipe.poll():
            message, _ = receive(self._pipe)
            if message["type"] == "cancel" and message["id"] == self._id:
                raise Cancelled


class Worker:
    """A worker process and the thread that feeds it, enforces time limits and restarts it after a crash."""

    def __init__(self, queue: JobQueue, config: Mapping[str, Any], *, idle_s: float | None = None) -> None:
        self._queue, self._config, self._idle_s = queue, dict(config), idle_s
        self._process: SpawnProcess | None = None
        self._pipe: Connection | None = None
        self._job: Job | None = None
        self._timed_out = self._closing = False
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="epir-worker", daemon=True)
        self.info: dict[str, Any] = {}  # the model and the examples, reported by the process

    @property
    def pid(self) -> int | None:
        """The id of the worker process."""
        return self._process.pid if self._process is not None else None

    def start(self) -> dict[str, Any]:
        """Start the process, wait until it has loaded the model, and return `info`."""
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
                    self._end_process()  # idle: free its memory
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
        """Run one job to its end; if the process dies before starting it, try once more."""
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
        """Send a job to the process and wait for its end; the job is open if the process died before starting it."""
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
                if message["type"] == "next" and job.exchange is not None:  # the time limit is per exchange
                    timer.cancel()
                    timer = None
                    reply, frames = job.exchange(message["report"])
                    with self._lock:
                        send(pipe, {"id": job.id, **reply}, frames)
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

    def _handle_message(self, message: Mapping[str, Any], blobs: dict[str, bytes], job: Job) -> bool:
        """Handle one message; True if it ends the job."""
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
        remote.close()  # so that the pipe closes with the process
        try:
            if not pipe.poll(START_S):
                raise EOFError
            message, _ = receive(pipe)
        except (EOFError, OSError):
            self._end_process()
            raise EpirError(
                "the worker process stopped while loading the model",
                fix="see its output; it needs about 1 GiB of memory",
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
