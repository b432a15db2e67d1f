"""The tasks of a worker process: answer uploads and cameras, and render the example videos.

Limits apply to pictures before they are decoded, and to videos frame by frame while they are read.
"""

import io
import time
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any, Literal, Protocol

from epir.core.engines import Progress, one_thread
from epir.core.errors import FaceNotFound
from epir.faces.face import RELIABLE_FACE
from epir.faces.tracking import NO_FACE, TOO_SMALL
from epir.final.card import REAL_PEOPLE
from epir.final.real_people import quotable
from epir.frames.picture import announced_size, decode_jpeg
from epir.frames.reader import ASSUMED_RATE, Frame
from epir.frames.video import VideoFrames
from epir.recognition.answer import Answer
from epir.recognition.live import LiveAnswer, LiveStream
from epir.recognition.recognizer import Recognizer
from epir.spotting.decision import LONGEST
from epir.spotting.timeline import Timeline
from epir.web.examples import example_video
from epir.web.outputs import Album, Output, add_films, answer_output, curve_points
from epir.web.problems import RequestError
from epir.web.settings import ESTIMATE_AFTER_S, LIVE_STATUS_S

LEAST_BYTES = 16  # of a frame, in any codec
SLACK = 1.1  # a container's frame count may be wrong by this factor
READING = "reading"  # the stage before a video is spotted
PICTURE_COST = 16  # decoding a pixel of a picture takes as long as this many pixels of a video
SHORTER, SMALLER = "cut it around the movement", "scale it down, such as to 1280 x 720"
CANDIDATES = 20.0  # listed per minute
OMITTED = ("tokens", "attribution", "input", "frames", "gaps")  # of a camera's answers: too long, or always empty


class Exchange(Progress, Protocol):
    """Progress that can also ask the server for more frames."""

    def exchange(self, report: Mapping[str, Any]) -> Output:
        """Send a report and return the next message and its blobs."""


def infer_clip(
    recognizer: Recognizer, config: Mapping[str, Any], id: str, task: Mapping[str, Any], progress: Progress
) -> Output:
    """Answer for one video, two pictures or an example."""
    began = time.monotonic()
    limited = CostLimit(progress, config["timeout_s"])
    clip: Any
    if task.get("example"):
        clip = example_video(task["example"], Path(config["private"]) / "examples", progress)
    elif len(task["files"]) == 2:
        check_pictures(task["files"], config)
        clip = tuple(task["files"])
    else:
        clip = open_clip(Path(task["files"][0]), task.get("fps"), config, limited.decoded)
        if isinstance(clip, VideoFrames):
            limited.start(READING, frames_needed(clip, task.get("onset"), task.get("apex")))
    options: dict[str, Any] = {name: task.get(name) for name in ("onset", "apex", "fps")}
    recognizer = recognizer.with_options(threshold=task.get("threshold"), sensitivity=task.get("sensitivity", "normal"))
    album = Album()
    options |= {"faces": task.get("faces", "largest"), "name": task["name"], "candidates": CANDIDATES}
    answer = recognizer.predict(clip, **options, progress=limited, watch=album.add)
    _check_face(answer)
    limited.start("drawing", 1)
    url = f"/api/results/{id}/"
    result, pictures = answer_output(answer, url, movements=config["movements"], labels=recognizer.labels)
    rejected = {"rejected": config["rejected"], "progress": limited}
    files = add_films(result, album, answer, recognizer.recipe, url, **rejected)
    result["model"] = str(recognizer.backend.config.settings.get("name", "epir"))
    result["calibrated_on"] = calibrated_on(recognizer.backend.config.notes)
    result["reliability"] = quotable(recognizer.backend.config.notes)
    result["elapsed_s"] = round(time.monotonic() - began, 3)
    return result, pictures | files


def frames_needed(video: VideoFrames, onset: int | None, apex: int | None) -> int:
    """About how many frames of a video will be decoded; 0 if unknown."""
    if onset is None:
        return video.announced or 0
    last = onset + round(LONGEST * (video.fps or ASSUMED_RATE)) if apex is None else 2 * apex - onset
    return min(last + 1, video.announced or last + 1)


def render_example(
    recognizer: Recognizer, config: Mapping[str, Any], id: str, task: Mapping[str, Any], progress: Progress
) -> Output:
    """Render the video of an example before anyone asks for it."""
    path = example_video(task["example"], Path(config["private"]) / "examples", progress)
    return {"bytes": path.stat().st_size}, {}


def infer_live(
    recognizer: Recognizer, config: Mapping[str, Any], id: str, task: Mapping[str, Any], progress: Exchange
) -> Output:
    """Analyse the frames of a camera until the server ends the session; the result is the last report."""
    options = {name: task[name] for name in ("threshold", "sensitivity") if task.get(name) is not None}
    camera = Camera(recognizer.with_options(**options), task.get("faces", "largest"), config["live_side"])
    report: dict[str, Any] = {}
    with one_thread():
        while True:
            message, blobs = progress.exchange(report)
            camera.span = message["span"]
            if message["type"] == "end":
                return camera.close(), {}
            for number, seconds in message["frames"]:
                camera.push(int(number), float(seconds), blobs[str(number)])
            report = camera.report()


TASKS: dict[str, Callable[..., Output]] = {"predict": infer_clip, "live": infer_live, "example": render_example}


def calibrated_on(notes: Mapping[str, Any]) -> str:
    """What the scores were calibrated on: `people`, or `synthetic faces` only."""
    corpora = notes.get("data", {}).get("corpora", {})
    return "synthetic faces" if set(corpora) == {"synthetic"} and REAL_PEOPLE not in notes else "people"


def _check_face(answer: Answer) -> None:
    """Raise for an input without a usable face, with advice for someone at a camera."""
    if answer.label in (NO_FACE, TOO_SMALL):
        details = [warning for warning in answer.warnings if warning.startswith(TOO_SMALL)]
        raise FaceNotFound(
            details[0] if details else "no face was found",
            fix=f"film the face from the front, well lit, and at least {RELIABLE_FACE:.0f} px wide",
        )


def open_clip(
    path: Path, fps: float | None, config: Mapping[str, Any], on_frame: Callable[[], None]
) -> VideoFrames | Path:
    """A checked video, or a folder whose pictures are within the limits."""
    if not path.is_dir():
        return open_checked(path, fps, config, on_frame)
    check_pictures([str(picture) for picture in sorted(path.iterdir())], config)
    return path


def open_checked(
    path: Path, fps: float | None, config: Mapping[str, Any], on_frame: Callable[[], None] = lambda: None
) -> VideoFrames:
    """A video that raises (413) at the first frame beyond a limit; calls `on_frame` for every decoded frame."""

    def check_frame(number: int, seconds: float, width: int, height: int) -> None:
        check(number, seconds, width, height)
        on_frame()

    def check(number: int, seconds: float, width: int, height: int) -> None:
        if width * height > config["max_pixels"]:
            raise too_large(f"the frames have {width} x {height} px", SMALLER, "max_pixels", config)
        if number >= config["max_frames"]:
            raise too_large(f"the video has more than {config['max_frames']} frames", SHORTER, "max_frames", config)
        if seconds > config["max_seconds"]:
            problem = f"the video lasts more than {config['max_seconds']:g} seconds"
            raise too_large(problem, SHORTER, "max_seconds", config)
        if (number + 1) * width * height > 1e6 * config["max_megapixels"]:
            problem = f"the video has {width} x {height} px and more than {number} frames, which is too much work"
            raise too_large(problem, SMALLER, "max_megapixels", config)

    video = VideoFrames(path, fps, check_frame)
    announced, (width, height) = video.announced or 0, video.size
    if announced * LEAST_BYTES < path.stat().st_size:  # otherwise the container lies: check while reading
        last = int(announced / SLACK) - 1
        check(last, last / (video.fps or ASSUMED_RATE), width, height)
    return video


def check_pictures(paths: Sequence[str], config: Mapping[str, Any]) -> None:
    """Raise for pictures that are too large, or too much work in total; reads only their headers."""
    sizes = [size for size in map(announced_size, paths) if size is not None]
    for width, height in sizes:
        if width * height > config["max_pixels"]:
            fix = "scale the pictures down, all by the same factor"
            raise too_large(f"a picture has {width} x {height} px", fix, "max_pixels", config)
    if PICTURE_COST * sum(width * height for width, height in sizes) > 1e6 * config["max_megapixels"]:
        problem = f"{len(paths)} pictures of up to {max(sizes)[0]} x {max(sizes)[1]} px are too much work"
        raise too_large(problem, "send fewer or smaller ones", "max_megapixels", config)


class CostLimit:
    """Progress that stops a job once it is clear that it will exceed its time limit, over all stages."""

    def __init__(self, progress: Progress, seconds: float) -> None:
        self._progress, self._seconds = progress, seconds
        self._first = self._began = time.monotonic()  # of the job, and of its stage
        self._done = self._total = 0
        self._stage, self._latest, self._longest = "", self._first, 0.0

    def decoded(self) -> None:
        """Count a decoded frame, unless the current stage counts its own steps."""
        if self._stage == READING:
            self.advance()

    def start(self, task: str, total: int) -> None:
        """Begin a stage of `total` steps; 0 if unknown."""
        self._stage, self._done, self._total = task, 0, total
        self._began = self._latest = time.monotonic()
        self._longest = 0.0
        self._progress.start(task, total)

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Count steps; raises `RequestError` (413) if the rest would take too long."""
        now = time.monotonic()
        self._longest, self._latest = max(self._longest, now - self._latest), now
        self._done += steps
        passed = now - self._began
        usual = (passed - self._longest) / max(self._done, 1)  # without the longest step: the search for a turned face
        expected = self._began - self._first + self._longest + usual * self._total
        if passed > ESTIMATE_AFTER_S and expected > self._seconds:
            share = 0.8 * self._seconds / expected
            problem = f"this would take about {expected:.0f} seconds on this server; the limit is {self._seconds:g}"
            fix = f"cut it to {100 * share:.0f} % of its length or less, or {SMALLER}"
            raise too_large(problem, fix, "timeout_s", {"timeout_s": self._seconds})
        self._progress.advance(steps, note)

    def finish(self) -> None:
        """End the stage."""
        self._progress.finish()


def too_large(problem: str, fix: str, setting: str, config: Mapping[str, Any]) -> RequestError:
    """The error for an input beyond a limit; its fix names the setting, and `epir predict`, which has no limit."""
    more = f"`epir predict` has no such limit, and `epir serve --set {setting}={2 * config[setting]:.0f}` raises it"
    return RequestError(problem, fix=f"{fix}; {more}", status=HTTPStatus.REQUEST_ENTITY_TOO_LARGE)


class Camera:
    """The stream of one camera and its reports; a new frame size starts another stream."""

    def __init__(self, recognizer: Recognizer, faces: Literal["largest", "all"], side: int) -> None:
        self._new_stream = lambda: LiveStream(recognizer, faces)
        self._stream = self._new_stream()
        self._side = side
        self._shape: tuple[int, ...] | None = None
        self._answers: list[LiveAnswer] = []
        self._motion: list[dict[str, Any]] = []
        self._before = {"frames": 0, "covered": 0.0}  # of earlier streams
        self._fps: float | None = None
        self._latest = 0.0
        self.span: tuple[float | None, float | None] = (None, None)  # of all frames sent, dropped ones included
        self._status_at = -LIVE_STATUS_S
        self.damaged = 0  # unusable frames

    def push(self, number: int, seconds: float, jpeg: bytes) -> None:
        """Analyse the next frame; skip and count a frame that is not a JPEG or is too large."""
        self._latest = seconds
        size = announced_size(io.BytesIO(jpeg))
        pixels = decode_jpeg(jpeg) if size is not None and max(size) <= self._side else None
        if pixels is None:
            self.damaged += 1
            return
        if self._shape is not None and pixels.shape != self._shape:
            self._end_stream()
        self._shape = pixels.shape
        self._answers += self._stream.push(Frame(number, seconds, pixels))

    def report(self) -> dict[str, Any]:
        """New movements, new motion and, twice a second, the status."""
        self._motion += [live_motion(*part) for part in self._stream.new_motion()]
        movements = [live_answer(answer) for answer in self._answers]
        report: dict[str, Any] = {"movements": movements, "motion": self._motion}
        self._answers, self._motion = [], []
        if time.monotonic() - self._status_at >= LIVE_STATUS_S:
            self._status_at = time.monotonic()
            report["status"] = self.status()
        return report

    def close(self) -> dict[str, Any]:
        """The last report."""
        self._end_stream()
        self._latest = self._latest if self.span[1] is None else self.span[1]
        self._status_at = -LIVE_STATUS_S
        return self.report()

    def status(self) -> dict[str, Any]:
        """How much of the time was analysed, at which frame rate, up to when, and whether a face is visible."""
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
        self._answers += stream.close()
        self._motion += [live_motion(*part) for part in stream.new_motion()]
        self._fps = stream.fps or self._fps
        self._before["frames"] += stream.coverage.frames
        self._before["covered"] += stream.coverage.covered
        self._stream = self._new_stream()


def live_answer(movement: LiveAnswer) -> dict[str, Any]:
    """A movement as in `epir predict --json`, without the fields of a file, plus the position of the face."""
    crop = movement.crop
    face = {"x": round(crop.x, 1), "y": round(crop.y, 1), "side": round(crop.side, 1)}  # centre and side, px
    answer = {name: value for name, value in movement.answer.to_dict().items() if name not in OMITTED}
    return {**answer, "face": face}


def live_motion(track: int, timeline: Timeline, first: int) -> dict[str, Any]:
    """The motion of one person from entry `first` on, and the movements rejected in that time."""
    points = curve_points(timeline, slice(first, None))
    names = ("onset_s", "apex_s", "offset_s")
    rejected = [
        {**{name: round(at, 4) for name, at in zip(names, other.seconds, strict=True)}, "reason": other.kind}
        for other in timeline.others
        if other.seconds[1] >= points["time"][0]
    ]
    return {"track": track, **points, "rejected": rejected}
