"""A corpus that code of the user's reads: a function of its root that returns clips, or a whole `Corpus`.

    def load(root: Path) -> list[Clip]: ...

    load.expected = {"clips": 120, "people": 12, "emotions": {"joy": 80, "anger": 40}}
    load.corrections = [{"clip": "lab/s1/c7", "field": "offset", "old": "19", "new": "91", "reason": "a slip"}]

Both attributes may be missing. Frame numbers are those of the pictures, or count from 0 in a video.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from epir.core.errors import DatasetError, EpirError, is_machine_fault
from epir.core.plugins import Plugin, call_failed, load_object
from epir.core.records import Clip
from epir.datasets.base import Corpus, Correction, Defect, defects, frame_problems, order_problems, with_people
from epir.datasets.folders import Tree
from epir.datasets.spelling import is_video

GROUP = "epir.corpora"
COUNTS = ("clips", "people", "emotions")
TEXTS = ("corpus", "subject", "clip", "emotion")
NUMBERS = ("onset", "apex", "offset")


def load_user_corpus(name: str, root: Path, options: Mapping[str, Any], *, known: Sequence[str] = ()) -> Corpus:
    """The corpus that the function called `name` reads under `root`."""
    load, plugin = load_object(name, group=GROUP, what="corpus", error=DatasetError, known=known)
    try:
        loaded = load(root, **options)
        found = loaded if isinstance(loaded, Corpus) else tuple(loaded)
    except EpirError:
        raise
    except Exception as fault:
        if is_machine_fault(fault):
            raise
        raise call_failed(plugin, fault, error=DatasetError) from None
    if isinstance(found, Corpus):
        return replace(found, code=plugin.to_dict(), expected=found.expected or _expected(load, plugin))
    clips, corrected = _corrected(_checked(found, plugin), load, plugin)
    kept: dict[str, Clip] = {}
    wrong: list[Defect] = []
    disk = Tree(root if root.is_dir() else root.parent)
    for clip in clips:
        if clip.key in kept:
            words = "it is listed twice: give each clip of a subject its own name"
            wrong.append(Defect(clip.key, words, kind="listed twice"))
            continue
        kept[clip.key] = clip
        problems = [*order_problems(clip), *_frame_problems(clip, disk)]
        wrong += defects(clip, problems, tree="")
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


def _checked(found: Sequence[Any], plugin: Plugin) -> list[Clip]:
    """The clips with their frames as paths; what cannot be a clip is refused."""
    if not found:
        raise DatasetError(f"{plugin.name} returned no clips", fix="return one epir.Clip for each clip")
    clips = []
    for place, clip in enumerate(found):
        if not isinstance(clip, Clip):
            raise DatasetError(
                f"{plugin.name} returned {type(clip).__name__} as clip {place}, not an epir.Clip",
                fix="return clips: Clip(corpus, subject, clip, emotion, onset=..., frames=...)",
            )
        for field in TEXTS:
            value = getattr(clip, field)
            if not isinstance(value, str) or not is_text(value) or not (value.strip() or field == "emotion"):
                raise DatasetError(
                    f"{plugin.name}, clip {place}: the {field} is {value!r}", fix=f"give the {field} as text"
                )
        for field in NUMBERS:
            number = getattr(clip, field)
            if number is not None and (isinstance(number, bool) or not isinstance(number, int) or number < 0):
                raise DatasetError(
                    f"{plugin.name}, clip {clip.key}: the {field} is {number!r}", fix="give a frame number, or None"
                )
        clips.append(clip if clip.frames is None else replace(clip, frames=Path(clip.frames)))
    return clips


def is_text(value: str) -> bool:
    """Whether a file in UTF-8 can hold this text: a lone surrogate is none."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _corrected(
    clips: Sequence[Clip], load: Callable[..., Any], plugin: Plugin
) -> tuple[list[Clip], tuple[Correction, ...]]:
    """The clips with the loader's corrections applied where the old value stands."""
    corrections = [_correction(values, plugin) for values in getattr(load, "corrections", ())]
    keys = {clip.key for clip in clips}
    for one in corrections:
        if one.clip not in keys:
            raise DatasetError(f"{plugin.name} corrects {one.clip}, which it does not list", fix="correct its name")
    new, applied = [], []
    for clip in clips:
        for one in corrections:
            if one.clip == clip.key and str(getattr(clip, one.field)) == one.old:
                value = int(one.new) if one.field in NUMBERS else float(one.new) if one.field == "fps" else one.new
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
        if one.field not in (*NUMBERS, "fps", "emotion"):
            raise ValueError(one.field)
        float(one.new) if one.field == "fps" else int(one.new) if one.field in NUMBERS else None
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


def _frame_problems(clip: Clip, disk: Tree) -> list[tuple[str, str]]:
    if clip.frames is None:
        return [("no folder", "the loader gives no frames")]
    if clip.frames.is_dir():
        return list(frame_problems(clip, disk.listing(clip.frames).frames))
    if not clip.frames.exists():
        return [("no folder", f"there is no folder or video {clip.frames}")]
    return [] if is_video(clip.frames.name) else [("no folder", f"{clip.frames} is neither a folder nor a video")]
