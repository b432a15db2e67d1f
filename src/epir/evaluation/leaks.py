"""What would make a score not strict: people or clips that the weights have seen, and copies across folds."""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from epir.core.errors import EpirWarning, LeakError
from epir.core.records import Fold, plain_name, probably_one
from epir.core.words import counted, people
from epir.evaluation.samples import EvaluationSet, read_maps
from epir.maps.copies import Copy, find_copies, find_copies_between, known_fingerprints, map_hashes
from epir.models.folder import read_config
from epir.models.seen import BLIND, FITTED_ON, SYNTHETIC, UNKNOWN, WORDS, Seen, read_seen

NAMED = 3  # how many are named in a message
GO_ON = "or add --allow-seen: everything then says `seen in training (leaks)` in place of strict"
DIFFERENT = "if these are different people, say so in a column `person` of clips.csv or of the manifest"


def find_seen(folder: Path, clips: EvaluationSet) -> list[str]:
    """What of these clips the weights of a model folder have seen, one sentence each; a note where nobody knows."""
    for gap in record_gaps(folder):
        warnings.warn(f"{folder.name}: {gap}; strict holds only if they are other people", EpirWarning, stacklevel=3)
    seen = read_seen(folder)
    return [] if seen is None else overlap(seen, clips)


def knows_whom(folder: Path) -> bool:
    """Whether a model folder has a whole record of whom its weights, and those that it started from, have seen."""
    seen = read_seen(folder)
    return seen is not None and seen.complete and bool(seen.people)


def record_gaps(folder: Path) -> list[str]:
    """What the record of a model folder cannot say about any clips, one sentence each.

    A record without fingerprints recognises no map that was shifted or mirrored. Synthetic people need none: they
    differ by their seed, and no real clip is among them.
    """
    if not knows_whom(folder):
        return [UNKNOWN]
    seen = read_seen(folder) or Seen()
    return [] if seen.fingerprints or not seen.maps or seen.is_synthetic else [BLIND]


def temperature_note(folder: Path, clips: EvaluationSet) -> list[str]:
    """A note where `epir calibrate` fitted the temperature of these weights on people among these.

    A temperature changes probabilities, and no class: UF1 stays strict.
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
    """The people among these who were held out of training to fit temperature and thresholds, in one sentence."""
    fitted = Seen(people=(read_seen(folder) or Seen()).calibrated_on)
    people = sorted({clip.person for clip in clips.clips if fitted.knows(clip.person)})
    return _told(people, "person", "people")


def overlap(seen: Seen, clips: EvaluationSet) -> list[str]:
    """The people and clips that were trained on, one sentence each."""
    people = sorted({clip.person for clip in clips.clips if seen.knows(clip.person)})
    maps = read_maps(clips.samples)
    known = np.isin(map_hashes(maps), np.array(sorted(seen.maps), dtype=np.uint64))
    copied = known_fingerprints(maps, np.array(sorted(seen.fingerprints), dtype=np.uint64).reshape(-1, WORDS))
    same = [sample.clip.key for sample, is_known in zip(clips.samples, known | copied, strict=True) if is_known]
    return _told(people, "person", "people") + _told(same, "map")


def find_across_folds(clips: EvaluationSet, folds: Sequence[Fold]) -> list[str]:
    """Copies of one clip, and people who are probably one, in different folds; one sentence each."""
    in_training = {clip.key: "" for clip in clips.clips}  # clips of a corpus's own split may never be held out
    fold_of = in_training | {clip.key: fold.name for fold in folds for clip in fold.test}
    copies = [
        each
        for each in find_copies(read_maps(clips.samples), clips.clips)
        if fold_of[each.first] != fold_of[each.second]
    ]
    person_fold = {clip.person: fold_of[clip.key] for clip in clips.clips}
    twins = [names for names in probably_one(person_fold) if len({person_fold[name] for name in names}) > 1]
    names = [" = ".join(map(repr, group)) for group in twins]
    return describe_copies(copies) + ([f"probably one person: {_named(names)}"] if names else [])


def find_between(training: EvaluationSet, others: EvaluationSet) -> list[str]:
    """People and clips, or copies of them, in both sets; one sentence each.

    Between synthetic people only equal maps are copies: of 58 million pairs, 12 are alike by chance.
    """
    names = {plain_name(clip.person) for clip in training.clips}
    both = sorted({clip.person for clip in others.clips if plain_name(clip.person) in names})
    strangers = [sample for sample in others.samples if sample.clip.person not in both]
    copies: list[Copy] = []
    if strangers:
        theirs = [sample.clip for sample in strangers]
        drawn = all(clip.corpus == SYNTHETIC for clip in (*training.clips, *theirs))
        maps = read_maps(training.samples), read_maps(strangers)
        copies = find_copies_between(maps[0], training.clips, maps[1], theirs, only_equal=drawn)
    return _told(both, "person", "people") + describe_copies(copies)


def describe_copies(copies: Sequence[Copy]) -> list[str]:
    """One sentence about copies, or none."""
    return _told(list(map(str, copies)), "copy", "copies")


def check_leaks(leaks: Mapping[str, Sequence[str]], *, allow_seen: bool, fix: str) -> tuple[str, ...]:
    """Refuse what was found, by where it was found; with `allow_seen` give it back, with a warning."""
    told = tuple(f"{where}: {sentence}" for where, sentences in leaks.items() for sentence in sentences)
    if not told:
        return ()
    problem = f"the scores would not be strict. {'; '.join(told)}"
    if not allow_seen:
        raise LeakError(problem, fix=f"{fix}; {DIFFERENT}; {GO_ON}")
    warnings.warn(f"{problem}. They are marked as seen in training (leaks).", EpirWarning, stacklevel=3)
    return told


def _told(names: Sequence[str], noun: str, plural: str = "") -> list[str]:
    """One sentence on how many there are, and the first of them; none where there is nothing."""
    return [f"{counted(len(names), noun, plural)} ({_named(names)})"] if names else []


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
