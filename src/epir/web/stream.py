"""The task of a worker process for one camera: frames in, movements and the state of things out, until the end."""

import io
import time
from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol

from epir.core.progress import Progress
from epir.evaluation.fold import one_thread as one_torch_thread
from epir.frames.picture import announced_size, decode_jpeg
from epir.frames.reader import Frame
from epir.frames.threads import one_thread
from epir.recognition.live import LiveAnswer, LiveStream
from epir.recognition.recognizer import Recognizer
from epir.spotting.timeline import Timeline

STATUS_S = 0.5  # between two reports of the state
OMITTED = ("tokens", "attribution", "input", "frames", "gaps")  # of an answer: too much for a stream, or empty

Reply = tuple[dict[str, Any], dict[str, bytes]]


class Exchange(Progress, Protocol):
    """Progress that can also ask the server for more."""

    def exchange(self, report: Mapping[str, Any]) -> Reply:
        """Send a report; gives the next message and its blobs."""


def infer_live(
    recognizer: Recognizer, config: Mapping[str, Any], id: str, task: Mapping[str, Any], progress: Exchange
) -> Reply:
    """Spot the frames of a camera until the server ends it; the result is the last report."""
    options = {name: task[name] for name in ("threshold", "sensitivity") if task.get(name) is not None}
    camera = Camera(recognizer.with_options(**options), task.get("faces", "largest"), config["live_side"])
    report: dict[str, Any] = {}
    with one_thread(), one_torch_thread():
        while True:
            message, blobs = progress.exchange(report)
            camera.span = message["span"]
            if message["type"] == "end":
                return camera.close(), {}
            for number, seconds in message["frames"]:
                camera.push(int(number), float(seconds), blobs[str(number)])
            report = camera.report()


class Camera:
    """The stream of one camera and what there is to report; a new size of the frames begins another stream."""

    def __init__(
        self,
        recognizer: Recognizer,
        faces: Literal["largest", "all"],
        side: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._new_stream = lambda: LiveStream(recognizer, faces)
        self._stream = self._new_stream()
        self._side, self._clock = side, clock
        self._shape: tuple[int, ...] | None = None
        self._found: list[LiveAnswer] = []
        self._before = {"frames": 0, "covered": 0.0}  # of streams that ended
        self._fps: float | None = None
        self._latest = 0.0
        self.span: tuple[float | None, float | None] = (None, None)  # of all frames that were sent, dropped ones too
        self._told = -STATUS_S
        self.damaged = 0  # frames that could not be used

    def push(self, number: int, seconds: float, jpeg: bytes) -> None:
        """Take the next frame; one that is no JPEG or too large is counted, and passed over."""
        self._latest = seconds
        size = announced_size(io.BytesIO(jpeg))
        pixels = decode_jpeg(jpeg) if size is not None and max(size) <= self._side else None
        if pixels is None:
            self.damaged += 1
            return
        if self._shape is not None and pixels.shape != self._shape:
            self._end_stream()
        self._shape = pixels.shape
        self._found += self._stream.push(Frame(number, seconds, pixels))

    def report(self) -> dict[str, Any]:
        """What is new: movements, motion, and twice a second the state."""
        found, self._found = self._found, []
        report: dict[str, Any] = {"movements": [live_answer(each) for each in found], "motion": self._motion()}
        if self._clock() - self._told >= STATUS_S:
            self._told = self._clock()
            report["status"] = self.status()
        return report

    def close(self) -> dict[str, Any]:
        """The last report."""
        motion = self._motion()
        self._end_stream()
        self._latest = self._latest if self.span[1] is None else self.span[1]
        found, self._found = self._found, []
        return {"movements": [live_answer(each) for each in found], "motion": motion, "status": self.status()}

    def status(self) -> dict[str, Any]:
        """How much of the time was looked at, how fast, up to when, and whether there is a face."""
        stream, elapsed = self._stream, self._latest - (self.span[0] or 0.0)
        self._fps = stream.fps or self._fps
        covered = self._before["covered"] + stream.coverage.covered
        return {
            "until_s": round(self._latest, 4),
            "elapsed_s": round(elapsed, 4),
            "covered_s": round(covered, 4),
            "coverage": round(covered / elapsed, 4) if elapsed > 0 and self._fps is not None else None,
            "rate": None if stream.coverage.rate is None else round(stream.coverage.rate, 2),
            "fps": None if self._fps is None else round(self._fps, 2),
            "looked_at": self._before["frames"] + stream.coverage.frames,
            "damaged": self.damaged,
            "face": stream.face,
        }

    def _end_stream(self) -> None:
        stream = self._stream
        self._found += stream.close()
        self._fps = stream.fps or self._fps
        self._before["frames"] += stream.coverage.frames
        self._before["covered"] += stream.coverage.covered
        self._stream = self._new_stream()

    def _motion(self) -> dict[str, Any] | None:
        new = self._stream.new_motion()
        return None if new is None else live_motion(*new)


def live_answer(found: LiveAnswer) -> dict[str, Any]:
    """One movement as `epir predict --json` gives it, without what only a file has, and where the face was."""
    crop = found.crop
    face = {"x": round(crop.x, 1), "y": round(crop.y, 1), "side": round(crop.side, 1)}  # centre and side, px
    return {**{name: value for name, value in found.answer.to_dict().items() if name not in OMITTED}, "face": face}


def live_motion(timeline: Timeline, first: int) -> dict[str, Any]:
    """The motion from entry `first` on, in per cent of the face's width, and what was rejected in that time."""
    stamps = timeline.numbers / timeline.fps if timeline.stamps is None else timeline.stamps
    since = float(stamps[first])
    rejected = [each for each in timeline.others if each.seconds[1] >= since]
    return {
        "time": [round(float(each), 4) for each in stamps[first:]],
        "frames": timeline.numbers[first:].tolist(),
        "energy": [round(100 * float(each), 4) for each in timeline.face[first:]],
        "level": round(100 * timeline.level, 4),
        "rejected": [
            {
                **{key: round(at, 4) for key, at in zip(("onset_s", "apex_s", "offset_s"), each.seconds, strict=True)},
                "reason": each.kind,
            }
            for each in rejected
        ],
    }
