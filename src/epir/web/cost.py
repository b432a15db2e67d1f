"""What an upload may cost: pictures are measured before they are decoded, videos frame by frame while they are read."""

import time
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any

from epir.core.progress import Progress
from epir.frames.picture import announced_size
from epir.frames.reader import ASSUMED_RATE
from epir.frames.video import VideoFrames
from epir.web.problems import RequestError

LEAST_BYTES = 16  # of a frame, in any codec
SLACK = 1.1  # a container announces about so many frames
READING = "reading"  # the stage before a video is spotted
SURE_S = 8.0  # seconds of work from which the rest can be estimated
SHORTER = "cut it around the movement"
SMALLER = "scale it down, such as to 1280 x 720"


def open_clip(
    path: Path, fps: float | None, config: Mapping[str, Any], on_frame: Callable[[], None]
) -> VideoFrames | Path:
    """A video as `open_checked` gives it, or a folder whose pictures are within the limits."""
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
            raise too_large(f"the frames have {width} x {height} px", SMALLER)
        if number >= config["max_frames"]:
            raise too_large(f"the video has more than {config['max_frames']} frames")
        if seconds > config["max_seconds"]:
            raise too_large(f"the video lasts more than {config['max_seconds']:g} seconds")
        if (number + 1) * width * height > 1e6 * config["max_megapixels"]:
            raise too_large(
                f"the video has {width} x {height} px and more than {number} frames: that is too much work", SMALLER
            )

    video = VideoFrames(path, fps, check_frame)
    announced, (width, height) = video.announced or 0, video.size
    if announced * LEAST_BYTES < path.stat().st_size:  # or else the container lies, and the frames will tell
        last = int(announced / SLACK) - 1
        check(last, last / (video.fps or ASSUMED_RATE), width, height)
    return video


def check_pictures(paths: Sequence[str], config: Mapping[str, Any]) -> None:
    """Refuse pictures that are too large, by their heads."""
    sizes = [size for size in map(announced_size, paths) if size is not None]
    for width, height in sizes:
        if width * height > config["max_pixels"]:
            raise too_large(f"a picture has {width} x {height} px", "scale the pictures down, all by the same factor")
    if sum(width * height for width, height in sizes) > 1e6 * config["max_megapixels"]:
        raise too_large(f"{len(paths)} pictures of this size are too much work", "send fewer or smaller ones")


class CostLimit:
    """Progress that ends a job early when it is clear that its time will not do; all of its stages count."""

    def __init__(self, progress: Progress, seconds: float) -> None:
        self._progress, self._seconds = progress, seconds
        self._first = self._began = time.monotonic()  # of the job, and of its stage
        self._done = self._total = 0
        self._stage, self._latest, self._longest = "", self._first, 0.0

    def decoded(self) -> None:
        """Count a frame of a video, unless the stage counts its own: at the beginning, and before given key frames."""
        if self._stage == READING:
            self.advance()

    def start(self, task: str, total: int) -> None:
        """Begin a stage of `total` steps; 0 where that is not known."""
        self._stage, self._done, self._total = task, 0, total
        self._began = self._latest = time.monotonic()
        self._longest = 0.0
        self._progress.start(task, total)

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Count steps; `RequestError` (413) where the rest would take too long."""
        now = time.monotonic()
        self._longest, self._latest = max(self._longest, now - self._latest), now
        self._done += steps
        passed = now - self._began
        usual = (passed - self._longest) / max(self._done, 1)  # one step may last: the search for a turned face
        expected = self._began - self._first + self._longest + usual * self._total
        if passed > SURE_S and expected > self._seconds:
            share = 0.8 * self._seconds / expected
            raise too_large(
                f"this would take about {expected:.0f} seconds here; the limit is {self._seconds:g}",
                f"cut it to {100 * share:.0f} % of its length or less, or {SMALLER}",
            )
        self._progress.advance(steps, note)

    def finish(self) -> None:
        """End the stage."""
        self._progress.finish()


def too_large(problem: str, fix: str = SHORTER) -> RequestError:
    """The refusal of what is too long or too large."""
    return RequestError(problem, fix=fix, status=HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
