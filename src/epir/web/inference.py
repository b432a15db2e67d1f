"""The tasks of the worker process: answers for uploads and live frames, as JSON and pictures, and example videos."""

import io
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from epir.core.errors import FaceNotFound
from epir.core.progress import Progress
from epir.faces.tracking import NO_FACE, TOO_SMALL
from epir.flow.colour import flow_peak
from epir.flow.head_motion import without_head_motion
from epir.frames.reader import ASSUMED_RATE
from epir.frames.video import VideoFrames
from epir.recognition.answer import Answer
from epir.recognition.events import events_table
from epir.recognition.real_people import NOTES as REAL_PEOPLE
from epir.recognition.real_people import quotable
from epir.recognition.recognizer import Recognizer
from epir.reports.pictures import jpeg
from epir.reports.why import (
    DOTS_PER_INCH,
    draw_attention,
    draw_attribution,
    draw_flow,
    draw_timeline,
    draw_tokens,
    draw_why,
)
from epir.spotting.settings import LONGEST
from epir.spotting.timeline import Movement
from epir.web.cost import READING, CostLimit, check_pictures, open_clip
from epir.web.examples import example_video
from epir.web.films import Album, make_films
from epir.web.stream import infer_live

MAX_POINTS = 1500  # of the curve, about one per pixel of a screen

Output = tuple[dict[str, Any], dict[str, bytes]]  # the result, and its pictures by name


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
    options |= {"faces": task.get("faces", "largest"), "name": task["name"]}
    answer = recognizer.predict(clip, **options, progress=limited, watch=album.add)
    _require_face(answer)
    limited.start("drawing", 1)
    url = f"/api/results/{id}/"
    result, pictures = answer_output(answer, url, movements=config["movements"], labels=recognizer.labels)
    shown = [number for number, each in enumerate(result["movements"]) if each["pictures"]]
    rejected = strongest([each["strength"] for each in result["rejected"]], config["rejected"])
    films, files = make_films(
        album, answer, recognizer.recipe, url, movements=shown, rejected=rejected, progress=limited
    )
    for kind, found in (("movements", films.movements), ("rejected", films.rejected)):
        for number, each in enumerate(result[kind]):
            each["replay"] = found.get(number)
    result["film"] = films.clip
    result["model"] = str(recognizer.backend.config.settings.get("name", "epir"))
    result["judged_on"] = calibrated_on(recognizer.backend.config.notes)
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


TASKS: dict[str, Callable[..., Output]] = {"predict": infer_clip, "live": infer_live, "example": render_example}


def calibrated_on(notes: Mapping[str, Any]) -> str:
    """Whose scores the model was calibrated on: `people`, or `synthetic faces` only."""
    corpora = notes.get("data", {}).get("corpora", {})
    return "synthetic faces" if set(corpora) == {"synthetic"} and REAL_PEOPLE not in notes else "people"


def answer_output(answer: Answer, url: str, *, movements: int, labels: Sequence[str] = ()) -> Output:
    """The answer as `epir predict --json` gives it, and pictures.

    At most `movements` of a video get pictures, the strongest.
    """
    pictures: dict[str, bytes] = {}
    if answer.found:
        pictures["why.png"] = _png(draw_why(answer))
    if answer.timeline is not None:
        pictures["timeline.png"] = _png(draw_timeline(answer))
    of_clip = list(pictures)
    drawn = _strongest(answer, movements)
    listed = []
    for number, each in enumerate(answer.all):
        own = _movement_pictures(each, number) if number in drawn else {}
        pictures |= own
        addresses = {name.split("-")[0]: url + name for name in own}
        listed.append({**each.to_dict(), "pictures": addresses, "scales": _scales(each) if own else {}})
    pictures["events.csv"] = events_table(answer, labels).to_csv(index=False).encode()
    frames, fps = answer.frame_count, answer.fps
    whole = answer.to_dict_of_all()
    for each, other in zip(whole["rejected"], answer.timeline.others if answer.timeline else (), strict=True):
        each["probability"] = round(other.probability, 4)
    return {
        **whole,
        "movements": listed,
        "pictures": {name.split(".")[0]: url + name for name in of_clip},
        "table": f"{url}events.csv",
        "seconds": round(frames / fps, 4) if fps and frames else None,
        "curve": motion_curve(answer),
    }, pictures


def motion_curve(answer: Answer) -> dict[str, Any]:
    """The motion over time: times in seconds, motion in per cent of the face's width."""
    timeline = answer.timeline
    if timeline is None:
        return {"time": [], "frames": [], "energy": [], "level": None, "events": [], "others": []}
    places = _thinned(timeline.face)
    times = timeline.numbers / timeline.fps if timeline.stamps is None else timeline.stamps
    labels = {each.onset: each.label for each in answer.all}
    return {
        "time": [round(float(each), 4) for each in times[places]],
        "frames": timeline.numbers[places].tolist(),
        "energy": [round(100 * float(each), 4) for each in timeline.face[places]],
        "level": round(100 * timeline.level, 4),
        "events": [_event(each, labels.get(each.onset, "movement")) for each in timeline.movements],
        "others": [_event(each, each.kind) for each in timeline.others],
    }


def _event(movement: Movement, label: str) -> dict[str, Any]:
    numbers = (movement.onset, movement.apex, movement.offset)
    times = (round(each, 4) for each in movement.seconds)
    return {**dict(zip(("onset", "apex", "offset"), times, strict=True)), "frames": list(numbers), "label": label}


def _thinned(values: np.ndarray) -> np.ndarray:
    """The indices of at most `MAX_POINTS` values, the largest of each stretch, so that no peak is lost."""
    edges = np.linspace(0, len(values), min(len(values), MAX_POINTS) + 1).astype(int)
    return np.array([low + int(values[low:high].argmax()) for low, high in pairwise(edges)], int)


def _strongest(answer: Answer, count: int) -> set[int]:
    """The indices of the movements that get pictures: the strongest of those whose pixels were kept."""
    kept = [number for number, each in enumerate(answer.all) if each.evidence is not None]
    return {kept[place] for place in strongest([answer.all[number].strength or 0.0 for number in kept], count)}


def strongest(strengths: Sequence[float], count: int) -> list[int]:
    """The indices of the `count` largest values, rising."""
    return sorted(sorted(range(len(strengths)), key=lambda place: -strengths[place])[:count])


def _scales(answer: Answer) -> dict[str, float]:
    """What full colour stands for in each picture of a movement, in per cent."""
    assert answer.evidence is not None, "an answer with scores has evidence"
    flow = without_head_motion(answer.evidence.flow, "similarity")
    scales = {"flow": 100 * flow_peak(flow) / flow.shape[0]}  # of the face's width
    if answer.attribution is not None:
        scales["why"] = 100 * float(np.abs(answer.attribution.patches).max())  # of the score
    if answer.tokens is not None:
        weights = answer.tokens.attention
        scales["rollout"] = 100 * max(*weights, 4 / len(weights)) / sum(weights)  # of all attention
    return {name: round(value, 3) for name, value in scales.items()}


def _movement_pictures(answer: Answer, number: int) -> dict[str, bytes]:
    evidence = answer.evidence
    assert evidence is not None, "an answer with scores has evidence"
    pictures = {
        f"onset-{number}.jpg": jpeg(evidence.onset, quality=90),
        f"apex-{number}.jpg": jpeg(evidence.apex, quality=90),
        f"flow-{number}.png": _png(draw_flow(evidence.onset, evidence.flow)),
    }
    if answer.attribution is not None:
        pictures[f"why-{number}.png"] = _png(draw_attribution(evidence.onset, answer.attribution))
    if answer.tokens is not None:
        pictures[f"tokens-{number}.png"] = _png(draw_tokens(evidence.onset, answer.tokens))
        pictures[f"rollout-{number}.png"] = _png(draw_attention(evidence.onset, answer.tokens))
    return pictures


def _png(figure: Any) -> bytes:
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=DOTS_PER_INCH, pil_kwargs={"compress_level": 4})
    return out.getvalue()


def _require_face(answer: Answer) -> None:
    """Refuse an input without a face that could be used, in words for someone at a camera."""
    if answer.label in (NO_FACE, TOO_SMALL):
        details = [word for word in answer.warnings if word.startswith(TOO_SMALL)]
        raise FaceNotFound(
            details[0] if details else "no face was found",
            fix="film the face from the front, well lit, and so close that it is at least 100 px wide",
        )
