"""Clips -> folds: which people are held out together, independent of any model.

Every clip is held out exactly once, and no person is on both sides of a fold: with `loco`, held-out people who are in
another corpus as well leave the training clips. Only with a predefined split are some clips never held out.

Axes: K folds, C classes
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from epir.core.errors import ProtocolError
from epir.core.records import Clip, Fold

SPLIT = "split"  # the corpus defines who is held out
TEST = "test-"  # prefix of the test parts of a split


def make_folds(clips: Sequence[Clip], labels: Mapping[str, str], scheme: str) -> tuple[Fold, ...]:
    """Return the folds of `loso` (leave one person out), `loco` (leave one corpus out), `split`, or K grouped folds.

    `labels` maps `Clip.key` to the class; only grouped folds use it, to balance the classes.
    """
    people = sorted({clip.person for clip in clips})
    if len(people) < 2:
        who = f"all clips are of {people[0]}" if people else "there are no clips"
        raise ProtocolError(f"folds need at least two people, but {who}", fix="give maps of two people or more")
    if scheme == "loso":
        return _hold_out(clips, lambda clip: clip.person)
    if scheme == "loco":
        return _leave_one_corpus_out(clips)
    if scheme == SPLIT:
        return _corpus_split(clips)
    return _grouped(clips, labels, int(scheme))


def _corpus_split(clips: Sequence[Clip]) -> tuple[Fold, ...]:
    """Return one fold per test part of a predefined split; all train on the part called `train`."""
    parts = {clip.key: clip.extra.get("split", "") for clip in clips}
    known = ("train", "test")
    missing = next((key for key, part in parts.items() if part not in known and not part.startswith(TEST)), None)
    if missing is not None:
        raise ProtocolError(
            f"the clip {missing} is in no part of a split (its column split is {parts[missing]!r})",
            fix=f"use --folds loso, or write train, test, {TEST}a, ... into the column split of clips.csv",
        )
    train = tuple(clip for clip in clips if parts[clip.key] == "train")
    tests = sorted(set(parts.values()) - {"train"})
    if not train or not tests:
        raise ProtocolError(
            f"a split needs training and test clips, but all clips are in {next(iter(parts.values()))}",
            fix="give the map sets of all parts",
        )
    both = {clip.person for clip in train} & {clip.person for clip in clips if parts[clip.key] != "train"}
    if both:
        raise ProtocolError(f"{min(both)} is in training and in a test part", fix="correct the column split")
    return tuple(Fold(name, train, tuple(clip for clip in clips if parts[clip.key] == name)) for name in tests)


def _hold_out(clips: Sequence[Clip], fold_of: Callable[[Clip], str]) -> tuple[Fold, ...]:
    """Return one fold per value of `fold_of`, the name of the fold that holds a clip out."""
    placed = [(clip, fold_of(clip)) for clip in clips]
    folds = []
    for name in sorted({place for _, place in placed}):
        test = tuple(clip for clip, place in placed if place == name)
        held_out = {clip.person for clip in test}
        folds.append(Fold(name, tuple(clip for clip in clips if clip.person not in held_out), test))
    return tuple(folds)


def _leave_one_corpus_out(clips: Sequence[Clip]) -> tuple[Fold, ...]:
    corpora = sorted({clip.corpus for clip in clips})
    if len(corpora) < 2:
        raise ProtocolError(
            f"loco needs at least two corpora, but all clips are of {corpora[0]}",
            fix="give map sets of two corpora or more, or use --folds loso",
        )
    folds = _hold_out(clips, lambda clip: clip.corpus)
    for fold in folds:
        if not fold.train:
            raise ProtocolError(
                f"everybody is in the corpus {fold.name} too, so nobody is left to train on", fix="use --folds loso"
            )
    return folds


def _grouped(clips: Sequence[Clip], labels: Mapping[str, str], count: int) -> tuple[Fold, ...]:
    """Assign people to `count` folds, those with most clips first, each to the fold that balances the classes best.

    More even than scikit-learn's `StratifiedGroupKFold`. Largest deviation from an even split, in clips of a class and
    clips of a fold, ours / theirs: on 325 clips of 48 people of the composite 1.4 / 3.0 and 1.0 / 4.0 with 5 folds,
    6.0 / 7.0 and 6.5 / 6.5 with 10; on synthetic sets of 40 people (mean of four) 2.0 / 2.2 and 1.8 / 3.2 with 5 folds,
    3.0 / 3.0 and 2.3 / 5.0 with 10.
    """
    people, counts = _class_counts(clips, labels)
    if count > len(people):
        raise ProtocolError(
            f"{count} folds need at least {count} people, but there are {len(people)}",
            fix=f"use --folds {len(people)} or fewer, or --folds loso",
        )
    shares = counts / counts.sum(0)  # (people, C): all classes weigh the same
    held = np.zeros((count, counts.shape[1]))  # (K, C)
    sizes = np.zeros(count, dtype=int)
    fold_of = {}
    order = sorted(range(len(people)), key=lambda number: (-counts[number].sum(), people[number]))
    for done, number in enumerate(order):
        empty = np.flatnonzero(sizes == 0)
        must_fill = len(empty) == len(order) - done  # only just enough people left for the empty folds
        options = empty.tolist() if must_fill else range(count)
        chosen = min(options, key=lambda fold: (_unevenness(held, fold, shares[number]), held[fold].sum(), fold))
        held[chosen] += shares[number]
        sizes[chosen] += 1
        fold_of[people[number]] = f"fold-{chosen + 1:0{len(str(count))}d}-of-{count}"
    return _hold_out(clips, lambda clip: fold_of[clip.person])


def _class_counts(clips: Sequence[Clip], labels: Mapping[str, str]) -> tuple[list[str], np.ndarray]:
    people = sorted({clip.person for clip in clips})
    classes = sorted({labels[clip.key] for clip in clips})
    counts = np.zeros((len(people), len(classes)))
    for clip in clips:
        counts[people.index(clip.person), classes.index(labels[clip.key])] += 1
    return people, counts


def _unevenness(held: np.ndarray, fold: int, more: np.ndarray) -> float:
    """Return the variance of the class shares over folds after adding `more` to one of them."""
    after = held.copy()
    after[fold] += more
    return round(float(after.var(axis=0).sum()), 12)  # rounded, so that ties stay ties on every machine
