"""The recognizer: a video, frames or two pictures -> key frames -> maps -> an explained answer.

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
from epir.recognition.movement import MovementMap, NoFace, discard_pixels, key_frame_map, read_recipe, spotted_map
from epir.recognition.onepass import OnePass, SpottedMovement, Watch
from epir.recognition.source import (
    ArrayFrames,
    PairFrames,
    Times,
    check_key_frames,
    check_times,
    chosen_frames,
    frame_number,
    open_source,
    source_name,
    too_few,
)
from epir.spotting.decision import LONGEST, Sensitivity, SpottingSettings
from epir.spotting.timeline import FaceMovement, most_probable

if TYPE_CHECKING:
    import pandas as pd

PICTURES = 32  # the number of strongest movements of a video whose pixels are kept
MOST_CANDIDATES = 600  # per minute
NEAR = 1.5  # times the longest micro-expression: how far around a given apex to search for its onset


class Recognizer:
    """Classifies the micro-expressions in videos, frames and pictures; create one with `from_pretrained`.

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
        """Load a model folder, an ONNX file or `owner/name` from the hub; by default, the shipped weights.

        `device` is where torch runs the network: `cpu`, `cuda`, or `auto` for a GPU if one is available. Frames, faces
        and flow stay on the CPU and take nearly all of the time.
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
        """Classify a video file, a folder of frames, an array (T, H, W, 3), or two pictures (onset, apex).

        `onset` and `apex` are frame numbers; without them, movements are spotted between `start` and `end` (seconds).
        The answer describes the strongest movement; `answer.all` holds every movement, in order of time.

        `candidates` asks for this many movements per minute, the most probable first: `answer.candidates` holds the
        rejected ones among them. `explain=False` skips the attribution, which takes some tenths of a second per
        movement. `watch` is called with every face as it is read, so that showing it needs no second pass.
        """
        name = source_name(source) if name is None else name
        check_times(fps, start, end)
        onset, apex = frame_number(onset, "onset"), frame_number(apex, "apex")
        if not 0 <= candidates <= MOST_CANDIDATES:
            raise ConfigError(f"candidates cannot be {candidates:g}", fix=f"give a number from 0 to {MOST_CANDIDATES}")
        check_known(faces, ("largest", "all"), what="choice of faces")
        with open_source(source, fps) as frames, one_thread():
            if isinstance(frames, PairFrames):
                if any(choice is not None for choice in (onset, apex, start, end)):
                    raise FrameError(
                        f"{name} are the onset and the apex: they have no other frames or times to choose",
                        fix="leave out --onset, --apex, --start and --end, or give a video or a folder",
                    )
                onset, apex = 0, 1
            elif (onset is not None or apex is not None) and (start is not None or end is not None):
                raise FrameError(
                    "a given onset or apex leaves nothing to choose between two times",
                    fix="leave out --start and --end, or --onset and --apex",
                )
            check_key_frames(frames, onset, apex)
            if isinstance(frames, FolderFrames):
                frames.notes += frames.inspect(frames.numbers[0], frames.numbers[-1])
            turns = self.turns(frames, onset)
            frames.notes += turn_note(turns)
            if onset is not None:
                answer = self._answer_key_frames(frames, turns, onset, apex, name, watch)
            else:
                pace = self.pace(frames)
                run = self.one_pass(pace.fps, faces, apex, watch, candidates=candidates > 0)
                answer = self._answer_video(
                    frames, turns, run, pace, (start, end), candidates, name, progress or Silent()
                )
        return self.classifier.explained(answer) if explain else answer

    def predict_many(self, inputs: Iterable[Any], *, every_movement: bool = False, **options: Any) -> "pd.DataFrame":
        """The rows of events.csv in the order of the inputs: the strongest movement of each input, or its error.

        `every_movement` adds a row for each further movement.
        """
        if isinstance(inputs, str | bytes | Path):
            raise ConfigError(
                f"predict_many takes a list of inputs, not {str(inputs)!r}", fix="give a list, or use predict"
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
        """A pass that tracks faces and spots movements; with `candidates`, it also yields rejected movements."""
        return OnePass(replace(self.tracking, faces=faces), self.spotting, fps, apex, watch, candidates)

    def answer_movement(self, spotted: SpottedMovement, name: str, fps: float) -> Answer:
        """Classify one spotted movement."""
        return self.classifier.answers([spotted_map(spotted, self.recipe, self.backend.config.map_size)], name, fps)[0]

    def turns(self, frames: Frames, onset: int | None) -> int:
        """The quarter turns that make the first frame, or the given onset, upright; an array is not turned."""
        if isinstance(frames, ArrayFrames) and not isinstance(frames, PairFrames):
            return 0
        if onset is not None:
            return find_turn(frames.read(onset), self.recipe.face)
        first = next(iter(frames), None)
        return 0 if first is None else find_turn(first.pixels, self.recipe.face)

    def _answer_key_frames(
        self, frames: Frames, turns: int, onset: int, apex: int | None, name: str, watch: Watch | None
    ) -> Answer:
        is_pair = isinstance(frames, PairFrames)
        rate = None if is_pair else frames.fps
        size = self.backend.config.map_size
        try:
            movement = key_frame_map(upright(frames, turns), onset, apex, self.recipe, self.tracking, size, watch)
        except NoFace as error:
            return Answer(name, error.reason, fps=rate, warnings=(*frames.notes, *error.warnings))
        of_rate = [] if rate is None and apex is not None else caution.frame_rate_warnings(rate)
        movement.warnings = [*frames.notes, *of_rate, *movement.warnings]
        (answer,) = self.classifier.answers([movement], name, rate)
        return replace(answer, all=(answer,), frame_count=2 if is_pair else None)

    def _answer_video(
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
        """The answer from one forward pass over the frames between two times."""
        steps = TimeSteps()  # also counts the frames
        progress.start("spotting", frames.announced or 0)
        chosen = _advancing(chosen_frames(upright(frames, turns), run.apex, times, NEAR * LONGEST), steps, progress)
        movements: list[MovementMap] = []
        rejected: dict[tuple[int, ...], MovementMap] = {}
        for spotted in run.run(without_repeats(same_size(chosen), pace)):
            movement = spotted_map(spotted, self.recipe, self.backend.config.map_size)
            if spotted.movement.reason:
                rejected[_key(spotted.movement)] = replace(movement, evidence=None)
            else:
                movements.append(movement)
                discard_pixels(movements, PICTURES)
        progress.finish()
        if run.tracker.frames < 2:
            raise too_few(frames, run.tracker.frames, times)
        quantiser = frames.quantiser if isinstance(frames, VideoFrames) else None
        timelines = {track: replace(timeline, quantiser=quantiser) for track, timeline in run.timelines().items()}
        if run.apex is not None and timelines and not movements:
            raise FrameError(f"no movement was found around the apex {run.apex}", fix="give the onset too")
        people = tuple(Person(track, timeline) for track, timeline in timelines.items())
        warnings = _video_warnings(frames, pace, steps, run)
        shared: dict[str, Any] = {
            "candidates": self._candidates(people, rejected, candidates, name, pace.fps),
            "gaps": tuple(run.tracker.gaps),
            "frame_count": steps.frames,
            "turned": turns,
            "people": people,
        }
        if not movements:
            return replace(_without_movement(run, people, name, pace.fps, warnings), **shared)
        answers = [
            replace(
                answer,
                timeline=timelines[answer.track or 0],
                warnings=tuple(dict.fromkeys([*warnings, *answer.warnings])),
                **shared,
            )
            for answer in self.classifier.answers(movements, name, pace.fps)
        ]
        strongest = max(answers, key=lambda answer: answer.strength or 0.0)
        return replace(strongest, all=_by_time(answers if run.apex is None else [strongest]))

    def pace(self, frames: Frames) -> Pace:
        """The rate of the camera, measured at the beginning of a video; for a folder, given by the user or assumed."""
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
        per_minute: float,
        name: str,
        fps: float,
    ) -> tuple[Answer, ...]:
        """The rejected movements among the `per_minute` most probable ones, in order of time."""
        if not per_minute:
            return ()
        candidates = [movement for person in people for movement in person.timeline.candidates]
        candidates = [movement for movement in candidates if not movement.reason or _key(movement) in maps]
        ranked = most_probable(candidates, per_minute, sum(person.timeline.seconds for person in people))
        rejected = [replace(maps[_key(movement)], spotted=movement) for movement in ranked if movement.reason]
        return _by_time(self.classifier.answers(rejected, name, fps))


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
    """The answer of `epir predict` for one input: `epir.predict("interview.mp4").label`.

    `options` are those of `Recognizer.predict`. For many inputs, create one `Recognizer`: it loads its weights once.
    """
    recognizer = Recognizer.from_pretrained(
        model, backend=backend, threshold=threshold, detector=detector, sensitivity=sensitivity
    )
    return recognizer.predict(source, **options)


def _video_warnings(frames: Frames, pace: Pace, steps: TimeSteps, run: OnePass) -> list[str]:
    """The warnings about a video as a whole."""
    tracker = run.tracker
    known = isinstance(frames, VideoFrames) or frames.fps is not None
    return [
        *frames.notes,
        *caution.frame_rate_warnings(pace.fps if known else None),
        *caution.pace_warnings(pace, steps.varying()),
        *caution.face_warnings(math.inf, tracker.faces if tracker.settings.faces == "largest" else 1),
        *caution.gap_warnings(tracker.gaps, tracker.settings.least_face),
    ]


def _without_movement(run: OnePass, people: Sequence[Person], name: str, fps: float, warnings: list[str]) -> Answer:
    """The answer if nothing was found; its timeline is that of the person who is seen longest and largest."""
    if not people:
        reason = TOO_SMALL if run.tracker.reasons[TOO_SMALL] else NO_FACE
        return Answer(name, reason, fps=fps, warnings=tuple(warnings))
    main = max(people, key=lambda person: person.timeline.seconds * person.face_px)
    warnings = warnings + caution.face_warnings(main.face_px, 1)
    return Answer(name, NOT_FOUND, fps=fps, warnings=tuple(warnings), timeline=main.timeline)


def _by_time(answers: Iterable[Answer]) -> tuple[Answer, ...]:
    return tuple(sorted(answers, key=lambda answer: (answer.apex_s or 0.0, answer.track or 0)))


def _key(movement: FaceMovement) -> tuple[int, ...]:
    return movement.track, movement.onset, movement.apex, movement.offset


def _advancing(frames: Iterable[Frame], steps: TimeSteps, progress: Progress) -> Iterator[Frame]:
    for frame in frames:
        steps.push(frame.seconds)
        progress.advance()
        yield frame
