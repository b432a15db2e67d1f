"""The scores that the paper prints, for its own and for other methods, and the strongest ones published since.

`selection` says where a score comes from: the last epoch, the best epoch on the held-out person (leaks), or unknown.
"""

import csv
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

RUNGS = {  # preset: its row in Tables 4 and 5
    "vit": "Baseline",
    "vit+dtsm": "+DTSM",
    "vit+dtsm+itals": "+ITALS",
    "vit+dtsm+itals+spt": "+SPT",
    "vit+dtsm+itals+dnspt": "+DNSPT",
    "epir": "+Token Integration",
}


@dataclass(frozen=True)
class PublishedScores:
    """One pair of published scores; the texts keep the printed digits."""

    table: int  # of the paper; 0: published since
    method: str
    protocol: str
    part: str  # full, or a corpus
    uf1_text: str
    uar_text: str
    params: float | None  # millions
    flops: float | None  # millions; multiply-accumulates, though the paper says FLOPs
    selection: str
    note: str

    @property
    def uf1(self) -> float:
        """The UF1 as a number."""
        return float(self.uf1_text)

    @property
    def uar(self) -> float | None:
        """The UAR as a number, if published."""
        return float(self.uar_text) if self.uar_text else None


@lru_cache(maxsize=1)
def load_published() -> tuple[PublishedScores, ...]:
    """Load every pair of scores in Tables 1 to 5, and the strongest ones published since."""
    text = (files("epir.evaluation") / "published.csv").read_text(encoding="utf-8")
    scores = []
    for row in csv.DictReader(text.splitlines()):
        values: dict[str, Any] = dict(row)
        values |= {f"{name}_text": values.pop(name) for name in ("uf1", "uar")}
        values |= {name: float(row[name]) if row[name] else None for name in ("params", "flops")}
        scores.append(PublishedScores(**{**values, "table": int(row["table"])}))
    return tuple(scores)


def comparisons(protocol: str) -> tuple[PublishedScores, ...]:
    """Return the scores of Tables 1 to 3 for a protocol, and those published since."""
    return tuple(each for each in load_published() if each.protocol == protocol and each.table <= 3)


def ladder(protocol: str) -> tuple[PublishedScores, ...]:
    """Return the scores of Tables 4 and 5 for a protocol."""
    return tuple(each for each in load_published() if each.protocol == protocol and each.table >= 4)
