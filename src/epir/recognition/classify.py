"""Maps of movements -> answers: calibrated scores, action units, and what they rest on.

Axes: n movements, V maps of each, S map size, C classes, U action units
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from epir.models.units import PRESENT, UnitCalibration
from epir.recognition import caution
from epir.recognition.answer import UNCERTAIN, ActionUnit, Answer
from epir.recognition.backend import Backend, model_views
from epir.recognition.calibration import with_temperature
from epir.recognition.explain import attribute
from epir.recognition.movement import MovementMap
from epir.recognition.settings import RecognitionSettings


class MapClassifier:
    """A network with the calibration of its model folder."""

    def __init__(self, backend: Backend, settings: RecognitionSettings) -> None:
        notes = backend.config.notes
        self.backend, self.settings = backend, settings
        self.labels = backend.config.classes
        self.temperature = float(notes.get("temperature", 1.0))
        self.highest = float(notes.get("highest", 1.0))  # score that the people it was calibrated on support
        self.unit_calibration = UnitCalibration.of_notes(notes)

    def scores(self, maps: np.ndarray) -> np.ndarray:
        """Calibrated scores (n, C) of maps (n, 3, S, S), or (n, V, 3, S, S) for a model that takes several."""
        return self._calibrated(self.backend.scores(maps))

    def plain_scores(self, maps: np.ndarray) -> np.ndarray:
        """The same from one view of each map: quicker, for many occluded copies."""
        return self._calibrated(self.backend.plain_scores(maps))

    def _calibrated(self, scores: np.ndarray) -> np.ndarray:
        return with_temperature(scores, self.temperature, self.highest)

    def answers(self, movements: Sequence[MovementMap], name: str, fps: float | None) -> list[Answer]:
        """One answer per movement; the network reads a few maps at a time."""
        step = self.settings.batch
        parts = (movements[place : place + step] for place in range(0, len(movements), step))
        return [answer for part in parts for answer in self._answer_batch(part, name, fps)]

    def explained(self, answer: Answer) -> Answer:
        """The answer with the attribution of every movement whose pixels were kept; of a model of one map alone."""
        if model_views(self.backend):
            return answer

        def explained(each: Answer) -> Answer:
            if each.map is None or each.evidence is None:
                return each
            return replace(each, attribution=attribute(self.plain_scores, each.map[None], self.labels)[0])

        every = tuple(explained(each) for each in answer.all)
        own = next((each.attribution for each in every if each.map is answer.map), None)
        return replace(answer, attribution=own, all=every)

    def _answer_batch(self, movements: Sequence[MovementMap], name: str, fps: float | None) -> list[Answer]:
        # (n, 3, S, S), or (n, V, 3, S, S) for a model that takes several
        maps = np.stack([each.map if each.views is None else each.views for each in movements])
        plain, logits = self.backend.scores_and_units(maps)
        scores = self._calibrated(plain)  # (n, C)
        units_of = self._units(logits, len(maps))
        answers = []
        for each, row, tokens, units in zip(movements, scores, self.backend.tokens(maps), units_of, strict=True):
            onset, apex, offset = each.key_frames.onset, each.key_frames.apex, each.key_frames.offset
            answers.append(
                Answer(
                    input=name,
                    label=self.labels[int(row.argmax())] if self._is_sure(each, row) else UNCERTAIN,
                    scores={label: round(float(score), 6) for label, score in zip(self.labels, row, strict=True)},
                    onset=onset.number,
                    apex=apex.number,
                    offset=None if offset is None else offset.number,
                    onset_s=None if fps is None else round(onset.seconds, 4),
                    apex_s=None if fps is None else round(apex.seconds, 4),
                    offset_s=None if fps is None or offset is None else round(offset.seconds, 4),
                    fps=fps,
                    track=each.key_frames.track,
                    probability=None if each.probability is None else round(each.probability, 4),
                    strength=None if each.strength is None else round(each.strength, 5),
                    moved=each.regions,
                    warnings=tuple([*each.words, *caution.about_motion(*each.moved, self.settings)]),
                    units=units,
                    map=each.map,
                    tokens=tokens,
                    evidence=each.evidence,
                )
            )
        return answers

    def _is_sure(self, movement: MovementMap, scores: np.ndarray) -> bool:
        """Whether the best of the scores (C,) may be called the class: it is high, and there was a movement at all."""
        settings, probability = self.settings, movement.probability
        is_movement = probability is None or probability >= settings.least_probability
        return bool(scores.max() >= settings.threshold and movement.moved[1] >= settings.hardly_moved and is_movement)

    def _units(self, logits: np.ndarray | None, count: int) -> list[tuple[ActionUnit, ...]]:
        """The action units of each map from logits (n, 3, U), the most probable first; none without a head for them."""
        if logits is None:
            return [()] * count
        probabilities = self.unit_calibration.probabilities(logits)  # (n, 3, U)
        sides, numbers = self.unit_calibration.sides(logits), self.backend.config.units
        answers = []
        for row, sided in zip(probabilities[:, PRESENT], sides.tolist(), strict=True):
            units = [ActionUnit(*each[:2], round(float(each[2]), 4)) for each in zip(numbers, sided, row, strict=True)]
            answers.append(tuple(sorted(units, key=lambda unit: -unit.probability)))
        return answers
