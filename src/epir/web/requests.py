"""From the fields and files of a request to the task for the child."""

import math
from itertools import pairwise
from typing import Any

from epir.web.problems import UNUSABLE, Refused
from epir.web.uploads import KINDS, Upload

FEWEST_LIVE = 3  # frames


def predict_task(upload: Upload, examples: list[str]) -> dict[str, Any]:
    """What is to be looked at: one video, two pictures or an example."""
    fields, files = upload.fields, upload.files
    options: dict[str, Any] = {
        "onset": _frame(fields, "onset"),
        "apex": _frame(fields, "apex"),
        "fps": _rate(fields.get("fps", "")),
    }
    example = fields.get("example", "")
    if example and files:
        raise Refused("there is both an example and a file", fix="send one of them")
    if example:
        if example not in examples:
            raise Refused(f"there is no example {example[:40]!r}", fix=f"use one of: {', '.join(examples)}")
        return {"what": "predict", "example": example, "name": f"example: {example}", **options}
    if not files:
        raise Refused("there is nothing to look at", fix=f"send {KINDS} as files, or the name of an example")
    kinds = sorted(each.kind.what for each in files)
    if kinds == ["picture"]:
        raise Refused("one picture does not move", fix="send two pictures, onset and apex, or a video")
    if kinds not in (["video"], ["picture", "picture"]):
        raise Refused("these files do not go together", fix="send one video, or two pictures: onset, then apex")
    return {
        "what": "predict",
        "files": [str(each.path) for each in files],
        "folder": str(upload.folder),
        "names": {str(each.path): each.name for each in files},
        "name": " ".join(each.name for each in files),
        **options,
    }


def live_task(upload: Upload) -> dict[str, Any]:
    """The frames of a camera and their rate."""
    frames = upload.files
    if any(each.kind.what != "picture" for each in frames):
        raise Refused("live frames are pictures", fix="send them as JPEG")
    if len(frames) < FEWEST_LIVE:
        raise Refused(f"there are {len(frames)} frames", fix=f"send at least {FEWEST_LIVE}")
    try:
        times = [float(each) for each in upload.fields.get("times", "").split(",")]
    except ValueError:
        times = []
    rising = all(math.isfinite(each) for each in times) and all(a < b for a, b in pairwise(times))
    if len(times) != len(frames) or not rising:
        raise Refused(
            "the times do not fit the frames",
            fix="send times=0,33,67,...: one rising number of milliseconds for each frame",
        )
    fps = 1000 * (len(times) - 1) / (times[-1] - times[0])
    if not 1 <= fps <= 2000:
        raise Refused(f"{fps:.3g} frames a second is no frame rate", fix="send times in milliseconds")
    return {
        "what": "live",
        "files": [str(each.path) for each in frames],
        "folder": str(upload.folder),
        "names": {str(each.path): f"frame {number}" for number, each in enumerate(frames)},
        "fps": fps,
    }


def _frame(fields: dict[str, str], name: str) -> int | None:
    text = fields.get(name, "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 9):
        raise Refused(f"{name} cannot be {text[:40]!r}", fix="give the number of a frame, such as 12", status=UNUSABLE)
    return int(text)


def _rate(text: str) -> float | None:
    if not text:
        return None
    try:
        rate = float(text)
    except ValueError:
        rate = math.nan
    if not 1 <= rate <= 100_000:
        raise Refused(f"fps cannot be {text[:40]!r}", fix="give the frames a second of the camera, such as 200")
    return rate
