"""The recognizer: a video, frames or two pictures -> an answer with what it rests on.

Axes: S map size, h pixels of the face
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from epir.core.config import refuse_unknown
from epir.core.errors import ConfigError, EpirError, FaceNotFound, FrameError
from epir.core.progress import Progress, Silent
from epir.evaluation.fold import one_thread as one_torch_thread
from epir.faces.align import Crop
from epir.faces.finder import find_crop
from epir.flow.apex import spot_apex
from epir.flow.head_motion import similarity_motion
from epir.flow.map import cut_face, flow_to_map, without_border
from epir.flow.optical import flow_between
from epir.flow.recipe import Recipe
from epir.frames.reader import Frames
from epir.maps.workers import one_thread
from epir.models.folder import find_folder
from epir.recognition import caution
from epir.recognition.answer import NOT_FOUND, UNCERTAIN, Answer, Evidence
from epir.recognition.backend import Backend, open_backend, read_recipe
from epir.recognition.calibration import with_temperature
from epir.recognition.source import PairFrames, open_source, source_name
from epir.recognition.table import answers_table
from epir.spotting.settings import LONGEST, SpottingSettings
from epir.spotting.spotter import spot
from epir.spotting.timeline import Movement
from epir.spotting.track import count_faces

ASSUMED_RATE = 100.0  # frames a second, where the input does not say
DEFAULT_THRESHOLD = 0.5  # below it an answer is more likely wrong than right
NEAR = 1.5  # of the longest movement: how far around a given apex the onset is looked for


@dataclass(frozen=True)
class Span:
    """The key frames of one movement."""

    onset: int
    apex: int
    offset: int | None = None
    crop: Crop | None = None  # where spotting saw the face


class Recognizer:
    """Answers for videos, frames and pictures; make one with `from_pretrained`."""

    def __init__(self, backend: Backend, *, threshold: float | None = None) -> None:
        notes = backend.config.notes
        self.backend = backend
        self.labels = backend.config.classes
        self.recipe = read_recipe(notes)
        self.temperature = float(notes.get("temperature", 1.0))
        self.threshold = float(notes.get("threshold", DEFAULT_THRESHOLD)) if threshold is None else threshold
        if not 0 <= self.threshold <= 1:
            raise ConfigError(f"the threshold cannot be {self.threshold:g}", fix="give a score from 0 to 1")
        self.spotting = SpottingSettings(face=self.recipe.face)

    @classmethod
    def from_pretrained(
        cls,
        folder: str | Path | None = None,
        *,
        backend: Literal["torch", "onnx"] | None = None,
        threshold: float | None = None,
    ) -> "Recognizer":
        """The recognizer of a model folder, an ONNX file or `owner/name` on the hub; the shipped one by default."""
        if backend is not None:
            refuse_unknown(backend, ("torch", "onnx"), what="backend")
        return cls(open_backend(find_folder(folder), backend), threshold=threshold)

    def predict(
        self,
        given: Any,
        *,
        onset: int | None = None,
        apex: int | None = None,
        fps: float | None = None,
        name: str | None = None,
        progress: Progress | None = None,
    ) -> Answer:
        """The answer for a video file, a folder of frames, an array (T, H, W, 3), or two pictures (onset, apex).

        Onset and apex are frame numbers; without them the movements are spotted. The answer is that of the strongest
        movement; `answer.all` holds every movement, in the order of time.
        """
        name = source_name(given) if name is None else name
        if fps is not None and not 0 < fps < float("inf"):
            raise FrameError(f"{fps:g} frames a second is no frame rate", fix="give the rate of the camera: --fps 100")
        with open_source(given) as frames, one_thread(), one_torch_thread():
            if isinstance(frames, PairFrames):
                onset, apex = 0, 1
            _refuse_spans(frames, onset, apex)
            rate = fps or frames.fps
            if onset is not None and apex is not None:
                words = [] if isinstance(frames, PairFrames) or rate is None else caution.about_rate(rate, 0)
                answers = self._answers(frames, [Span(onset, apex)], name, rate, words)
                return replace(answers[0], all=tuple(answers))
            words = caution.about_rate(rate, ASSUMED_RATE)
            rate = rate or ASSUMED_RATE
            if onset is not None:
                span = self._with_apex(frames, onset, rate)
                answers = self._answers(frames, [span], name, rate, words)
                return replace(answers[0], all=tuple(answers))
            return self._spotted(frames, apex, name, rate, words, progress or Silent())

    def predict_many(self, inputs: Iterable[Any], **options: Any) -> Any:
        """A pandas DataFrame with one row per movement; an input that fails has its error in the column `error`."""
        answers: list[Answer] = []
        errors: dict[str, str] = {}
        for given in inputs:
            try:
                answers.append(self.predict(given, **options))
            except EpirError as error:
                errors[source_name(given)] = error.problem
        return answers_table(answers, errors, self.labels)

    def _spotted(
        self, frames: Frames, apex: int | None, name: str, rate: float, words: list[str], progress: Progress
    ) -> Answer:
        """Spot the movements (or the one around a given apex) and answer for each."""
        first, last = frames.numbers[0], frames.numbers[-1]
        if apex is not None:
            around = round(NEAR * LONGEST * rate)
            first, last = max(first, apex - around), min(last, apex + around)
        progress.start("spotting", sum(first <= number <= last for number in frames.numbers))
        timeline = spot(frames.between(first, last), fps=rate, settings=self.spotting, progress=progress)
        progress.finish()
        spans = [Span(each.onset, each.apex, each.offset, each.crop) for each in timeline.movements]
        if apex is not None:
            spans = [_around(timeline.movements, apex)]
        if not spans:
            words = words + caution.about_face(timeline.crops[0], timeline.faces)
            return Answer(name, NOT_FOUND, fps=rate, warnings=tuple(words), timeline=timeline)
        answers = [replace(each, timeline=timeline) for each in self._answers(frames, spans, name, rate, words)]
        strengths = [each.strength for each in timeline.movements] if apex is None else [1.0]
        return replace(answers[int(np.argmax(strengths))], all=tuple(answers))

    def _with_apex(self, frames: Frames, onset: int, rate: float) -> Span:
        """The apex within half a second after a given onset."""
        last = min(onset + max(1, round(LONGEST * rate)), frames.numbers[-1])
        crop = find_crop(frames.read(onset), self.recipe.face)
        return Span(onset, spot_apex(frames, onset, last, crop))

    def _answers(
        self, frames: Frames, spans: Sequence[Span], name: str, rate: float | None, words: Sequence[str]
    ) -> list[Answer]:
        """One answer per span; the frames are read forwards."""
        looked = [self._look(frames, span) for span in spans]
        maps = np.stack([made for made, _, _ in looked])  # (n, 3, S, S)
        scores = with_temperature(self.backend.scores(maps), self.temperature)  # (n, C)
        answers = []
        for span, (made, evidence, found), row, tokens in zip(
            spans, looked, scores, self.backend.tokens(maps), strict=True
        ):
            moved = _moved(evidence.flow)
            sure = float(row.max()) >= self.threshold and moved[1] >= caution.HARDLY_MOVED
            said = [*words, *found, *caution.about_motion(*moved)]
            answers.append(
                Answer(
                    input=name,
                    label=self.labels[int(row.argmax())] if sure else UNCERTAIN,
                    scores={label: round(float(score), 6) for label, score in zip(self.labels, row, strict=True)},
                    onset=span.onset,
                    apex=span.apex,
                    offset=span.offset,
                    fps=rate,
                    warnings=tuple(said),
                    map=made,
                    tokens=tokens,
                    evidence=evidence,
                )
            )
        return answers

    def _look(self, frames: Frames, span: Span) -> tuple[np.ndarray, Evidence, list[str]]:
        """The map of one movement, made as `epir prepare` makes it, the pixels behind it, and words about the face."""
        before = frames.read(span.onset)
        crop = self._crop(before, span)
        faces = [cut_face(before, crop, self.recipe), cut_face(frames.read(span.apex), crop, self.recipe)]
        flow = without_border(flow_between(faces[0], faces[1], self.recipe), self.recipe)  # (h, h, 2)
        border = self.recipe.flow.border
        inner = [face[border : face.shape[0] - border, border : face.shape[1] - border] for face in faces]
        made = flow_to_map(flow, self.recipe, self.backend.map_size)
        return made, Evidence(inner[0], inner[1], flow), _face_words(before, crop, self.recipe)

    def _crop(self, onset: np.ndarray, span: Span) -> Crop:
        """The crop on the onset frame, as `epir prepare` takes it; that of spotting where it is lost or another's."""
        try:
            found = find_crop(onset, self.recipe.face)
        except FaceNotFound:
            if span.crop is None:
                raise
            return span.crop
        if span.crop is not None and np.hypot(found.x - span.crop.x, found.y - span.crop.y) > span.crop.side / 2:
            return span.crop
        return found


def _refuse_spans(frames: Frames, onset: int | None, apex: int | None) -> None:
    first, last = frames.numbers[0], frames.numbers[-1]
    for name, number in (("onset", onset), ("apex", apex)):
        if number is not None and not first <= number <= last:
            raise FrameError(
                f"the {name} {number} is not in {frames.path}, which holds frames {first} to {last}",
                fix=f"give a frame number from {first} to {last}",
            )
    if onset is not None and apex is not None and onset >= apex:
        raise FrameError(f"the apex {apex} does not come after the onset {onset}", fix="give an onset before the apex")
    if apex == first and onset is None:
        raise FrameError(f"the apex {apex} is the first frame", fix="give an apex with frames before it")
    if onset == last and apex is None:
        raise FrameError(f"the onset {onset} is the last frame", fix="give an onset with frames after it")


def _around(movements: Sequence[Movement], apex: int) -> Span:
    """The movement that holds a given apex, with that apex."""
    for each in movements:
        if each.onset < apex < each.offset:
            return Span(each.onset, apex, each.offset, each.crop)
    raise FrameError(f"no movement was found around the apex {apex}", fix="give the onset too")


def _moved(flow: np.ndarray) -> tuple[float, float]:
    """How far the head and how far the skin went in an (h, h, 2) flow, as shares of the face's width."""
    rigid = similarity_motion(flow)
    skin = np.hypot(*np.moveaxis(flow - rigid, -1, 0))
    head = np.hypot(*np.moveaxis(rigid, -1, 0)).max()
    return float(head) / flow.shape[0], float(np.quantile(skin, 0.98)) / flow.shape[0]


def _face_words(frame: np.ndarray, crop: Crop, recipe: Recipe) -> list[str]:
    """Words about the face of one frame; others in it are looked for at half its size."""
    if recipe.face.detector == "none":
        return caution.about_face(crop, 1)
    return caution.about_face(crop, count_faces(frame, crop.side))
