"""Long synthetic videos for spotting: people who blink, look around and speak, with micro- and macro-expressions.

    OUT/intervals.csv    every micro- and macro-expression, as `epir spot synthetic OUT` reads it
    OUT/behaviour.csv    when people speak and blink
    OUT/corpus.toml      every setting needed to make the same videos again
    OUT/001/001_1.mp4    the first video of the first person (H.264); frames are counted from 1

Expressions and speech alternate with rests; blinks and glances occur at any time. A video depends only on the seed and
its name, so any number of workers writes the same bytes.

Axes: n frames
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from epir.core.config import write_toml
from epir.core.engines import Engine, Progress, Silent, one_thread
from epir.core.errors import ConfigError
from epir.core.files import csv_text
from epir.core.output import CORPUS as CORPUS_FOLDER
from epir.core.output import new_folder
from epir.core.seeds import generator, stream_seed
from epir.datasets.intervals import NAME, Interval, LongVideo, in_order, write_intervals
from epir.frames.film import write_film
from epir.synthetic.behaviour import STEEPEST, BehavingFace, Scene, plan_scene, pulse, talk
from epir.synthetic.clip import FIRST, INTENSITY, check_frame_rate, draw_course
from epir.synthetic.corpus import LARGEST, SMALLEST, portrait_of
from epir.synthetic.expressions import draw_expression, emotions
from epir.synthetic.identity import Geometry, draw_identity
from epir.synthetic.movement import draw_movement

CORPUS = "synthetic"
BEHAVIOUR = "behaviour.csv"
MACRO_INTENSITY = (0.5, 1.5)  # largest displacement, face units
MACRO_SECONDS = (0.6, 3.6)  # from onset to offset
SPEECH_SECONDS = (1.5, 4.0)
REST_SECONDS = (0.9, 2.4)  # between two events
SHARES = {"micro": 0.5, "macro": 0.3, "speech": 0.2}  # of the events
SHUT = 0.05  # minimum closure of the lids in a blink
NOISE = 1.0  # grey levels of camera noise
MOST_VIDEOS = 100_000


@dataclass(frozen=True)
class LongSettings:
    """The people, videos and frames of a corpus of long videos."""

    people: int = 4
    videos: int = 1  # per person
    seconds: float = 30.0  # of a video
    classes: int = 3
    size: int = 240  # px: width and height of a frame; the face takes 0.42 of it
    fps: float = 30.0
    seed: int = 0

    def __post_init__(self) -> None:
        for name, count in (("people", self.people), ("videos", self.videos)):
            if count < 1:
                raise ConfigError(f"--{name} must be at least 1, not {count}", fix=f"give --{name} 1 or more")
        if self.people * self.videos > MOST_VIDEOS:
            raise ConfigError(
                f"{self.people} people with {self.videos} videos each are too many",
                fix=f"ask for {MOST_VIDEOS} videos or fewer, for example --people 4",
            )
        if not 5 <= self.seconds <= 3600:
            raise ConfigError(f"a video cannot last {self.seconds:g} seconds", fix="give --seconds from 5 to 3600")
        emotions(self.classes)
        if not SMALLEST <= self.size <= LARGEST or self.size % 2:
            raise ConfigError(
                f"a frame cannot be {self.size} px wide",
                fix=f"give --size, an even number from {SMALLEST} to {LARGEST}; 240 is usual",
            )
        check_frame_rate(self.fps)


@dataclass(frozen=True)
class WrittenVideos:
    """Written videos and their counts."""

    folder: Path
    people: int
    videos: int
    frames: int
    intervals: tuple[Interval, ...]


@dataclass(frozen=True)
class LongPlan:
    """A video before it is drawn: scene, annotation, and spans (first and last frame) of speech and blinks."""

    subject: str
    name: str
    scene: Scene
    intervals: tuple[Interval, ...]
    speech: tuple[tuple[int, int], ...]
    blinks: tuple[tuple[int, int], ...]


def write_long_videos(
    out: str | Path,
    settings: LongSettings | None = None,
    *,
    workers: int = 1,
    force: bool = False,
    progress: Progress | None = None,
) -> WrittenVideos:
    """Write long videos and their annotation to the folder `out` atomically."""
    settings, progress, out = settings or LongSettings(), progress or Silent(), Path(out)
    with new_folder(out, CORPUS_FOLDER, force=force) as folder:
        names = tuple(video_names(settings))
        plans = [plan_video(settings, *each) for each in names]
        progress.start("drawing videos", len(names))
        for _, name in Engine(workers=workers).run(draw_video, names, settings, folder, in_order=True):
            progress.advance(note=name)
        progress.finish()
        videos = [_long_video(plan, settings, folder) for plan in plans]
        write_intervals(folder / NAME, videos)
        _write_behaviour(folder / BEHAVIOUR, plans)
        write_toml(settings, folder / "corpus.toml")
    intervals = tuple(each for video in videos for each in video.intervals)
    return WrittenVideos(out, settings.people, len(plans), sum(len(plan.scene.seconds) for plan in plans), intervals)


def video_names(settings: LongSettings) -> Iterator[tuple[str, str]]:
    """Subject and name of every video."""
    for person in range(1, settings.people + 1):
        for number in range(1, settings.videos + 1):
            yield f"{person:03d}", f"{person:03d}_{number}"


def plan_video(settings: LongSettings, subject: str, name: str) -> LongPlan:
    """Plan the video `name` of a person; it depends only on the seed and the names."""
    random = generator(settings.seed, "long video", subject, name)
    geometry = draw_identity(settings.seed, subject).geometry
    seed = stream_seed(settings.seed, "long scene", subject, name)
    scene = plan_scene(["blink", "look"], settings.seconds, settings.fps, geometry, seed)
    blinks = spans_above(scene.head["closure"], SHUT)
    intervals: list[Interval] = []
    speech: list[tuple[int, int]] = []
    kinds, shares = list(SHARES), list(SHARES.values())
    words, emotion = emotions(settings.classes), int(random.integers(settings.classes))
    at = float(random.uniform(*REST_SECONDS))
    while True:
        kind = kinds[int(random.choice(len(kinds), p=shares))]
        start = round(at * scene.fps)
        if kind == "speech":
            last = start + round(float(random.uniform(*SPEECH_SECONDS)) * scene.fps)
        elif kind == "micro":
            course = draw_course(scene.fps, start, random)
            apex, last = course.apex, course.offset
            values = np.array([course.intensity(place) for place in range(len(scene.seconds))])
        else:
            values, apex, last = _macro_course(scene, start, random)
        if last >= len(scene.seconds) - scene.fps * REST_SECONDS[0]:
            break
        if kind == "speech":
            speech.append((start, last))
        else:
            emotion = (emotion + 1) % len(words)
            _show(scene, geometry, settings.classes, words[emotion], values, kind, random)
            key_frames = (FIRST + start, FIRST + apex, FIRST + last)
            intervals.append(Interval(name, subject, kind, *key_frames, words[emotion]))  # type: ignore[arg-type]
        at = last / scene.fps + float(random.uniform(*REST_SECONDS))
    _speak(scene, geometry, speech, random)
    return LongPlan(subject, name, scene, in_order(intervals), tuple(speech), tuple(blinks))


def draw_video(names: tuple[str, str], settings: LongSettings, folder: Path) -> tuple[str, str]:
    """Draw one video into the corpus folder."""
    subject, name = names
    plan = plan_video(settings, subject, name)
    with one_thread():
        portrait = portrait_of(settings.seed, subject, settings.size)
        face = BehavingFace(portrait, draw_identity(settings.seed, subject).geometry, plan.scene)
        frames = (
            face.frame(place, NOISE, generator(settings.seed, "long camera", name, place))
            for place in range(len(plan.scene.seconds))
        )
        (folder / subject).mkdir(exist_ok=True)
        write_film(_path(folder, subject, name), frames, settings.fps)
    return names


def spans_above(values: np.ndarray, least: float) -> list[tuple[int, int]]:
    """First and last index of every run of values (n,) above `least`.

    >>> spans_above(np.array([0, 1, 1, 0, 1]), 0.5)
    [(1, 2), (4, 4)]
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[False], values > least, [False]]).astype(int)))
    return [(int(first), int(last) - 1) for first, last in edges.reshape(-1, 2)]


def _macro_course(scene: Scene, start: int, random: np.random.Generator) -> tuple[np.ndarray, int, int]:
    """Rise, hold and fall of a macro-expression: values (n,), and the indices of apex and offset."""
    frames = round(float(random.uniform(*MACRO_SECONDS)) * scene.fps)
    rise, fall = (max(2, round(share * frames)) for share in random.uniform((0.2, 0.3), (0.4, 0.5)))
    places = np.arange(len(scene.seconds)).astype(float)
    return pulse(places, start, rise, frames - rise - fall, fall), start + rise, start + frames


def _show(
    scene: Scene,
    geometry: Geometry,
    classes: int,
    emotion: str,
    values: np.ndarray,
    kind: str,
    random: np.random.Generator,
) -> None:
    """Add an expression whose intensity follows values (n,), 0 to 1."""
    movement = draw_movement(draw_expression(classes, emotion, random).active_units, geometry, random)
    intensity = float(np.exp(random.uniform(*np.log(INTENSITY if kind == "micro" else MACRO_INTENSITY))))
    scene.movements.append(movement)
    scene.amounts.append(min(intensity, STEEPEST / movement.steepness()) * values)


def _speak(scene: Scene, geometry: Geometry, spans: Sequence[tuple[int, int]], random: np.random.Generator) -> None:
    """Add speech within these spans only."""
    speech = Scene(scene.fps, scene.seconds)
    talk(speech, geometry, random)
    edge = 0.1  # seconds
    inside = np.zeros_like(scene.seconds)
    for first, last in spans:
        length = (last - first) / scene.fps
        inside = np.maximum(inside, pulse(scene.seconds, scene.seconds[first], edge, length - 2 * edge, edge))
    scene.movements += speech.movements
    scene.amounts += [amounts * inside for amounts in speech.amounts]
    for name, path in speech.head.items():
        scene.move(name, path * inside)


def _path(folder: Path, subject: str, name: str) -> Path:
    return folder / subject / f"{name}.mp4"


def _long_video(plan: LongPlan, settings: LongSettings, folder: Path) -> LongVideo:
    path, frames = _path(folder, plan.subject, plan.name), len(plan.scene.seconds)
    return LongVideo(CORPUS, plan.subject, plan.name, path, settings.fps, frames, plan.intervals, first=FIRST)


def _write_behaviour(path: Path, plans: Sequence[LongPlan]) -> None:
    rows = [
        (plan.subject, plan.name, what, FIRST + first, FIRST + last)
        for plan in plans
        for what, spans in (("speech", plan.speech), ("blink", plan.blinks))
        for first, last in spans
    ]
    path.write_text(csv_text(("subject", "video", "behaviour", "first", "last"), rows), encoding="utf-8")
