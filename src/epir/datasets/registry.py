"""Every corpus by name; the file of a corpus is imported when it is asked for."""

from difflib import get_close_matches
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

from epir.core.errors import DatasetError
from epir.datasets.base import Corpus

_HOME = {
    "casme2": "epir.datasets.casme2:load",
    "samm": "epir.datasets.samm:load",
    "smic": "epir.datasets.smic:load",
    "casme3": "epir.datasets.casme3:load",
    "synthetic": "epir.datasets.manifest:load_synthetic",
    "manifest": "epir.datasets.manifest:load",
}

_ABOUT = {
    "casme2": "CASME II: 255 clips of 26 people at 200 frames a second; licence from its authors",
    "samm": "SAMM: 159 clips of 29 people at 200 frames a second; licence from its authors",
    "smic": "SMIC: 164 clips of 16 people at 100 frames a second (HS), also VIS and NIR; licence from its authors",
    "casme3": "CAS(ME)^3 Part A: 30 frames a second; licence from its authors",
    "synthetic": "what epir synth drew; no licence needed",
    "manifest": "clips of your own: a CSV with one row per clip",
}


def describe_corpora() -> dict[str, str]:
    """One line about each corpus."""
    return {name: _ABOUT[name] for name in _HOME}


def list_corpora() -> tuple[str, ...]:
    """The names that `load_corpus` knows."""
    return tuple(_HOME)


def load_corpus(name: str, root: str | Path, **options: Any) -> Corpus:
    """The clips of the corpus `name` as found under `root`.

    Options depend on the corpus: `sheet` (path of the annotation sheet), `tree` (`cropped`, `raw`, ...), and for SMIC
    `part` (`hs`, `vis`, `nir`).
    """
    wanted = name.strip().casefold()
    if wanted not in _HOME:
        near = get_close_matches(wanted, _HOME, n=2)
        raise DatasetError(
            f"there is no corpus {name!r}",
            fix=f"did you mean {' or '.join(map(repr, sorted(near)))}?" if near else f"use one of: {', '.join(_HOME)}",
        )
    folder = Path(root).expanduser()
    if not folder.exists():
        raise DatasetError(f"there is no folder {folder}", fix=f"give the folder into which {wanted} was unpacked")
    module, _, function = _HOME[wanted].partition(":")
    load = getattr(import_module(module), function)
    known = [name for name in signature(load).parameters if name != "root"]
    for option in options:
        if option not in known:
            raise DatasetError(
                f"{wanted} has no option {option!r}",
                fix=f"its options are: {', '.join(known)}" if known else f"{wanted} takes no options",
            )
    corpus: Corpus = load(folder, **options)
    return corpus
