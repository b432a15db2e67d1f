"""The server's side of a child process: a thread that gives it jobs, and ends it when it takes too long."""

import multiprocessing
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any

from epir.core.errors import EpirError
from epir.web.child import work
from epir.web.jobs import Job, JobQueue
from epir.web.problems import BROKEN, CANCELLED, ENDED, STOPPED, Problem, overtime
from epir.web.wire import receive, send

START_S = 180.0  # for a child to load the model on a busy machine
GRACE_S = 3.0  # for a child to notice that its job was cancelled


class Worker:
    """One child process, started anew whenever it has gone."""

    def __init__(self, queue: JobQueue, orders: Mapping[str, Any]) -> None:
        self._queue, self._orders = queue, dict(orders)
        self._process: SpawnProcess | None = None
        self._pipe: Connection | None = None
        self._job: Job | None = None
        self._late = self._closing = False
        self._sending = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="epir-worker", daemon=True)
        self.about: dict[str, Any] = {}  # what the child says about its model

    @property
    def pid(self) -> int | None:
        """The process id of the child."""
        return self._process.pid if self._process is not None else None

    def start(self) -> dict[str, Any]:
        """Start the child and wait until it has loaded the model; gives what it says about it."""
        self._start_child()
        self._thread.start()
        return self.about

    def cancel(self, job: Job) -> None:
        """Tell the child to stop the job that it works on."""
        with self._sending:
            if self._job is job and self._pipe is not None:
                with suppress(OSError):
                    send(self._pipe, {"what": "cancel", "id": job.id})
                timer = threading.Timer(GRACE_S, self._kill, [job])
                timer.daemon = True
                timer.start()

    def close(self) -> None:
        """End the child; the queue must be closed already."""
        with self._sending:
            self._closing = True
            if self._process is not None:
                self._process.kill()  # the pipe ends with it, and wakes the thread
        if self._thread.is_alive():
            self._thread.join(timeout=GRACE_S)
        self._end_child()

    def _run(self) -> None:
        while (job := self._queue.take()) is not None:
            began = time.monotonic()
            try:
                self._do(job)
            except Exception as error:  # the thread must outlive whatever a job brings
                sys.stderr.write(f"a job failed for an unknown reason: {error!r}\n")
                job.fail(STOPPED)
            finally:
                self._queue.ended(job, time.monotonic() - began)

    def _do(self, job: Job) -> None:
        """Have one job done; it has ended when this returns. A child that died before it began costs a second try."""
        for _ in range(2):
            if job.cancelled:
                return job.fail(CANCELLED)
            try:
                if self._process is None or not self._process.is_alive():
                    self._start_child()
            except EpirError as error:
                return job.fail(Problem(error.problem, error.fix, BROKEN))
            self._try(job)
            if job.outcome.done():
                break
        else:
            job.fail(STOPPED)
        if self._process is None and not self._closing:
            with suppress(EpirError):  # told again, to the next job
                self._start_child()

    def _try(self, job: Job) -> None:
        """Give a job to the child; it has ended when this returns, unless the child never began it."""
        pipe = self._pipe
        assert pipe is not None
        self._late = False
        timer = threading.Timer(job.seconds, self._overtime, [job])
        timer.daemon = True
        try:
            with self._sending:
                self._job = job
                send(pipe, {"what": "do", "id": job.id, "task": job.task})
            timer.start()
            while not self._heard(pipe, job):
                pass
        except (EOFError, OSError):
            self._end_child()
            if self._closing:
                job.fail(ENDED)
            elif job.cancelled:
                job.fail(CANCELLED)
            elif self._late:
                job.fail(overtime(job.seconds))
            elif job.stage:
                job.fail(STOPPED)
        finally:
            timer.cancel()
            with self._sending:
                self._job = None

    def _heard(self, pipe: Connection, job: Job) -> bool:
        """Take one message of the child; whether the job has ended by it."""
        message, blobs = receive(pipe)
        if message.get("id") != job.id:
            return False
        if message["what"] == "progress":
            job.stage, job.done, job.total = str(message["stage"]), int(message["done"]), int(message["total"])
            return False
        if message["what"] == "done":
            job.finish(message["result"], blobs)
        else:
            job.fail(Problem(str(message["problem"]), str(message["fix"]), int(message["status"])))
        return True

    def _start_child(self) -> None:
        """Start a child; `EpirError` where it cannot load the model."""
        self._end_child()
        context = multiprocessing.get_context("spawn")
        pipe, far = context.Pipe()
        process = context.Process(target=work, args=(far, self._orders), name="epir-child", daemon=True)
        with self._sending:
            if self._closing:
                raise ENDED.refused()
            process.start()
            self._process, self._pipe = process, pipe
        far.close()  # so that the end of the child is the end of the pipe
        try:
            if not pipe.poll(START_S):
                raise EOFError
            message, _ = receive(pipe)
        except (EOFError, OSError):
            self._end_child()
            raise EpirError(
                "the process that does the work stopped while it was loading the model",
                fix="look at what it printed; it needs about 1 GiB of memory",
            ) from None
        if message.get("what") != "ready":
            self._end_child()
            raise EpirError(str(message.get("problem")), fix=str(message.get("fix")))
        self.about = message["about"]

    def _end_child(self) -> None:
        with self._sending:
            process, pipe, self._process, self._pipe = self._process, self._pipe, None, None
        if process is not None:
            process.kill()
            process.join()
            process.close()
        if pipe is not None:
            pipe.close()

    def _overtime(self, job: Job) -> None:
        self._late = True
        self._kill(job)

    def _kill(self, job: Job) -> None:
        """End the child if it still works on this job; the pipe then ends too, and wakes the thread."""
        with self._sending:
            if self._job is job and self._process is not None:
                self._process.kill()
