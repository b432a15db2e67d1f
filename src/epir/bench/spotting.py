"""How well spotting works: false alarms a minute of a video as it is, and known movements warped into it.

    epir bench --only spotting [VIDEO ...]

Without a video the face is a still, scikit-image's astronaut enlarged twice, at 30 and 100 frames a second. What is
found in a video as it is counts as false: give videos without micro-expressions. With `--set corpus=synthetic` the
inputs are folders of that corpus, whose annotation is compared with; clips whose `kind` is still, blinking or turning
count alarms. `--set sensitivity=high` measures at another sensitivity, `--set amplitudes=[0.01]` only movements of 1 %
of the face's width, `--set rates=[25,50]` the still at other rates.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from epir.bench.injection import Injection, compressed, inject, plan_injections, still_frames
from epir.bench.ratio import Ratio
from epir.core.config import override
from epir.core.errors import ConfigError, FaceNotFound, MissingExtra
from epir.core.progress import Progress, Silent
from epir.core.records import Clip
from epir.datasets.registry import load_corpus
from epir.faces.align import Crop, face_crop
from epir.faces.finder import find_face
from epir.frames.reader import Frame, open_frames
from epir.frames.threads import one_thread
from epir.recognition.recognizer import Recognizer
from epir.spotting.settings import Sensitivity, SpottingSettings
from epir.spotting.spotter import spot
from epir.spotting.timeline import Movement

OVERLAP = 0.5  # intersection over union of two intervals from which they are the same movement
AMPLITUDES = (0.005, 0.01, 0.02)  # of the face's width
STILL_RATES = (30.0, 100.0)
STILL_SECONDS = 30.0
IDLE = ("still", "blinking", "turning")

Source = Callable[[], Iterator[np.ndarray]]  # the frames of a video, anew each time


@dataclass(frozen=True)
class SpottingBench:
    """What `--set` may change."""

    corpus: str = ""  # the name of an annotated corpus, where the inputs are its folders
    sensitivity: Sensitivity = "normal"
    amplitudes: tuple[float, ...] = AMPLITUDES
    rates: tuple[float, ...] = STILL_RATES  # frames a second of the still

    def __post_init__(self) -> None:
        if not all(0 < each <= 0.1 for each in self.amplitudes):
            raise ConfigError(f"amplitudes cannot be {self.amplitudes}", fix="give shares of the face, such as [0.01]")
        if not all(10 <= each <= 500 for each in self.rates):
            raise ConfigError(f"rates cannot be {self.rates}", fix="give frames a second from 10 to 500, such as [30]")


@dataclass
class Tally:
    """Counts over many clips or videos."""

    truths: int = 0
    found: int = 0
    hits: int = 0
    right: int = 0  # hits whose class is right
    apex_errors: list[float] = field(default_factory=list)  # frames, of the hits
    apex_seconds: list[float] = field(default_factory=list)
    alarms: dict[str, int] = field(default_factory=lambda: dict.fromkeys(IDLE, 0))
    minutes: dict[str, float] = field(default_factory=lambda: dict.fromkeys(IDLE, 0.0))
    missed: list[str] = field(default_factory=list)

    @property
    def recall(self) -> float:
        """The share of the true movements that were found."""
        return self.hits / max(self.truths, 1)

    @property
    def precision(self) -> float:
        """The share of what was found that is true."""
        return self.hits / max(self.found, 1)

    @property
    def f1(self) -> float:
        """The harmonic mean of both."""
        return 2 * self.hits / max(self.found + self.truths, 1)

    def to_dict(self) -> dict[str, Any]:
        """The measures: recall and precision at IoU 0.5, apex error, false alarms a minute by kind of clip."""
        errors, seconds = np.array(self.apex_errors or [np.nan]), np.array(self.apex_seconds or [np.nan])
        return {
            "movements": self.truths,
            "recall": self.recall,
            "precision": self.precision,
            "f1": self.f1,
            "apex_error_frames": {"mean": float(errors.mean()), "median": float(np.median(errors))},
            "apex_error_ms": {"mean": 1000 * float(seconds.mean()), "median": 1000 * float(np.median(seconds))},
            "false_alarms": dict(self.alarms),
            "false_alarms_per_minute": {
                kind: self.alarms[kind] / minutes for kind, minutes in self.minutes.items() if minutes
            },
            "idle_minutes": {kind: round(minutes, 3) for kind, minutes in self.minutes.items()},
            "missed": self.missed,
        }


def measure(*, quick: bool = False, inputs: Sequence[str] = (), changes: Sequence[str] = ()) -> list[Ratio]:
    """False alarms a minute of the videos, then what is found of movements warped into them or into a still."""
    chosen = override(SpottingBench(), changes)
    settings = SpottingSettings(sensitivity=chosen.sensitivity)
    if chosen.corpus:
        return [line for root in inputs for line in corpus_lines(chosen.corpus, root, settings)]
    recognizer = Recognizer.from_pretrained()
    lines = []
    with one_thread():
        if not inputs:
            for fps in chosen.rates:
                count = round((STILL_SECONDS / 3 if quick else STILL_SECONDS) * fps)
                sources = [(still_source(count), count, fps, f"astronaut {copy}") for copy in range(1 if quick else 2)]
                lines += _injected(f"still, {fps:g} fps", sources, settings, recognizer, chosen.amplitudes)
            return lines
        sources = [video_source(Path(path)) for path in inputs]
        alarms = sum(len(_spot(source(), fps, settings)) for source, _, fps, _ in sources)
        minutes = sum(count / fps / 60 for _, count, fps, _ in sources)
        detail = f"{alarms} movements in {minutes:.2f} minutes of video as it is"
        lines.append(Ratio("alarms a minute", alarms / max(minutes, 1e-9), None, detail))
        return lines + _injected("videos", sources, settings, recognizer, chosen.amplitudes)


def corpus_lines(corpus: str, root: str, settings: SpottingSettings) -> list[Ratio]:
    """Recall, precision and false alarms a minute on the clips of an annotated corpus."""
    found = measure_corpus(load_corpus(corpus, root).clips, settings)
    apex, alarms = found["apex_error_frames"], found["false_alarms_per_minute"]
    return [
        Ratio(
            f"recall: {root}", found["recall"], None, f"of {found['movements']} movements; missed: {found['missed']}"
        ),
        Ratio(
            f"precision: {root}", found["precision"], None, f"apex error in frames: {apex}; alarms a minute: {alarms}"
        ),
    ]


def _injected(
    name: str,
    sources: Sequence[tuple[Source, int, float, str]],
    settings: SpottingSettings,
    recognizer: Recognizer,
    amplitudes: Sequence[float],
) -> list[Ratio]:
    """Recall, precision, F1, apex error and classes right for each amplitude."""
    lines = []
    for amplitude in amplitudes:
        tally = Tally()
        for source, count, fps, key in sources:
            plan = plan_injections(count, fps, amplitude, name=key)
            crops: list[Crop | None] = []
            frames = compressed(inject(source(), plan, _noted(crops)), fps)
            kept: list[np.ndarray] = []
            found = _spot(_kept(frames, kept), fps, settings)
            plan = [each for each, crop in zip(plan, crops, strict=False) if crop is not None]  # others never showed
            compare_injections(plan, found, fps, tally, lambda each, kept=kept: _class(recognizer, kept, each))  # type: ignore[misc]
        label = f"{name}, {100 * amplitude:g} %"
        apex = 1000 * float(np.median(tally.apex_seconds)) if tally.apex_seconds else float("nan")
        detail = (
            f"recall {tally.recall:.2f}, precision {tally.precision:.2f} of {tally.truths} movements; "
            f"apex error {apex:.0f} ms (median); {tally.right} of {tally.hits} classes right"
        )
        lines.append(Ratio(f"F1: {label}", tally.f1, None, detail))
    return lines


def _spot(frames: Iterable[np.ndarray], fps: float, settings: SpottingSettings) -> tuple[Movement, ...]:
    try:
        numbered = (Frame(number, number / fps, frame) for number, frame in enumerate(frames))
        return spot(numbered, fps=fps, settings=settings).movements
    except FaceNotFound:
        return ()


def _kept(frames: Iterable[np.ndarray], kept: list[np.ndarray]) -> Iterator[np.ndarray]:
    """The frames, and each of them as a png for the recognizer."""
    for frame in frames:
        kept.append(cv2.imencode(".png", frame, [cv2.IMWRITE_PNG_COMPRESSION, 1])[1])
        yield frame


def _class(recognizer: Recognizer, kept: list[np.ndarray], movement: Movement) -> str | None:
    pair = [cv2.imdecode(kept[number], cv2.IMREAD_COLOR) for number in (movement.onset, movement.apex)]
    return recognizer.predict((pair[0], pair[1])).best


def compare_injections(
    plan: Sequence[Injection],
    found: Sequence[Movement],
    fps: float,
    tally: Tally,
    classify: Callable[[Movement], str | None] | None = None,
) -> None:
    """Add one video with known movements to the tally; each movement found counts for one at most."""
    left = list(found)
    tally.found += len(found)
    for each in plan:
        truth = (each.course.onset, each.course.offset)
        tally.truths += 1
        best = max(left, key=lambda movement: overlap(truth, (movement.onset, movement.offset)), default=None)
        if best is None or overlap(truth, (best.onset, best.offset)) < OVERLAP:
            continue
        left.remove(best)
        tally.hits += 1
        tally.apex_errors.append(abs(best.apex - each.course.apex))
        tally.apex_seconds.append(abs(best.apex - each.course.apex) / fps)
        tally.right += classify is not None and classify(best) == each.emotion


def find_crop_or_none(frame: np.ndarray) -> Crop | None:
    """The crop of the face in a frame, if there is one."""
    face = find_face(frame)
    return face_crop(face) if face is not None else None


def _noted(crops: list[Crop | None]) -> Callable[[np.ndarray], Crop | None]:
    """Looks for the face, and writes down what it finds."""

    def find(frame: np.ndarray) -> Crop | None:
        crops.append(find_crop_or_none(frame))
        return crops[-1]

    return find


def video_source(path: Path) -> tuple[Source, int, float, str]:
    """The frames of a video or a folder, how many there are, the rate, and a name."""

    def frames() -> Iterator[np.ndarray]:
        with open_frames(path) as opened:
            for frame in opened:
                yield frame.pixels

    with open_frames(path) as opened:
        announced, stamps = opened.fps or 25.0, [frame.seconds for frame in opened]
    length = stamps[-1] - stamps[0] if stamps else 0.0  # a rate that varies is announced as its highest
    return frames, len(stamps), (len(stamps) - 1) / length if length > 0 else announced, path.name


def still_source(count: int) -> Source:
    """The astronaut's head as a camera would film it if it kept still."""
    try:
        from skimage.data import astronaut
    except ImportError:
        raise MissingExtra.named("scikit-image", "dev") from None
    head = cv2.resize(astronaut()[10:230, 110:330], None, fx=2, fy=2, interpolation=cv2.INTER_CUBIC)
    return lambda: still_frames(head, count)


def measure_corpus(
    clips: Sequence[Clip], settings: SpottingSettings | None = None, progress: Progress | None = None
) -> dict[str, Any]:
    """Spot every clip of a corpus and compare with its annotation."""
    settings, progress, tally = settings or SpottingSettings(), progress or Silent(), Tally()
    progress.start("spotting", len(clips))
    for clip in clips:
        assert clip.frames is not None, "load_corpus finds the frames"
        with open_frames(clip.frames) as frames, one_thread():
            fps = clip.fps or frames.fps or 100.0
            found = spot(frames, fps=fps, settings=settings).movements
            length = len(frames) / fps
        compare(clip, found, length, fps, tally)
        progress.advance(note=clip.key)
    progress.finish()
    return tally.to_dict()


def compare(clip: Clip, found: Sequence[Movement], seconds: float, fps: float, tally: Tally) -> None:
    """Add one annotated clip to the tally."""
    tally.found += len(found)
    kind = clip.extra.get("kind", "")
    if kind in IDLE:
        tally.minutes[kind] += seconds / 60
        tally.alarms[kind] += len(found)
        return
    assert clip.onset is not None and clip.offset is not None, "load_corpus fills them in"
    truth = (clip.onset, clip.offset)
    tally.truths += 1
    best = max(found, key=lambda each: overlap(truth, (each.onset, each.offset)), default=None)
    if best is None or overlap(truth, (best.onset, best.offset)) < OVERLAP:
        tally.missed.append(clip.key)
        return
    tally.hits += 1
    if clip.apex is not None:
        tally.apex_errors.append(abs(best.apex - clip.apex))
        tally.apex_seconds.append(abs(best.apex - clip.apex) / fps)


def overlap(one: tuple[int, int], other: tuple[int, int]) -> float:
    """Intersection over union of two intervals of frames, both ends included.

    >>> overlap((1, 10), (6, 15))
    0.3333333333333333
    """
    shared = min(one[1], other[1]) - max(one[0], other[0]) + 1
    union = max(one[1], other[1]) - min(one[0], other[0]) + 1
    return max(shared, 0) / union
