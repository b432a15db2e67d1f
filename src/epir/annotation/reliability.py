"""Coefficients of agreement between coders.

[Cohen 1960] A coefficient of agreement for nominal scales; [Krippendorff 2011] Computing Krippendorff's
alpha-reliability; [CASME II] Yan et al. 2014 and [SAMM] Davison et al. 2018 print the reliability of action units:
twice the units on which two coders agree, over all units of both.

A coefficient is NaN if it is undefined: nothing was compared, or all coders used a single word.

Axes: P people, C words, R bootstrap samples
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import permutations

import numpy as np

from epir.core.seeds import interval, resample_people

NAN = float("nan")


def cohen_kappa(confusion: np.ndarray) -> np.ndarray:
    """Kappa of counts (..., C, C), the first coder's words in rows: agreement beyond chance.

    >>> round(float(cohen_kappa(np.array([[20, 5], [10, 15]]))), 2)
    0.4
    """
    counts = np.asarray(confusion, float)
    total = counts.sum(axis=(-2, -1))
    with np.errstate(divide="ignore", invalid="ignore"):
        same = np.trace(counts, axis1=-2, axis2=-1) / total
        chance = (counts.sum(axis=-1) * counts.sum(axis=-2)).sum(axis=-1) / total**2
        return np.where(chance < 1, (same - chance) / (1 - chance), NAN)


def confusion_by_person(pairs: Sequence[tuple[str, str, str]], words: Sequence[str]) -> np.ndarray:
    """Counts (P, C, C) of (person, word of the first coder, word of the second)."""
    people = sorted({person for person, _, _ in pairs})
    counts = np.zeros((len(people), len(words), len(words)), int)
    for person, one, other in pairs:
        counts[people.index(person), words.index(one), words.index(other)] += 1
    return counts


def kappa_interval(counts: np.ndarray) -> tuple[float, float] | None:
    """The 95 % interval of kappa from counts (P, C, C), bootstrap over people; None with one person."""
    if len(counts) < 2:
        return None
    weights = resample_people(len(counts))  # (R, P)
    resampled = cohen_kappa(np.einsum("rp,pij->rij", weights, counts))
    return interval(resampled) if np.isfinite(resampled).any() else None


def krippendorff_alpha(ratings: Iterable[Collection[str]]) -> float:
    """Nominal alpha of the ratings of each item; a coder who did not rate an item is left out there.

    >>> round(krippendorff_alpha([("a", "b"), ("a", "a"), ("b", "b"), ("b", "b")]), 3)
    0.533
    """
    pairs: Counter[tuple[str, str]] = Counter()
    shares: dict[tuple[str, str], float] = {}
    for values in ratings:
        if len(values) < 2:
            continue
        pairs.clear()
        pairs.update(permutations(values, 2))
        for pair, count in pairs.items():
            shares[pair] = shares.get(pair, 0.0) + count / (len(values) - 1)
    totals: dict[str, float] = {}
    for (one, _), share in shares.items():
        totals[one] = totals.get(one, 0.0) + share
    total = sum(totals.values())
    differing = sum(share for (one, other), share in shares.items() if one != other)
    expected = (total**2 - sum(each**2 for each in totals.values())) / (total - 1) if total > 1 else 0.0
    return 1 - differing / expected if expected else NAN


def unit_reliability(pairs: Iterable[tuple[Collection[int], Collection[int]]]) -> float:
    """Twice the units on which two coders agree over all units of both, as CASME II and SAMM print it.

    >>> round(unit_reliability([({4, 7}, {4}), ({12}, {6, 12})]), 3)
    0.667
    """
    both = every = 0
    for one, other in pairs:
        both += len(set(one) & set(other))
        every += len(set(one)) + len(set(other))
    return 2 * both / every if every else NAN
