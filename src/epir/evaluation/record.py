"""The record of one fold: a JSON file, written once and atomically.

It holds what the tables need (predictions, after the last epoch and after each) and what the report draws (loss
curve, tokens); it holds no weights.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from epir.core.records import Prediction

FORMAT = "epir-fold/1"
STRICT, NOT_STRICT = "strict", ("seen_in_training", "not_checked")  # the key of a prediction, as the scores name it
UNSIGNED = ("digest", "seconds", "training_seconds")  # how long it took is no part of a record's digest


@dataclass(frozen=True)
class ClipRecord:
    """The predictions for one held-out clip."""

    corpus: str
    subject: str
    clip: str
    truth: str
    strict: str  # the class after the last epoch
    best_epoch: str  # the class after the epoch that suited this person best: it leaks
    scores: tuple[float, ...]  # after the last epoch, in the order of the classes
    by_epoch: tuple[int, ...] = ()  # the class's number after each epoch
    tokens: Mapping[str, Any] | None = None  # groups, selected, rollout (models with `explain`)
    units: Mapping[str, Any] | None = None  # action units: annotation, found, present, left, right (models with a head)
    named: str | None = None  # the clip's column `person`

    @property
    def person(self) -> str:
        """Corpus and subject, or who a column `person` says it is, as in `Clip.person`."""
        return self.named or f"{self.corpus}/{self.subject}"

    @property
    def key(self) -> str:
        """The clip's name, as in `Clip.key`."""
        return f"{self.corpus}/{self.subject}/{self.clip}"


@dataclass(frozen=True)
class FoldRecord:
    """The record of one fold and seed."""

    fold: str
    seed: int
    experiment: str  # digest of the experiment that it belongs to; the run folder fills it in
    clips: tuple[ClipRecord, ...]
    loss: tuple[float, ...] = ()  # mean over the training clips, per epoch
    best_epoch: int = 0  # of a fold of one person, counted from 1; 0 for several people, and without epochs
    training_clips: int = 0
    training_seconds: float = 0.0
    seconds: float = 0.0  # all of it
    chosen: str = ""  # of the choices of a nested experiment
    inner: Mapping[str, float] = field(default_factory=dict)  # UF1 of every choice in the inner folds

    @property
    def predictions(self) -> tuple[Prediction, ...]:
        """One prediction per held-out clip."""
        return tuple(
            Prediction(
                corpus=clip.corpus,
                subject=clip.subject,
                clip=clip.clip,
                truth=clip.truth,
                strict=clip.strict,
                best_epoch=clip.best_epoch,
                seed=self.seed,
                fold=self.fold,
                scores=clip.scores,
                named=clip.named or "",
            )
            for clip in self.clips
        )


def to_json(record: FoldRecord, column: str = STRICT) -> str:
    """The record as JSON text, one line per clip; `column` names the classes after the last epoch, as in the tables."""
    head = {name: value for name, value in vars(record).items() if name != "clips"}
    lines = ",\n  ".join(
        json.dumps(
            {column if name == STRICT else name: value for name, value in vars(clip).items() if value is not None}
        )
        for clip in record.clips
    )
    rest = f', "clips": [\n  {lines}\n]}}\n'
    digest = _digest(json.loads(json.dumps({"format": FORMAT, **head})[:-1] + rest))
    return json.dumps({"format": FORMAT, **head, "digest": digest})[:-1] + rest


def _digest(values: Mapping[str, Any]) -> str:
    signed = {name: value for name, value in values.items() if name not in UNSIGNED}
    return hashlib.sha256(json.dumps(signed, sort_keys=True).encode()).hexdigest()


def from_json(text: str) -> FoldRecord:
    """The record in JSON text; `ValueError`, `KeyError` or `TypeError` where it is not one, or was changed."""
    values = json.loads(text)
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        raise ValueError(f"not {FORMAT}")
    digest = values.pop("digest", None)
    if digest != _digest(values):
        raise ValueError("it was changed after it was written")
    del values["format"]
    clips = tuple(_clip(clip) for clip in values.pop("clips"))
    return FoldRecord(**{**values, "clips": clips, "loss": tuple(values["loss"])})


def _clip(values: dict[str, Any]) -> ClipRecord:
    for name in NOT_STRICT:
        if name in values:
            values[STRICT] = values.pop(name)
    return ClipRecord(**{**values, "scores": tuple(values["scores"]), "by_epoch": tuple(values["by_epoch"])})
