"""What the page lists and draws: candidates in short, curves thinned to the pixels of a screen, how long it takes.

Axes: n frames that show a face, P points, G groups of regions
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import numpy as np

from epir.annotation.records import STATES, Action, Decision, Movement, Recording
from epir.frames.seeking import SeekableVideo
from epir.spotting.regions import GROUPS

PAUSE = 120.0  # seconds after which a coder was doing something else
RECENT = 60  # decisions from which the pace is taken
STEADY = 0.002  # seconds by which frames may lie beside an even rate


def movement_row(movement: Movement, held: Decision | None, rank: float | None) -> dict[str, Any]:
    """A movement in the list; key frames are those of the coder, where there are some. A mark has no rank."""
    place = movement if held is None else held
    return {
        "id": movement.id,
        "recording": movement.recording,
        "face": movement.face,
        "frames": [place.onset, place.apex, place.offset],
        "probability": rank,
        "rule": movement.rule,
        "region": movement.region,
        "side": movement.side,
        "strength": movement.strength,
        "source": movement.source,
        "state": "" if held is None else held.state,
        "emotion": "" if held is None else held.emotion,
    }


def curve_points(curves: dict[str, np.ndarray], first: int, last: int, points: int) -> dict[str, Any]:
    """The curves from one frame to another with at most so many points; a point is the largest value of its frames.

    A gap without a face has no value. Motion is in per cent of the face's width.
    """
    empty: dict[str, Any] = {"frames": [], "motion": {name: [] for name in GROUPS}, "head": []}
    if not curves or last < first:
        return empty
    order = np.argsort(curves["numbers"], kind="stable")
    numbers = curves["numbers"][order]
    inside = (numbers >= first) & (numbers <= last)
    numbers = numbers[inside]
    values = np.concatenate([curves["motion"], curves["head"][:, None]], axis=1)[order][inside]  # (n, G + 1)
    width = max(1, -(-(last - first + 1) // points))  # frames of a point
    bins = (numbers - first) // width
    count = (last - first) // width + 1
    highest = np.full((count, values.shape[1]), -np.inf)
    np.maximum.at(highest, bins, values)  # (P, G + 1)
    columns = [[round(100 * float(each), 3) if np.isfinite(each) else None for each in column] for column in highest.T]
    frames = [first + place * width + (width - 1) // 2 for place in range(count)]
    return {"frames": frames, "motion": dict(zip(GROUPS, columns[:-1], strict=True)), "head": columns[-1]}


def frame_seconds(video: SeekableVideo, recording: Recording) -> dict[str, Any]:
    """The times of a recording's frames: of an even rate its rate alone, otherwise every one."""
    seconds = video.seconds()
    if seconds is None or len(seconds) < 2:
        return {"fps": recording.fps, "seconds": None}
    rate = (len(seconds) - 1) / max(float(seconds[-1] - seconds[0]), 1e-9)
    if float(np.abs(seconds - seconds[0] - np.arange(len(seconds)) / rate).max()) < STEADY + 0.3 / rate:
        return {"fps": rate, "seconds": None}
    return {"fps": rate, "seconds": [round(float(each), 4) for each in seconds]}


def pace_of(history: Sequence[Action]) -> float | None:
    """The usual seconds from one reviewed movement to the next, without pauses; None before there are a few."""
    seen: set[int] = set()
    times = []
    for action in history:
        if action.decision is not None and action.decision.state in STATES and action.movement not in seen:
            seen.add(action.movement)
            times.append(datetime.fromisoformat(action.at).timestamp())
    steps = [step for step in np.diff(times[-RECENT:]).tolist() if 0 < step < PAUSE]
    return round(float(np.mean(steps)), 2) if len(steps) >= 3 else None
