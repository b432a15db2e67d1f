"""What the child does with a job: look at an upload, at the last seconds of a camera, or draw an example."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epir.core.progress import Progress
from epir.web.problems import TOO_LARGE, UNUSABLE, Refused

if TYPE_CHECKING:
    import numpy as np

    from epir.recognition.recognizer import Recognizer

Done = tuple[dict[str, Any], dict[str, bytes]]  # the result, and its pictures


def look(
    recognizer: "Recognizer", orders: Mapping[str, Any], id: str, task: Mapping[str, Any], progress: Progress
) -> Done:
    """Answer for one video or two pictures."""
    from epir.web.examples import example_video
    from epir.web.showing import show

    began = time.monotonic()
    given: Any
    if task.get("example"):
        given = example_video(task["example"], Path(orders["private"]) / "examples", progress)
    elif len(task["files"]) == 2:
        given = tuple(task["files"])
    else:
        given = task["files"][0]
    frames = 2 if isinstance(given, tuple) else _refuse_large(given, task.get("fps"), orders)
    options = {name: task.get(name) for name in ("onset", "apex", "fps")}
    answer = recognizer.predict(given, **options, name=task["name"], progress=progress)
    progress.start("drawing", 1)
    result, pictures = show(answer, frames, f"/api/results/{id}/", movements=orders["movements"])
    result["model"] = str(recognizer.backend.config.settings.get("name", "epir"))
    result["judged_on"] = judged_on(recognizer.backend.config.notes)
    result["elapsed_s"] = round(time.monotonic() - began, 3)
    return result, pictures


def judged_on(notes: Mapping[str, Any]) -> str:
    """The kind of people on whom a model's scores were calibrated: `people`, or `invented people`."""
    corpora = notes.get("data", {}).get("corpora", {})
    return "invented people" if set(corpora) == {"synthetic"} else "people"


def look_live(
    recognizer: "Recognizer", orders: Mapping[str, Any], id: str, task: Mapping[str, Any], progress: Progress
) -> Done:
    """Answer for the last seconds of a camera; no pictures."""
    from epir.frames.picture import read_picture
    from epir.web.showing import curve_of

    began = time.monotonic()
    frames: list[np.ndarray] = []
    for path in task["files"]:
        frame = read_picture(path)
        if frames and frame.shape != frames[0].shape:
            raise Refused("the frames are of different sizes", fix="send frames of one size", status=UNUSABLE)
        if max(frame.shape[:2]) > orders["live_side"]:
            raise Refused(
                f"a live frame is {frame.shape[1]} x {frame.shape[0]} px",
                fix=f"send frames of at most {orders['live_side']} px a side",
                status=TOO_LARGE,
            )
        frames.append(frame)
    answer = recognizer.predict(frames, fps=task["fps"], name="camera", progress=progress)
    keep = ("label", "confidence", "scores", "onset", "apex", "offset", "warnings")
    return {
        **{name: value for name, value in answer.to_dict().items() if name in keep},
        "movements": [{name: each.to_dict()[name] for name in keep} for each in answer.all],
        "curve": curve_of(answer),
        "frames": len(frames),
        "fps": round(task["fps"], 2),
        "elapsed_ms": round(1000 * (time.monotonic() - began)),
    }, {}


def render(
    recognizer: "Recognizer", orders: Mapping[str, Any], id: str, task: Mapping[str, Any], progress: Progress
) -> Done:
    """Draw one example, so that it is there when it is asked for."""
    from epir.web.examples import example_video

    path = example_video(task["example"], Path(orders["private"]) / "examples", progress)
    return {"bytes": path.stat().st_size}, {}


def _refuse_large(path: Path, fps: float | None, orders: Mapping[str, Any]) -> int:
    """The number of frames of a video, unless it is too long or its frames are too large."""
    from epir.frames.reader import open_frames

    with open_frames(path) as frames:
        count, rate = len(frames.numbers), fps or frames.fps
        if count > orders["max_frames"]:
            raise Refused(
                f"the video has {count} frames, and {orders['max_frames']} are the most that are looked at",
                fix="cut it around the movement",
                status=TOO_LARGE,
            )
        if rate and count / rate > orders["max_seconds"]:
            raise Refused(
                f"the video lasts {count / rate:.0f} seconds, and {orders['max_seconds']:g} are the most",
                fix="cut it around the movement",
                status=TOO_LARGE,
            )
        height, width = frames.read(frames.numbers[0]).shape[:2] if count else (0, 0)
        if height * width > orders["max_pixels"]:
            raise Refused(
                f"the frames are {width} x {height} px",
                fix="save the video smaller, such as 1280 x 720",
                status=TOO_LARGE,
            )
    return count
