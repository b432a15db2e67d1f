"""The recognizer: a video, frames or two pictures -> key frames -> maps -> an answer with what it rests on.

Axes: T frames, H and W pixels of a frame, V maps of a movement, S map size
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from epir.core.config import refuse_unknown
from epir.core.errors import ConfigError, EpirError, FrameError, machine_fault
from epir.core.progress import Progress, Silent
from epir.evaluation.fold import one_thread as one_torch_thread
from epir.faces.align import Crop, face_crop, whole_frame
from epir.faces.finder import count_faces, find_face
from epir.faces.inspection import find_turn, refuse_two_people
from epir.faces.likeness import flatness
from epir.faces.patch import cut_patch, face_near, small_face
from epir.faces.settings import TrackingSettings
from epir.faces.tracking import NO_FACE, TOO_SMALL
from epir.flow.apex import spot_apex
from epir.frames.folder import FolderFrames
from epir.frames.inspection import refuse_other_size, same_size, size_of
from epir.frames.pace import Pace, TimeSteps, measure_pace, without_repeats
from epir.frames.reader import ASSUMED_RATE, Frame, Frames
from epir.frames.threads import one_thread
from epir.frames.turned import turn_note, upright
from epir.frames.video import VideoFrames
from epir.maps.inspection import inspect_span
from epir.models.folder import find_folder
from epir.recognition import caution
from epir.recognition.answer import NOT_FOUND, Answer
from epir.recognition.backend import Backend, model_views, open_backend, read_recipe
from epir.recognition.choice import chosen_frames, refuse_key_frames, refuse_times, too_few
from epir.recognition.classify import MapClassifier
from epir.recognition.movement import FrameTime, KeyFrames, MovementMap, forget_pixels, movement_map, movement_views
from epir.recognition.onepass import OnePass, ShownFace, SpottedMovement, Watch
from epir.recognition.settings import RecognitionSettings
from epir.recognition.source import ArrayFrames, PairFrames, open_source, source_name
from epir.recognition.table import FailedAnswer, answers_table
from epir.spotting.settings import LONGEST, Sensitivity, SpottingSettings


class NoFace(Exception):
    """There is no face that could be used; `reason` is the answer."""

    def __init__(self, reason: str, words: Sequence[str] = ()) -> None:
        super().__init__(reason)
        self.reason, self.words = reason, list(words)


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
        settings: RecognitionSettings | None = None,
    ) -> None:
        notes = backend.config.notes
        self.settings = settings or RecognitionSettings()
        self.backend = backend
        self.labels = backend.config.classes
        self.recipe = read_recipe(notes)
        self.views = model_views(backend)  # none for a model of one map
        if detector is not None:
            self.recipe = replace(self.recipe, face=replace(self.recipe.face, detector=detector))
        own = float(notes.get("threshold", self.settings.threshold))
        self.settings = replace(self.settings, threshold=own if threshold is None else threshold)
        self.classifier = MapClassifier(backend, self.settings)
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
            refuse_unknown(backend, ("torch", "onnx"), what="backend")
        if detector is not None:
            refuse_unknown(detector, ("mtcnn", "none"), what="detector")
        return cls(
            open_backend(find_folder(folder), backend, device),
            threshold=threshold,
            detector=detector,
            sensitivity=sensitivity,
        )

    def with_options(self, *, threshold: float | None = None, sensitivity: Sensitivity = "normal") -> "Recognizer":
        """The same model with another threshold or sensitivity; the weights are shared."""
        other = copy(self)
        if threshold is not None:
            other.settings = replace(self.settings, threshold=threshold)
            other.classifier = MapClassifier(self.backend, other.settings)
        other.spotting = replace(self.spotting, sensitivity=sensitivity)
        return other

    def __repr__(self) -> str:
        return (
            f"Recognizer({self.backend.config.settings.get('name', 'model')}, {self.backend.map_size} px, "
            f"{self.backend.name}; {', '.join(self.labels)}; detector {self.recipe.face.detector}, "
            f"threshold {self.threshold:g}, sensitivity {self.spotting.sensitivity})"
        )

    @property
    def threshold(self) -> float:
        """The score below which an answer is `uncertain`."""
        return self.settings.threshold

    def predict(
        self,
        given: Any,
        *,
        onset: int | None = None,
        apex: int | None = None,
        fps: float | None = None,
        start: float | None = None,
        end: float | None = None,
        faces: Literal["largest", "all"] = "largest",
        name: str | None = None,
        explain: bool = True,
        progress: Progress | None = None,
        watch: Watch | None = None,
    ) -> Answer:
        """The answer for a video file, a folder of frames, an array (T, H, W, 3), or two pictures (onset, apex).

        Onset and apex are frame numbers; without them the movements between `start` and `end` (seconds) are spotted.
        The answer is that of the strongest movement; `answer.all` holds every movement, in the order of time.
        `explain=False` leaves out the attribution, which takes some tenths of a second for each movement.
        `watch` is called with every face as it passes: no frame has to be read again to show it.
        """
        name = source_name(given) if name is None else name
        refuse_times(fps, start, end)
        refuse_unknown(faces, ("largest", "all"), what="choice of faces")
        with open_source(given, fps) as frames, one_thread(), one_torch_thread():
            rate = None if isinstance(frames, PairFrames) else frames.fps
            if isinstance(frames, PairFrames):
                if any(each is not None for each in (onset, apex, start, end)):
                    raise FrameError(
                        f"{name} are the onset and the apex: no frame or time of them can be chosen",
                        fix="leave out --onset, --apex, --start and --end, or give a video or a folder",
                    )
                onset, apex = 0, 1
            refuse_key_frames(frames, onset, apex)
            notes = (
                inspect_span(frames, frames.numbers[0], frames.numbers[-1]) if isinstance(frames, FolderFrames) else []
            )
            turns = self._turns(frames, onset)
            frames.notes += [*notes, *turn_note(turns)]
            try:
                if onset is None:
                    times = (start, end)
                    answer = self._spotted(frames, turns, apex, times, faces, name, progress or Silent(), watch)
                    return self.classifier.explained(answer) if explain else answer
                movement = self._given(upright(frames, turns), onset, apex, watch)
                words = [] if rate is None and apex is not None else caution.about_rate(rate, self.settings)
                movement.words = [*frames.notes, *words, *movement.words]
                answers = self.classifier.answers([movement], name, rate)
                count = 2 if isinstance(frames, PairFrames) else None
                answer = replace(answers[0], all=tuple(answers), frame_count=count)
                return self.classifier.explained(answer) if explain else answer
            except NoFace as found:
                return Answer(name, found.reason, fps=rate, warnings=(*frames.notes, *found.words))

    def predict_many(self, inputs: Iterable[Any], *, every_movement: bool = False, **options: Any) -> Any:
        """A pandas DataFrame with one row per input, in their order: its strongest movement, or why it failed.

        `every_movement` gives a row to each movement of an input.
        """
        if isinstance(inputs, str | bytes | Path):
            raise ConfigError(
                f"predict_many takes several inputs, not the one {str(inputs)!r}", fix="give a list, or use predict"
            )
        answers: list[Answer | FailedAnswer] = []
        for given in inputs:
            try:
                answer = self.predict(given, **{"explain": False, **options})
                answers.append(answer if every_movement else replace(answer, all=()))
            except EpirError as error:
                answers.append(FailedAnswer(source_name(given), error.problem))
            except OSError as error:
                answers.append(FailedAnswer(source_name(given), machine_fault(error).problem))
        return answers_table(answers, labels=self.labels)

    def one_pass(
        self,
        fps: float,
        faces: Literal["largest", "all"] = "largest",
        apex: int | None = None,
        watch: Watch | None = None,
    ) -> OnePass:
        """Follows faces and spots movements, frame by frame."""
        tracking = replace(self.tracking, faces=faces, patch=self.settings.patch)
        return OnePass(tracking, self.spotting, fps, self.settings, apex, watch)

    def answer_movement(self, spotted: SpottedMovement, name: str, fps: float) -> Answer:
        """The answer for one movement that was spotted."""
        return self.classifier.answers([self._map_of(spotted)], name, fps)[0]

    def _turns(self, frames: Frames, onset: int | None) -> int:
        """The quarters by which the first frame, or the given onset, must be turned; an array is taken as it is."""
        if isinstance(frames, ArrayFrames) and not isinstance(frames, PairFrames):
            return 0
        if onset is not None:
            return find_turn(frames.read(onset), self.recipe.face)
        first = next(iter(frames), None)
        return 0 if first is None else find_turn(first.pixels, self.recipe.face)

    # Movements that are spotted, in one forward pass.

    def _spotted(
        self,
        frames: Frames,
        turns: int,
        apex: int | None,
        times: tuple[float | None, float | None],
        faces: Literal["largest", "all"],
        name: str,
        progress: Progress,
        watch: Watch | None,
    ) -> Answer:
        pace = self._pace(frames)
        steps = TimeSteps()  # also counts the frames
        run = self.one_pass(pace.fps, faces, apex, watch)
        progress.start("spotting", frames.announced or 0)
        chosen = _advancing(
            chosen_frames(upright(frames, turns), apex, times, self.settings.near * LONGEST), steps, progress
        )
        movements: list[MovementMap] = []
        for spotted in run.run(without_repeats(same_size(chosen), pace)):
            movements.append(self._map_of(spotted))
            forget_pixels(movements, self.settings.pictures)
        progress.finish()
        if run.tracker.frames < 2:
            raise too_few(frames, run.tracker.frames, times)
        words = self._words(frames, pace, steps, run, faces)
        if not movements:
            if apex is not None and run.tracks:
                raise FrameError(f"no movement was found around the apex {apex}", fix="give the onset too")
            answer = self._without_movement(run, name, pace.fps, words)
            return replace(answer, frame_count=steps.frames, turned=turns)
        timelines = {track: run.timeline(track) for track in run.tracks}
        answers = [
            replace(
                answer,
                timeline=timelines[answer.track or 0],
                warnings=tuple(dict.fromkeys([*words, *answer.warnings])),
                gaps=tuple(run.tracker.gaps),
                frame_count=steps.frames,
                turned=turns,
            )
            for answer in self.classifier.answers(movements, name, pace.fps)
        ]
        strongest = answers[int(np.argmax([each.strength or 0.0 for each in movements]))]
        if apex is not None:
            answers = [strongest]
        answers.sort(key=lambda each: (each.apex_s or 0.0, each.track or 0))
        return replace(strongest, all=tuple(answers))

    def _pace(self, frames: Frames) -> Pace:
        """The rate of the camera, from the beginning of a video; pictures of a folder are taken as they are."""
        if isinstance(frames, VideoFrames):
            with VideoFrames(frames.path, frames.given_fps, frames.check) as beginning:
                return measure_pace(beginning, frames.given_fps)
        if isinstance(frames, ArrayFrames):
            return measure_pace(frames, frames.fps or ASSUMED_RATE)
        return Pace(frames.fps or ASSUMED_RATE, frames.fps or ASSUMED_RATE)

    def _words(self, frames: Frames, pace: Pace, steps: TimeSteps, run: OnePass, faces: str) -> list[str]:
        """What there is to know about a video as a whole."""
        known = isinstance(frames, VideoFrames) or frames.fps is not None
        followed = run.tracker.faces if faces == "largest" else 1
        return [
            *frames.notes,
            *caution.about_rate(pace.fps if known else None, self.settings),
            *caution.about_pace(pace, steps.varying()),
            *caution.about_face(math.inf, followed, self.settings),
            *caution.about_gaps(run.tracker.gaps, run.tracker.settings.least_face, self.settings),
        ]

    def _without_movement(self, run: OnePass, name: str, fps: float, words: list[str]) -> Answer:
        gaps = tuple(run.tracker.gaps)
        if not run.tracks:
            reason = TOO_SMALL if run.tracker.reasons[TOO_SMALL] else NO_FACE
            return Answer(name, reason, fps=fps, warnings=tuple(words), gaps=gaps)
        words = words + caution.about_face(run.tracker.crops[0].side, 1, self.settings)
        timeline = run.timeline(run.tracks[0])
        return Answer(name, NOT_FOUND, fps=fps, warnings=tuple(words), timeline=timeline, gaps=gaps)

    def _map_of(self, spotted: SpottedMovement) -> MovementMap:
        """The map of a movement, made as `epir prepare` makes it: the face is looked for anew at its onset."""
        onset, apex = spotted.patches  # of one size: those of another crop are laid on the onset's
        crop = onset.place(spotted.onset.crop)
        found = None if self.recipe.face.detector == "none" else face_near(onset.pixels, crop)
        if found is not None:
            crop = face_crop(found, self.recipe.face)
        key_frames = KeyFrames(
            FrameTime.of(spotted.onset), FrameTime.of(spotted.apex), FrameTime.of(spotted.offset), spotted.track
        )
        movement = movement_map(key_frames, onset.pixels, apex.pixels, crop, self.recipe, self.backend.map_size)
        movement.words += caution.about_face(spotted.onset.crop.side, 1, self.settings)
        if self.views:
            kept = {face.number: face.patch.pixels for face in spotted.faces if face.patch is not None}
            movement.views = self._views_of(kept, movement, crop)
        movement.strength, movement.probability = spotted.movement.strength, spotted.movement.probability
        return movement

    # Key frames that are given.

    def _given(self, frames: Frames, onset: int, apex: int | None, watch: Watch | None) -> MovementMap:
        """The map of given key frames; without an apex it is looked for within half a second after the onset."""
        before = frames.frame(onset)
        crop = self._crop(before.pixels)
        if apex is None:
            after = self._find_apex(frames, before, crop, watch)
        elif watch is None:
            after = frames.frame(apex)
        else:
            after = _watched(frames, before, apex, crop, watch)
        refuse_other_size(onset, size_of(before.pixels), after.number, size_of(after.pixels))
        refuse_two_people(onset, before.pixels, after.number, after.pixels, crop, self.recipe.face)
        faces = 1 if self.recipe.face.detector == "none" else count_faces(before.pixels, crop.side)
        key_frames = KeyFrames(FrameTime.of(before), FrameTime.of(after))
        movement = movement_map(key_frames, before.pixels, after.pixels, crop, self.recipe, self.backend.map_size)
        movement.words += caution.about_face(crop.side, faces, self.settings)
        if self.views:
            read = frames.between(onset, 2 * after.number - onset)  # the return may take as long as the rise
            movement.views = self._views_of({frame.number: frame.pixels for frame in read}, movement, crop)
            if isinstance(frames, PairFrames):
                movement.words.append(f"two pictures have one map: it stands for all {len(self.views)} of the model")
        return movement

    def _find_apex(self, frames: Frames, before: Frame, crop: Crop, watch: Watch | None) -> Frame:
        """The apex after a given onset; the frames are read once, and what surrounds the face is kept of them."""
        last = before.number + max(1, round(LONGEST * (frames.fps or ASSUMED_RATE)))
        read = [before, *frames.between(before.number + 1, last)]
        if len(read) < 2:
            raise FrameError(f"the onset {before.number} is the last frame", fix="give an onset with frames after it")
        patches = [cut_patch(frame.pixels, crop, self.settings.patch) for frame in read]
        small = ArrayFrames([patch.pixels for patch in patches])
        apex = spot_apex(small, 0, len(read) - 1, patches[0].place(crop))
        if watch is not None:
            for frame in read[: 2 * apex + 1]:  # the return may take as long as the rise
                watch(ShownFace(frame, crop))
        return read[apex]

    def _crop(self, pixels: np.ndarray) -> Crop:
        """The crop on the onset frame, as `epir prepare` takes it; `NoFace` where there is none that can be used."""
        if self.recipe.face.detector == "none":
            return whole_frame(pixels)
        face, tracking = find_face(pixels, self.recipe.face), self.tracking
        if face is None or face.confidence < tracking.least_score or not face.is_plausible:
            raise NoFace(NO_FACE, ["no face was found; a picture that is cropped to the face needs --detector none"])
        crop = face_crop(face, self.recipe.face)
        if flatness(small_face(pixels, crop, tracking.size)) > tracking.flattest:
            raise NoFace(NO_FACE, ["what looks like a face is drawn"])
        if face.temples < tracking.least_face:
            raise NoFace(TOO_SMALL, [caution.too_small(face.temples, tracking.least_face)])
        return crop

    def _views_of(self, pictures: Mapping[int, np.ndarray], movement: MovementMap, crop: Crop) -> np.ndarray:
        """The maps (V, 3, S, S) of a movement for a model that takes several."""
        return movement_views(self.views, movement.key_frames, pictures, crop, self.recipe, self.backend.map_size)


def _advancing(frames: Iterable[Frame], steps: TimeSteps, progress: Progress) -> Iterator[Frame]:
    for frame in frames:
        steps.push(frame.seconds)
        progress.advance()
        yield frame


def _watched(frames: Frames, onset: Frame, apex: int, crop: Crop, watch: Watch) -> Frame:
    """The apex, shown to `watch` with what lies before it, and as long after it as the rise took."""
    watch(ShownFace(onset, crop))
    for frame in frames.between(onset.number + 1, apex):
        watch(ShownFace(frame, crop))
    after = frames.frame(apex)
    for frame in frames.between(apex + 1, 2 * apex - onset.number):
        watch(ShownFace(frame, crop))
    return after
