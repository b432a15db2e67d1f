"""Find what makes a score not strict: people or clips that the weights have seen, and copies across folds."""

import warnings
from collections.abc import Mapping, Sequence
from itertools import compress
from pathlib import Path

import numpy as np

from epir.core.errors import EpirWarning, LeakError
from epir.core.records import Fold, plain_name, probably_one
from epir.core.words import counted, people
from epir.evaluation.samples import EvaluationSet, read_maps
from epir.maps.copies import Copy, find_copies, find_copies_between, known_fingerprints, map_hashes
from epir.models.folder import read_config
from epir.models.seen import BLIND, FITTED_ON, SYNTHETIC, UNKNOWN, WORDS, Seen, read_seen

NAMED = 3  # names listed in a message
GO_ON = "or add --allow-seen: the scores are then labelled `seen in training (leaks)` instead of strict"
DIFFERENT = "if these are different people, say so in a column `person` of clips.csv or of the manifest"


def find_seen(folder: Path, clips: EvaluationSet) -> list[str]:
    """Describe which of these people and clips the weights of a model folder have seen; warn if that is not known."""
    for gap in record_gaps(folder):
        warnings.warn(
            f"{folder.name}: {gap}; the scores are strict only if these are other people", EpirWarning, stacklevel=3
        )
    seen = read_seen(folder)
    return [] if seen is None else seen_among(clips, seen)


def has_complete_record(folder: Path) -> bool:
    """Whether a model folder records everybody that its weights, and those it started from, have seen."""
    seen = read_seen(folder)
    return seen is not None and seen.complete and bool(seen.people)


def record_gaps(folder: Path) -> list[str]:
    """Describe what the record of a model folder cannot recognise.

    A record without fingerprints does not recognise shifted or mirrored maps. Synthetic people need none: they differ
    by their seed, and include no real clip.
    """
    if not has_complete_record(folder):
        return [UNKNOWN]
    seen = read_seen(folder) or Seen()
    return [] if seen.fingerprints or not seen.maps or seen.is_synthetic else [BLIND]


def temperature_note(folder: Path, clips: EvaluationSet) -> list[str]:
    """Return a note if `epir calibrate` fitted the temperature of these weights on some of these people.

    A temperature changes probabilities but no class, so UF1 stays strict.
    """
    fitted = Seen(people=frozenset((read_config(folder).notes.get("real_people") or {}).get(FITTED_ON, ())))
    present = {clip.person for clip in clips.clips}
    known = {person for person in present if fitted.knows(person)}
    if not known:
        return []
    return [
        f"the temperature of these weights was fitted on {len(known)} of these {people(len(present))}: classes "
        "and UF1 do not depend on it, probabilities do"
    ]


def find_calibrated(folder: Path, clips: EvaluationSet) -> list[str]:
    """Describe which of these people were held out of training to fit temperature and thresholds."""
    fitted = Seen(people=(read_seen(folder) or Seen()).calibrated_on)
    people = sorted({clip.person for clip in clips.clips if fitted.knows(clip.person)})
    return _summary(people, "person", "people")


def seen_among(clips: EvaluationSet, seen: Seen) -> list[str]:
    """Describe the people and maps of these clips that are in a training record."""
    people = sorted({clip.person for clip in clips.clips if seen.knows(clip.person)})
    maps = read_maps(clips.samples)
    known = np.isin(map_hashes(maps), np.array(sorted(seen.maps), dtype=np.uint64))
    copied = known_fingerprints(maps, np.array(sorted(seen.fingerprints), dtype=np.uint64).reshape(-1, WORDS))
    same = [sample.clip.key for sample in compress(clips.samples, known | copied)]
    return _summary(people, "person", "people") + _summary(same, "map")


def find_across_folds(clips: EvaluationSet, folds: Sequence[Fold]) -> list[str]:
    """Describe copies of one clip, and people who are probably one person, in different folds."""
    never_held_out = {clip.key: "" for clip in clips.clips}  # training clips of a predefined split
    fold_of = never_held_out | {clip.key: fold.name for fold in folds for clip in fold.test}
    copies = [
        copy
        for copy in find_copies(read_maps(clips.samples), clips.clips)
        if fold_of[copy.first] != fold_of[copy.second]
    ]
    person_fold = {clip.person: fold_of[clip.key] for clip in clips.clips}
    twins = [names for names in probably_one(person_fold) if len({person_fold[name] for name in names}) > 1]
    names = [" = ".join(map(repr, group)) for group in twins]
    return describe_copies(copies) + ([f"probably one person: {_first_names(names)}"] if names else [])


def find_between(training: EvaluationSet, others: EvaluationSet) -> list[str]:
    """Describe people and clips, or copies of clips, that are in both sets.

    Between synthetic people only equal maps are copies: of 58 million pairs, 12 are alike by chance.
    """
    names = {plain_name(clip.person) for clip in training.clips}
    both = sorted({clip.person for clip in others.clips if plain_name(clip.person) in names})
    strangers = [sample for sample in others.samples if sample.clip.person not in both]
    copies: list[Copy] = []
    if strangers:
        theirs = [sample.clip for sample in strangers]
        are_synthetic = all(clip.corpus == SYNTHETIC for clip in (*training.clips, *theirs))
        maps = read_maps(training.samples), read_maps(strangers)
        copies = find_copies_between(maps[0], training.clips, maps[1], theirs, only_equal=are_synthetic)
    return _summary(both, "person", "people") + describe_copies(copies)


def describe_copies(copies: Sequence[Copy]) -> list[str]:
    """Return one sentence about the copies, or none."""
    return _summary(list(map(str, copies)), "copy", "copies")


def check_leaks(leaks: Mapping[str, Sequence[str]], *, allow_seen: bool, fix: str) -> tuple[str, ...]:
    """Raise an error if there are leaks (sentences by where they occur); with `allow_seen`, warn and return them."""
    sentences = tuple(f"{where}: {leak}" for where, described in leaks.items() for leak in described)
    if not sentences:
        return ()
    problem = f"the scores would not be strict. {'; '.join(sentences)}"
    if not allow_seen:
        raise LeakError(problem, fix=f"{fix}; {DIFFERENT}; {GO_ON}")
    warnings.warn(f"{problem}. They are marked as seen in training (leaks).", EpirWarning, stacklevel=3)
    return sentences


def _summary(names: Sequence[str], noun: str, plural: str = "") -> list[str]:
    """Return one phrase with the count and the first names, or none."""
    return [f"{counted(len(names), noun, plural)} ({_first_names(names)})"] if names else []


def _first_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
