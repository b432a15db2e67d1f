"""Which frames of an input are looked at, and what cannot be asked of it."""

import math
from collections.abc import Iterator

from epir.core.errors import FrameError
from epir.core.frame_numbers import FASTEST_RATE
from epir.frames.reader import ASSUMED_RATE, Frame, Frames
from epir.frames.video import VideoFrames

Times = tuple[float | None, float | None]  # start and end in seconds


def chosen_frames(frames: Frames, apex: int | None, times: Times, near: float) -> Iterator[Frame]:
    """The frames between two times; with a given apex those around it."""
    start, end = times
    if apex is not None:
        around = round(near * (frames.fps or ASSUMED_RATE))
        return frames.between(apex - around, apex + around)
    if start is None and end is None:
        return iter(frames)
    return frames.during(start or 0.0, math.inf if end is None else end)


def refuse_times(fps: float | None, start: float | None, end: float | None) -> None:
    """Refuse a rate and times that cannot be."""
    if fps is not None and not 0 < fps <= FASTEST_RATE:
        raise FrameError(f"{fps:g} frames a second is no frame rate", fix="give the rate of the camera: --fps 100")
    if not 0 <= (start or 0.0) < (math.inf if end is None else end):
        raise FrameError(
            f"there is nothing between --start {start or 0.0:g} and --end {end if end is not None else math.inf:g}",
            fix="give seconds from 0, the start before the end",
        )


def refuse_key_frames(frames: Frames, onset: int | None, apex: int | None) -> None:
    """Refuse key frames that cannot be; the frames of a video are not counted for it."""
    if onset is not None and apex is not None and onset >= apex:
        raise FrameError(f"the apex {apex} does not come after the onset {onset}", fix="give an onset before the apex")
    counted = not isinstance(frames, VideoFrames)
    first, last = (frames.numbers[0], frames.numbers[-1]) if counted else (0, None)
    for name, number in (("onset", onset), ("apex", apex)):
        if number is not None and (number < first or (last is not None and number > last)):
            held = f", which holds frames {first} to {last}" if last is not None else ": frames are counted from 0"
            raise FrameError(
                f"the {name} {number} is not in {frames.path}{held}",
                fix=f"give a frame number from {first}{'' if last is None else f' to {last}'}",
            )
    if apex == first and onset is None:
        raise FrameError(f"the apex {apex} is the first frame", fix="give an apex with frames before it")
    if onset is not None and onset == last and apex is None:
        raise FrameError(f"the onset {onset} is the last frame", fix="give an onset with frames after it")


def too_few(frames: Frames, count: int, times: Times) -> FrameError:
    """What to say of an input with fewer than two frames."""
    if times != (None, None):
        start, end = times
        until = "the end" if end is None else f"{end:g} s"
        return FrameError(
            f"{frames.path} has {_counted(count)} between {start or 0.0:g} s and {until}",
            fix="give --start and --end within the video, with a second or so between them",
        )
    return FrameError(
        f"{frames.path} holds {_counted(count)}: motion needs two",
        fix="give a video of a second or so, or two pictures (onset, apex)",
    )


def _counted(count: int) -> str:
    return "no frame" if count == 0 else "one frame"
