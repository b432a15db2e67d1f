"""An answer -> what the page shows: values for JSON, and pictures."""

import io
from itertools import pairwise
from typing import Any

import numpy as np

from epir.recognition.answer import Answer
from epir.reports.pictures import jpeg
from epir.reports.why import (
    DOTS_PER_INCH,
    draw_attention,
    draw_flow,
    draw_timeline,
    draw_tokens,
    draw_why,
    seconds_of,
)
from epir.spotting.timeline import Movement, Timeline

MOST_POINTS = 1500  # of the curve; more are not seen on a screen


def show(answer: Answer, frames: int, address: str, *, movements: int) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The result and its pictures; `movements` of a video get pictures, the strongest."""
    pictures: dict[str, bytes] = {}
    if answer.found:
        pictures["why.png"] = _png(draw_why(answer))
    if answer.timeline is not None:
        pictures["timeline.png"] = _png(draw_timeline(answer))
    whole = list(pictures)
    drawn = _strongest(answer, movements)
    told = []
    for number, each in enumerate(answer.all):
        own = _pictures(each, number) if number in drawn else {}
        pictures |= own
        told.append({**each.to_dict(), "pictures": {name.split("-")[0]: address + name for name in own}})
    fps = answer.fps
    return {
        **answer.to_dict(),
        "movements": told,
        "pictures": {name.split(".")[0]: address + name for name in whole},
        "frames": frames,
        "seconds": round(frames / fps, 4) if fps else None,
        "curve": curve_of(answer),
    }, pictures


def curve_of(answer: Answer) -> dict[str, Any]:
    """The motion over time for drawing: times in seconds, motion in per cent of the face's width."""
    timeline = answer.timeline
    if timeline is None:
        return {"time": [], "energy": [], "level": None, "events": [], "others": []}
    places = _thinned(timeline.face)
    times = seconds_of(timeline.numbers[places], timeline)
    labels = {each.onset: each.label for each in answer.all}
    return {
        "time": [round(float(each), 4) for each in times],
        "energy": [round(100 * float(each), 4) for each in timeline.face[places]],
        "level": round(100 * timeline.level, 4),
        "events": [_event(each, timeline, labels.get(each.onset, "movement")) for each in timeline.movements],
        "others": [_event(each, timeline, each.kind) for each in timeline.others],
    }


def _event(movement: Movement, timeline: Timeline, label: str) -> dict[str, Any]:
    numbers = (movement.onset, movement.apex, movement.offset)
    times = (round(float(each), 4) for each in seconds_of(np.array(numbers), timeline))
    return {**dict(zip(("onset", "apex", "offset"), times, strict=True)), "frames": list(numbers), "label": label}


def _thinned(values: np.ndarray) -> np.ndarray:
    """The places of at most `MOST_POINTS` values, the largest of each stretch: a peak is never lost."""
    edges = np.linspace(0, len(values), min(len(values), MOST_POINTS) + 1).astype(int)
    return np.array([low + int(values[low:high].argmax()) for low, high in pairwise(edges)], int)


def _strongest(answer: Answer, most: int) -> set[int]:
    """The places of the movements that get pictures."""
    if len(answer.all) <= most or answer.timeline is None:
        return set(range(min(len(answer.all), most)))
    strength = {each.onset: each.strength for each in answer.timeline.movements}
    order = sorted(range(len(answer.all)), key=lambda place: -strength.get(answer.all[place].onset or 0, 0.0))
    return set(order[:most])


def _pictures(answer: Answer, number: int) -> dict[str, bytes]:
    pixels = answer.evidence
    assert pixels is not None, "an answer with scores has pixels"
    made = {
        f"onset-{number}.jpg": jpeg(pixels.onset, quality=90),
        f"apex-{number}.jpg": jpeg(pixels.apex, quality=90),
        f"flow-{number}.png": _png(draw_flow(pixels.onset, pixels.flow)),
    }
    if answer.tokens is not None:
        made[f"tokens-{number}.png"] = _png(draw_tokens(pixels.onset, answer.tokens))
        made[f"rollout-{number}.png"] = _png(draw_attention(pixels.onset, answer.tokens))
    return made


def _png(figure: Any) -> bytes:
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=DOTS_PER_INCH, pil_kwargs={"compress_level": 4})
    return out.getvalue()
