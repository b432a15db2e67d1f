"""What the folds of a run say beyond its scores: confusions, people, curves, hardest clips, examples.

`figures.py` draws it, `tables.py` tabulates it.

Axes: C classes (rows of a confusion matrix are the truth), E epochs, F folds and seeds
"""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from epir.core.records import Prediction
from epir.core.table import Kind
from epir.evaluation.record import FoldRecord
from epir.evaluation.scores import COLUMNS, Column, counts_by_person
from epir.evaluation.store import Run
from epir.evaluation.table import COLUMN_NAMES, kind_of
from epir.models.tokens import Tokens, read_tokens

SPREAD = (10, 90)  # percentiles of the band around a learning curve


@dataclass(frozen=True)
class Confusion:
    """Counts by truth and prediction, as means over the seeds."""

    part: str  # a corpus, or `full`
    column: Column
    classes: tuple[str, ...]
    counts: np.ndarray  # (C, C)

    @property
    def rates(self) -> np.ndarray:
        """Each row as shares of its sum; NaN where a class has no clips."""
        sums = self.counts.sum(axis=1, keepdims=True)
        return np.divide(self.counts, sums, out=np.full(self.counts.shape, np.nan), where=sums > 0)  # (C, C)


@dataclass(frozen=True)
class PersonScore:
    """The accuracy on one person's clips, as means over the seeds."""

    person: str
    clips: int
    strict: float
    best_epoch: float | None  # none without epochs (zero-shot)


@dataclass(frozen=True)
class HardClip:
    """A clip that some seed got wrong."""

    corpus: str
    subject: str
    clip: str
    truth: str
    guess: str  # the strict answer of most seeds
    true_score: float  # the strict score of the true class, mean over seeds
    wrong: int  # seeds whose strict answer was wrong
    seeds: int

    @property
    def key(self) -> str:
        """The clip's name, as in `Clip.key`."""
        return f"{self.corpus}/{self.subject}/{self.clip}"


@dataclass(frozen=True)
class Line:
    """One line with its points; `low` and `high` bound the band around it, if there is one."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    kind: Kind = ""
    marked: bool = False  # a dot at each point: few points, not a curve


@dataclass(frozen=True)
class Chart:
    """Lines over one axis."""

    name: str
    title: str
    x_title: str
    y_title: str
    lines: tuple[Line, ...]
    y_range: tuple[float, float] | None = None
    note: str = ""

    def bounds(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """The range of x and of y that shows every point."""
        xs = [x for line in self.lines for x in line.x]
        ys = [y for line in self.lines for y in (*line.y, *line.low, *line.high) if math.isfinite(y)]
        across = (min(xs, default=0.0), max(xs, default=1.0))
        return _opened(across), self.y_range or _opened((min([0.0, *ys]), max(ys, default=1.0) * 1.05))


@dataclass(frozen=True)
class Dot:
    """One score on a scale from 0 to 1; `bounds` is its interval, if it has one."""

    label: str
    value: float
    kind: Kind
    bounds: tuple[float, float] | None = None


@dataclass(frozen=True)
class Strip:
    """One line of a scale: a title and the dots on it."""

    title: str
    dots: tuple[Dot, ...]


@dataclass(frozen=True)
class Example:
    """A strict prediction, and the tokens behind it."""

    prediction: Prediction
    tokens: Tokens | None

    @property
    def is_right(self) -> bool:
        """Whether the strict answer was the truth."""
        return self.prediction.strict == self.prediction.truth


def confusions(predictions: Sequence[Prediction], classes: Sequence[str], column: Column) -> list[Confusion]:
    """The pooled matrix first and then, if there are several corpora, one for each."""
    corpora = sorted({each.corpus for each in predictions})
    parts = ["full", *(corpora if len(corpora) > 1 else [])]
    return [
        Confusion(
            part,
            column,
            tuple(classes),
            _pooled([p for p in predictions if part in ("full", p.corpus)], classes, column),
        )
        for part in parts
    ]


def people(predictions: Sequence[Prediction], columns: Sequence[Column] = COLUMNS) -> list[PersonScore]:
    """Every person, the best recognised first."""
    by_person: dict[str, list[Prediction]] = defaultdict(list)
    for each in predictions:
        by_person[each.person].append(each)
    scores = [
        PersonScore(
            person,
            clips=len({each.key for each in rows}),
            strict=float(np.mean([each.strict == each.truth for each in rows])),
            best_epoch=float(np.mean([each.best_epoch == each.truth for each in rows]))
            if "best_epoch" in columns
            else None,
        )
        for person, rows in by_person.items()
    ]
    return sorted(scores, key=lambda score: (-score.strict, -score.clips, score.person))


def hardest(predictions: Sequence[Prediction], classes: Sequence[str], *, most: int = 15) -> list[HardClip]:
    """The clips that some seed got wrong, those whose true class had the lowest strict score first."""
    by_clip: dict[str, list[Prediction]] = defaultdict(list)
    for each in predictions:
        by_clip[each.key].append(each)
    clips = [_hard_clip(rows, classes) for rows in by_clip.values()]
    return sorted((clip for clip in clips if clip.wrong), key=lambda clip: (clip.true_score, clip.key))[:most]


def loss_chart(folds: Sequence[FoldRecord]) -> Chart | None:
    """The training loss by epoch, mean and spread over folds and seeds; nothing for a model without epochs."""
    losses = np.array([fold.loss for fold in folds if len(fold.loss) == _epochs(folds)])  # (F, E)
    if losses.size == 0:
        return None
    low, high = np.nanpercentile(losses, SPREAD, axis=0)
    line = Line(
        name=f"mean; band: {SPREAD[0]} to {SPREAD[1]} % of the folds",
        x=tuple(range(1, losses.shape[1] + 1)),
        y=tuple(losses.mean(axis=0)),
        low=tuple(low),
        high=tuple(high),
    )
    return Chart("training-loss", "Training loss", "epoch", "loss on the training clips", (line,))


def epoch_chart(folds: Sequence[FoldRecord], classes: Sequence[str], main: Column = "strict") -> Chart | None:
    """Accuracy on the held-out clips after each epoch, pooled over folds: choosing an epoch by it would leak."""
    epochs = _epochs(folds)
    place = {name: number for number, name in enumerate(classes)}
    right = [
        np.array(clip.by_epoch) == place[clip.truth]
        for fold in folds
        for clip in fold.clips
        if len(clip.by_epoch) == epochs
    ]
    if not epochs or not right:
        return None
    after = tuple(range(1, epochs + 1))
    accuracies = tuple(np.mean(right, axis=0))
    strict = float(np.mean([clip.strict == clip.truth for fold in folds for clip in fold.clips]))
    best = float(np.mean([clip.best_epoch == clip.truth for fold in folds for clip in fold.clips]))
    lines = (
        Line("after each epoch, all folds (leaks)", after, accuracies),
        Line(f"{COLUMN_NAMES[main]} {strict:.3f}", (1, epochs), (strict, strict), kind=kind_of(main)),
        Line(f"{COLUMN_NAMES['best_epoch']} {best:.3f}", (1, epochs), (best, best), kind="best_epoch"),
    )
    note = "Nothing was chosen by this curve. The epoch of best epoch (leaks) differs from fold to fold."
    return Chart(
        "held-out-accuracy", "Held-out accuracy (leaks)", "epoch", "accuracy", lines, y_range=(0.0, 1.0), note=note
    )


def choose_examples(run: Run, *, right: int = 6, wrong: int = 6) -> tuple[Example, ...]:
    """The most confident right answers, then wrong ones, of the first seed, from every class in turn."""
    seed = min(each.seed for each in run.predictions)
    mine = [each for each in run.predictions if each.seed == seed]
    chosen = [
        *_most_confident([each for each in mine if each.strict == each.truth], right),
        *_most_confident([each for each in mine if each.strict != each.truth], wrong),
    ]
    tokens = clip_tokens(run, {each.key for each in chosen}, seed)
    return tuple(Example(each, tokens.get(each.key)) for each in chosen)


def clip_tokens(run: Run, keys: set[str], seed: int) -> dict[str, Tokens]:
    """The tokens of some clips under one seed; empty for a model that records none.

    A model without token selection scores the tokens but selects none, so `selected` is empty.
    """
    selects = getattr(run.experiment.model, "selection", True)
    found = {}
    for fold in run.folds:
        if fold.seed == seed:
            for clip in fold.clips:
                key = f"{clip.corpus}/{clip.subject}/{clip.clip}"
                if key in keys and clip.tokens is not None:
                    tokens = read_tokens(clip.tokens, f"the fold {fold.fold} of {run.folder}")
                    found[key] = tokens if selects else replace(tokens, selected=())
    return found


def clips_text(number: float) -> str:
    """A number of clips; means over seeds may have a fraction.

    >>> clips_text(12.0), clips_text(12.333)
    ('12', '12.3')
    """
    return f"{number:.1f}".removesuffix(".0")


def class_counts(predictions: Sequence[Prediction], classes: Sequence[str]) -> dict[str, dict[str, int]]:
    """The number of clips of each class in each corpus."""
    clips = {each.key: each for each in predictions}.values()
    counts = Counter((each.corpus, each.truth) for each in clips)
    return {
        corpus: {name: counts[corpus, name] for name in classes} for corpus in sorted({each.corpus for each in clips})
    }


def _pooled(predictions: Sequence[Prediction], classes: Sequence[str], column: Column) -> np.ndarray:
    return counts_by_person(predictions, classes, column).sum(axis=1).mean(axis=0)  # (C, C)


def _hard_clip(rows: Sequence[Prediction], classes: Sequence[str]) -> HardClip:
    first = rows[0]
    answers = Counter(each.strict for each in rows)
    guess = min(answers, key=lambda name: (-answers[name], name == first.truth, name))
    return HardClip(
        corpus=first.corpus,
        subject=first.subject,
        clip=first.clip,
        truth=first.truth,
        guess=guess,
        true_score=float(np.mean([each.scores[list(classes).index(each.truth)] for each in rows])),
        wrong=sum(each.strict != each.truth for each in rows),
        seeds=len(rows),
    )


def _epochs(folds: Sequence[FoldRecord]) -> int:
    return max((len(fold.loss) for fold in folds), default=0)


def _most_confident(predictions: Sequence[Prediction], most: int) -> list[Prediction]:
    """Up to `most`, taking turns between the true classes, the highest score of the answer first."""
    by_class: dict[str, list[Prediction]] = defaultdict(list)
    for each in sorted(predictions, key=lambda each: (-max(each.scores), each.key)):
        by_class[each.truth].append(each)
    turns = [queue[turn] for turn in range(most) for _, queue in sorted(by_class.items()) if turn < len(queue)]
    return turns[:most]


def _opened(bounds: tuple[float, float]) -> tuple[float, float]:
    """Bounds that are not one point, so that something can be drawn between them."""
    low, high = bounds
    return (low, high) if high - low > 1e-12 else (low - 0.5, high + 0.5)
