"""Clips -> folds: who is held out, without knowing anything about a model.

Every clip is held out exactly once, and a person is never on both sides of a fold.

Axes: K folds, C classes
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from epir.core.errors import ProtocolError
from epir.core.records import Clip, Fold


def make_folds(clips: Sequence[Clip], labels: Mapping[str, str], scheme: str) -> tuple[Fold, ...]:
    """The folds of `loso` (leave one person out), `loco` (leave one corpus out) or a number of grouped folds.

    `labels` are the classes of the clips by `Clip.key`; only grouped folds use them, to spread the classes evenly.
    """
    people = sorted({clip.person for clip in clips})
    if len(people) < 2:
        who = f"all clips are of {people[0]}" if people else "there are no clips"
        raise ProtocolError(
            f"one person must be held out of at least two, but {who}", fix="give maps of two people or more"
        )
    if scheme == "loso":
        return _hold_out(clips, {person: person for person in people}, _person)
    if scheme == "loco":
        return _leave_one_corpus_out(clips)
    return _grouped(clips, labels, int(scheme))


def _person(clip: Clip) -> str:
    return clip.person


def _hold_out(clips: Sequence[Clip], fold_of: Mapping[str, str], group: Callable[[Clip], str]) -> tuple[Fold, ...]:
    """One fold for each name in `fold_of`, which says in which fold a group is held out."""
    names = sorted(set(fold_of.values()))
    return tuple(
        Fold(
            name=name,
            train=tuple(clip for clip in clips if fold_of[group(clip)] != name),
            test=tuple(clip for clip in clips if fold_of[group(clip)] == name),
        )
        for name in names
    )


def _leave_one_corpus_out(clips: Sequence[Clip]) -> tuple[Fold, ...]:
    corpora = sorted({clip.corpus for clip in clips})
    if len(corpora) < 2:
        raise ProtocolError(
            f"loco holds out one corpus of at least two, but all clips are of {corpora[0]}",
            fix="give map sets of two corpora or more, or use --folds loso",
        )
    return _hold_out(clips, {corpus: corpus for corpus in corpora}, lambda clip: clip.corpus)


def _grouped(clips: Sequence[Clip], labels: Mapping[str, str], count: int) -> tuple[Fold, ...]:
    """People dealt out to `count` folds, those with most clips first, each to where it evens out the classes best."""
    people, counts = _class_counts(clips, labels)
    if count > len(people):
        raise ProtocolError(
            f"{count} folds need at least {count} people, but there are {len(people)}",
            fix=f"use --folds {len(people)} or fewer, or --folds loso",
        )
    shares = counts / counts.sum(0)  # (people, C): each class counts the same
    held = np.zeros((count, counts.shape[1]))  # (K, C)
    sizes = np.zeros(count, dtype=int)
    fold_of = {}
    order = sorted(range(len(people)), key=lambda number: (-counts[number].sum(), people[number]))
    for done, number in enumerate(order):
        empty = np.flatnonzero(sizes == 0)
        must_fill = len(empty) == len(order) - done  # the rest is just enough to leave no fold empty
        options = empty.tolist() if must_fill else range(count)
        chosen = min(options, key=lambda fold: (_unevenness(held, fold, shares[number]), held[fold].sum(), fold))
        held[chosen] += shares[number]
        sizes[chosen] += 1
        fold_of[people[number]] = f"fold-{chosen + 1:0{len(str(count))}d}-of-{count}"
    return _hold_out(clips, fold_of, _person)


def _class_counts(clips: Sequence[Clip], labels: Mapping[str, str]) -> tuple[list[str], np.ndarray]:
    people = sorted({clip.person for clip in clips})
    classes = sorted({labels[clip.key] for clip in clips})
    counts = np.zeros((len(people), len(classes)))
    for clip in clips:
        counts[people.index(clip.person), classes.index(labels[clip.key])] += 1
    return people, counts


def _unevenness(held: np.ndarray, fold: int, more: np.ndarray) -> float:
    """How far the folds differ in their classes once `more` is added to one of them."""
    after = held.copy()
    after[fold] += more
    return round(float(after.var(axis=0).sum()), 12)  # rounded: equal cases must stay equal on every machine
