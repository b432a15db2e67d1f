"""Every corpus by name; the file of a corpus is imported when it is asked for."""

from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

from epir.core.errors import DatasetError
from epir.core.plugins import is_plugin_name, list_plugins
from epir.datasets.base import Corpus
from epir.datasets.intervals import LongVideo
from epir.datasets.user_corpus import GROUP, load_user_corpus

_HOME = {
    "casme2": "epir.datasets.casme2:load",
    "samm": "epir.datasets.samm:load",
    "smic": "epir.datasets.smic:load",
    "casme3": "epir.datasets.casme3:load",
    "casme": "epir.datasets.casme:load",
    "mmew": "epir.datasets.mmew:load",
    "dfme": "epir.datasets.dfme:load",
    "4dme": "epir.datasets.fourdme:load",
    "casme-sq": "epir.datasets.casme_sq:load",
    "samm-lv": "epir.datasets.samm_lv:load",
    "casme3-lv": "epir.datasets.casme3_lv:load",
    "smic-e": "epir.datasets.smic:load_e",
    "synthetic": "epir.datasets.manifest:load_synthetic",
    "manifest": "epir.datasets.manifest:load",
}
_LONG = {
    "casme-sq": "epir.datasets.casme_sq:load",
    "samm-lv": "epir.datasets.samm_lv:load",
    "casme3-lv": "epir.datasets.casme3_lv:load",
    "smic-e": "epir.datasets.smic:long_videos",
    "synthetic": "epir.datasets.manifest:long_synthetic",
    "manifest": "epir.datasets.manifest:long_videos",
}

_ABOUT = {
    "casme2": "CASME II: 255 clips of 26 people at 200 frames a second; licence from its authors",
    "samm": "SAMM: 159 clips of 29 people at 200 frames a second; licence from its authors",
    "smic": "SMIC: 164 clips of 16 people at 100 frames a second (HS), also VIS and NIR; licence from its authors",
    "casme3": "CAS(ME)^3 Part A: 30 frames a second; licence from its authors",
    "casme": "CASME: 189 clips at 60 frames a second; licence from its authors",
    "mmew": "MMEW: 300 clips at 90 frames a second; licence from its authors",
    "dfme": "DFME: 2,629 clips of the challenge's fixed split, at 200 to 500 frames a second; licence from its authors",
    "4dme": "4DME: 267 clips, the grey videos; licence from its authors",
    "casme-sq": "CAS(ME)^2: long videos at 30 frames a second, micro- and macro-expressions; licence from its authors",
    "samm-lv": "SAMM Long Videos: long videos at 200 frames a second, micro and macro; licence from its authors",
    "casme3-lv": "CAS(ME)^3 Part A as long videos at 30 frames a second, micro and macro; licence from its authors",
    "smic-e": "SMIC-E: SMIC with frames before and after (HS, VIS, NIR), as long videos; licence from its authors",
    "synthetic": "what epir synth drew; no licence needed",
    "manifest": "clips of your own: a CSV with one row per clip",
}


def describe_corpora() -> dict[str, str]:
    """One line about each corpus, those of installed packages too."""
    installed = {name: f"a corpus of an installed package (entry point of {GROUP})" for name in list_plugins(GROUP)}
    return installed | {name: _ABOUT[name] for name in _HOME}


def list_corpora() -> tuple[str, ...]:
    """The names that `load_corpus` knows."""
    return tuple(_HOME)


def load_corpus(name: str, root: str | Path, **options: Any) -> Corpus:
    """The clips of the corpus `name` as found under `root`; `my_corpus.py:load` names a function of your own.

    Options depend on the corpus: `sheet` (path of the annotation sheet), `tree` (`cropped`, `raw`, ...), and for SMIC
    `part` (`hs`, `vis`, `nir`).

    >>> from tempfile import TemporaryDirectory
    >>> from epir import synth
    >>> with TemporaryDirectory() as folder:
    ...     written = synth(f"{folder}/corpus", people=1, clips=1, idle=0, size=96, fps=10)
    ...     corpus = load_corpus("synthetic", f"{folder}/corpus")
    >>> [clip.key for clip in corpus.clips]
    ['synthetic/001/001_01']
    """
    corpus: Corpus = _call(name, root, _HOME, options)
    return corpus


def list_long_corpora() -> tuple[str, ...]:
    """The names that `load_long_videos` knows."""
    return tuple(_LONG)


def load_long_videos(name: str, root: str | Path, **options: Any) -> list[LongVideo]:
    """The long videos of the corpus `name` as found under `root`, with the movements annotated in them.

    Videos whose frames are not there are listed too: their movements count as missed, not as absent.
    """
    found: Corpus | list[LongVideo] = _call(name, root, _LONG, options)
    return list(found.videos) if isinstance(found, Corpus) else found


def _call(name: str, root: str | Path, homes: Mapping[str, str], options: Mapping[str, Any]) -> Any:
    wanted = name.strip().casefold()
    if homes is _HOME and wanted not in _HOME and (is_plugin_name(name) or name in list_plugins(GROUP)):
        return load_user_corpus(name, _existing(root, name), options)
    if homes is _LONG and (wanted in _HOME or is_plugin_name(name)) and wanted not in _LONG:
        raise DatasetError(f"{wanted} has no long videos", fix=f"use one of: {', '.join(homes)}")
    if wanted not in homes:
        near = get_close_matches(wanted, (*homes, *list_plugins(GROUP)), n=2)
        raise DatasetError(
            f"there is no corpus {name!r}",
            fix=f"did you mean {' or '.join(map(repr, sorted(near)))}?" if near else f"use one of: {', '.join(homes)}",
        )
    folder = _existing(root, wanted)
    module, _, function = homes[wanted].partition(":")
    load = getattr(import_module(module), function)
    known = [name for name in signature(load).parameters if name != "root"]
    for option in options:
        if option not in known:
            raise DatasetError(
                f"{wanted} has no option {option!r}",
                fix=f"its options are: {', '.join(known)}" if known else f"{wanted} takes no options",
            )
    return load(folder, **options)


def _existing(root: str | Path, name: str) -> Path:
    folder = Path(root).expanduser()
    if not folder.exists():
        raise DatasetError(f"there is no folder {folder}", fix=f"give the folder into which {name} was unpacked")
    return folder
