"""One fold: train on its training clips, predict the held-out clips once, and record the predictions.

The held-out clips are also predicted after every epoch, only for the column `best_epoch`; training never sees that.

Axes: n held-out clips, E epochs, C classes, U action units
"""

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np

from epir.core.engines import JobProgress, one_thread
from epir.core.errors import CheckpointError, TrainingError
from epir.core.facs import UNITS
from epir.core.records import Prediction
from epir.core.seeds import stream_seed
from epir.evaluation.experiment import Experiment, inner_scores, with_choice
from epir.evaluation.samples import Sample, annotations, read_maps
from epir.models.estimator import Estimator
from epir.models.folder import find_folder, load_network, read_config, weights_digest
from epir.models.network import Network
from epir.models.packed import PackedMethod, PackedModel
from epir.models.predict import predict_maps, token_records
from epir.models.registry import Method, build, is_estimator
from epir.models.units import LEFT, PRESENT, RIGHT, UnitCalibration
from epir.training.data import LabelledMaps
from epir.training.train import fit, new_network

FORMAT = "epir-fold/1"
STRICT, NOT_STRICT = "strict", ("seen_in_training", "not_checked")  # the score column that a prediction counts in
OPTIONAL = ("named", "tokens", "units")  # fields of a clip that are left out of the file if empty
UNSIGNED = ("digest", "seconds", "training_seconds")  # fields that a record's digest ignores
Reader = Callable[[Sequence[Sample]], np.ndarray]


@dataclass(frozen=True)
class ClipRecord(Prediction):
    """The prediction for one held-out clip, with details for reports."""

    by_epoch: tuple[int, ...] = ()  # the class number after each epoch
    tokens: Mapping[str, Any] | None = None  # groups, selected, rollout (models with `explain`)
    units: Mapping[str, Any] | None = None  # annotation, found, present, left, right (models with a unit head)


@dataclass(frozen=True)
class FoldRecord:
    """The record of one fold and seed."""

    fold: str
    seed: int
    experiment: str  # digest of the experiment; the run folder fills it in
    clips: tuple[ClipRecord, ...]
    loss: tuple[float, ...] = ()  # mean over the training clips, per epoch
    best_epoch: int = 0  # of a fold of one person, from 1; 0 for several people or without epochs
    training_clips: int = 0
    training_seconds: float = 0.0
    seconds: float = 0.0  # in total
    chosen: str = ""  # nested: the chosen settings
    inner: Mapping[str, float] = field(default_factory=dict)  # nested: UF1 of every choice in the inner folds


def to_json(record: FoldRecord, column: str = STRICT) -> str:
    """Return the record as JSON text; `column` is the score column of its predictions."""
    clips = [_clip_values(clip, column) for clip in record.clips]
    values = json.loads(json.dumps({"format": FORMAT, **vars(record), "clips": clips}))
    return json.dumps({**values, "digest": _digest(values)}) + "\n"


def _clip_values(clip: ClipRecord, column: str) -> dict[str, Any]:
    """Return the fields of a clip, without empty ones and without seed and fold, which the record has."""
    values = {item.name: getattr(clip, item.name) for item in fields(clip) if item.name not in ("seed", "fold")}
    present = {name: value for name, value in values.items() if name not in OPTIONAL or value not in (None, "")}
    return {column if name == STRICT else name: value for name, value in present.items()}


def _digest(values: Mapping[str, Any]) -> str:
    signed = {name: value for name, value in values.items() if name not in UNSIGNED}
    return hashlib.sha256(json.dumps(signed, sort_keys=True).encode()).hexdigest()


def from_json(text: str) -> FoldRecord:
    """Read a record; raises `ValueError`, `KeyError` or `TypeError` if the text is not one or was changed."""
    values = json.loads(text)
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        raise ValueError(f"not {FORMAT}")
    digest = values.pop("digest", None)
    if digest != _digest(values):
        raise ValueError("it was changed after it was written")
    del values["format"]
    clips = tuple(_clip(clip, values["seed"], values["fold"]) for clip in values.pop("clips"))
    return FoldRecord(**{**values, "clips": clips, "loss": tuple(values["loss"])})


def _clip(values: dict[str, Any], seed: int, fold: str) -> ClipRecord:
    for name in NOT_STRICT:
        if name in values:
            values[STRICT] = values.pop(name)
    sequences = {name: tuple(values[name]) for name in ("scores", "by_epoch")}
    return ClipRecord(**{**values, **sequences}, seed=seed, fold=fold)


@dataclass(frozen=True)
class FoldTask:
    """Everything a worker needs to run one fold with one seed; it reads the maps itself."""

    experiment: Experiment
    fold: str
    seed: int
    train: tuple[Sample, ...]
    test: tuple[Sample, ...]
    weights: Path | None = None  # the model folder that predicts (zero-shot) or that training starts from
    method: Method | None = None  # the user's method; None: part of epir
    read: Reader = read_maps  # samples -> maps (n, 3, S, S)


@dataclass(frozen=True, eq=False)
class FoldJob:
    """One fold and seed, as sent to a worker: rows of the clips that all folds share."""

    fold: str
    seed: int
    train: np.ndarray  # (training clips,) int32
    test: np.ndarray  # (n,) int32


@dataclass(frozen=True, eq=False)
class FoldInputs:
    """What all folds of a run share, sent once per worker; other machines also get the maps and weights."""

    experiment: Experiment
    samples: tuple[Sample, ...]
    weights: Path | PackedModel | None = None  # the model that predicts (zero-shot) or that training starts from
    maps: np.ndarray | None = None  # (clips, 3, S, S) of the samples; None: read from disk
    method: PackedMethod | None = None  # the user's method, with its source

    def task(self, job: FoldJob) -> FoldTask:
        """Return the task of a job, with the weights unpacked on this machine."""
        weights = self.weights.unpack() if isinstance(self.weights, PackedModel) else self.weights
        train, test = (tuple(self.samples[row] for row in rows) for rows in (job.train, job.test))
        method = None if self.method is None else self.method.unpack()
        read = read_maps if self.maps is None else self._read_sent
        return FoldTask(self.experiment, job.fold, job.seed, train, test, weights, method, read)

    def _read_sent(self, samples: Sequence[Sample]) -> np.ndarray:
        """Return the maps of samples from those that were sent."""
        assert self.maps is not None
        rows = {sample.clip.key: row for row, sample in enumerate(self.samples)}
        return self.maps[[rows[sample.clip.key] for sample in samples]]


def run_job(job: FoldJob, inputs: FoldInputs) -> FoldRecord:
    """Train and predict one fold in a worker."""
    return run_fold(inputs.task(job))


@dataclass(frozen=True)
class _Outcome:
    """Predictions for the held-out clips, and training losses and time."""

    scores: np.ndarray  # (n, C)
    by_epoch: np.ndarray  # (E, n) class numbers
    loss: tuple[float, ...] = ()
    training_seconds: float = 0.0
    tokens: list[dict[str, Any]] = field(default_factory=list)
    units: list[dict[str, Any]] = field(default_factory=list)


def run_fold(task: FoldTask) -> FoldRecord:
    """Train and predict one fold; the record, apart from the seconds, is the same wherever it runs."""
    began = time.perf_counter()
    _check_weights(task)
    with one_thread(), _naming_the_fold(task):
        if task.experiment.choices:
            return _nested(task, began)
        if task.experiment.is_zero_shot:
            outcome = _zero_shot(task)
        elif is_estimator(task.experiment.model, task.experiment.source):
            outcome = _estimator(task)
        else:
            outcome = _network(task)
    return _record(task, outcome, time.perf_counter() - began)


def _check_weights(task: FoldTask) -> None:
    """Raise an error if the weights changed since the run began."""
    expected = task.experiment.weights
    if task.weights is not None and expected and weights_digest(task.weights) != expected:
        raise CheckpointError(
            f"the weights in {task.weights} were replaced while the run used them",
            fix="restore the original weights and run the same command again, or start over with --force",
        )


def _nested(task: FoldTask, began: float) -> FoldRecord:
    """Choose settings on the training people, then run the fold with them."""

    def predict(experiment: Experiment, name: str, train: tuple[Sample, ...], test: tuple[Sample, ...]) -> np.ndarray:
        inner = replace(task, experiment=experiment, fold=f"{task.fold}, {name}", train=train, test=test)
        return np.array([experiment.classes.index(clip.strict) for clip in run_fold(inner).clips])

    scores = inner_scores(task.experiment, task.train, predict, task.method)
    best = max(scores, key=lambda choice: scores[choice])  # the first if several are equal
    record = run_fold(replace(task, experiment=with_choice(task.experiment, best, task.method)))
    return replace(record, chosen=best, inner=scores, seconds=round(time.perf_counter() - began, 3))


def best_epoch(by_epoch: np.ndarray, truth: np.ndarray) -> int:
    """Return the epoch (from 1, the latest of equals) with the most hits for one held-out person: this leaks."""
    hits = (by_epoch == truth).sum(1)
    return len(hits) - int(hits[::-1].argmax())


def _network(task: FoldTask) -> _Outcome:
    recipe = task.experiment.training
    held_out = task.read(task.test)
    by_epoch: list[np.ndarray] = []
    predicting = 0.0

    def predict_held_out(epoch: int, network: Network) -> None:
        nonlocal predicting
        began = time.perf_counter()
        by_epoch.append(predict_maps(network, held_out, units=False, **recipe.views).scores.argmax(1))
        predicting += time.perf_counter() - began

    clips = labelled_maps(task.train, task.experiment.classes, task.read)
    began = time.perf_counter()
    seed = stream_seed(task.seed, task.fold)
    progress = JobProgress(task.fold, **{"training": "epoch", "training teachers": "teacher"})
    network = new_network(task.experiment.model, task.method, seed=seed)
    trained = fit(
        network, clips, recipe, start=task.weights, seed=seed, after_epoch=predict_held_out, progress=progress
    )
    seconds = time.perf_counter() - began - predicting
    outcome = _predict(task, trained.model, held_out)
    return replace(outcome, by_epoch=np.stack(by_epoch), loss=trained.losses, training_seconds=seconds)


def _zero_shot(task: FoldTask) -> _Outcome:
    assert task.weights is not None
    return _predict(task, load_network(task.weights), task.read(task.test))


def _predict(task: FoldTask, network: Network, held_out: np.ndarray) -> _Outcome:
    """Predict the held-out clips with a trained network.

    Action units use the calibration of the initial weights, or none: it was fixed together with those weights, so the
    held-out people did not influence it.
    """
    predicted = predict_maps(network, held_out, **task.experiment.training.views)
    units: list[dict[str, Any]] = []
    if predicted.units is not None:
        notes = {} if task.weights is None else read_config(find_folder(task.weights)).notes
        units = unit_records(predicted.units, UnitCalibration.of_notes(notes), annotations(task.test))
    by_epoch = predicted.scores.argmax(1)[None]
    return _Outcome(predicted.scores, by_epoch, tokens=token_records(network, held_out), units=units)


def unit_records(logits: np.ndarray, calibration: UnitCalibration, annotations: Sequence[str]) -> list[dict[str, Any]]:
    """Return annotation, detected units and calibrated probabilities of each clip, for logits (n, 3, U)."""
    probabilities = calibration.probabilities(logits)  # (n, 3, U)
    thresholds = np.array([calibration.threshold(unit) for unit in UNITS])
    return [
        {
            "annotation": annotation,
            "found": list(compress(UNITS, row[PRESENT] >= thresholds)),
            **{
                name: {str(unit): round(float(value), 4) for unit, value in zip(UNITS, row[part], strict=True)}
                for name, part in (("present", PRESENT), ("left", LEFT), ("right", RIGHT))
            },
        }
        for annotation, row in zip(annotations, probabilities, strict=True)
    ]


def labelled_maps(samples: Sequence[Sample], classes: Sequence[str], read: Reader = read_maps) -> LabelledMaps:
    """Read the maps of samples with their classes and annotated action units, for training."""
    return LabelledMaps.of(read(samples), [sample.label for sample in samples], classes, annotations(samples))


def _estimator(task: FoldTask) -> _Outcome:
    """Train and predict an estimator; it has no epochs, so both score columns are the same."""
    model = build(task.experiment.model, task.method)
    assert isinstance(model, Estimator)
    labels = np.array([task.experiment.classes.index(sample.label) for sample in task.train])
    began = time.perf_counter()
    clips = [sample.clip for sample in task.train]
    model.fit(task.read(task.train), labels, seed=stream_seed(task.seed, task.fold), clips=clips)
    seconds = time.perf_counter() - began
    guess, scores = model.predict(task.read(task.test), clips=[sample.clip for sample in task.test])
    return _Outcome(scores, guess[None], training_seconds=seconds)


def _record(task: FoldTask, outcome: _Outcome, seconds: float) -> FoldRecord:
    classes = task.experiment.classes
    truth = np.array([classes.index(sample.label) for sample in task.test])
    people = np.array([sample.clip.person for sample in task.test])
    chosen = {name: best_epoch(outcome.by_epoch[:, people == name], truth[people == name]) for name in set(people)}
    if not np.isfinite(outcome.scores).all():
        raise TrainingError(
            f"fold {task.fold}, seed {task.seed}: the scores are not finite", fix="check the settings of the model"
        )
    strict = outcome.by_epoch[-1] if not outcome.loss else outcome.scores.argmax(1)
    clips = tuple(
        ClipRecord(
            corpus=sample.clip.corpus,
            subject=sample.clip.subject,
            clip=sample.clip.clip,
            truth=sample.label,
            strict=classes[strict[number]],
            best_epoch=classes[outcome.by_epoch[chosen[people[number]] - 1, number]],
            seed=task.seed,
            fold=task.fold,
            scores=tuple(round(float(value), 6) for value in outcome.scores[number]),
            by_epoch=tuple(outcome.by_epoch[:, number].tolist()) if outcome.loss else (),
            tokens=outcome.tokens[number] if outcome.tokens else None,
            units=outcome.units[number] if outcome.units else None,
            named=sample.clip.extra.get("person", "").strip(),
        )
        for number, sample in enumerate(task.test)
    )
    return FoldRecord(
        fold=task.fold,
        seed=task.seed,
        experiment="",
        clips=clips,
        loss=tuple(round(value, 6) for value in outcome.loss),
        best_epoch=next(iter(chosen.values())) if outcome.loss and len(chosen) == 1 else 0,
        training_clips=len(task.train),
        training_seconds=round(outcome.training_seconds, 3),
        seconds=round(seconds, 3),
    )


@contextmanager
def _naming_the_fold(task: FoldTask) -> Iterator[None]:
    """Add the fold to the message of a training error."""
    try:
        yield
    except TrainingError as error:
        raise TrainingError(f"fold {task.fold}, seed {task.seed}: {error.problem}", fix=error.fix) from None
