"""Corpora by name, and corpora read by a user's code; the module of a corpus is imported when it is loaded."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any, NamedTuple

from epir.core.errors import DatasetError, EpirError, is_machine_fault
from epir.core.plugins import Plugin, call_failed, is_plugin_name, list_plugins, load_object
from epir.core.records import Clip
from epir.core.words import did_you_mean
from epir.datasets.base import FRAMES, Corpus, Correction, Defect, defects, order_problems, place_problems, with_people
from epir.datasets.folders import Tree
from epir.datasets.intervals import LongVideo
from epir.datasets.loading import SheetFormat, load_sheet

GROUP = "epir.corpora"
COUNTS = ("clips", "people", "emotions")
TEXTS = ("corpus", "subject", "clip", "emotion")


class _Home(NamedTuple):
    """How a corpus is read: `module:name` of a `SheetFormat` or a function, below `epir.datasets`."""

    clips: str
    about: str
    videos: str = ""  # the same for its long videos, if it has any


_ABOUT = {  # corpora licensed by their authors
    "casme2": ("casme:CASME2", "CASME II: 255 clips of 26 people at 200 frames a second"),
    "samm": ("samm:SAMM", "SAMM: 159 clips of 29 people at 200 frames a second"),
    "smic": ("smic:load", "SMIC: 164 clips of 16 people at 100 frames a second (HS), also VIS and NIR"),
    "casme3": ("casme3:CASME3", "CAS(ME)^3 Part A: 30 frames a second"),
    "casme": ("casme:CASME", "CASME: 189 clips at 60 frames a second"),
    "mmew": ("mmew:MMEW", "MMEW: 300 clips at 90 frames a second"),
    "dfme": ("dfme:DFME", "DFME: 2,629 clips of the challenge's fixed split, at 200 to 500 frames a second"),
    "4dme": ("fourdme:FOURDME", "4DME: 267 clips, the grey videos"),
    "casme-sq": ("casme_sq:CASME_SQ", "CAS(ME)^2: long videos at 30 frames a second, micro- and macro-expressions"),
    "samm-lv": ("samm:SAMM_LV", "SAMM Long Videos: long videos at 200 frames a second, micro and macro"),
    "casme3-lv": ("casme3:CASME3_LV", "CAS(ME)^3 Part A as long videos at 30 frames a second, micro and macro"),
    "smic-e": ("smic:load_e", "SMIC-E: SMIC with frames before and after (HS, VIS, NIR), as long videos"),
}
_LONG = ("casme-sq", "samm-lv", "casme3-lv", "smic-e")
_HOMES = {
    name: _Home(home, f"{about}; licence from its authors", home if name in _LONG else "")
    for name, (home, about) in _ABOUT.items()
} | {
    "synthetic": _Home("manifest:load_synthetic", "what epir synth drew; no licence needed", "manifest:long_synthetic"),
    "manifest": _Home("manifest:load", "clips of your own: a CSV with one row per clip", "manifest:long_videos"),
}


def describe_corpora() -> dict[str, str]:
    """One line about each corpus, including those of installed packages."""
    installed = {name: f"a corpus of an installed package (entry point of {GROUP})" for name in list_plugins(GROUP)}
    return installed | {name: home.about for name, home in _HOMES.items()}


def list_corpora() -> tuple[str, ...]:
    """The names that `load_corpus` knows."""
    return tuple(_HOMES)


def load_corpus(name: str, root: str | Path, **options: Any) -> Corpus:
    """Load the corpus `name` from the folder `root`; `my_corpus.py:load` names your own function.

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
    lower = name.strip().casefold()
    if lower not in _HOMES and (is_plugin_name(name) or name in list_plugins(GROUP)):
        return _load_user_corpus(name, _existing(root, name), options)
    _check_corpus(name, (*_HOMES, *list_plugins(GROUP)))
    corpus: Corpus = _call(lower, root, _HOMES[lower].clips, options)
    return corpus


def list_long_corpora() -> tuple[str, ...]:
    """The names that `load_long_videos` knows."""
    return tuple(name for name, home in _HOMES.items() if home.videos)


def load_long_videos(name: str, root: str | Path, **options: Any) -> list[LongVideo]:
    """Load the long videos of the corpus `name` from the folder `root`, with their annotated movements.

    Videos without frames are listed too, so that their movements count as missed.
    """
    lower, known = name.strip().casefold(), list_long_corpora()
    if (lower in _HOMES or is_plugin_name(name)) and lower not in known:
        raise DatasetError(f"{lower} has no long videos", fix=f"use one of: {', '.join(known)}")
    _check_corpus(name, known)
    loaded: Corpus | list[LongVideo] = _call(lower, root, _HOMES[lower].videos, options)
    return list(loaded.videos) if isinstance(loaded, Corpus) else loaded


def _check_corpus(name: str, known: Sequence[str]) -> None:
    lower = name.strip().casefold()
    if lower not in known:
        raise DatasetError(f"there is no corpus {name!r}", fix=did_you_mean(lower, known, most=2))


def _call(name: str, root: str | Path, home: str, options: Mapping[str, Any]) -> Any:
    folder = _existing(root, name)
    module, _, attribute = home.partition(":")
    load = getattr(import_module(f"epir.datasets.{module}"), attribute)
    if isinstance(load, SheetFormat):
        load = partial(load_sheet, load)
    known = [name for name in signature(load).parameters if name != "root"]
    for option in options:
        if option not in known:
            raise DatasetError(
                f"{name} has no option {option!r}",
                fix=f"its options are: {', '.join(known)}" if known else f"{name} takes no options",
            )
    return load(folder, **options)


def _existing(root: str | Path, name: str) -> Path:
    folder = Path(root).expanduser()
    if not folder.exists() and name == "manifest":
        raise DatasetError(f"there is no file {folder}", fix="give the CSV that lists your clips: docs/own-corpus.md")
    if not folder.exists():
        raise DatasetError(f"there is no folder {folder}", fix=f"give the folder into which {name} was unpacked")
    return folder


def _load_user_corpus(name: str, root: Path, options: Mapping[str, Any]) -> Corpus:
    """The corpus that a user's function `name` reads from `root`; it returns clips, or a whole `Corpus`.

        def load(root: Path) -> list[Clip]: ...

        load.expected = {"clips": 120, "people": 12, "emotions": {"joy": 80, "anger": 40}}
        load.corrections = [{"clip": "lab/s1/c7", "field": "offset", "old": "19", "new": "91", "reason": "a slip"}]

    Both attributes are optional. Frame numbers are those of the pictures, or count from 0 in a video.
    """
    load, plugin = load_object(name, group=GROUP, what="corpus", error=DatasetError)
    try:
        loaded = load(root, **options)
        result = loaded if isinstance(loaded, Corpus) else tuple(loaded)
    except EpirError:
        raise
    except Exception as fault:
        if is_machine_fault(fault):
            raise
        raise call_failed(plugin, fault, error=DatasetError) from None
    if isinstance(result, Corpus):
        return replace(result, code=plugin.to_dict(), expected=result.expected or _expected(load, plugin))
    clips, corrected = _corrected(_checked(result, plugin), load, plugin)
    kept: dict[str, Clip] = {}
    wrong: list[Defect] = []
    disk = Tree(root if root.is_dir() else root.parent)
    for clip in clips:
        if clip.key in kept:
            words = "it is listed twice: give each clip of a subject its own name"
            wrong.append(Defect(clip.key, words, kind="listed twice"))
            continue
        kept[clip.key] = clip
        wrong += defects(clip, [*order_problems(clip), *place_problems(clip, disk)], tree="")
    names = {clip.corpus for clip in kept.values()}
    return with_people(
        Corpus(
            name=names.pop() if len(names) == 1 else plugin.name,
            root=root,
            sheet=plugin.name,
            clips=tuple(kept.values()),
            corrected=corrected,
            defects=tuple(wrong),
            tree="as listed",
            expected=_expected(load, plugin),
            code=plugin.to_dict(),
        )
    )


def _checked(returned: Sequence[Any], plugin: Plugin) -> list[Clip]:
    """The clips with their frames as paths; an invalid clip is an error."""
    if not returned:
        raise DatasetError(f"{plugin.name} returned no clips", fix="return one epir.Clip for each clip")
    clips = []
    for place, clip in enumerate(returned):
        if not isinstance(clip, Clip):
            raise DatasetError(
                f"{plugin.name} returned {type(clip).__name__} as clip {place}, not an epir.Clip",
                fix="return clips: Clip(corpus, subject, clip, emotion, onset=..., frames=...)",
            )
        for field in TEXTS:
            value = getattr(clip, field)
            if not isinstance(value, str) or not _is_text(value) or not (value.strip() or field == "emotion"):
                raise DatasetError(
                    f"{plugin.name}, clip {place}: the {field} is {value!r}", fix=f"give the {field} as text"
                )
        for field in FRAMES:
            number = getattr(clip, field)
            if number is not None and (isinstance(number, bool) or not isinstance(number, int) or number < 0):
                raise DatasetError(
                    f"{plugin.name}, clip {clip.key}: the {field} is {number!r}", fix="give a frame number, or None"
                )
        clips.append(clip if clip.frames is None else replace(clip, frames=Path(clip.frames)))
    return clips


def _is_text(value: str) -> bool:
    """Whether UTF-8 can encode this text: it cannot encode a lone surrogate."""
    return value.encode(errors="ignore").decode() == value


def _corrected(
    clips: Sequence[Clip], load: Callable[..., Any], plugin: Plugin
) -> tuple[list[Clip], tuple[Correction, ...]]:
    """The clips with the loader's corrections applied where they have the old value."""
    corrections = [_correction(values, plugin) for values in getattr(load, "corrections", ())]
    keys = {clip.key for clip in clips}
    for one in corrections:
        if one.clip not in keys:
            raise DatasetError(f"{plugin.name} corrects {one.clip}, which it does not list", fix="correct its name")
    new, applied = [], []
    for clip in clips:
        for one in corrections:
            if one.clip == clip.key and str(getattr(clip, one.field)) == one.old:
                value = int(one.new) if one.field in FRAMES else float(one.new) if one.field == "fps" else one.new
                clip = replace(clip, **{one.field: value})  # type: ignore[arg-type]
                applied.append(one)
        new.append(clip)
    return new, tuple(applied)


def _correction(values: Any, plugin: Plugin) -> Correction:
    names = [field.name for field in fields(Correction)]
    fix = f"give {', '.join(names)} as text; fields are onset, apex, offset, fps and emotion"
    if isinstance(values, Correction):
        values = {name: getattr(values, name) for name in names}
    if not isinstance(values, Mapping) or set(values) != set(names):
        raise DatasetError(f"{plugin.name}: {values!r} is not a correction", fix=fix)
    one = Correction(**{name: str(value) for name, value in values.items()})
    try:
        if one.field not in (*FRAMES, "fps", "emotion"):
            raise ValueError(one.field)
        float(one.new) if one.field == "fps" else int(one.new) if one.field in FRAMES else None
    except ValueError:
        raise DatasetError(f"{plugin.name}: {values!r} is not a correction", fix=fix) from None
    return one


def _expected(load: Callable[..., Any], plugin: Plugin) -> Mapping[str, Any] | None:
    counts = getattr(load, "expected", None)
    if counts is None:
        return None
    if not isinstance(counts, Mapping) or not set(counts) <= set(COUNTS):
        raise DatasetError(
            f"{plugin.name}: the expected counts are {counts!r}",
            fix='give {"clips": 120, "people": 12, "emotions": {"joy": 80}}, or some of these',
        )
    return dict(counts)
