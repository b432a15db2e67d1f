"""Action units against their annotations: the binary F1 of each unit, and the mean over units.

A unit counts as found from a probability on that was fixed beforehand, with the weights. Units that no annotation names
have no F1 and no part in means; neither have clips without an annotation. The floor is the predictor that finds every
unit in every clip.

Axes: n clips, U action units, K seeds, P people, R resamplings; the last axis of counts: there and found, there, found
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from epir.core.facs import CD6ME_UNITS, UNITS, is_annotated, parse_units
from epir.core.seeds import interval, resample_people
from epir.evaluation.fold import ClipRecord, FoldRecord

MEANS = {"all": UNITS, "cd6me": CD6ME_UNITS}


def unit_scores(records: Sequence[FoldRecord]) -> dict[str, Any] | None:
    """F1 of every unit and their means, pooled over folds, for all clips and by corpus; None without annotations."""
    clips = [clip for record in records for clip in record.clips]
    annotated = [clip for clip in clips if _is_annotated(clip)]
    if not annotated:
        return None
    corpora = sorted({clip.corpus for clip in annotated})
    return {
        **_score(annotated),
        "without_annotation": len({clip.key for clip in clips if not _is_annotated(clip)}),
        "parts": {corpus: _score([clip for clip in annotated if clip.corpus == corpus]) for corpus in corpora},
    }


def _is_annotated(clip: ClipRecord) -> bool:
    return clip.units is not None and is_annotated(clip.units["annotation"])


def _score(clips: Sequence[ClipRecord]) -> dict[str, Any]:
    counts = counts_by_person(clips)  # (K, P, U, 3)
    resampled = np.einsum("rp,kpui->rkui", resample_people(counts.shape[1]), counts)  # (R, K, U, 3)
    number = len({clip.key for clip in clips})
    there = counts[0].sum(0)[:, 1]  # (U,)
    return {
        "clips": number,
        "people": counts.shape[1],
        "units": {
            str(unit): _unit_score(counts.sum(1)[:, column], resampled[:, :, column], number)
            for column, unit in enumerate(UNITS)
        },
        "mean": {name: _mean_score(counts.sum(1), resampled, _columns(units)) for name, units in MEANS.items()},
        "always_positive": {name: _mean_always(there[_columns(units)], number) for name, units in MEANS.items()},
    }


def counts_by_person(clips: Sequence[ClipRecord]) -> np.ndarray:
    """Counts (K, P, U, 3) of units that are there and found, there, and found, for each seed and person."""
    seeds = {seed: number for number, seed in enumerate(sorted({clip.seed for clip in clips}))}
    people = {name: number for number, name in enumerate(sorted({clip.person for clip in clips}))}
    counts = np.zeros((len(seeds), len(people), len(UNITS), 3), dtype=np.int64)
    for clip in clips:
        assert clip.units is not None
        named = parse_units(clip.units["annotation"])
        there = np.array([unit in named for unit in UNITS])
        predicted = np.isin(UNITS, clip.units["found"])
        counts[seeds[clip.seed], people[clip.person]] += np.stack([there & predicted, there, predicted], axis=1)
    return counts


def unit_f1(counts: np.ndarray) -> np.ndarray:
    """F1 of counts (..., 3); NaN where the unit is not there at all."""
    both, there, predicted = np.moveaxis(counts, -1, 0)
    return np.where(there > 0, 2 * both / np.maximum(1, there + predicted), np.nan)


def _unit_score(counts: np.ndarray, resampled: np.ndarray, clips: int) -> dict[str, Any]:
    """The score of one unit from counts (K, 3) and (R, K, 3)."""
    there = int(counts[0, 1])
    predicted = _rounded(counts[:, 2].mean())
    if not there:
        return {"there": 0, "found": predicted, "f1": None, "interval": None, "always": None}
    return {
        "there": there,
        "found": predicted,
        "f1": _rounded(unit_f1(counts).mean()),
        "interval": _interval(np.nan_to_num(unit_f1(resampled)).mean(-1)),  # 0 where nobody drawn has it
        "always": _rounded(_always(there, clips)),
    }


def _mean_score(counts: np.ndarray, resampled: np.ndarray, columns: Sequence[int]) -> dict[str, Any]:
    """The mean F1 over the units that occur, from counts (K, U, 3) and (R, K, U, 3)."""
    occurring = [column for column in columns if counts[0, column, 1]]
    if not occurring:
        return {"units": 0, "f1": None, "interval": None}
    values = np.ma.masked_invalid(unit_f1(resampled)[:, :, occurring])  # a unit may be missing among the people drawn
    return {
        "units": len(occurring),
        "f1": _rounded(unit_f1(counts)[:, occurring].mean()),
        "interval": _interval(values.mean(-1).mean(-1).filled(np.nan)),
    }


def _columns(units: Sequence[int]) -> list[int]:
    return [UNITS.index(unit) for unit in units]


def _always(there: int, clips: int) -> float:
    """F1 of finding a unit in every clip."""
    return 2 * there / (there + clips)


def _mean_always(there: np.ndarray, clips: int) -> float | None:
    """The mean of it over the units that occur."""
    return _rounded(np.mean([_always(count, clips) for count in there if count])) if there.any() else None


def _interval(values: np.ndarray) -> list[float]:
    return [_rounded(bound) for bound in interval(values)]


def _rounded(value: Any) -> float:
    return round(float(value), 6)
