"""The recognizer: a video, frames or two pictures -> key frames -> maps -> an answer with what it rests on.

Axes: T frames, H and W pixels of a frame
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from epir.core.config import check_known
from epir.core.engines import Progress, Silent, one_thread
from epir.core.errors import ConfigError, EpirError, FrameError, machine_fault
from epir.faces.face import TrackingSettings
from epir.faces.finder import find_turn
from epir.faces.tracking import NO_FACE, TOO_SMALL
from epir.frames.folder import FolderFrames
from epir.frames.pace import Pace, TimeSteps, measure_pace, without_repeats
from epir.frames.reader import ASSUMED_RATE, Frame, Frames, same_size, turn_note, upright
from epir.frames.video import VideoFrames
from epir.models.folder import find_folder
from epir.models.predict import Backend, open_backend
from epir.recognition import caution
from epir.recognition.answer import NOT_FOUND, Answer, Person
from epir.recognition.classify import MapClassifier
from epir.recognition.events import ERROR, event_columns, event_rows, table_of
from epir.recognition.movement import MovementMap, NoFace, forget_pixels, key_frame_map, read_recipe, spotted_map
from epir.recognition.onepass import OnePass, SpottedMovement, Watch
from epir.recognition.source import (
    ArrayFrames,
    PairFrames,
    Times,
    check_key_frames,
    check_times,
    chosen_frames,
    open_source,
    source_name,
    too_few,
)
from epir.spotting.settings import LONGEST, Sensitivity, SpottingSettings
from epir.spotting.timeline import FaceMovement, most_probable

if TYPE_CHECKING:
    import pandas as pd

PICTURES = 32  # movements of a video whose pixels are kept, the strongest
MOST_CANDIDATES = 600  # a minute
NEAR = 1.5  # of the longest movement: how far around a given apex the onset is looked for


class Recognizer:
    """Answers for videos, frames and pictures; make one with `from_pretrained`.

    >>> recognizer = Recognizer.from_pretrained()  # the shipped weights
    >>> recognizer.labels
    ('negative', 'positive', 'surprise')
    >>> recognizer.predict("interview.mp4")
    Traceback (most recent call last):
    epir.core.errors.FrameError: there is no folder or video interview.mp4
      fix: check the path
    """

    def __init__(
        self,
        backend: Backend,
        *,
        threshold: float | None = None,
        detector: Literal["mtcnn", "none"] | None = None,
        sensitivity: Sensitivity = "normal",
    ) -> None:
        self.backend = backend
        self.labels = backend.config.classes
        self.recipe = read_recipe(backend.config.notes)
        if detector is not None:
            self.recipe = replace(self.recipe, face=replace(self.recipe.face, detector=detector))
        self.classifier = MapClassifier(backend, threshold)
        self.spotting = SpottingSettings(face=self.recipe.face, sensitivity=sensitivity)
        self.tracking = TrackingSettings(face=self.recipe.face, size=self.spotting.size)

    @classmethod
    def from_pretrained(
        cls,
        folder: str | Path | None = None,
        *,
        backend: Literal["torch", "onnx"] | None = None,
        threshold: float | None = None,
        detector: Literal["mtcnn", "none"] | None = None,
        sensitivity: Sensitivity = "normal",
        device: str = "cpu",
    ) -> "Recognizer":
        """The recognizer of a model folder, an ONNX file or `owner/name` on the hub; the shipped one by default.

        `device` is where torch runs the network: `cpu`, `cuda`, or `auto` for a GPU where there is one. Frames, faces
        and flow stay on the CPU, which takes nearly all of the time.
        """
        if backend is not None:
            check_known(backend, ("torch", "onnx"), what="backend")
        if detector is not None:
            check_known(detector, ("mtcnn", "none"), what="detector")
        return cls(
            open_backend(find_folder(folder), backend, device),
            threshold=threshold,
            detector=detector,
            sensitivity=sensitivity,
        )

    def with_options(self, *, threshold: float | None = None, sensitivity: Sensitivity = "normal") -> "Recognizer":
        """The same model with another threshold or sensitivity; the weights are shared."""
        threshold = self.threshold if threshold is None else threshold
        detector = self.recipe.face.detector
        return Recognizer(self.backend, threshold=threshold, detector=detector, sensitivity=sensitivity)

    def __repr__(self) -> str:
        return (
            f"Recognizer({self.backend.config.settings.get('name', 'model')}, {self.backend.config.map_size} px, "
            f"{self.backend.name}; {', '.join(self.labels)}; detector {self.recipe.face.detector}, "
            f"threshold {self.threshold:g}, sensitivity {self.spotting.sensitivity})"
        )

    @property
    def threshold(self) -> float:
        """The score below which an answer is `uncertain`."""
        return self.classifier.threshold

    def predict(
        self,
        source: Any,
        *,
        onset: int | None = None,
        apex: int | None = None,
        fps: float | None = None,
        start: float | None = None,
        end: float | None = None,
        faces: Literal["largest", "all"] = "largest",
        candidates: float = 0.0,
        name: str | None = None,
        explain: bool = True,
        progress: Progress | None = None,
        watch: Watch | None = None,
    ) -> Answer:
        """The answer for a video file, a folder of frames, an array (T, H, W, 3), or two pictures (onset, apex).

        Onset and apex are frame numbers; without them the movements between `start` and `end` (seconds) are spotted.
        The answer is that of the strongest movement; `answer.all` holds every movement, in the order of time.
        `candidates` is how many of the most probable movements a minute are wanted in all: `answer.candidates` holds
        those among them that are not reported. `explain=False` leaves out the attribution, which takes some tenths of a
        second for each movement.
        `watch` is called with every face as it passes: no frame has to be read again to show it.
        """
        name = source_name(source) if name is None else name
        check_times(fps, start, end)
        if not 0 <= candidates <= MOST_CANDIDATES:
            raise ConfigError(f"candidates cannot be {candidates:g}", fix=f"give a number from 0 to {MOST_CANDIDATES}")
        check_known(faces, ("largest", "all"), what="choice of faces")
        with open_source(source, fps) as frames, one_thread():
            if isinstance(frames, PairFrames):
                if any(each is not None for each in (onset, apex, start, end)):
                    raise FrameError(
                        f"{name} are the onset and the apex: no frame or time of them can be chosen",
                        fix="leave out --onset, --apex, --start and --end, or give a video or a folder",
                    )
                onset, apex = 0, 1
            check_key_frames(frames, onset, apex)
            if isinstance(frames, FolderFrames):
                frames.notes += frames.inspect(frames.numbers[0], frames.numbers[-1])
            turns = self.turns(frames, onset)
            frames.notes += turn_note(turns)
            if onset is not None:
                answer = self._of_key_frames(frames, turns, onset, apex, name, watch)
            else:
                pace = self.pace(frames)
                run = self.one_pass(pace.fps, faces, apex, watch, candidates=candidates > 0)
                answer = self._spotted(frames, turns, run, pace, (start, end), candidates, name, progress or Silent())
        return self.classifier.explained(answer) if explain else answer

    def predict_many(self, inputs: Iterable[Any], *, every_movement: bool = False, **options: Any) -> "pd.DataFrame":
        """The rows of events.csv in the order of the inputs: the strongest movement of each, or its error.

        `every_movement` gives a row to each movement of an input.
        """
        if isinstance(inputs, str | bytes | Path):
            raise ConfigError(
                f"predict_many takes several inputs, not the one {str(inputs)!r}", fix="give a list, or use predict"
            )
        rows: list[dict[str, Any]] = []
        for source in inputs:
            try:
                answer = self.predict(source, **{"explain": False, **options})
                shown = answer if every_movement else replace(answer, all=())
                rows += [{"error": "", **row} for row in event_rows(shown, self.labels)]
            except (EpirError, OSError) as error:
                known = error if isinstance(error, EpirError) else machine_fault(error)
                rows.append({"status": ERROR, "file": source_name(source), "error": known.problem})
        return table_of(rows, [*event_columns(self.labels), "error"])

    def one_pass(
        self,
        fps: float,
        faces: Literal["largest", "all"] = "largest",
        apex: int | None = None,
        watch: Watch | None = None,
        *,
        candidates: bool = False,
    ) -> OnePass:
        """Follows faces and spots movements, frame by frame; with `candidates` also those that are rejected."""
        return OnePass(replace(self.tracking, faces=faces), self.spotting, fps, apex, watch, candidates)

    def answer_movement(self, spotted: SpottedMovement, name: str, fps: float) -> Answer:
        """The answer for one movement that was spotted."""
        return self.classifier.answers([spotted_map(spotted, self.recipe, self.backend.config.map_size)], name, fps)[0]

    def turns(self, frames: Frames, onset: int | None) -> int:
        """The quarters by which the first frame, or the given onset, must be turned; an array is taken as it is."""
        if isinstance(frames, ArrayFrames) and not isinstance(frames, PairFrames):
            return 0
        if onset is not None:
            return find_turn(frames.read(onset), self.recipe.face)
        first = next(iter(frames), None)
        return 0 if first is None else find_turn(first.pixels, self.recipe.face)

    def _of_key_frames(
        self, frames: Frames, turns: int, onset: int, apex: int | None, name: str, watch: Watch | None
    ) -> Answer:
        is_pair = isinstance(frames, PairFrames)
        rate = None if is_pair else frames.fps
        size = self.backend.config.map_size
        try:
            movement = key_frame_map(upright(frames, turns), onset, apex, self.recipe, self.tracking, size, watch)
        except NoFace as error:
            return Answer(name, error.reason, fps=rate, warnings=(*frames.notes, *error.words))
        words = [] if rate is None and apex is not None else caution.frame_rate_warnings(rate)
        movement.words = [*frames.notes, *words, *movement.words]
        (answer,) = self.classifier.answers([movement], name, rate)
        return replace(answer, all=(answer,), frame_count=2 if is_pair else None)

    def _spotted(
        self,
        frames: Frames,
        turns: int,
        run: OnePass,
        pace: Pace,
        times: Times,
        candidates: float,
        name: str,
        progress: Progress,
    ) -> Answer:
        """The answer of one forward pass over the frames between two times."""
        steps = TimeSteps()  # also counts the frames
        progress.start("spotting", frames.announced or 0)
        chosen = _advancing(chosen_frames(upright(frames, turns), run.apex, times, NEAR * LONGEST), steps, progress)
        movements: list[MovementMap] = []
        rejected: dict[tuple[int, ...], MovementMap] = {}
        for spotted in run.run(without_repeats(same_size(chosen), pace)):
            movement = spotted_map(spotted, self.recipe, self.backend.config.map_size)
            if spotted.movement.reason:
                rejected[_identity(spotted.movement)] = replace(movement, evidence=None)
            else:
                movements.append(movement)
                forget_pixels(movements, PICTURES)
        progress.finish()
        if run.tracker.frames < 2:
            raise too_few(frames, run.tracker.frames, times)
        quantiser = frames.quantiser if isinstance(frames, VideoFrames) else None
        timelines = {track: replace(each, quantiser=quantiser) for track, each in run.timelines().items()}
        if run.apex is not None and timelines and not movements:
            raise FrameError(f"no movement was found around the apex {run.apex}", fix="give the onset too")
        people = tuple(Person(track, timeline) for track, timeline in timelines.items())
        words = _video_warnings(frames, pace, steps, run)
        about: dict[str, Any] = {
            "candidates": self._candidates(people, rejected, candidates, name, pace.fps),
            "gaps": tuple(run.tracker.gaps),
            "frame_count": steps.frames,
            "turned": turns,
            "people": people,
        }
        if not movements:
            return replace(_without_movement(run, people, name, pace.fps, words), **about)
        answers = [
            replace(
                answer,
                timeline=timelines[answer.track or 0],
                warnings=tuple(dict.fromkeys([*words, *answer.warnings])),
                **about,
            )
            for answer in self.classifier.answers(movements, name, pace.fps)
        ]
        strongest = max(answers, key=lambda each: each.strength or 0.0)
        return replace(strongest, all=_by_time(answers if run.apex is None else [strongest]))

    def pace(self, frames: Frames) -> Pace:
        """The rate of the camera, from the beginning of a video; pictures of a folder are taken as they are."""
        if isinstance(frames, VideoFrames):
            with VideoFrames(frames.path, frames.given_fps, frames.check) as beginning:
                return measure_pace(beginning, frames.given_fps)
        if isinstance(frames, ArrayFrames):
            return measure_pace(frames, frames.fps or ASSUMED_RATE)
        return Pace(frames.fps or ASSUMED_RATE, frames.fps or ASSUMED_RATE)

    def _candidates(
        self,
        people: Sequence[Person],
        maps: Mapping[tuple[int, ...], MovementMap],
        a_minute: float,
        name: str,
        fps: float,
    ) -> tuple[Answer, ...]:
        """Those among the most probable movements a minute that are not reported, in the order of time."""
        if not a_minute:
            return ()
        known = [each for person in people for each in person.timeline.candidates]
        known = [each for each in known if not each.reason or _identity(each) in maps]
        ranked = most_probable(known, a_minute, sum(each.timeline.seconds for each in people))
        chosen = [replace(maps[_identity(each)], spotted=each) for each in ranked if each.reason]
        return _by_time(self.classifier.answers(chosen, name, fps))


def predict(
    source: Any,
    *,
    model: str | Path | None = None,
    backend: Literal["torch", "onnx"] | None = None,
    threshold: float | None = None,
    detector: Literal["mtcnn", "none"] | None = None,
    sensitivity: Sensitivity = "normal",
    **options: Any,
) -> Answer:
    """What `epir predict` says about one input: `epir.predict("interview.mp4").label`.

    `options` are those of `Recognizer.predict`. For many inputs make one `Recognizer`: it loads its weights once.
    """
    recognizer = Recognizer.from_pretrained(
        model, backend=backend, threshold=threshold, detector=detector, sensitivity=sensitivity
    )
    return recognizer.predict(source, **options)


def _video_warnings(frames: Frames, pace: Pace, steps: TimeSteps, run: OnePass) -> list[str]:
    """What there is to know about a video as a whole."""
    tracker = run.tracker
    known = isinstance(frames, VideoFrames) or frames.fps is not None
    return [
        *frames.notes,
        *caution.frame_rate_warnings(pace.fps if known else None),
        *caution.pace_warnings(pace, steps.varying()),
        *caution.face_warnings(math.inf, tracker.faces if tracker.settings.faces == "largest" else 1),
        *caution.gap_warnings(tracker.gaps, tracker.settings.least_face),
    ]


def _without_movement(run: OnePass, people: Sequence[Person], name: str, fps: float, words: list[str]) -> Answer:
    """The answer where nothing was found; its timeline is that of whom most of the video shows, largest first."""
    if not people:
        reason = TOO_SMALL if run.tracker.reasons[TOO_SMALL] else NO_FACE
        return Answer(name, reason, fps=fps, warnings=tuple(words))
    main = max(people, key=lambda each: each.timeline.seconds * each.face_px)
    words = words + caution.face_warnings(main.face_px, 1)
    return Answer(name, NOT_FOUND, fps=fps, warnings=tuple(words), timeline=main.timeline)


def _by_time(answers: Iterable[Answer]) -> tuple[Answer, ...]:
    return tuple(sorted(answers, key=lambda each: (each.apex_s or 0.0, each.track or 0)))


def _identity(movement: FaceMovement) -> tuple[int, ...]:
    return movement.track, movement.onset, movement.apex, movement.offset


def _advancing(frames: Iterable[Frame], steps: TimeSteps, progress: Progress) -> Iterator[Frame]:
    for frame in frames:
        steps.push(frame.seconds)
        progress.advance()
        yield frame
