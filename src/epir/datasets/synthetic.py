"""The synthetic corpus, as `epir synth` writes it: a manifest called annotations.csv.

Clips without an expression carry the word `none` and say in the column `kind` what happens in them instead.
"""

from pathlib import Path

from epir.core.errors import DatasetError
from epir.datasets.base import Corpus
from epir.datasets.manifest import read_manifest

SHEET = "annotations.csv"
NO_EXPRESSION = "none"


def load(root: Path, *, sheet: str | Path | None = None) -> Corpus:
    """The clips of a corpus that `epir synth` wrote."""
    path = Path(sheet) if sheet else root / SHEET
    if not path.is_file():
        raise DatasetError(f"there is no {SHEET} in {root}", fix=f"write a corpus there: epir synth {root}")
    return read_manifest(path, root=root, corpus="synthetic")
