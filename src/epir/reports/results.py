"""What the predictions of a run say beyond its scores: confusions, people, curves, the hardest clips.

Axes: C classes (rows of a confusion matrix are the truth), E epochs, F folds and seeds
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from epir.core.records import Prediction
from epir.evaluation.record import FoldRecord
from epir.evaluation.scores import COLUMNS, Column, counts_by_person
from epir.reports.charts import Chart, Line
from epir.reports.wording import LEAKS, STRICT

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
    best_epoch: float


@dataclass(frozen=True)
class HardClip:
    """A clip, and how little the model believed the truth about it."""

    corpus: str
    subject: str
    clip: str
    truth: str
    guess: str  # the strict answer of most seeds
    belief: float  # the strict score of the true class, mean over seeds
    wrong: int  # seeds whose strict answer was wrong
    seeds: int

    @property
    def key(self) -> str:
        """The clip's name, as in `Clip.key`."""
        return f"{self.corpus}/{self.subject}/{self.clip}"


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


def people(predictions: Sequence[Prediction]) -> list[PersonScore]:
    """Every person, the best recognised first."""
    by_person: dict[str, list[Prediction]] = defaultdict(list)
    for each in predictions:
        by_person[each.person].append(each)
    scores = [
        PersonScore(
            person,
            clips=len({each.key for each in rows}),
            strict=float(np.mean([each.strict == each.truth for each in rows])),
            best_epoch=float(np.mean([each.best_epoch == each.truth for each in rows])),
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
    return sorted((clip for clip in clips if clip.wrong), key=lambda clip: (clip.belief, clip.key))[:most]


def loss_chart(folds: Sequence[FoldRecord]) -> Chart | None:
    """The training loss over the epochs: mean and spread over folds and seeds; nothing for a model without epochs."""
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


def epoch_chart(folds: Sequence[FoldRecord], classes: Sequence[str]) -> Chart | None:
    """Accuracy on the held-out clips after each epoch, pooled over folds: a look at the answer, so it leaks."""
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
    rising = tuple(np.mean(right, axis=0))
    strict = float(np.mean([clip.strict == clip.truth for fold in folds for clip in fold.clips]))
    best = float(np.mean([clip.best_epoch == clip.truth for fold in folds for clip in fold.clips]))
    lines = (
        Line("after each epoch, all folds (leaks)", after, rising),
        Line(f"{STRICT} {strict:.3f}", (1, epochs), (strict, strict), kind="strict"),
        Line(f"{LEAKS} {best:.3f}", (1, epochs), (best, best), kind="best_epoch"),
    )
    note = "Nothing was chosen by this curve. The epoch kept for best epoch (leaks) differs from fold to fold."
    return Chart(
        "held-out-accuracy", "Held-out accuracy (leaks)", "epoch", "accuracy", lines, y_range=(0.0, 1.0), note=note
    )


def class_counts(predictions: Sequence[Prediction], classes: Sequence[str]) -> dict[str, dict[str, int]]:
    """How many clips of each class there are in each corpus."""
    clips = {each.key: each for each in predictions}.values()
    counts = Counter((each.corpus, each.truth) for each in clips)
    return {
        corpus: {name: counts[corpus, name] for name in classes} for corpus in sorted({each.corpus for each in clips})
    }


def _pooled(predictions: Sequence[Prediction], classes: Sequence[str], column: Column) -> np.ndarray:
    assert column in COLUMNS
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
        belief=float(np.mean([each.scores[list(classes).index(each.truth)] for each in rows])),
        wrong=sum(each.strict != each.truth for each in rows),
        seeds=len(rows),
    )


def _epochs(folds: Sequence[FoldRecord]) -> int:
    return max((len(fold.loss) for fold in folds), default=0)
