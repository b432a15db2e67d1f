"""Tables of spotting: hits and F1 by corpus and kind, STRS with its parts, and published scores for comparison.

The lists of published scores give the source of each number, and how it was obtained if that is known.
"""

import csv
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final

from epir.core import seeds
from epir.core.table import MISSING, Column, Row, Table, interval_text, numbers, score_text
from epir.core.words import counted, people
from epir.datasets.intervals import KINDS
from epir.spotting.megc.scores import ALL, POOLED

SHIPPED: Final = "shipped"
LEVEL: Final = f"{100 * seeds.LEVEL:g} %"
LONG_CORPORA: Final = {
    "casme-sq": "CAS(ME)²",
    "samm-lv": "SAMM-LV",
    "casme3-lv": "CAS(ME)³",
    "synthetic": "synthetic",
    POOLED: "pooled",
}
RULE_NOTE = (
    "F1 by the organisers' rule: a label is a hit if a prediction overlaps it by half (both ends included), so a "
    "prediction may find two; pairs and one-to-one F1 let each prediction find one. All and pooled are sums, not means."
)
INTERVAL_NOTE = f"Interval: {LEVEL}, bootstrap over people."
STRS_NOTE = (
    "STRS = F1 of spotting micro-expressions × F1 of their classes. Classes: hits whose true class is negative, "
    "positive or surprise; precision and recall are means over these three."
)
WEIGHTS_NOTE = "Weights other than the shipped ones: strict only if they were trained without these people."
PUBLISHED_NOTE = (
    "Published numbers follow at least five matching rules and differ in how missing offsets are filled; they are "
    "not comparable to the third digit."
)


def spotting_tables(
    scores: Mapping[str, Any], *, notes: Sequence[str] = (), weights: Sequence[str] = (SHIPPED,)
) -> list[Table]:
    """Tables of spotting, of STRS and of published scores; `weights` names those that classified the movements."""
    tables = [found_table(scores, notes), strs_table(scores, weights)]
    published = published_table(list(scores["corpora"]))
    return [*tables, published] if published.rows else tables


def found_table(scores: Mapping[str, Any], notes: Sequence[str] = ()) -> Table:
    """Counts and F1, one row per corpus and kind."""
    columns = (
        Column("corpus"),
        Column("kind"),
        *numbers("labels", "predictions", "hits", "precision", "recall", "F1", f"{LEVEL} interval"),
        *numbers("pairs", "F1", group="one-to-one"),
    )
    rows = []
    for corpus, part in _parts(scores):
        for kind in (*KINDS, ALL):
            counts = part[kind]
            is_empty = not counts["labels"] + counts["predictions"]
            cells = (
                corpus_name(corpus),
                kind,
                *(str(counts[name]) for name in ("labels", "predictions", "hits")),
                *(MISSING if is_empty else score_text(counts[name]) for name in ("precision", "recall", "f1")),
                MISSING if is_empty else interval_text(counts["f1_interval"]),
                str(counts["pairs"]),
                MISSING if is_empty else score_text(counts["f1_one_to_one"]),
            )
            rows.append(Row(cells, strong=kind == ALL))
    caption = f"Spotting: {counted(scores['videos'], 'video')} of {people(scores['people'])}"
    return Table("spotting", caption, columns, tuple(rows), (RULE_NOTE, INTERVAL_NOTE, *notes))


def strs_table(scores: Mapping[str, Any], weights: Sequence[str] = (SHIPPED,)) -> Table:
    """STRS and its parts, ours and published."""
    is_strict = set(weights) == {SHIPPED}
    ours = f"strict ({SHIPPED} weights)" if is_strict else f"weights {', '.join(dict.fromkeys(weights))}"
    columns = (
        Column("method"),
        Column("corpus"),
        Column("F1 spotting", numeric=True),
        *numbers("clips", "right", "precision", "recall", "F1", group="classes of hits"),
        Column("STRS", numeric=True),
        Column(f"{LEVEL} interval", numeric=True),
        Column("obtained", tag=True),
    )
    rows = []
    for corpus, part in _parts(scores):
        strs = part["strs"]
        cells = (
            "ours",
            corpus_name(corpus),
            score_text(strs["f1_spotting"]),
            str(strs["clips"]),
            str(strs["right"]),
            *(score_text(strs[name]) for name in ("macro_precision", "macro_recall", "f1_analysis", "strs")),
            interval_text(strs["strs_interval"]),
            ours,
        )
        rows.append(Row(cells, kind="strict" if is_strict else "", strong=True))
    others = [each for each in load("published_strs.csv") if each["corpus"] in scores["corpora"]]
    for each in others:
        cells = (
            each["method"],
            corpus_name(each["corpus"]),
            *(each["f1_spotting"], "", "", "", "", each["f1_analysis"], each["strs"], "", each["obtained"]),
        )
        rows.append(Row(cells, kind="published"))
    notes = (STRS_NOTE, *([] if is_strict else [WEIGHTS_NOTE]), *_remarks(others))
    return Table("strs", "Spot, then recognise", columns, tuple(rows), notes)


def published_table(corpora: Sequence[str]) -> Table:
    """The published F1 of these corpora, and the pooled F1 if both CAS(ME)^2 and SAMM-LV are among them."""
    parts = [*corpora, *([POOLED] if {"casme-sq", "samm-lv"} <= set(corpora) else [])]
    chosen = [each for each in load("published_spotting.csv") if each["corpus"] in parts]
    columns = (
        Column("method"),
        Column("corpus"),
        *numbers(*KINDS, ALL, group="F1"),
        Column("obtained", tag=True),
    )
    rows = tuple(
        Row(
            (
                each["method"],
                corpus_name(each["corpus"]),
                *(each[name] or MISSING for name in ("micro", "macro", "overall")),
                each["obtained"],
            ),
            kind="published",
        )
        for each in chosen
    )
    notes = (PUBLISHED_NOTE, *_remarks(chosen))
    return Table("published-spotting", "Published F1 of spotting", columns, rows, notes)


@cache
def load(name: str) -> tuple[dict[str, str], ...]:
    """The rows of a list of published scores; numbers are text, with the digits of the publication."""
    text = (files("epir.spotting.megc") / name).read_text(encoding="utf-8")
    return tuple(csv.DictReader(text.splitlines()))


def _remarks(rows: Sequence[Mapping[str, str]]) -> list[str]:
    """Notes on the sources of published numbers, and on single numbers."""
    sources = list(dict.fromkeys(each["source"] for each in rows))
    notes = dict.fromkeys(f"{each['method']}, published: {each['note']}." for each in rows if each["note"])
    return [*([f"Published numbers from: {'; '.join(sources)}."] if sources else []), *notes]


def corpus_name(name: str) -> str:
    """The name of a corpus of long videos as its authors write it."""
    return LONG_CORPORA.get(name, name)


def _parts(scores: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Every corpus, and all of them pooled if there are several."""
    parts = list(scores["corpora"].items())
    return [*parts, (POOLED, scores[POOLED])] if len(parts) > 1 else parts
