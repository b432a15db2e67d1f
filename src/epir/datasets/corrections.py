"""What is known to be wrong with the releases: values put right, and flaws that every copy has. Both are data files."""

import csv
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from epir.datasets.base import Correction
from epir.datasets.spelling import plain


@cache
def all_corrections() -> tuple[Correction, ...]:
    """Every line of corrections.csv."""
    return tuple(Correction(**row) for row in _rows("corrections.csv"))


def correct(key: str, cells: Mapping[str, str]) -> tuple[dict[str, str], tuple[Correction, ...]]:
    """The cells of the clip `key` put right, and the corrections that did it.

    A correction counts only where the sheet has the old value: another version of the sheet may be right already.
    """
    applied = tuple(
        correction
        for correction in all_corrections()
        if correction.clip.casefold() == key.casefold() and plain(cells.get(correction.field)) == correction.old
    )
    return {**cells, **{correction.field: correction.new for correction in applied}}, applied


def known_reason(key: str, problem: str, tree: str) -> str | None:
    """Why every copy of the release has this problem, or `None` if it should not be there."""
    from fnmatch import fnmatchcase

    for row in _known():
        fits = fnmatchcase(key.casefold(), row["clip"].casefold()) and row["problem"] == problem
        if fits and row["tree"] in ("", tree):
            return row["reason"]
    return None


@cache
def _known() -> tuple[dict[str, str], ...]:
    return _rows("known.csv")


def _rows(name: str) -> tuple[dict[str, str], ...]:
    text = files("epir.datasets").joinpath(name).read_text(encoding="utf-8")
    return tuple(csv.DictReader(text.splitlines()))
