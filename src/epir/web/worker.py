"""The worker process: it holds the recognizer and runs one job after the other, as the server sends them.

A damaged file can only crash this process; the server then starts another one.
"""

import json
import os
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Mapping
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

from epir.core.errors import EpirError
from epir.web.problems import CANCELLED, INTERNAL, OUT_OF_MEMORY, Problem

if TYPE_CHECKING:
    from epir.recognition.recognizer import Recognizer

REPORT_S = 0.1  # between two progress messages
MAX_MESSAGE = 256 << 20  # bytes of one message or blob
MAX_BLOBS = 1000  # of one message


def send(pipe: Connection, message: Mapping[str, Any], blobs: Mapping[str, bytes] | None = None) -> None:
    """Send one message as JSON, followed by its blobs.

    No pickles: a worker process that a damaged file has taken over can send wrong values, but no code.
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
    """Load the model, report that, then run jobs until the pipe ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends this process
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
    import epir.web.inference  # noqa: F401  (with all that it imports, so that the first job need not wait for it)
    from epir.recognition.recognizer import Recognizer
    from epir.web.examples import list_examples

    recognizer = Recognizer.from_pretrained(config["model"])
    name = str(recognizer.backend.config.settings.get("name", "epir"))
    model = {"name": name, "classes": list(recognizer.labels), "map_size": recognizer.backend.map_size}
    return recognizer, {"model": model, "examples": list_examples()}


def _run_job(
    pipe: Connection, recognizer: "Recognizer", config: Mapping[str, Any], id: str, task: dict[str, Any]
) -> None:
    """Run one job and send its result or problem."""
    from epir.web.inference import TASKS

    progress = PipeProgress(pipe, id)
    try:
        progress.start("reading", 1)  # also tells the server that the job has arrived
        result, pictures = TASKS[task["type"]](recognizer, config, id, task, progress)
        send(pipe, {"type": "done", "id": id, "result": result}, pictures)
        return
    except Cancelled:
        problem = CANCELLED
    except EpirError as error:
        problem = Problem.of(error)
    except MemoryError:
        problem = OUT_OF_MEMORY
    except Exception:  # a bug: the traceback goes to the server's terminal, a general message to the client
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


class PipeProgress:
    """Progress that is sent to the server a few times a second; raises `Cancelled` when the server asks for it."""

    def __init__(self, pipe: Connection, id: str) -> None:
        self._pipe, self._id = pipe, id
        self._stage, self._done, self._total, self._reported = "", 0, 0, 0.0

    def start(self, task: str, total: int) -> None:
        """Report a new stage."""
        self._stage, self._done, self._total = task, 0, total
        self._report()

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Report the count, unless that was done just now."""
        self._done += steps
        if time.monotonic() - self._reported >= REPORT_S:
            self._report()

    def finish(self) -> None:
        """Nothing to close."""

    def exchange(self, report: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, bytes]]:
        """Send a report of a job that lasts, and wait for what it gets next."""
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
