"""Calibrate a model trained on synthetic faces for real people: fit one temperature on their map sets.

Nothing else of the model changes. The calibrated scores are measured by leaving one corpus out: the clips of each
corpus with the temperature fitted on the others (for a single corpus: on the other half of its people).

Axes: n clips, C classes
"""

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from epir.core.engines import one_thread
from epir.core.errors import ConfigError, LeakError
from epir.core.files import write_text
from epir.core.output import locked, resolved
from epir.evaluation.leaks import find_seen
from epir.evaluation.run import opened
from epir.evaluation.samples import EvaluationSet, gather, read_maps
from epir.evaluation.scores import score_predictions
from epir.final.calibration import (
    calibration_error,
    cross_fitted,
    fit_temperature,
    highest_score,
    predictions_of,
    warn_if_few_people,
)
from epir.final.card import REAL_PEOPLE, replace_calibration
from epir.maps.mapset import MapSet
from epir.models.folder import check_fits, find_folder, load_network, read_config, write_config
from epir.models.predict import predict_maps, with_temperature
from epir.models.seen import FITTED_ON

EDGES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)  # bins of the best score in the reliability table
FEWEST = 8  # answers in a bin whose accuracy may be quoted


@dataclass(frozen=True)
class Bin:
    """Answers whose best score lies in a range, and the share of right ones."""

    low: float
    high: float
    clips: int
    right: float


@dataclass(frozen=True)
class RealCalibration:
    """The temperature fitted on real people, and how well scores are calibrated there."""

    temperature: float
    temperature_before: float  # of the model folder
    protocol: str
    clips: int
    people: int
    corpora: Mapping[str, int]  # clips of each
    error_before: float  # expected calibration error with the former temperature
    error_after: float  # each corpus with the temperature of the others
    by_corpus: Mapping[str, Mapping[str, float]]  # the temperature of the others, and the error with it
    mean_score: float  # best score after calibration, each corpus with the temperature of the others
    right: float  # share of all answers
    uf1: float
    uf1_interval: tuple[float, float]  # 95 %, over people
    reliability: tuple[Bin, ...]
    highest: float = 1.0  # no score is above it


def calibrate_on_real_people(
    model: str | Path | None, maps: Sequence[str | Path | MapSet], *, protocol: str, write: bool = True
) -> RealCalibration:
    """Fit the temperature of a model folder on map sets of real people, and update the folder and its card."""
    folder = find_folder(model)
    if write and model is None:
        raise ConfigError(
            "the installed weights of epir cannot be changed",
            fix="measure only with --dry-run, or give a copy of its folder",
        )
    config = read_config(folder)
    with opened(list(maps)) as sets, one_thread():
        clips = gather(sets, protocol)
        check_fits(folder, classes=clips.classes, map_size=clips.size)
        if len({clip.person for clip in clips.clips}) < 2:
            raise ConfigError("calibration needs at least two people", fix="give map sets of more people")
        if seen := find_seen(folder, clips):
            raise LeakError(
                f"the model has seen {'; '.join(seen)}, so its scores are too high for them",
                fix="calibrate on other people; epir train calibrates on held-out people by itself",
            )
        scores = predict_maps(load_network(folder), read_maps(clips.samples), units=False, **config.views).scores
    calibration = measure_calibration(scores, clips, before=float(config.notes.get("temperature", 1.0)))
    if write:
        with locked(resolved(folder)):
            _write(folder, calibration, {clip.person for clip in clips.clips})
    return calibration


def measure_calibration(scores: np.ndarray, clips: EvaluationSet, *, before: float) -> RealCalibration:
    """Fit and measure the calibration of uncalibrated scores (n, C) of these clips."""
    scores = np.asarray(scores, float)
    truth = np.array([clips.classes.index(sample.label) for sample in clips.samples])
    group = _groups(clips)
    people = np.array([clip.person for clip in clips.clips])
    after = cross_fitted(scores, truth, group, people)
    names = sorted(set(group.tolist()))
    by_corpus = {
        name: {
            "temperature": round(
                fit_temperature(scores[group != name], truth[group != name], people[group != name]), 4
            ),
            "error": round(calibration_error(after[group == name], truth[group == name]), 4),
        }
        for name in names
    }
    temperature = fit_temperature(scores, truth, people)
    warn_if_few_people(temperature, people)
    strict = score_predictions(predictions_of(clips, scores, group.tolist()), clips.classes, "strict")
    return RealCalibration(
        temperature=round(temperature, 4),
        highest=round(highest_score(people), 6),
        temperature_before=before,
        protocol=clips.protocol,
        clips=len(truth),
        people=len({clip.person for clip in clips.clips}),
        corpora=dict(Counter(clip.corpus for clip in clips.clips)),
        error_before=round(calibration_error(with_temperature(scores, before), truth), 4),
        error_after=round(calibration_error(after, truth), 4),
        by_corpus=by_corpus,
        mean_score=round(float(after.max(axis=1).mean()), 4),
        right=round(float((after.argmax(axis=1) == truth).mean()), 4),
        uf1=strict["uf1"],
        uf1_interval=tuple(strict["uf1_interval"]),
        reliability=reliability(after, truth),
    )


def reliability(scores: np.ndarray, truth: np.ndarray) -> tuple[Bin, ...]:
    """Return the accuracy by best score, for scores (n, C); empty bins are left out."""
    best, hits = scores.max(axis=1), scores.argmax(axis=1) == truth
    place = np.clip(np.searchsorted(EDGES, best, side="right") - 1, 0, len(EDGES) - 2)
    return tuple(
        Bin(EDGES[number], EDGES[number + 1], int(inside.sum()), round(float(hits[inside].mean()), 4))
        for number in range(len(EDGES) - 1)
        if (inside := place == number).any()
    )


def quotable(notes: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the bins with enough answers on real people, from the notes of a model folder."""
    record = notes.get(REAL_PEOPLE) or {}
    if "synthetic" in record.get("corpora", ()):
        return []
    return [dict(values) for values in record.get("reliability", ()) if values["clips"] >= FEWEST]


def _groups(clips: EvaluationSet) -> np.ndarray:
    """Return the corpus of each clip, (n,); for a single corpus, the half of its people."""
    corpora = np.array([clip.corpus for clip in clips.clips])
    if len(set(corpora.tolist())) > 1:
        return corpora
    people = sorted({clip.person for clip in clips.clips})
    return np.array([f"half {people.index(clip.person) % 2 + 1}" for clip in clips.clips])


def _write(folder: Path, calibration: RealCalibration, people: Collection[str]) -> None:
    path = folder / "config.json"
    values = json.loads(path.read_text(encoding="utf-8"))
    record = {**asdict(calibration), FITTED_ON: sorted(people)}
    values["notes"] |= {"temperature": calibration.temperature, "highest": calibration.highest, REAL_PEOPLE: record}
    write_config(folder, values)
    card = folder / "README.md"
    if card.exists():
        write_text(card, replace_calibration(card.read_text(encoding="utf-8"), values["notes"]))
