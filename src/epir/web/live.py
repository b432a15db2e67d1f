"""Camera sessions: frames go to a worker process, messages come back.

A session is a long-running job: its process asks for frames, analyses them and reports. Frames wait in a bounded
buffer. If the process is too slow they are thinned out, then dropped, and every report says how much was skipped.
"""

import asyncio
import json
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from concurrent.futures import Future
from http import HTTPStatus
from typing import Any, NamedTuple

from epir.web.jobs import Job, JobQueue
from epir.web.problems import RequestError
from epir.web.settings import (
    LIVE_BATCH,
    LIVE_BUFFER_BYTES,
    LIVE_BUFFER_FRAMES,
    LIVE_GRACE_S,
    LIVE_HEARTBEAT_S,
    LIVE_MESSAGES,
    LIVE_SPARSEST_S,
    ServeSettings,
)

FULL = "all places for cameras are taken"


class LiveFrame(NamedTuple):
    """A waiting frame."""

    number: int
    seconds: float
    jpeg: bytes


class Message(NamedTuple):
    """A message to the client."""

    id: int
    event: str  # status, motion, movement or end
    data: dict[str, Any]

    def encode(self) -> str:
        """The message as a server-sent event."""
        return f"id: {self.id}\nevent: {self.event}\ndata: {json.dumps(self.data)}\n\n"


class LiveSession:
    """One camera; used by the event loop (frames in, messages out) and by its worker's thread (`exchange`)."""

    def __init__(self, job: Job, settings: ServeSettings) -> None:
        self.job, self.id, self._settings = job, job.id, settings
        self._changed = threading.Condition()
        self._waiting: deque[LiveFrame] = deque()
        self._messages: deque[Message] = deque(maxlen=LIVE_MESSAGES)
        self._sent = 0
        self._listeners: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()
        self._began = self._heard = time.monotonic()
        self._first: float | None = None  # seconds of the first frame
        self._latest: float | None = None  # seconds of the latest frame
        self._ending = ""  # why the session ends
        self.ended: float | None = None  # time.monotonic()
        self.received = self.dropped = 0
        self.ready: Future[None] = Future()  # set once the process asks for frames, or the job has failed
        job.exchange = self.exchange
        job.outcome.add_done_callback(lambda _: self._finish())

    def push(self, times: Sequence[float], frames: Sequence[bytes]) -> dict[str, Any]:
        """Queue the next frames of the camera; returns the counts so far."""
        with self._changed:
            if self.ended is not None or self._ending:
                raise _no_session()
            if self._latest is not None and times[0] <= self._latest:
                raise RequestError(
                    "these frames are older than the previous ones",
                    fix="send each frame once, in order; times continue from request to request",
                )
            self._heard = time.monotonic()
            self._first = times[0] if self._first is None else self._first
            before = times[0] - 1 / 30 if self._latest is None else self._latest
            sparsest = max(1, int(LIVE_SPARSEST_S * len(times) / (times[-1] - before)))
            for seconds, jpeg in zip(times, frames, strict=True):
                if self.received % self._stride(sparsest):
                    self.dropped += 1
                else:
                    self._waiting.append(LiveFrame(self.received, seconds, jpeg))
                self.received += 1
            self._latest = times[-1]
            self._bound()
            self._changed.notify_all()
            return self._counts()

    def end(self, reason: str = "stopped") -> None:
        """End the session once the process has analysed the waiting frames."""
        with self._changed:
            self._ending = self._ending or reason
            self._changed.notify_all()

    def exchange(self, report: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, bytes]]:
        """Publish a report of the process, then wait for its next frames; runs in the worker's thread."""
        if not self.ready.done():
            self._began = self._heard = time.monotonic()
            self.ready.set_result(None)
        self._publish_report(report)
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._ending, timeout=self._settings.live_idle_s)
            now = time.monotonic()
            if not self._waiting and not self._ending and now - self._heard >= self._settings.live_idle_s:
                self._ending = "no frames came"
            if now - self._began >= self._settings.live_s:
                self._ending = self._ending or "the time limit of a session was reached"
            batch = [self._waiting.popleft() for _ in range(min(LIVE_BATCH, len(self._waiting)))]
            span = [self._first, self._latest]  # of all frames, dropped ones included
        frames = [[frame.number, frame.seconds] for frame in batch]
        kind = "end" if self._ending and not batch else "frames"
        return {"type": kind, "frames": frames, "span": span}, {str(frame.number): frame.jpeg for frame in batch}

    async def messages(self, after: int = 0) -> AsyncIterator[str]:
        """The messages after the id `after`, as server-sent events, until the session ends."""
        bell = (asyncio.get_running_loop(), asyncio.Event())
        self._listeners.add(bell)
        try:
            while True:
                bell[1].clear()
                for message in [message for message in tuple(self._messages) if message.id > after]:
                    after = message.id
                    yield message.encode()
                    if message.event == "end":
                        return
                try:
                    async with asyncio.timeout(LIVE_HEARTBEAT_S):
                        await bell[1].wait()
                except TimeoutError:
                    yield ": still here\n\n"
        finally:
            self._listeners.discard(bell)

    def _stride(self, sparsest: int) -> int:
        """Keep every n-th frame: 1 while few wait, then 2, then 3; at most `sparsest`."""
        return min(sparsest, 1 + int(3 * self._waiting_s() / self._settings.live_backlog_s))

    def _bound(self) -> None:
        """If the buffer is too long or too large, drop its older half at once: one gap instead of many."""
        frames, most = self._waiting, self._settings.live_backlog_s
        if self._waiting_s() > most:
            self._drop_until(frames[-1].seconds - most / 2)
        while sum(len(frame.jpeg) for frame in frames) > LIVE_BUFFER_BYTES or len(frames) > LIVE_BUFFER_FRAMES:
            self._drop_until(frames[len(frames) // 2].seconds)

    def _drop_until(self, seconds: float) -> None:
        while self._waiting[0].seconds < seconds:
            self._waiting.popleft()
            self.dropped += 1

    def _waiting_s(self) -> float:
        return self._waiting[-1].seconds - self._waiting[0].seconds if self._waiting else 0.0

    def _counts(self) -> dict[str, Any]:
        return {"received": self.received, "dropped": self.dropped, "waiting_s": round(self._waiting_s(), 3)}

    def _publish_report(self, report: Mapping[str, Any]) -> None:
        for movement in report.get("movements", ()):
            self._publish("movement", movement)
        for motion in report.get("motion", ()):
            self._publish("motion", motion)
        if report.get("status"):
            with self._changed:
                counts = self._counts()
            self._publish("status", {**report["status"], **counts})

    def _finish(self) -> None:
        """Publish the last report and the end; called once, when the job is done or has failed."""
        job = self.job
        if not self.ready.done():
            self.ready.set_result(None)
        self._publish_report(job.result or {})
        problem = None if job.problem is None else job.problem.to_dict()
        self._publish("end", {"reason": self._ending or "the analysis stopped", "problem": problem})
        with self._changed:
            self.ended = time.monotonic()
            self._waiting.clear()

    def _publish(self, event: str, data: dict[str, Any]) -> None:
        self._sent += 1
        self._messages.append(Message(self._sent, event, data))
        for loop, bell in tuple(self._listeners):
            loop.call_soon_threadsafe(bell.set)


class LiveSessions:
    """The sessions by id, with separate workers so that uploads do not wait for cameras."""

    def __init__(self, settings: ServeSettings) -> None:
        self._settings = settings
        self.queue = JobQueue(0, settings.live_sessions, per_address=1, full=FULL, what="camera")
        self._sessions: dict[str, LiveSession] = {}
        self._lock = threading.Lock()

    def open(self, task: dict[str, Any], address: str | None) -> LiveSession:
        """Begin a session, or raise an error with Retry-After."""
        job = Job({"type": "live", "name": "camera", **task}, self._settings.live_timeout_s, address=address)
        session = LiveSession(job, self._settings)
        self.queue.submit(job)
        with self._lock:
            self._forget()
            self._sessions[session.id] = session
        return session

    def get(self, id: str) -> LiveSession:
        """The session with this id."""
        with self._lock:
            self._forget()
            session = self._sessions.get(id)
        if session is None:
            raise _no_session()
        return session

    def counts(self) -> dict[str, int]:
        """How many cameras are connected, and how many can be."""
        counts = self.queue.counts()
        return {"running": counts["running"] + counts["waiting"], "capacity": self._settings.live_sessions}

    def close(self) -> None:
        """End all sessions."""
        self.queue.close()
        with self._lock:
            for session in self._sessions.values():
                session.end("the server is shutting down")

    def _forget(self) -> None:
        now = time.monotonic()
        for id, session in list(self._sessions.items()):
            if session.ended is not None and now - session.ended > LIVE_GRACE_S:
                del self._sessions[id]


def _no_session() -> RequestError:
    return RequestError(
        "there is no such camera session: it has ended, or never existed",
        fix="begin another one with POST /api/live",
        status=HTTPStatus.NOT_FOUND,
    )
