"""The tasks of a worker process: answers for uploads and for the frames of a camera, and the example videos.

Pictures are measured before they are decoded, videos frame by frame while they are read.
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
from epir.final.real_people import NOTES as REAL_PEOPLE
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
SLACK = 1.1  # containers announce the number of frames this exactly
READING = "reading"  # the stage before a video is spotted
PICTURE_COST = 16  # decoding a picture takes as long as this many frames of a video, pixel by pixel
SHORTER, SMALLER = "cut it around the movement", "scale it down, such as to 1280 x 720"
CANDIDATES = 20.0  # a minute that are listed
OMITTED = ("tokens", "attribution", "input", "frames", "gaps")  # of a camera's answers: too long, or empty


class Exchange(Progress, Protocol):
    """Progress that can also ask the server for more."""

    def exchange(self, report: Mapping[str, Any]) -> Output:
        """Send a report; returns the next message and its blobs."""


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
    """How many frames of a video will be decoded, about; 0 if that is not known."""
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
    """Spot the frames of a camera until the server ends it; the result is the last report."""
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
    """Whose scores the model was calibrated on: `people`, or `synthetic faces` only."""
    corpora = notes.get("data", {}).get("corpora", {})
    return "synthetic faces" if set(corpora) == {"synthetic"} and REAL_PEOPLE not in notes else "people"


def _check_face(answer: Answer) -> None:
    """Refuse an input without a face that could be used, in words for someone at a camera."""
    if answer.label in (NO_FACE, TOO_SMALL):
        details = [word for word in answer.warnings if word.startswith(TOO_SMALL)]
        raise FaceNotFound(
            details[0] if details else "no face was found",
            fix=f"film the face from the front, well lit, and so close that it is {RELIABLE_FACE:.0f} px wide or more",
        )


def open_clip(
    path: Path, fps: float | None, config: Mapping[str, Any], on_frame: Callable[[], None]
) -> VideoFrames | Path:
    """A checked video, or a folder whose pictures are within the limits."""
    if not path.is_dir():
        return open_checked(path, fps, config, on_frame)
    check_pictures([str(each) for each in sorted(path.iterdir())], config)
    return path


def open_checked(
    path: Path, fps: float | None, config: Mapping[str, Any], on_frame: Callable[[], None] = lambda: None
) -> VideoFrames:
    """A video that ends with 413 at the first frame beyond a limit; `on_frame` is called for every one decoded."""

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
            problem = f"the video has {width} x {height} px and more than {number} frames: that is too much work"
            raise too_large(problem, SMALLER, "max_megapixels", config)

    video = VideoFrames(path, fps, check_frame)
    announced, (width, height) = video.announced or 0, video.size
    if announced * LEAST_BYTES < path.stat().st_size:  # or else the container lies, and the frames will tell
        last = int(announced / SLACK) - 1
        check(last, last / (video.fps or ASSUMED_RATE), width, height)
    return video


def check_pictures(paths: Sequence[str], config: Mapping[str, Any]) -> None:
    """Refuse pictures that are too large, or too much work together, by their heads."""
    sizes = [size for size in map(announced_size, paths) if size is not None]
    for width, height in sizes:
        if width * height > config["max_pixels"]:
            fix = "scale the pictures down, all by the same factor"
            raise too_large(f"a picture has {width} x {height} px", fix, "max_pixels", config)
    if PICTURE_COST * sum(width * height for width, height in sizes) > 1e6 * config["max_megapixels"]:
        problem = f"{len(paths)} pictures of up to {max(sizes)[0]} x {max(sizes)[1]} px are too much work"
        raise too_large(problem, "send fewer or smaller ones", "max_megapixels", config)


class CostLimit:
    """Progress that ends a job early when it is clear that its time will not do; all of its stages count."""

    def __init__(self, progress: Progress, seconds: float) -> None:
        self._progress, self._seconds = progress, seconds
        self._first = self._began = time.monotonic()  # of the job, and of its stage
        self._done = self._total = 0
        self._stage, self._latest, self._longest = "", self._first, 0.0

    def decoded(self) -> None:
        """Count a frame of a video, unless the stage counts: at the beginning, and up to the key frames of the user."""
        if self._stage == READING:
            self.advance()

    def start(self, task: str, total: int) -> None:
        """Begin a stage of `total` steps; 0 if unknown."""
        self._stage, self._done, self._total = task, 0, total
        self._began = self._latest = time.monotonic()
        self._longest = 0.0
        self._progress.start(task, total)

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Count steps; `RequestError` (413) if the rest would take too long."""
        now = time.monotonic()
        self._longest, self._latest = max(self._longest, now - self._latest), now
        self._done += steps
        passed = now - self._began
        usual = (passed - self._longest) / max(self._done, 1)  # one step may last: the search for a turned face
        expected = self._began - self._first + self._longest + usual * self._total
        if passed > ESTIMATE_AFTER_S and expected > self._seconds:
            share = 0.8 * self._seconds / expected
            problem = f"this would take about {expected:.0f} seconds here; the limit is {self._seconds:g}"
            fix = f"cut it to {100 * share:.0f} % of its length or less, or {SMALLER}"
            raise too_large(problem, fix, "timeout_s", {"timeout_s": self._seconds})
        self._progress.advance(steps, note)

    def finish(self) -> None:
        """End the stage."""
        self._progress.finish()


def too_large(problem: str, fix: str, setting: str, config: Mapping[str, Any]) -> RequestError:
    """The refusal of what is too long or too large; it says which setting limits it, and what has no limit."""
    more = f"`epir predict` has no such limit, and `epir serve --set {setting}={2 * config[setting]:.0f}` raises it"
    return RequestError(problem, fix=f"{fix}; {more}", status=HTTPStatus.REQUEST_ENTITY_TOO_LARGE)


class Camera:
    """The stream of one camera and what there is to report; a new size of the frames begins another stream."""

    def __init__(self, recognizer: Recognizer, faces: Literal["largest", "all"], side: int) -> None:
        self._new_stream = lambda: LiveStream(recognizer, faces)
        self._stream = self._new_stream()
        self._side = side
        self._shape: tuple[int, ...] | None = None
        self._answers: list[LiveAnswer] = []
        self._motion: list[dict[str, Any]] = []
        self._before = {"frames": 0, "covered": 0.0}  # of streams that ended
        self._fps: float | None = None
        self._latest = 0.0
        self.span: tuple[float | None, float | None] = (None, None)  # of all frames that were sent, dropped ones too
        self._status_at = -LIVE_STATUS_S
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
        self._answers += self._stream.push(Frame(number, seconds, pixels))

    def report(self) -> dict[str, Any]:
        """What is new: movements, motion, and twice a second the state."""
        self._motion += [live_motion(*each) for each in self._stream.new_motion()]
        report: dict[str, Any] = {"movements": [live_answer(each) for each in self._answers], "motion": self._motion}
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
        self._answers += stream.close()
        self._motion += [live_motion(*each) for each in stream.new_motion()]
        self._fps = stream.fps or self._fps
        self._before["frames"] += stream.coverage.frames
        self._before["covered"] += stream.coverage.covered
        self._stream = self._new_stream()


def live_answer(movement: LiveAnswer) -> dict[str, Any]:
    """One movement as `epir predict --json` gives it, without what only a file has, and where the face was."""
    crop = movement.crop
    face = {"x": round(crop.x, 1), "y": round(crop.y, 1), "side": round(crop.side, 1)}  # centre and side, px
    answer = {name: value for name, value in movement.answer.to_dict().items() if name not in OMITTED}
    return {**answer, "face": face}


def live_motion(track: int, timeline: Timeline, first: int) -> dict[str, Any]:
    """The motion of one person from entry `first` on, and what was rejected in that time."""
    points = curve_points(timeline, slice(first, None))
    names = ("onset_s", "apex_s", "offset_s")
    rejected = [
        {**{name: round(at, 4) for name, at in zip(names, each.seconds, strict=True)}, "reason": each.kind}
        for each in timeline.others
        if each.seconds[1] >= points["time"][0]
    ]
    return {"track": track, **points, "rejected": rejected}
