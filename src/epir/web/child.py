"""The child process: it holds the recognizer and does one job after the other, told over a pipe.

Whatever a damaged file does to the decoder, it does here; the server starts another child.
"""

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
from epir.web.problems import BROKEN, CANCELLED, TOO_LARGE, UNUSABLE, Refused
from epir.web.wire import receive, send

if TYPE_CHECKING:
    from epir.recognition.recognizer import Recognizer

SPEAK_S = 0.1  # between two words about progress
TOO_MUCH = "this needs more memory than the server gives to one input"


class Cancelled(Exception):
    """Nobody waits for this job any more."""


def work(pipe: Connection, orders: Mapping[str, Any]) -> None:
    """Load the model, say so, then do jobs until the pipe ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends this process
    _limit(orders)
    try:
        recognizer, about = _load(orders)
    except EpirError as error:
        send(pipe, {"what": "failed", "problem": error.problem, "fix": error.fix})
        return
    send(pipe, {"what": "ready", "about": about})
    try:
        while True:
            message, _ = receive(pipe)
            if message["what"] == "do":
                _do(pipe, recognizer, orders, message["id"], message["task"])
    except (EOFError, OSError):
        shutil.rmtree(orders["private"], ignore_errors=True)  # the server is gone, and may not have tidied up


def _limit(orders: Mapping[str, Any]) -> None:
    """Hold this process to its share of the machine, before anything heavy is imported."""
    os.environ["OPENCV_IO_MAX_IMAGE_PIXELS"] = str(orders["max_pixels"])
    os.environ["OPENCV_FFMPEG_CAPTURE_OPTIONS"] = "protocol_whitelist;file"  # never a network
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = "1"
    if sys.platform == "linux":
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (orders["max_memory"], orders["max_memory"]))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _load(orders: Mapping[str, Any]) -> tuple["Recognizer", dict[str, Any]]:
    from epir.recognition.recognizer import Recognizer
    from epir.web.examples import list_examples

    recognizer = Recognizer.from_pretrained(orders["model"])
    name = str(recognizer.backend.config.settings.get("name", "epir"))
    model = {"name": name, "classes": list(recognizer.labels), "map_size": recognizer.backend.map_size}
    return recognizer, {"model": model, "examples": list_examples()}


def _do(pipe: Connection, recognizer: "Recognizer", orders: Mapping[str, Any], id: str, task: dict[str, Any]) -> None:
    """Do one job and tell how it ended."""
    from epir.web.looking import look, look_live, render

    progress = Told(pipe, id)
    steps = {"predict": look, "live": look_live, "example": render}
    try:
        progress.start("reading", 1)  # also tells the server that the job has arrived
        result, pictures = steps[task["what"]](recognizer, orders, id, task, progress)
        send(pipe, {"what": "done", "id": id, "result": result}, pictures)
        return
    except Cancelled:
        problem, fix, status = CANCELLED.problem, CANCELLED.fix, CANCELLED.status
    except Refused as error:
        problem, fix, status = error.problem, error.fix, error.status
    except EpirError as error:
        problem, fix, status = error.problem, error.fix, UNUSABLE
    except MemoryError:
        problem, fix, status = TOO_MUCH, "send a shorter or smaller video", TOO_LARGE
    except Exception:  # a defect: told to the one who runs the server, and in general words to the client
        traceback.print_exc()
        problem, fix, status = "something went wrong while looking at this input", "try another file", BROKEN
    send(pipe, {"what": "failed", "id": id, "problem": named(problem, task), "fix": named(fix, task), "status": status})


def named(words: str, task: Mapping[str, Any]) -> str:
    """The words with the client's names for files, in place of those on this machine."""
    for path, name in task.get("names", {}).items():
        words = words.replace(path, name)
    folder = task.get("folder")
    return words.replace(f"{folder}{os.sep}", "").replace(str(folder), "the upload") if folder else words


class Told:
    """Progress that goes to the server, a few words a second; hears there whether anybody still waits."""

    def __init__(self, pipe: Connection, id: str) -> None:
        self._pipe, self._id = pipe, id
        self._stage, self._done, self._total, self._spoke = "", 0, 0, 0.0

    def start(self, task: str, total: int) -> None:
        """Say what begins."""
        self._stage, self._done, self._total = task, 0, total
        self._speak()

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Say how far it is, unless that was said just now."""
        self._done += steps
        if time.monotonic() - self._spoke >= SPEAK_S:
            self._speak()

    def finish(self) -> None:
        """Nothing to close."""

    def _speak(self) -> None:
        self._spoke = time.monotonic()
        words = {"stage": self._stage, "done": self._done, "total": self._total}
        send(self._pipe, {"what": "progress", "id": self._id, **words})
        while self._pipe.poll():
            message, _ = receive(self._pipe)
            if message["what"] == "cancel" and message["id"] == self._id:
                raise Cancelled
