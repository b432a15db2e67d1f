"""Classify maps of movements: calibrated scores, action units, and which parts of the face they depend on.

The attribution is occlusion sensitivity [ZF]: how far the probability of the class falls when a part of the map is
replaced by the motion of most of the face. It only needs predictions, so it works for every model and backend; all
occluded copies of a map go through the model in one batch. For a confident model every fall is small, but their order
still shows where it looks. A test compares it with the patches that are known to move.

[ZF] Zeiler and Fergus 2014, Visualizing and Understanding Convolutional Networks, section 4.2

Axes: n movements, S map size, C classes, U action units, P parts (patches, then groups of regions), g patches per side
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from epir.core.errors import ConfigError
from epir.core.words import percent
from epir.models.predict import Backend, Tokens, read_tokens, with_temperature
from epir.models.units import PRESENT, UnitCalibration
from epir.recognition import caution
from epir.recognition.answer import KEYS, UNCERTAIN, ActionUnit, Answer, Attribution
from epir.recognition.movement import MovementMap
from epir.spotting.regions import GRID, GROUPS, OTHER_SIDE, members, region_cells
from epir.spotting.timeline import FaceMovement
from epir.spotting.words import RegionMotion, in_group

THRESHOLD = 0.5  # score below which an answer is `uncertain`, unless the model folder sets another
LEAST_PROBABILITY = 0.5  # probability of a micro-expression below which the answer is `uncertain`
BATCH = 16  # maps
PATCHES = 7  # per side: 4 px of a map of 28 px
REACH = 0.5  # share of a patch by which an occlusion extends beyond it, since movements are wider than a patch

Predict = Callable[[np.ndarray], np.ndarray]  # maps (n, 3, S, S) -> probabilities (n, C)


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
        self.highest = float(notes.get("highest", 1.0))  # the highest score that the calibration data support
        self.unit_calibration = UnitCalibration.of_notes(notes)

    def calibrated(self, scores: np.ndarray) -> np.ndarray:
        """The scores (n, C) of the network after calibration."""
        return with_temperature(scores, self.temperature, self.highest)

    def scores(self, maps: np.ndarray) -> np.ndarray:
        """Return the calibrated scores (n, C) of maps (n, 3, S, S)."""
        return self.calibrated(self.backend.predict(maps).scores)

    def plain_scores(self, maps: np.ndarray) -> np.ndarray:
        """Calibrated scores (n, C) from one view of each map (n, 3, S, S): fast, for occluded copies."""
        return self.calibrated(self.backend.plain_scores(maps))

    def answers(self, movements: Sequence[MovementMap], name: str, fps: float | None) -> list[Answer]:
        """One answer per movement."""
        parts = (movements[place : place + BATCH] for place in range(0, len(movements), BATCH))
        return [answer for part in parts for answer in self._answer_batch(part, name, fps)]

    def explained(self, answer: Answer) -> Answer:
        """The answer with an attribution for every movement whose pixels were kept."""

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
        scores = self.calibrated(predicted.scores)  # (n, C)
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
        """The answer for a movement with its scores (C,); without a frame rate it has no times."""
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
            warnings=(*movement.warnings, *caution.motion_warnings(*movement.moved)),
            units=tuple(unit.seen_in(movement.regions) for unit in units),
            map=movement.map,
            tokens=tokens,
            evidence=movement.evidence,
            **values,
        )

    def _is_sure(self, movement: MovementMap, scores: np.ndarray) -> bool:
        """Whether the highest of the scores (C,) names the class: it is high enough, and the face did move."""
        is_movement = movement.spotted is None or movement.spotted.probability >= LEAST_PROBABILITY
        has_moved = movement.moved[1] >= caution.HARDLY_MOVED
        return bool(scores.max() >= self.threshold and has_moved and is_movement)

    def _units(self, logits: np.ndarray | None, count: int) -> list[tuple[ActionUnit, ...]]:
        """The action units of each map from logits (n, 3, U), most probable first; none if the model has no head."""
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
    """The fields of an answer that come from the spotter; `side` agrees with `Answer.text`."""
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


def attribute(predict: Predict, flow_map: np.ndarray, labels: Sequence[str]) -> Attribution:
    """The attribution of the most probable class for a map (3, S, S)."""
    size = flow_map.shape[-1]
    parts = np.concatenate([patch_masks(size, PATCHES, REACH), region_masks(size)])  # (P, S, S)
    scores = predict(np.concatenate([flow_map[None], occluded(flow_map, parts)]))  # (1 + P, C)
    best = int(scores[0].argmax())
    falls = scores[0, best] - scores[1:, best]  # (P,)
    patches, regions = falls[: PATCHES**2].reshape(PATCHES, PATCHES), falls[PATCHES**2 :]
    by_region = {name: float(fall) for name, fall in zip(GROUPS, regions, strict=True)}
    return Attribution(labels[best], patches.astype(np.float32), by_region)


def occluded(flow_map: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """One copy of a map (3, S, S) per part (P, S, S), with that part made neutral: (P, 3, S, S)."""
    return np.where(parts[:, None], neutral(flow_map), flow_map).astype(np.float32)


def neutral(flow_map: np.ndarray) -> np.ndarray:
    """The median of each channel (3, 1, 1): the motion of most of the face, also in a map stretched to 0..1."""
    return np.median(flow_map, axis=(1, 2), keepdims=True)


@cache
def patch_masks(size: int, patches: int, reach: float = 0.0) -> np.ndarray:
    """The pixels of each patch of a map, row by row, plus `reach` of a patch around it: (g * g, S, S) bool."""
    centres = (np.arange(size) + 0.5) * patches / size - 0.5  # of pixels, in patches
    near = np.abs(centres[None] - np.arange(patches)[:, None]) < 0.5 + reach - 1e-6  # (g, S)
    near[np.arange(size) * patches // size, np.arange(size)] = True  # pixels on the border of two patches
    return (near[:, None, :, None] & near[None, :, None, :]).reshape(-1, size, size)


@cache
def region_masks(size: int) -> np.ndarray:
    """The pixels of each group of regions, both sides together, (G, S, S) bool."""
    place = np.arange(size) * GRID // size
    cells = region_cells().reshape(-1, GRID, GRID)[:, place][:, :, place] > 0  # (R, S, S)
    return np.stack([cells[members(name)].any(axis=0) for name in GROUPS])
