"""Find the counts that could have produced a printed pair of UF1 and UAR.

Scores of a few hundred clips are fractions of small whole numbers, and four decimals allow few of them. UAR determines
the hits of every class; UF1 then determines how often every class was predicted. So a printed row can be checked
without data: it fits one set of hits, several, or none. If none, it is not a single run pooled over these clips.

Axes: H candidate hits, F candidate false alarms, 3 classes (negative, positive, surprise)
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from epir.core.errors import ConfigError
from epir.core.table import Column, Row, Table, numbers
from epir.evaluation.published import load_published
from epir.evaluation.table import corpus_title

CLIPS: Mapping[str, tuple[int, int, int]] = {  # of the composite: negative, positive, surprise
    "casme2": (88, 32, 25),
    "samm": (92, 26, 15),
    "smic": (70, 51, 43),
}
FULL = "full"
ROUNDING = 1e-9  # floating-point error
MOST_CLIPS = 800  # per part: the search is cubic in the clips
MOST_CHOICES = 1_000_000  # of one set of hits per corpus
SHOWN = 4  # sets of hits in a cell

Hits = tuple[int, int, int]


@dataclass(frozen=True)
class Printed:
    """A printed pair, and how far a score may be from it: half of the last digit by default."""

    part: str  # full, a corpus of the composite, or class counts such as 457,55,187
    uf1: float
    uar: float
    tolerance: float = 5e-5

    @property
    def clips(self) -> tuple[int, int, int]:
        """The clips of each class."""
        if self.part in CLIPS:
            return CLIPS[self.part]
        if self.part == FULL:
            first, second, third = map(sum, zip(*CLIPS.values(), strict=True))
        else:
            first, second, third = map(int, self.part.split(","))
        return first, second, third


@dataclass(frozen=True)
class Explanation:
    """The hits that fit each printed pair alone and, if all parts of the composite are printed, all together."""

    printed: tuple[Printed, ...]
    alone: Mapping[str, tuple[Hits, ...]]  # hits by part
    together: tuple[Mapping[str, Hits], ...] | None  # hits by corpus; None if a part is not printed


def explain(printed: Sequence[Printed]) -> Explanation:
    """Find the hits that could have produced these pairs, each alone and all together.

    >>> explain([Printed("casme2", 0.9882, 0.9896)]).alone
    {'casme2': ((88, 31, 25),)}
    """
    fits = {pair.part: _fits(pair) for pair in printed}
    alone = {part: tuple(sorted(hits)) for part, hits in fits.items()}
    by_part = {pair.part: pair for pair in printed}
    if not {FULL, *CLIPS} <= set(by_part):
        return Explanation(tuple(printed), alone, None)
    return Explanation(tuple(printed), alone, _together(by_part[FULL], {name: fits[name] for name in CLIPS}))


def read_printed(texts: Iterable[str], tolerance: float | None = None) -> tuple[Printed, ...]:
    """Parse pairs from the command line: `[PART] UF1 UAR`, or `TABLE:METHOD` for a row of the paper.

    >>> read_printed(["0.8852 0.8944", "samm 0.838 0.831"])[1]
    Printed(part='samm', uf1=0.838, uar=0.831, tolerance=0.0005)
    >>> [each.part for each in read_printed(["1:EPIR"])]
    ['full', 'samm', 'casme2', 'smic']
    """
    pairs: list[tuple[str, str, str]] = []
    for text in texts:
        table, colon, method = text.partition(":")
        if colon:
            pairs += _published(table.strip(), method.strip())
            continue
        words = text.replace("/", " ").split()
        if len(words) not in (2, 3):
            raise ConfigError(
                f"{text!r} is not a pair of scores",
                fix='write "UF1 UAR", "PART UF1 UAR" or "TABLE:METHOD", for example "samm 0.8383 0.8383" or 1:EPIR',
            )
        pairs.append((words[0] if len(words) == 3 else FULL, words[-2], words[-1]))
    printed = tuple(_printed(part, uf1, uar, tolerance) for part, uf1, uar in pairs)
    twice = [pair.part for number, pair in enumerate(printed) if pair.part in {e.part for e in printed[:number]}]
    if twice:
        raise ConfigError(f"two pairs are given for {twice[0]}", fix="explain one printed row at a time")
    return printed


def explanation_table(explanation: Explanation) -> Table:
    """Tabulate every printed pair with the hits that fit it, and the hits that fit all pairs together."""
    columns = (
        Column("part"),
        Column("clips", numeric=True),
        *numbers("UF1", "UAR", group="printed"),
        *(Column("fit", "sets of hits", numeric=True), Column("negative/positive/surprise", "sets of hits")),
    )
    rows = []
    for pair in explanation.printed:
        hits = explanation.alone[pair.part]
        cells = (_digits(pair.uf1, pair.tolerance), _digits(pair.uar, pair.tolerance), str(len(hits)), _listed(hits))
        rows.append(Row((corpus_title(pair.part), str(sum(pair.clips)), *cells)))
    if explanation.together is not None:
        sets = [
            " ".join(f"{corpus_title(part)} {_slashed(hits)}" for part, hits in by_corpus.items())
            for by_corpus in explanation.together[:SHOWN]
        ]
        more = len(explanation.together) - len(sets)
        cells = ("", "", str(len(explanation.together)), "; ".join(sets) + (f"; {more} more" if more else "") or "none")
        rows.append(Row(("all of them together", str(sum(map(sum, CLIPS.values()))), *cells), strong=True))
    tolerances = sorted({pair.tolerance for pair in explanation.printed})
    within = " or ".join(f"{tolerance:g}" for tolerance in tolerances)
    note = f"A set fits if UF1 and UAR differ from the printed ones by at most {within}."
    verdict = _verdict(explanation)
    return Table("printed", "Counts behind printed scores", columns, tuple(rows), (note, verdict))


def _verdict(explanation: Explanation) -> str:
    none = [corpus_title(part) for part, hits in explanation.alone.items() if not hits]
    if none:
        return f"No single run pooled over these clips gives the printed scores for {', '.join(none)}."
    if explanation.together is None:
        return "Each pair can be the score of one pooled run."
    if not explanation.together:
        return "Each pair alone can be the score of a pooled run, but no single run gives all of them."
    if len(explanation.together) == 1:
        return "Exactly one set of hits gives all of them, as a single run pooled over its folds would."
    return f"{len(explanation.together)} sets of hits give all of them."


def _listed(hits: Sequence[Hits]) -> str:
    if not hits:
        return "none"
    more = len(hits) - SHOWN
    return "; ".join(map(_slashed, hits[:SHOWN])) + (f"; {more} more" if more > 0 else "")


def _slashed(hits: Hits) -> str:
    return "/".join(map(str, hits))


def _digits(value: float, tolerance: float) -> str:
    return f"{value:.4f}" if tolerance < 2e-4 else f"{value:g}"


def _published(table: str, method: str) -> list[tuple[str, str, str]]:
    rows = [row for row in load_published() if str(row.table) == table and row.method == method]
    rows = [row for row in rows if row.protocol == "cde" and row.uar_text]
    if not rows:
        known = sorted({f"{row.table}:{row.method}" for row in load_published() if row.protocol == "cde"})
        raise ConfigError(f"no printed row {table}:{method}", fix=f"use one of: {', '.join(known)}")
    return [(row.part, row.uf1_text, row.uar_text) for row in rows]


def _printed(part: str, uf1: str, uar: str, tolerance: float | None) -> Printed:
    try:
        scores = float(uf1), float(uar)
    except ValueError:
        raise ConfigError(f"{uf1} {uar} are not scores", fix="write them as printed: 0.8852 0.8944") from None
    if not all(0 <= score <= 1 for score in scores):
        raise ConfigError(f"{uf1} {uar} are not between 0 and 1", fix="write percentages as fractions: 0.8852 0.8944")
    if part not in (FULL, *CLIPS):
        counts = part.split(",")
        if len(counts) != 3 or not all(count.isdecimal() and int(count) > 0 for count in counts):
            raise ConfigError(
                f"{part!r} is not a part of the composite",
                fix=f"use {FULL}, {', '.join(CLIPS)} or the clips of three classes, for example 457,55,187",
            )
        if sum(map(int, counts)) > MOST_CLIPS:
            raise ConfigError(f"{part} are too many clips to search", fix=f"use at most {MOST_CLIPS} clips")
    digits = min(len(text.partition(".")[2]) for text in (uf1, uar))
    return Printed(part, *scores, tolerance=0.5 * 10.0**-digits if tolerance is None else tolerance)


def _fits(printed: Printed) -> dict[Hits, np.ndarray]:
    """Return the hits that fit a printed pair, each with the false alarms (F, 3) that fit."""
    clips = np.array(printed.clips)
    grid = np.indices(tuple(clips + 1)).reshape(3, -1).T  # (H, 3)
    near = np.abs((grid / clips).mean(1) - printed.uar) <= printed.tolerance + ROUNDING
    fits = {}
    for hits in grid[near]:
        alarms = _false_alarms(clips, hits)
        scores = (2 * hits / (clips + hits + alarms)).mean(1)
        alarms = alarms[np.abs(scores - printed.uf1) <= printed.tolerance + ROUNDING]
        if len(alarms):
            fits[int(hits[0]), int(hits[1]), int(hits[2])] = alarms
    return fits


def _false_alarms(clips: np.ndarray, hits: np.ndarray) -> np.ndarray:
    """Return every way (F, 3) to distribute the missed clips over the other classes."""
    missed = clips - hits
    total = int(missed.sum())
    first, second = np.indices((total - missed[0] + 1, total - missed[1] + 1)).reshape(2, -1)
    third = total - first - second
    possible = (third >= 0) & (third <= total - missed[2])
    return np.stack([first, second, third], axis=1)[possible]


def _together(full: Printed, parts: Mapping[str, Mapping[Hits, np.ndarray]]) -> tuple[Mapping[str, Hits], ...]:
    """Return the hits of the corpora whose sums also fit the pair of the composite."""
    choices = math.prod(map(len, parts.values()))
    if choices > MOST_CHOICES:
        raise ConfigError(
            f"{choices:,} combinations of hits fit the three corpora, too many to search",
            fix="give more digits, or explain each part alone",
        )
    clips, fits = np.array(full.clips), []
    for choice in product(*(parts[name] for name in CLIPS)):
        hits = np.sum(choice, axis=0)
        if abs((hits / clips).mean() - full.uar) > full.tolerance + ROUNDING:
            continue
        sums = np.zeros((1, 3), dtype=np.int64)
        for name, corpus_hits in zip(CLIPS, choice, strict=True):
            sums = np.unique((sums[:, None] + parts[name][corpus_hits]).reshape(-1, 3), axis=0)
        scores = (2 * hits / (clips + hits + sums)).mean(1)
        if (np.abs(scores - full.uf1) <= full.tolerance + ROUNDING).any():
            fits.append(dict(zip(CLIPS, choice, strict=True)))
    return tuple(fits)
