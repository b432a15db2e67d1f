"""Scores that hold on real people: one temperature, fitted on their map sets, for a model trained on synthetic faces.

Nothing else of the model changes. What is said about the calibrated scores is measured by leaving one corpus out: the
clips of each corpus under the temperature that fits the others (of a single corpus: one half of its people).

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
from epir.final.calibration import (
    calibration_error,
    cross_fitted,
    fit_temperature,
    highest_score,
    warn_if_few_people,
)
from epir.final.card import replace_calibration
from epir.maps.mapset import MapSet
from epir.models.folder import check_fits, find_folder, load_network, read_config, write_config
from epir.models.predict import predict_maps, with_temperature
from epir.models.seen import FITTED_ON

EDGES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)  # of the best score, for the table of how many answers were right
FEWEST = 8  # answers that a share of right ones is quoted for
NOTES = "real_people"  # under this name in the notes of a model folder


@dataclass(frozen=True)
class Bin:
    """Answers whose best score lies in a range, and how many of them were right."""

    low: float
    high: float
    clips: int
    right: float


@dataclass(frozen=True)
class RealCalibration:
    """The temperature of real people, and how well scores mean what they say there."""

    temperature: float
    temperature_before: float  # that of the model folder
    protocol: str
    clips: int
    people: int
    corpora: Mapping[str, int]  # clips of each
    error_before: float  # expected calibration error under the temperature before
    error_after: float  # each corpus under the temperature of the others
    by_corpus: Mapping[str, Mapping[str, float]]  # the temperature of the others, and the error under it
    mean_score: float  # best score after calibration, each corpus under the temperature of the others
    right: float  # share of all answers
    reliability: tuple[Bin, ...]
    highest: float = 1.0  # no score is above it


def calibrate_on_real_people(
    model: str | Path | None, maps: Sequence[str | Path | MapSet], *, protocol: str, write: bool = True
) -> RealCalibration:
    """Fit the temperature of a model folder on map sets of real people, and write it there with its card."""
    folder = find_folder(model)
    if write and model is None:
        raise ConfigError(
            "the model that comes with epir is not changed where it is installed",
            fix="measure only with --dry-run, or give a copy of its folder",
        )
    config = read_config(folder)
    with opened(list(maps)) as sets, one_thread():
        clips = gather(sets, protocol)
        check_fits(folder, classes=clips.classes, map_size=clips.size)
        if seen := find_seen(folder, clips):
            raise LeakError(
                f"the model has seen {'; '.join(seen)}, and is surer of them than of others",
                fix="calibrate on other people; epir train calibrates on held-out people by itself",
            )
        scores = predict_maps(load_network(folder), read_maps(clips.samples), units=False, **config.views).scores
    calibration = measure(scores, clips, before=float(config.notes.get("temperature", 1.0)))
    if write:
        with locked(resolved(folder)):
            _write(folder, calibration, {clip.person for clip in clips.clips})
    return calibration


def measure(scores: np.ndarray, clips: EvaluationSet, *, before: float) -> RealCalibration:
    """The calibration that fits uncalibrated scores (n, C) of these clips."""
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
        reliability=reliability(after, truth),
    )


def reliability(scores: np.ndarray, truth: np.ndarray) -> tuple[Bin, ...]:
    """How many answers were right by their best score, for scores (n, C); ranges without an answer are left out."""
    best, hits = scores.max(axis=1), scores.argmax(axis=1) == truth
    place = np.clip(np.searchsorted(EDGES, best, side="right") - 1, 0, len(EDGES) - 2)
    return tuple(
        Bin(EDGES[number], EDGES[number + 1], int(inside.sum()), round(float(hits[inside].mean()), 4))
        for number in range(len(EDGES) - 1)
        if (inside := place == number).any()
    )


def quotable(notes: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The ranges of scores of which enough answers on real people are known, by the notes of a model folder."""
    return [dict(values) for values in (notes.get(NOTES) or {}).get("reliability", ()) if values["clips"] >= FEWEST]


def _groups(clips: EvaluationSet) -> np.ndarray:
    """The corpus of each clip, (n,); of a single corpus one half of its people or the other."""
    corpora = np.array([clip.corpus for clip in clips.clips])
    if len(set(corpora.tolist())) > 1:
        return corpora
    people = sorted({clip.person for clip in clips.clips})
    return np.array([f"half {people.index(clip.person) % 2 + 1}" for clip in clips.clips])


def _write(folder: Path, calibration: RealCalibration, people: Collection[str]) -> None:
    path = folder / "config.json"
    values = json.loads(path.read_text(encoding="utf-8"))
    told = {**asdict(calibration), FITTED_ON: sorted(people)}
    values["notes"] |= {"temperature": calibration.temperature, "highest": calibration.highest, NOTES: told}
    write_config(folder, values)
    card = folder / "README.md"
    if card.exists():
        write_text(card, replace_calibration(card.read_text(encoding="utf-8"), values["notes"]))
