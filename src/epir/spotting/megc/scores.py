"""Score spotted intervals against annotated ones, by the rule of the MEGC organisers and one-to-one.

Intervals include both ends; two are the same movement if they overlap (intersection over union in frames) by 0.5 or
more. Micro- and macro-expressions are counted separately. By the organisers' rule, every label that a prediction
overlaps is a hit: one prediction may find two labels, and a second prediction for the same label only adds to the
number of predictions. Counts are summed over all videos, including those without labels, before scores are computed;
`all` sums both kinds and `pooled` all corpora. One-to-one is the largest number of disjoint pairs.

STRS (spot, then recognise) is the F1 of spotting micro-expressions times an F1 of the classes of the hits, without
hits whose true class is `others`: precision and recall are means over three fixed classes (0 if undefined), and this F1
is their harmonic mean.

Axes: P people, K kinds, M counts (labels, predictions, hits, pairs), C classes, R resamplings
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, astuple, dataclass
from typing import Any

import numpy as np

from epir.core.seeds import interval, resample_people
from epir.datasets.intervals import KINDS, Interval, Kind
from epir.datasets.protocols import THREE
from epir.datasets.spelling import synonyms
from epir.spotting.timeline import OVERLAP, overlap

OTHERS = "others"
NEGATIVE = frozenset({"anger", "contempt", "disgust", "fear", "sadness", "sad"})
POSITIVE = frozenset({"happiness", "happy"})
POOLED, ALL = "pooled", "all"


@dataclass(frozen=True, slots=True)
class SpottedVideo:
    """One video with its annotated and its spotted intervals."""

    corpus: str
    subject: str
    name: str
    labels: tuple[Interval, ...]
    predictions: tuple[Interval, ...]

    @property
    def person(self) -> str:
        """Corpus and subject, as in `Clip.person`."""
        return f"{self.corpus}/{self.subject}"


@dataclass(frozen=True, slots=True)
class SpottingCounts:
    """Numbers of labels, predictions and matches."""

    labels: int = 0
    predictions: int = 0
    hits: int = 0  # labels that at least one prediction overlaps: the organisers' true positives
    pairs: int = 0  # one-to-one

    @property
    def precision(self) -> float:
        """Hits per prediction, as the organisers count; above 1 if predictions find two labels each."""
        return self.hits / self.predictions if self.predictions else 0.0

    @property
    def recall(self) -> float:
        """The share of the labels that were found."""
        return self.hits / self.labels if self.labels else 0.0

    @property
    def f1(self) -> float:
        """2 TP / (n + m) with the organisers' hits."""
        return self._f1(self.hits)

    @property
    def f1_one_to_one(self) -> float:
        """F1 with disjoint pairs."""
        return self._f1(self.pairs)

    def _f1(self, hits: int) -> float:
        total = self.labels + self.predictions
        return 2 * hits / total if total else 0.0


def matches(one: Interval, other: Interval) -> bool:
    """Whether two intervals are of one kind and overlap by half."""
    return one.kind == other.kind and _overlap(one, other) >= OVERLAP


def best_match(label: Interval, predictions: Iterable[Interval]) -> Interval | None:
    """The prediction that overlaps a label most (the first if equal), or None if none overlaps it by half."""
    ordered = sorted(predictions, key=lambda each: (each.onset, each.offset))
    matching = [each for each in ordered if matches(label, each)]
    return max(matching, key=lambda each: _overlap(label, each), default=None)


def _overlap(one: Interval, other: Interval) -> float:
    return overlap((one.onset, one.offset), (other.onset, other.offset))


def count_pairs(labels: Sequence[Interval], predictions: Sequence[Interval]) -> int:
    """The size of a maximum matching of labels and predictions."""
    near = [[place for place, each in enumerate(predictions) if matches(label, each)] for label in labels]
    partners: dict[int, int] = {}  # prediction: label

    def find_partner(label: int, tried: set[int]) -> bool:
        for place in near[label]:
            if place not in tried:
                tried.add(place)
                if place not in partners or find_partner(partners[place], tried):
                    partners[place] = label
                    return True
        return False

    return sum(find_partner(label, set()) for label in range(len(labels)))


def count(labels: Iterable[Interval], predictions: Iterable[Interval], kind: Kind) -> SpottingCounts:
    """The counts of one kind in one video."""
    labels = [each for each in labels if each.kind == kind]
    predictions = [each for each in predictions if each.kind == kind]
    hits = sum(any(matches(label, each) for each in predictions) for label in labels)
    return SpottingCounts(len(labels), len(predictions), hits, count_pairs(labels, predictions))


def three_class(emotion: str) -> str:
    """The class of an emotion word of any corpus: negative, positive, surprise or others.

    >>> [three_class(word) for word in ("Disgust", "happy", "surprise", "negative", "repression", "")]
    ['negative', 'positive', 'surprise', 'negative', 'others', 'others']
    """
    words = synonyms(emotion)
    for name in THREE:
        if name in words:
            return name
    return "negative" if words & NEGATIVE else "positive" if words & POSITIVE else OTHERS


def classes_found(videos: Iterable[SpottedVideo]) -> list[tuple[str, str]]:
    """True and predicted class of every micro-expression that was found, unless its true class is others."""
    pairs = []
    for video in videos:
        for label in video.labels:
            match = best_match(label, video.predictions) if label.kind == "micro" else None
            if match is not None and three_class(label.emotion) != OTHERS:
                pairs.append((three_class(label.emotion), three_class(match.emotion)))
    return pairs


def class_counts(pairs: Iterable[tuple[str, str]]) -> np.ndarray:
    """Counts (C, C + 1) by true class (rows) and predicted class; the last column is others."""
    columns = (*THREE, OTHERS)
    counts = np.zeros((len(THREE), len(columns)), np.int64)
    for truth, guess in pairs:
        counts[THREE.index(truth), columns.index(guess)] += 1
    return counts


def analysis(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Macro precision, macro recall and their harmonic mean, for counts (..., C, C + 1)."""
    right = np.diagonal(counts[..., : len(THREE)], axis1=-2, axis2=-1)
    precision = _ratio(right, counts[..., : len(THREE)].sum(-2)).mean(-1)
    recall = _ratio(right, counts.sum(-1)).mean(-1)
    return precision, recall, _ratio(2 * precision * recall, precision + recall)


def score_spotting(videos: Sequence[SpottedVideo]) -> dict[str, Any]:
    """Counts and scores by corpus and pooled, with bootstrap intervals over people, as plain values."""
    corpora = sorted({video.corpus for video in videos})
    parts = {corpus: [video for video in videos if video.corpus == corpus] for corpus in corpora}
    return {
        "videos": len(videos),
        "people": len({video.person for video in videos}),
        "corpora": {corpus: _score(part) for corpus, part in parts.items()},
        POOLED: _score(videos),
    }


def _score(videos: Sequence[SpottedVideo]) -> dict[str, Any]:
    people: defaultdict[str, list[SpottedVideo]] = defaultdict(list)
    for video in videos:
        people[video.person].append(video)
    by_person = [people[name] for name in sorted(people)]
    counts = np.array([[_counts(each, kind) for kind in KINDS] for each in by_person])  # (P, K, M)
    classes = np.array([class_counts(classes_found(each)) for each in by_person])  # (P, C, C + 1)
    return {
        "videos": len(videos),
        "people": len(by_person),
        **{name: _with_scores(counts[:, place]) for place, name in enumerate(KINDS)},
        ALL: _with_scores(counts.sum(1)),
        "strs": _strs(counts[:, KINDS.index("micro")], classes),
    }


def _counts(videos: Iterable[SpottedVideo], kind: Kind) -> list[int]:
    counts = [astuple(count(video.labels, video.predictions, kind)) for video in videos]
    return [sum(each) for each in zip(*counts, strict=True)]


def _with_scores(counts: np.ndarray) -> dict[str, Any]:
    total = SpottingCounts(*(int(value) for value in counts.sum(0)))
    return {
        **asdict(total),
        **{name: round(getattr(total, name), 6) for name in ("precision", "recall", "f1", "f1_one_to_one")},
        "f1_interval": _interval(_f1_of(resample_people(len(counts)) @ counts)),
    }


def _strs(counts: np.ndarray, classes: np.ndarray) -> dict[str, Any]:
    """The parts of STRS for counts (P, M) of micro-expressions and classes (P, C, C + 1)."""
    precision, recall, f1 = analysis(classes.sum(0))
    spotting = _f1_of(counts.sum(0))
    people = resample_people(len(counts))  # (R, P)
    resampled = _f1_of(people @ counts) * analysis(np.einsum("rp,pij->rij", people, classes))[2]
    return {
        "f1_spotting": round(float(spotting), 6),
        "clips": int(classes.sum()),
        "right": int(np.trace(classes.sum(0)[:, : len(THREE)])),
        "macro_precision": round(float(precision), 6),
        "macro_recall": round(float(recall), 6),
        "f1_analysis": round(float(f1), 6),
        "strs": round(float(spotting * f1), 6),
        "strs_interval": _interval(resampled),
        "confusion": classes.sum(0).tolist(),
    }


def _interval(resampled: np.ndarray) -> list[float]:
    return [round(bound, 6) for bound in interval(resampled)]


def _f1_of(counts: np.ndarray) -> np.ndarray:
    """The organisers' F1 of counts (..., M)."""
    return _ratio(2 * counts[..., 2], counts[..., 0] + counts[..., 1])


def _ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """The quotient, or 0 where the denominator is 0."""
    return np.divide(above, below, out=np.zeros(np.shape(above)), where=np.asarray(below) > 0)
