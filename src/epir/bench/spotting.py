"""How well spotting works: false alarms per minute in a video, and recall of known movements warped into it.

    epir bench --only spotting [VIDEO ...]

The pipeline is that of `epir predict`. Every movement found in an unchanged video counts as a false alarm, so give
videos without micro-expressions. Pictures become stills at 30 and 100 frames a second; without inputs, the still is
scikit-image's astronaut. Settings:

    --set sensitivity=high       another sensitivity
    --set amplitudes=[0.01]      only movements of 1 % of the face's width
    --set repeats=2              each video twice, with other movements at other times
    --set every=15               one movement per 15 seconds on average, as in a review of candidates
    --set rates=[25,50]          stills at other frame rates
    --set quality=40             stronger compression
    --set scenes=12              twelve synthetic people, who rest, talk, chew, blink, nod and so on, at each of the
                                 rates, instead of stills or in addition to videos
    --set train=work/scenes      train the false-alarm classifier (`epir.spotting.false_alarm_training`) on scenes that
                                 are kept in this folder
    --set table=visibility.csv   write recall by size and condition for `epir.spotting.visibility`; adds stills at 15
                                 frames a second, of small faces and under strong compression

Classes are scored for movements with unambiguous units, which mean one class, and for all movements.

Candidates are ranked by the probability of the false-alarm classifier, reported ones first. Recall counts the first few
per minute of each video, at least one, so it has a ceiling if more movements are shown.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import cv2
import numpy as np

from epir.bench.injection import (
    EVERY,
    MIXED,
    Injection,
    KnownMovement,
    inject,
    known_movements,
    plan_injections,
    ranked_lines,
    size_lines,
    still_frames,
    visibility_table,
)
from epir.bench.suite import Ratio
from epir.core.config import override
from epir.core.engines import one_thread
from epir.core.errors import ConfigError, MissingExtra
from epir.core.files import PICTURE_ENDINGS, write_text
from epir.core.words import counted
from epir.faces.align import Crop, face_crop
from epir.faces.finder import find_face
from epir.faces.tracking import TrackedFace
from epir.frames.film import compressed
from epir.frames.picture import read_picture
from epir.frames.reader import Frame, open_frames
from epir.recognition.recognizer import Recognizer
from epir.spotting.decision import Sensitivity, SpottingSettings
from epir.spotting.false_alarm_training import MICRO, SCENES, SECONDS, SIZE, scene_of, train
from epir.spotting.spotter import Spotter
from epir.spotting.timeline import OVERLAP, FaceMovement, Timeline, overlap
from epir.synthetic.clip import Course

AMPLITUDES = (0.005, 0.01, 0.02, 0.03)  # shares of the face's width
SLOW_STILL, SMALL_STILL, COARSE_STILL = 15.0, 60.0, 40  # frames a second, px of the face, crf of the hard stills
STILL_RATES = (30.0, 100.0)
STILL_SECONDS = 30.0
FIRST_SCENE = 10_000  # the classifier is trained on the first few hundred; scenes with even numbers have one behaviour
QUICK_SCENES = 10

Source = Callable[[], Iterator[np.ndarray]]  # opens a video and yields its frames


@dataclass(frozen=True)
class SourceVideo:
    """A video, or a still as a video."""

    name: str
    frames: Source
    count: int
    fps: float
    quality: int = 0  # x264's rate factor; 0 for that of `SpottingBench`

    def planned(self, amplitude: float, seed: int, every: float = 0.0) -> list[Injection]:
        """The movements to warp into it."""
        return plan_injections(self.count, self.fps, amplitude, seed, self.name, every=every or EVERY)


@dataclass(frozen=True)
class SpottingBench:
    """The settings that `--set` changes."""

    sensitivity: Sensitivity = "normal"
    amplitudes: tuple[float, ...] = AMPLITUDES
    rates: tuple[float, ...] = STILL_RATES  # frames a second of stills
    repeats: int = 1  # per video, each with other movements
    every: float = 0.0  # seconds between movements, on average; 0: four in videos, two in scenes
    scenes: int = 0  # of synthetic people, at each of the rates
    train: str = ""  # a folder of scenes: train the false-alarm classifier instead
    quality: int = 23  # x264's rate factor
    table: str = ""  # the CSV of `epir.spotting.visibility` to write
    seconds: float = 0.0  # of each video or scene; 0: all

    def __post_init__(self) -> None:
        if not all(0 < each <= 0.1 for each in self.amplitudes):
            raise ConfigError(f"amplitudes cannot be {self.amplitudes}", fix="give shares of the face, such as [0.01]")
        if not all(10 <= each <= 500 for each in self.rates):
            raise ConfigError(f"rates cannot be {self.rates}", fix="give frames a second from 10 to 500, such as [30]")
        if not 1 <= self.repeats <= 100:
            raise ConfigError(f"repeats cannot be {self.repeats}", fix="give a number from 1 to 100")
        if self.every and not 2 <= self.every <= 600:
            raise ConfigError(f"every cannot be {self.every:g}", fix="give seconds from 2 to 600")
        if not 0 <= self.scenes <= 10_000:
            raise ConfigError(f"scenes cannot be {self.scenes}", fix="give a number from 1 to 10000")
        if not 1 <= self.quality <= 51:
            raise ConfigError(f"quality cannot be {self.quality}", fix="give x264's rate factor, from 1 to 51")


@dataclass
class ClassesRight:
    """Numbers of correct classes, for movements with unambiguous units and for all movements."""

    unambiguous: int = 0
    unambiguous_right: int = 0
    movements: int = 0
    right: int = 0

    def add(self, injection: Injection, answer: str | None) -> None:
        """Count one answer."""
        right = answer == injection.emotion
        self.unambiguous += injection.is_unambiguous
        self.unambiguous_right += injection.is_unambiguous and right
        self.movements += 1
        self.right += right

    def __str__(self) -> str:
        return (
            f"{self.unambiguous_right} of {self.unambiguous} with unambiguous units, {self.right} of {self.movements}"
        )


@dataclass
class Tally:
    """Counts over many videos."""

    truths: int = 0
    detections: int = 0
    hits: int = 0
    spotted: ClassesRight = field(default_factory=ClassesRight)  # of the hits
    apex_seconds: list[float] = field(default_factory=list)  # error of the apex, of the hits

    @property
    def recall(self) -> float:
        """The share of the true movements that were found."""
        return self.hits / max(self.truths, 1)

    @property
    def precision(self) -> float:
        """The share of the detections that are true."""
        return self.hits / max(self.detections, 1)

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return 2 * self.hits / max(self.detections + self.truths, 1)


def measure(*, quick: bool = False, inputs: Sequence[str] = (), changes: Sequence[str] = ()) -> list[Ratio]:
    """False alarms per minute of the videos, then the recall of movements warped into videos or stills."""
    chosen = override(SpottingBench(), changes)
    settings = SpottingSettings(sensitivity=chosen.sensitivity)
    if chosen.train:
        return training_lines(Path(chosen.train), QUICK_SCENES if quick else SCENES)
    with one_thread():
        scenes = [line for fps in chosen.rates for line in scene_lines(fps, chosen, settings)] if chosen.scenes else []
    if scenes and not inputs:
        return scenes
    recognizer = Recognizer.from_pretrained(sensitivity=chosen.sensitivity)
    repeats = 1 if quick else chosen.repeats
    stills = [path for path in inputs if Path(path).suffix.lower() in PICTURE_ENDINGS]
    videos = [path for path in inputs if path not in stills]
    seconds = STILL_SECONDS / 3 if quick else STILL_SECONDS
    lines: list[Ratio] = []
    known: list[KnownMovement] = []
    with one_thread():
        if videos:
            films = [film_of(Path(path), chosen.seconds) for path in videos]
            if not chosen.seconds:
                lines.append(alarm_line(recognizer, videos, films))
            lines += injected_lines("videos", films, recognizer, chosen, repeats, known)
            lines += size_lines(known)
        if stills or chosen.table or not videos:
            pictures = {Path(path).name: read_picture(Path(path)) for path in stills} or {"astronaut": astronaut()}
            for fps in chosen.rates:
                films = [still_film(name, picture, seconds, fps) for name, picture in pictures.items()]
                lines += injected_lines(f"stills, {fps:g} fps", films, recognizer, chosen, repeats, known)
        if chosen.table:
            films = [film for name, picture in pictures.items() for film in hard_stills(name, picture, seconds)]
            lines += injected_lines("slow, small and compressed stills", films, recognizer, chosen, repeats, known)
            write_text(Path(chosen.table), visibility_table(known, changes))
    return lines + scenes


def still_film(name: str, picture: np.ndarray, seconds: float, fps: float, quality: int = 0) -> SourceVideo:
    """A picture as a camera would film a still face."""
    count = round(seconds * fps)
    return SourceVideo(name, lambda: still_frames(picture, count), count, fps, quality)


def hard_stills(name: str, picture: np.ndarray, seconds: float) -> Iterator[SourceVideo]:
    """A picture filmed at a low rate, with a small face, and under strong compression."""
    yield still_film(f"{name}, {SLOW_STILL:g} fps", picture, seconds, SLOW_STILL)
    crop = find_crop_or_none(picture)
    if crop is not None:
        times = SMALL_STILL / crop.side
        small = cv2.resize(picture, None, fx=times, fy=times, interpolation=cv2.INTER_AREA)
        yield still_film(f"{name}, small", small, seconds, STILL_RATES[0])
    yield still_film(f"{name}, crf {COARSE_STILL}", picture, seconds, STILL_RATES[0], COARSE_STILL)


def training_lines(folder: Path, scenes: int) -> list[Ratio]:
    """Recall and precision of the newly trained classifier on held-out scenes, at a probability of 0.5."""
    result = train(folder, scenes)
    detail = f"{result['candidates']:.0f} candidates, {result['micro_expressions']:.0f} micro-expressions"
    names = ("recall", "precision", "mean_probability", "mean_truth")
    return [Ratio(name.replace("_", " "), result[name], None, detail) for name in names]


def alarm_line(recognizer: Recognizer, videos: Sequence[str], films: Sequence[SourceVideo]) -> Ratio:
    """The movements per minute that `epir predict` finds in unchanged videos."""
    alarms = sum(len(recognizer.predict(path, explain=False).all) for path in videos)
    minutes = sum(film.count / film.fps / 60 for film in films)
    detail = f"{counted(alarms, 'movement')} in {minutes:.2f} minutes of video as it is"
    return Ratio("alarms a minute", alarms / max(minutes, 1e-9), None, detail)


def scene_lines(fps: float, chosen: SpottingBench, settings: SpottingSettings) -> list[Ratio]:
    """The recall of micro-expressions of moving synthetic people that the classifier was not trained on."""
    tally, known = Tally(), list[KnownMovement]()
    micro, seconds = 1 / chosen.every if chosen.every else MICRO, chosen.seconds or SECONDS
    for number in range(FIRST_SCENE, FIRST_SCENE + 2 * chosen.scenes, 2):
        scene, faces = scene_of(number, fps, seconds=seconds, micro=micro)
        spotter = Spotter(settings, fps)
        crop = Crop(SIZE / 2, SIZE / 2, float(SIZE))
        for place, face in enumerate(faces):
            spotter.push(TrackedFace(place, place / fps, 0, 0, crop, face, np.zeros((5, 2))))
        spotter.close()
        timeline, courses = spotter.timeline(), [course for _, course in scene.shown]
        match_courses(courses, timeline.movements, fps, tally)
        known += known_movements(f"scene {number}", [(each, MIXED) for each in courses], [timeline], len(faces), fps)
    detail = f"recall {tally.recall:.2f}, precision {tally.precision:.2f} of {tally.truths} movements"
    name = f"moving synthetic people, {fps:g} fps"
    return [Ratio(f"F1: {name}", tally.f1, None, detail), *ranked_lines(name, known)]


def injected_lines(
    name: str,
    films: Sequence[SourceVideo],
    recognizer: Recognizer,
    chosen: SpottingBench,
    repeats: int,
    known: list[KnownMovement],
) -> list[Ratio]:
    """Recall, precision, F1, apex error and correct classes for each amplitude; adds the movements to `known`."""
    lines, before = [], len(known)
    for amplitude in chosen.amplitudes:
        tally = Tally()
        for film, seed in itertools.product(films, range(repeats)):
            plan, crops, quantisers = film.planned(amplitude, seed, chosen.every), list[Crop | None](), list[float]()
            moving = inject(film.frames(), plan, _recording(crops))
            frames = compressed(moving, film.fps, film.quality or chosen.quality, quantisers)
            classes, timelines = find_movements(recognizer, frames, film.fps)
            timelines = [replace(each, quantiser=float(np.mean(quantisers))) for each in timelines]
            shown = [each for each, crop in zip(plan, crops, strict=False) if crop is not None]
            sizes = [(each.course, each.amplitude) for each in shown]
            known += known_movements(film.name, sizes, timelines, film.count, film.fps)
            matches = match_courses([each.course for each in shown], list(classes), film.fps, tally)
            for each, match in zip(shown, matches, strict=True):
                if match is not None:
                    tally.spotted.add(each, classes[match])
        lines.append(Ratio(f"F1: {name}, {100 * amplitude:g} %", tally.f1, None, injected_detail(tally)))
    return lines + ranked_lines(name, known[before:])


def injected_detail(tally: Tally) -> str:
    """The tally in words."""
    if not tally.truths:
        return "nothing measured, no movement was shown: give a video of five seconds or more that shows a face"
    apex = f"{1000 * float(np.median(tally.apex_seconds)):.0f} ms (median)" if tally.hits else "unknown"
    return (
        f"recall {tally.recall:.2f}, precision {tally.precision:.2f} of {tally.truths} movements; apex error {apex}; "
        f"classes right: {tally.spotted}"
    )


def find_movements(
    recognizer: Recognizer, frames: Iterable[np.ndarray], fps: float
) -> tuple[dict[FaceMovement, str | None], list[Timeline]]:
    """The movements in frames with their classes, as `epir predict` finds them, and the timelines."""
    numbered = (Frame(number, number / fps, frame) for number, frame in enumerate(frames))
    one_pass = recognizer.one_pass(fps)
    classes = {each.movement: recognizer.answer_movement(each, "", fps).best for each in one_pass.run(numbered)}
    return classes, list(one_pass.timelines().values())


def match_courses(
    courses: Sequence[Course], movements: Sequence[FaceMovement], fps: float, tally: Tally
) -> list[FaceMovement | None]:
    """The detected movement of each known course, or None; a movement counts for at most one course."""
    unmatched = list(movements)
    tally.detections += len(movements)
    matches: list[FaceMovement | None] = []
    for course in courses:
        truth = (course.onset, course.offset)
        tally.truths += 1
        best = max(unmatched, key=lambda movement: overlap(truth, (movement.onset, movement.offset)), default=None)
        if best is None or overlap(truth, (best.onset, best.offset)) < OVERLAP:
            matches.append(None)
            continue
        unmatched.remove(best)
        matches.append(best)
        tally.hits += 1
        tally.apex_seconds.append(abs(best.apex - course.apex) / fps)
    return matches


def find_crop_or_none(frame: np.ndarray) -> Crop | None:
    """The crop of the face in a frame, or None."""
    face = find_face(frame)
    return face_crop(face) if face is not None else None


def _recording(crops: list[Crop | None]) -> Callable[[np.ndarray], Crop | None]:
    """`find_crop_or_none`, which also appends each crop to `crops`."""

    def find(frame: np.ndarray) -> Crop | None:
        crops.append(find_crop_or_none(frame))
        return crops[-1]

    return find


def film_of(path: Path, longest: float = 0.0) -> SourceVideo:
    """A video or a folder of frames; if `longest` is not 0, only its first seconds."""

    def frames() -> Iterator[np.ndarray]:
        with open_frames(path) as opened:
            for frame in itertools.islice(opened, len(stamps)):
                yield frame.pixels

    with open_frames(path) as opened:
        announced, stamps = opened.fps or 25.0, [frame.seconds for frame in opened]
    stamps = [each for each in stamps if not longest or each - stamps[0] < longest]
    length = stamps[-1] - stamps[0] if stamps else 0.0  # files with a variable rate announce the highest
    fps = (len(stamps) - 1) / length if length > 0 else announced
    return SourceVideo(path.name, frames, len(stamps), fps)


def astronaut() -> np.ndarray:
    """The head of scikit-image's astronaut, enlarged twice."""
    try:
        from skimage import data
    except ImportError:
        raise MissingExtra.named("scikit-image", "dev") from None
    return cv2.resize(data.astronaut()[10:230, 110:330], None, fx=2, fy=2, interpolation=cv2.INTER_CUBIC)
