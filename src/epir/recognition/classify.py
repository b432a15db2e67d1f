"""Maps of movements -> answers: calibrated scores, action units, and what they rest on.

Axes: n movements, S map size, C classes, U action units
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from epir.core.errors import ConfigError
from epir.core.words import percent
from epir.models.predict import Backend, Tokens, read_tokens, with_temperature
from epir.models.units import PRESENT, UnitCalibration
from epir.recognition import caution
from epir.recognition.answer import KEYS, UNCERTAIN, ActionUnit, Answer
from epir.recognition.explain import attribute
from epir.recognition.movement import MovementMap
from epir.spotting.regions import OTHER_SIDE
from epir.spotting.timeline import FaceMovement
from epir.spotting.words import RegionMotion, in_group

THRESHOLD = 0.5  # a score below is `uncertain`, where the model has no threshold of its own
LEAST_PROBABILITY = 0.5  # of being a micro-expression at all: below it the answer is `uncertain`
BATCH = 16  # maps that the model sees at once


class MapClassifier:
    """A network with the calibration of its model folder."""

    def __init__(self, backend: Backend, threshold: float | None = None) -> None:
        notes = backend.config.notes
        self.backend = backend
        self.threshold = float(notes.get("threshold", THRESHOLD)) if threshold is None else threshold
        if not 0 <= self.threshold <= 1:
            raise ConfigError(f"the threshold cannot be {self.threshold:g}", fix="give a score from 0 to 1")
        self.labels = backend.config.classes
        self.temperature = float(notes.get("temperature", 1.0))
        self.highest = float(notes.get("highest", 1.0))  # score that the people it was calibrated on support
        self.unit_calibration = UnitCalibration.of_notes(notes)

    def scores(self, maps: np.ndarray) -> np.ndarray:
        """Calibrated scores (n, C) of maps (n, 3, S, S)."""
        return self._calibrated(self.backend.predict(maps).scores)

    def plain_scores(self, maps: np.ndarray) -> np.ndarray:
        """The same from one view of each map: quicker, for many occluded copies."""
        return self._calibrated(self.backend.plain_scores(maps))

    def _calibrated(self, scores: np.ndarray) -> np.ndarray:
        return with_temperature(scores, self.temperature, self.highest)

    def answers(self, movements: Sequence[MovementMap], name: str, fps: float | None) -> list[Answer]:
        """One answer per movement; the network reads a few maps at a time."""
        parts = (movements[place : place + BATCH] for place in range(0, len(movements), BATCH))
        return [answer for part in parts for answer in self._answer_batch(part, name, fps)]

    def explained(self, answer: Answer) -> Answer:
        """The answer with the attribution of every movement whose pixels were kept."""

        def explained(each: Answer) -> Answer:
            if each.map is None or each.evidence is None:
                return each
            return replace(each, attribution=attribute(self.plain_scores, each.map, self.labels))

        every = tuple(explained(each) for each in answer.all)
        strongest = next((each.attribution for each in every if each.map is answer.map), None)
        return replace(answer, attribution=strongest, all=every)

    def _answer_batch(self, movements: Sequence[MovementMap], name: str, fps: float | None) -> list[Answer]:
        maps = np.stack([each.map for each in movements])  # (n, 3, S, S)
        predicted = self.backend.predict(maps)
        scores = self._calibrated(predicted.scores)  # (n, C)
        units_of = self._units(predicted.units, len(maps))
        tokens: list[Tokens | None] = [read_tokens(each, "the model") for each in self.backend.tokens(maps)]
        return [
            self._answer(each, row, token, units, name, fps)
            for each, row, token, units in zip(movements, scores, tokens or [None] * len(maps), units_of, strict=True)
        ]

    def _answer(
        self,
        movement: MovementMap,
        scores: np.ndarray,
        tokens: Tokens | None,
        units: Sequence[ActionUnit],
        name: str,
        fps: float | None,
    ) -> Answer:
        """The answer for a movement with its scores (C,); times are unknown without a frame rate."""
        values = _spotted_values(movement.spotted, movement.regions)
        for key, frame in zip(KEYS, (movement.onset, movement.apex, movement.offset), strict=True):
            if frame is not None:
                values |= {key: frame.number, f"{key}_s": None if fps is None else round(frame.seconds, 4)}
        return Answer(
            input=name,
            label=self.labels[int(scores.argmax())] if self._is_sure(movement, scores) else UNCERTAIN,
            scores={label: round(float(score), 6) for label, score in zip(self.labels, scores, strict=True)},
            fps=fps,
            moved=movement.regions,
            warnings=(*movement.words, *caution.motion_warnings(*movement.moved)),
            units=tuple(unit.seen_in(movement.regions) for unit in units),
            map=movement.map,
            tokens=tokens,
            evidence=movement.evidence,
            **values,
        )

    def _is_sure(self, movement: MovementMap, scores: np.ndarray) -> bool:
        """Whether the best of the scores (C,) may be called the class: it is high, and there was a movement at all."""
        is_movement = movement.spotted is None or movement.spotted.probability >= LEAST_PROBABILITY
        has_moved = movement.moved[1] >= caution.HARDLY_MOVED
        return bool(scores.max() >= self.threshold and has_moved and is_movement)

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


def _spotted_values(movement: FaceMovement | None, moved: Sequence[RegionMotion]) -> dict[str, Any]:
    """What an answer takes over from the spotter; the side is that of the words, where they name the region."""
    if movement is None:
        return {}
    named = in_group(moved, movement.region)
    return {
        "track": movement.track,
        "probability": round(movement.probability, 4),
        "strength": percent(movement.strength),
        "region": movement.region,
        "side": named[0].side if named else OTHER_SIDE[movement.side],
        "head": percent(movement.head),
        "rule": movement.reason,
    }
