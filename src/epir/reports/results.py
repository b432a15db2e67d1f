"""The data behind figures and tables: confusions, people, curves, examples, and series of runs.

`figures.py` draws it, `tables.py` tabulates it. Runs that belong together are recognised by their settings: rungs of
the ablation ladder by name, points of a sweep by the one setting that differs.

Axes: C classes (rows of a confusion matrix are the truth), E epochs, F folds and seeds
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from epir.core.config import to_dict
from epir.core.records import Prediction
from epir.core.table import Kind
from epir.evaluation.fold import FoldRecord
from epir.evaluation.published import RUNGS
from epir.evaluation.scores import COLUMNS, Column, counts_by_person
from epir.evaluation.store import Run
from epir.evaluation.table import COLUMN_NAMES, LEVEL, column_kind
from epir.models.predict import Tokens, read_tokens

Sweep = Literal["blocks", "integration"]
SWEEPS: tuple[Sweep, ...] = ("blocks", "integration")
AXES: dict[Sweep, str] = {"blocks": "blocks", "integration": "integration rate (%)"}
SPREAD = (10, 90)  # percentiles of the band around a learning curve


@dataclass(frozen=True)
class Confusion:
    """Counts by truth and prediction, averaged over seeds."""

    part: str  # a corpus, or `full`
    column: Column
    classes: tuple[str, ...]
    counts: np.ndarray  # (C, C)

    @property
    def rates(self) -> np.ndarray:
        """The share of each answer within its row; NaN for a class without clips."""
        sums = self.counts.sum(axis=1, keepdims=True)
        return np.divide(self.counts, sums, out=np.full(self.counts.shape, np.nan), where=sums > 0)  # (C, C)


@dataclass(frozen=True)
class PersonScore:
    """The accuracy on one person's clips, averaged over seeds."""

    person: str
    clips: int
    strict: float
    best_epoch: float | None  # None without epochs (zero-shot)


@dataclass(frozen=True)
class Line:
    """A line through points; `low` and `high` bound an optional band around it."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    kind: Kind = ""
    marked: bool = False  # a dot at each point: few points, not a curve


@dataclass(frozen=True)
class Chart:
    """Lines over a common axis."""

    name: str
    title: str
    x_title: str
    y_title: str
    lines: tuple[Line, ...]
    y_range: tuple[float, float] | None = None
    note: str = ""

    def bounds(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return the ranges of x and y that show every point."""
        xs = [x for line in self.lines for x in line.x]
        ys = [y for line in self.lines for y in (*line.y, *line.low, *line.high) if math.isfinite(y)]
        x_range = _widened(min(xs, default=0.0), max(xs, default=1.0))
        return x_range, self.y_range or _widened(min([0.0, *ys]), max(ys, default=1.0) * 1.05)


@dataclass(frozen=True)
class Dot:
    """One score on a scale from 0 to 1, with an optional interval."""

    label: str
    value: float
    kind: Kind
    bounds: tuple[float, float] | None = None


@dataclass(frozen=True)
class Strip:
    """One row of scores: a title and dots on a common scale."""

    title: str
    dots: tuple[Dot, ...]


@dataclass(frozen=True)
class ExamplePrediction:
    """A strict prediction, and the tokens behind it."""

    prediction: Prediction
    tokens: Tokens | None

    @property
    def is_right(self) -> bool:
        """Whether the strict answer is correct."""
        return self.prediction.strict == self.prediction.truth


def confusions(predictions: Sequence[Prediction], classes: Sequence[str], column: Column) -> list[Confusion]:
    """Return the pooled matrix and, with several corpora, one per corpus."""
    corpora = sorted({prediction.corpus for prediction in predictions})
    parts = ["full", *(corpora if len(corpora) > 1 else [])]
    matrices = []
    for part in parts:
        members = [prediction for prediction in predictions if part in ("full", prediction.corpus)]
        counts = counts_by_person(members, classes, column)
        matrices.append(Confusion(part, column, tuple(classes), counts.sum(axis=1).mean(axis=0)))
    return matrices


def person_scores(predictions: Sequence[Prediction], columns: Sequence[Column] = COLUMNS) -> list[PersonScore]:
    """Return the accuracy on each person, highest first."""
    by_person: dict[str, list[Prediction]] = defaultdict(list)
    for prediction in predictions:
        by_person[prediction.person].append(prediction)
    scores = []
    for person, rows in by_person.items():
        strict = float(np.mean([row.strict == row.truth for row in rows]))
        best = float(np.mean([row.best_epoch == row.truth for row in rows])) if "best_epoch" in columns else None
        scores.append(PersonScore(person, len({row.key for row in rows}), strict, best))
    return sorted(scores, key=lambda score: (-score.strict, -score.clips, score.person))


def loss_chart(folds: Sequence[FoldRecord]) -> Chart | None:
    """Chart the training loss by epoch, mean and spread over folds and seeds; None for a model without epochs."""
    losses = np.array([fold.loss for fold in folds if len(fold.loss) == _epochs(folds)])  # (F, E)
    if losses.size == 0:
        return None
    low, high = np.nanpercentile(losses, SPREAD, axis=0)
    name, epochs = f"mean; band: {SPREAD[0]} to {SPREAD[1]} % of the folds", tuple(range(1, losses.shape[1] + 1))
    line = Line(name, epochs, tuple(losses.mean(axis=0)), tuple(low), tuple(high))
    return Chart("training-loss", "Training loss", "epoch", "loss on the training clips", (line,))


def epoch_chart(folds: Sequence[FoldRecord], classes: Sequence[str], main: Column = "strict") -> Chart | None:
    """Chart the held-out accuracy after each epoch, pooled over folds; choosing an epoch by it would leak."""
    epochs = _epochs(folds)
    place = {name: number for number, name in enumerate(classes)}
    clips = [clip for fold in folds for clip in fold.clips]
    right = [np.array(clip.by_epoch) == place[clip.truth] for clip in clips if len(clip.by_epoch) == epochs]
    if not epochs or not right:
        return None
    strict = float(np.mean([clip.strict == clip.truth for clip in clips]))
    best = float(np.mean([clip.best_epoch == clip.truth for clip in clips]))
    lines = (
        Line("after each epoch, all folds (leaks)", tuple(range(1, epochs + 1)), tuple(np.mean(right, axis=0))),
        Line(f"{COLUMN_NAMES[main]} {strict:.3f}", (1, epochs), (strict, strict), kind=column_kind(main)),
        Line(f"{COLUMN_NAMES['best_epoch']} {best:.3f}", (1, epochs), (best, best), kind="best_epoch"),
    )
    note = "Nothing was chosen by this curve. The epoch of best epoch (leaks) differs from fold to fold."
    return Chart("held-out-accuracy", "Held-out accuracy (leaks)", "epoch", "accuracy", lines, (0.0, 1.0), note)


def choose_examples(run: Run, *, right: int = 6, wrong: int = 6) -> tuple[ExamplePrediction, ...]:
    """Return the most confident right answers, then wrong ones, of the first seed, alternating between classes."""
    seed = min(prediction.seed for prediction in run.predictions)
    of_seed = [prediction for prediction in run.predictions if prediction.seed == seed]
    chosen = [
        *_most_confident([clip for clip in of_seed if clip.strict == clip.truth], right),
        *_most_confident([clip for clip in of_seed if clip.strict != clip.truth], wrong),
    ]
    tokens = clip_tokens(run, {clip.key for clip in chosen}, seed)
    return tuple(ExamplePrediction(clip, tokens.get(clip.key)) for clip in chosen)


def clip_tokens(run: Run, keys: set[str], seed: int) -> dict[str, Tokens]:
    """Return the tokens of some clips under one seed; empty for a model that records none.

    A model without token selection scores the tokens but selects none, so `selected` is empty.
    """
    has_selection = getattr(run.experiment.model, "selection", True)
    by_clip = {}
    for clip in run.predictions:
        if clip.seed == seed and clip.key in keys and clip.tokens is not None:
            tokens = read_tokens(clip.tokens, f"the fold {clip.fold} of {run.folder}")
            by_clip[clip.key] = tokens if has_selection else replace(tokens, selected=())
    return by_clip


def clips_text(number: float) -> str:
    """Format a number of clips; means over seeds may have a fraction.

    >>> clips_text(12.0), clips_text(12.333)
    ('12', '12.3')
    """
    return f"{number:.1f}".removesuffix(".0")


def _epochs(folds: Sequence[FoldRecord]) -> int:
    return max((len(fold.loss) for fold in folds), default=0)


def _most_confident(predictions: Sequence[Prediction], most: int) -> list[Prediction]:
    """Return up to `most` predictions with the highest scores, alternating between the true classes."""
    by_class: dict[str, list[Prediction]] = defaultdict(list)
    for prediction in sorted(predictions, key=lambda prediction: (-max(prediction.scores), prediction.key)):
        by_class[prediction.truth].append(prediction)
    turns = [queue[turn] for turn in range(most) for _, queue in sorted(by_class.items()) if turn < len(queue)]
    return turns[:most]


def _widened(low: float, high: float) -> tuple[float, float]:
    """Return the bounds, widened if they are a single point."""
    return (low, high) if high - low > 1e-12 else (low - 0.5, high + 0.5)


# -------------------------------------------------------------------------------------- runs that belong together


def sweep_of(runs: Sequence[Run]) -> Sweep | None:
    """Return the one setting in which runs of one model differ, if it is `blocks` or `integration`."""
    models = [to_dict(run.experiment.model) for run in runs]
    if len({model["name"] for model in models}) > 1:
        return None
    changed = {name for model in models for name in model if model[name] != models[0].get(name)}
    return next((sweep for sweep in SWEEPS if changed == {sweep}), None)


def sweep_value(run: Run, sweep: Sweep) -> float:
    """Return the value of a run on the axis of its sweep: blocks, or integration in per cent."""
    value = float(getattr(run.experiment.model, sweep))
    return 100 * value if sweep == "integration" else value


def is_ladder(runs: Sequence[Run]) -> bool:
    """Whether the runs are different rungs of the paper's ablation."""
    names = [run.experiment.model.name for run in runs]
    return len(names) > 1 and len(set(names)) == len(names) and set(names) <= set(RUNGS)


def sort_runs(runs: Sequence[Run]) -> list[Run]:
    """Sort the points of a sweep by their setting, the rungs of a ladder from the lowest; keep other runs in order."""
    sweep = sweep_of(runs)
    if sweep:
        return sorted(runs, key=lambda run: sweep_value(run, sweep))
    if is_ladder(runs):
        return sorted(runs, key=lambda run: list(RUNGS).index(run.experiment.model.name))
    return list(runs)


def run_titles(runs: Sequence[Run]) -> list[str]:
    """Name each run for tables: its model or its point of a sweep, with its folder if names are equal."""
    sweep = sweep_of(runs)
    if sweep:
        unit = " %" if sweep == "integration" else ""
        return [f"{sweep} {sweep_value(run, sweep):g}{unit}" for run in runs]
    names = [run.name for run in runs]
    return [
        name if names.count(name) == 1 else f"{name} ({run.folder.name})" for name, run in zip(names, runs, strict=True)
    ]


def series_title(runs: Sequence[Run]) -> str:
    """Name all runs together."""
    sweep = sweep_of(runs)
    if len(runs) == 1:
        return run_titles(runs)[0]
    if sweep:
        return f"{runs[0].name}, sweep over {'the number of blocks' if sweep == 'blocks' else 'the integration rate'},"
    return "Ablation" if is_ladder(runs) else f"{len(runs)} runs"


def sweep_charts(runs: Sequence[Run]) -> list[Chart]:
    """Chart UF1 and UAR against the setting of the sweep, in both columns; the band is the interval of strict UF1."""
    sweep = sweep_of(runs)
    if sweep is None:
        return []
    values = tuple(sweep_value(run, sweep) for run in runs)
    columns = [column for column in runs[0].experiment.columns if all(column in run.experiment.columns for run in runs)]
    charts = []
    for name, title in (("uf1", "UF1"), ("uar", "UAR")):
        lines = []
        for column in columns:
            has_band = name == "uf1" and column != "best_epoch"
            bounds = [run.scores[column]["uf1_interval"] for run in runs] if has_band else []
            low, high = tuple(low for low, _ in bounds), tuple(high for _, high in bounds)
            scores = tuple(run.scores[column][name] for run in runs)
            lines.append(Line(COLUMN_NAMES[column], values, scores, low, high, column_kind(column), marked=True))
        band = f"Band: {LEVEL} interval of {COLUMN_NAMES[columns[0]]}, bootstrap over people." if columns else ""
        note = band if name == "uf1" else ""
        heading = f"{title} against {'blocks' if sweep == 'blocks' else 'the integration rate'}"
        charts.append(Chart(f"sweep-{sweep}-{name}", heading, AXES[sweep], title, tuple(lines), (0.0, 1.0), note))
    return charts


def rate_tokens(runs: Sequence[Run], *, clips: int) -> list[tuple[str, list[Tokens]]]:
    """Return a few clips with their tokens in every run, if all runs recorded them."""
    chosen = [example.prediction.key for example in choose_examples(runs[0], right=clips, wrong=0)]
    seed = min(prediction.seed for prediction in runs[0].predictions)
    by_run = [clip_tokens(run, set(chosen), seed) for run in runs]
    return [(key, [tokens[key] for tokens in by_run]) for key in chosen if all(key in tokens for tokens in by_run)]
